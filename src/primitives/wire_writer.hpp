// SPDX-License-Identifier: MIT
#pragma once

#include "base/endian.hpp"

#include <blockpub/bytes.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace blockpub {

/// Appends values as Core serializes them.
/// Thread safety: one thread at a time.
/// Ownership: borrows the bytes.
class WireWriter {
 public:
    explicit WireWriter(std::vector<std::uint8_t>& out) : out_(out) {}

    void bytes(ByteSpan bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }
    /// Little-endian.
    template <std::integral T>
    void le(T value) {
        out_.resize(out_.size() + sizeof value);
        write_le<T>(out_.data() + out_.size() - sizeof value, value);
    }
    /// The shortest form.
    void compact_size(std::uint64_t value) {
        if (value < 253) return le(static_cast<std::uint8_t>(value));
        if (value <= 0xffff) return le(std::uint8_t{253}), le(static_cast<std::uint16_t>(value));
        if (value <= 0xffffffff) return le(std::uint8_t{254}), le(static_cast<std::uint32_t>(value));
        le(std::uint8_t{255});
        le(value);
    }
    /// A transaction's output.
    void output(std::int64_t amount, ByteSpan script) {
        le(amount);
        compact_size(script.size());
        bytes(script);
    }

 private:
    std::vector<std::uint8_t>& out_;
};

}  // namespace blockpub
