// SPDX-License-Identifier: MIT
#pragma once

#include "query/http_chunks.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace blockpub {

/// Takes one HTTP reply to a POST apart, in whatever pieces it arrives. Interim replies (1xx) are passed
/// over.
///
/// The fields that say where the body ends are held to what parse_http_head demands of requests; without any
/// the body ends with the connection. What lies behind the body is left alone.
/// Thread safety: one thread at a time.
class HttpReplyDecoder {
 public:
    enum class State : std::uint8_t { more, done, failed };

    /// A reply whose body is longer fails, where it says so beforehand as soon as it does.
    explicit HttpReplyDecoder(std::size_t max_body) : max_body_(max_body), chunks_(max_body) {}

    /// Requires: the state is `more`.
    State feed(std::string_view bytes);
    /// The other side has closed the connection. Requires: the state is `more`.
    State finish();

    [[nodiscard]] State state() const { return state_; }
    [[nodiscard]] int status() const { return status_; }               ///< once done
    [[nodiscard]] std::string& body() { return body_; }                ///< once done
    [[nodiscard]] const std::string& error() const { return error_; }  ///< once failed

 private:
    enum class Framing : std::uint8_t { head, length, chunked, until_close };

    /// Takes a head off the front of `head_`, where it is whole.
    void take_head();
    void take_body(std::string_view bytes);
    void fail(std::string sentence);

    const std::size_t max_body_;
    State state_ = State::more;
    Framing framing_ = Framing::head;
    std::string head_;  // what came before the body, not yet taken apart
    std::size_t scanned_ = 0;
    unsigned interim_ = 0;
    std::size_t length_ = 0;
    ChunkDecoder chunks_;
    int status_ = 0;
    std::string body_;
    std::string error_;
};

}  // namespace blockpub
