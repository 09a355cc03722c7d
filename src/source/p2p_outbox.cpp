// SPDX-License-Identifier: MIT
#include "source/p2p_outbox.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <utility>

namespace blockpub {

ByteSpan PeerOutbox::bytes_of(const Piece& piece) {
    if (const auto* const mapped = std::get_if<MappedBytes>(&piece)) return mapped->bytes();
    return std::get<std::vector<std::uint8_t>>(piece);
}

void PeerOutbox::add(std::vector<std::uint8_t> bytes) {
    if (bytes.empty()) return;
    size_ += bytes.size();
    pieces_.emplace_back(std::move(bytes));
}

void PeerOutbox::add(MappedBytes bytes) {
    if (bytes.size() == 0) return;
    size_ += bytes.size();
    pieces_.emplace_back(std::move(bytes));
}

std::size_t PeerOutbox::stretches(std::span<::iovec> out) const {
    const std::size_t count = std::min(out.size(), pieces_.size());
    for (std::size_t i = 0; i < count; ++i) {
        const ByteSpan bytes = bytes_of(pieces_[i]).subspan(i == 0 ? first_sent_ : 0);
        // The socket call reads only; its interface lacks the const.
        out[i] = {const_cast<std::uint8_t*>(bytes.data()), bytes.size()};
    }
    return count;
}

void PeerOutbox::sent(std::size_t size) {
    BLOCKPUB_CHECK(size <= size_);
    size_ -= size;
    first_sent_ += size;
    while (!pieces_.empty() && first_sent_ >= bytes_of(pieces_.front()).size()) {
        first_sent_ -= bytes_of(pieces_.front()).size();
        pieces_.pop_front();
    }
}

}  // namespace blockpub
