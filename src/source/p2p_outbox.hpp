// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/bytes.hpp>

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <variant>
#include <vector>

namespace blockpub {

/// What is still to be sent to one peer, in order. Blocks stay where they are: only the kernel reads them.
/// Thread safety: one thread at a time.
class PeerOutbox {
 public:
    void add(std::vector<std::uint8_t> bytes);
    void add(MappedBytes bytes);
    [[nodiscard]] bool empty() const { return size_ == 0; }
    /// Bytes that are not sent yet.
    [[nodiscard]] std::size_t size() const { return size_; }
    /// Fills in what is to be sent next; how many were filled in. Valid until the next call of any method.
    [[nodiscard]] std::size_t stretches(std::span<::iovec> out) const;
    /// The first `size` bytes have been sent. Requires: there are so many.
    void sent(std::size_t size);

 private:
    using Piece = std::variant<std::vector<std::uint8_t>, MappedBytes>;
    [[nodiscard]] static ByteSpan bytes_of(const Piece& piece);

    std::deque<Piece> pieces_;  // none empty
    std::size_t first_sent_ = 0;
    std::size_t size_ = 0;
};

}  // namespace blockpub
