// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/bytes.hpp>
#include <blockpub/result.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace blockpub {

/// Copies bytes [offset, offset + out.size()) of `source` in the kernel: a disk that cannot be read is an
/// error here, where touching the map would be a SIGBUS. Requires: they lie within `source`. Errors: io.
[[nodiscard]] Result<void> read_mapped(const MappedBytes& source, std::size_t offset,
                                       std::span<std::uint8_t> out);

/// Bytes [offset, offset + size), without a copy. Requires: offset + size <= source.size().
[[nodiscard]] MappedBytes slice_mapped(const MappedBytes& source, std::size_t offset, std::size_t size);

}  // namespace blockpub
