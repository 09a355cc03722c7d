// SPDX-License-Identifier: MIT
#include "query/http_reply.hpp"

#include "base/ascii.hpp"
#include "base/check.hpp"
#include "query/http_head.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace blockpub {
namespace {

constexpr unsigned kMaxInterim = 8;
constexpr int kNoContent = 204;
constexpr int kNotModified = 304;

/// The status of `HTTP/1.1 200 OK`; nothing for what is no status line of HTTP/1.
std::optional<int> status_of(std::string_view line) {
    constexpr std::string_view kVersion = "HTTP/1.";
    constexpr std::size_t kStatusAt = 9;
    constexpr std::size_t kStatusEnd = kStatusAt + 3;
    if (line.size() < kStatusEnd || !line.starts_with(kVersion) || !is_digit(line[kVersion.size()]))
        return std::nullopt;
    if (line[kStatusAt - 1] != ' ' || (line.size() > kStatusEnd && line[kStatusEnd] != ' '))
        return std::nullopt;
    int status = 0;
    for (const char c : line.substr(kStatusAt, kStatusEnd - kStatusAt)) {
        if (!is_digit(c)) return std::nullopt;
        status = status * 10 + (c - '0');
    }
    return status >= 100 ? std::optional<int>(status) : std::nullopt;
}

}  // namespace

void HttpReplyDecoder::fail(std::string sentence) {
    error_ = std::move(sentence);
    state_ = State::failed;
}

HttpReplyDecoder::State HttpReplyDecoder::feed(std::string_view bytes) {
    BLOCKPUB_CHECK(state_ == State::more);
    if (framing_ != Framing::head) {
        take_body(bytes);
        return state_;
    }
    head_.append(bytes);
    while (state_ == State::more && framing_ == Framing::head) {
        const std::size_t before = head_.size();
        take_head();
        if (head_.size() == before) break;
    }
    return state_;
}

void HttpReplyDecoder::take_head() {
    const auto end = find_head_end(head_, scanned_);
    if (end.value_or(head_.size()) > kMaxHttpHead) return fail("the head of its reply is too long");
    if (!end) return;
    scanned_ = 0;
    const std::size_t line_end = head_.find('\n');
    std::string_view line = std::string_view(head_).substr(0, line_end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const auto status = status_of(line);
    if (!status) return fail("its reply is not HTTP");
    // The fields are those of a request as far as they matter here.
    std::string request = "POST / HTTP/1.1\r\n" + head_.substr(line_end + 1, *end - line_end - 1);
    HttpHead fields;
    if (const auto parsed = parse_http_head(request, fields); !parsed)
        return fail(fmt::format("the head of its reply is malformed: {}", parsed.error().reason));
    head_.erase(0, *end);
    if (*status < 200) {
        if (++interim_ > kMaxInterim) fail("it sends interim replies without end");
        return;
    }
    status_ = *status;
    const bool bodiless = *status == kNoContent || *status == kNotModified;
    framing_ = fields.framing == HttpHead::Framing::chunked              ? Framing::chunked
               : bodiless || fields.framing == HttpHead::Framing::length ? Framing::length
                                                                         : Framing::until_close;
    if (framing_ == Framing::length && !bodiless) {
        if (fields.content_length > max_body_) return fail("its reply is too large");
        length_ = static_cast<std::size_t>(fields.content_length);
    }
    take_body(std::exchange(head_, {}));
}

void HttpReplyDecoder::take_body(std::string_view bytes) {
    if (framing_ == Framing::chunked) {
        const auto state = chunks_.feed(bytes, &body_);
        if (state == ChunkDecoder::State::done) state_ = State::done;
        if (state == ChunkDecoder::State::malformed) fail("the chunks of its reply are malformed");
        if (state == ChunkDecoder::State::too_large) fail("its reply is too large");
        return;
    }
    if (framing_ == Framing::length) {
        body_.append(bytes.substr(0, length_ - body_.size()));
        if (body_.size() == length_) state_ = State::done;
        return;
    }
    if (bytes.size() > max_body_ - body_.size()) return fail("its reply is too large");
    body_.append(bytes);
}

HttpReplyDecoder::State HttpReplyDecoder::finish() {
    BLOCKPUB_CHECK(state_ == State::more);
    if (framing_ == Framing::until_close) {
        state_ = State::done;
    } else if (framing_ == Framing::head && head_.empty() && interim_ == 0) {
        fail("it closed the connection without a reply");
    } else {
        fail("its reply ended early");
    }
    return state_;
}

}  // namespace blockpub
