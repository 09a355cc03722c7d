// SPDX-License-Identifier: MIT
#pragma once

#include "query/http_message.hpp"

#include <blockpub/result.hpp>

#include <sys/uio.h>

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

namespace blockpub {

/// What is still to be sent on one connection: a buffer for heads and small bodies, then the pieces of a
/// large one.
///
/// Nothing is copied but small texts; hexadecimal pieces are written out a stretch at a time.
/// Thread safety: one thread at a time.
class HttpOutbox {
 public:
    /// A body text shorter than this is joined to its head.
    static constexpr std::size_t kJoined = 32 * 1024;
    /// Replies to pipelined requests are gathered up to this.
    static constexpr std::size_t kGathered = 64 * 1024;

    /// The buffer that goes first. Requires: pieces() is empty.
    [[nodiscard]] std::string& buffer() { return buffer_; }
    /// Appends a reply's body. Requires: its head is at the end of the buffer.
    void add_body(HttpResponse&& response);
    [[nodiscard]] bool empty() const { return sent_ == buffer_.size() && pieces_.empty(); }
    /// Whether further replies may be gathered behind what there is.
    [[nodiscard]] bool takes_more() const { return pieces_.empty() && buffer_.size() < kGathered; }
    /// Up to two stretches to send next. Requires: !empty(). Valid until the next call of any method.
    /// Errors: those of reading the bytes that go out as digits; the reply cannot be completed then.
    [[nodiscard]] Result<std::size_t> stretches(::iovec (&out)[2]);
    /// Notes that the first `size` bytes of the stretches have been sent.
    void sent(std::size_t size);

 private:
    static constexpr std::size_t kHexStretch = kHexMemory / 2;  // source bytes
    [[nodiscard]] Result<::iovec> piece_stretch();
    [[nodiscard]] Result<void> encode_stretch(const MappedBytes& source);

    std::string buffer_;
    std::size_t sent_ = 0;  // of the buffer
    std::deque<BodyPiece> pieces_;
    std::size_t piece_sent_ = 0;  // of the first piece
    std::vector<char> hex_;       // digits [hex_begin_, hex_begin_ + hex_.size()) of the first piece
    std::size_t hex_begin_ = 0;
};

}  // namespace blockpub
