// SPDX-License-Identifier: MIT
#include "query/http_outbox.hpp"

#include "base/check.hpp"
#include "base/hex.hpp"
#include "base/mapped_read.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace blockpub {

void HttpOutbox::add_body(HttpResponse&& response) {
    BLOCKPUB_CHECK(pieces_.empty());
    if (response.text.size() < kJoined) {
        buffer_ += response.text;
    } else {
        pieces_.emplace_back(std::move(response.text));
    }
    for (BodyPiece& piece : response.pieces) {
        if (body_piece_size(piece) > 0) pieces_.push_back(std::move(piece));
    }
}

Result<::iovec> HttpOutbox::piece_stretch() {
    const auto rest = [&](const void* data, std::size_t size) {
        // The socket call reads only; its interface lacks the const.
        return ::iovec{const_cast<char*>(static_cast<const char*>(data)) + piece_sent_, size - piece_sent_};
    };
    const BodyPiece& piece = pieces_.front();
    if (const auto* text = std::get_if<std::string>(&piece)) return rest(text->data(), text->size());
    if (const auto* shared = std::get_if<SharedBytes>(&piece)) return rest(shared->data(), shared->size());
    if (const auto* mapped = std::get_if<MappedBytes>(&piece))
        return rest(mapped->bytes().data(), mapped->size());

    if (piece_sent_ >= hex_begin_ + hex_.size()) {
        if (auto encoded = encode_stretch(std::get<HexBytes>(piece).bytes); !encoded)
            return forward_error(encoded);
    }
    const std::size_t skip = piece_sent_ - hex_begin_;
    return ::iovec{hex_.data() + skip, hex_.size() - skip};
}

Result<void> HttpOutbox::encode_stretch(const MappedBytes& source) {
    const std::size_t from = piece_sent_ / 2;
    const std::size_t size = std::min(kHexStretch, source.size() - from);
    hex_begin_ = 2 * from;
    hex_.resize(2 * size);
    std::array<std::uint8_t, kHexStretch> raw;
    const std::span<std::uint8_t> part(raw.data(), size);
    if (auto read = read_mapped(source, from, part); !read) return read;
    encode_hex_to(part, hex_.data());
    return {};
}

Result<std::size_t> HttpOutbox::stretches(::iovec (&out)[2]) {
    std::size_t count = 0;
    if (sent_ < buffer_.size()) out[count++] = {buffer_.data() + sent_, buffer_.size() - sent_};
    if (pieces_.empty()) return count;
    const auto stretch = piece_stretch();
    if (!stretch) return std::unexpected(stretch.error());
    out[count++] = *stretch;
    return count;
}

void HttpOutbox::sent(std::size_t size) {
    const std::size_t of_buffer = std::min(size, buffer_.size() - sent_);
    sent_ += of_buffer;
    size -= of_buffer;
    if (sent_ == buffer_.size()) {
        buffer_.clear();
        sent_ = 0;
    }
    if (size == 0) return;
    piece_sent_ += size;
    BLOCKPUB_CHECK(!pieces_.empty() && piece_sent_ <= body_piece_size(pieces_.front()));
    if (piece_sent_ < body_piece_size(pieces_.front())) return;
    pieces_.pop_front();
    piece_sent_ = 0;
    hex_begin_ = 0;
    hex_.clear();
    if (!pieces_.empty()) return;
    hex_.shrink_to_fit();
    if (buffer_.empty() && buffer_.capacity() > kGathered) buffer_ = std::string();
}

}  // namespace blockpub
