// SPDX-License-Identifier: MIT
#pragma once

#include "base/subnet.hpp"
#include "query/http_head.hpp"

#include <blockpub/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace blockpub {

/// One request as a service sees it.
/// Ownership: lives in its connection, which waits for the answer; `head` views into `head_text`.
struct HttpRequest {
    HttpRequest() = default;
    HttpRequest(const HttpRequest&) = delete;
    HttpRequest& operator=(const HttpRequest&) = delete;

    std::string head_text;
    HttpHead head;
    std::string body;  ///< without transfer coding; empty until it has been read
    IpAddress peer;
    std::string peer_name;     ///< address and port, for the log
    std::string user;          ///< set by the service that admitted the request
    std::size_t max_body = 0;  ///< a larger body is refused; who admits the request may lower it
    /// Whether the client has closed its side, for work that takes long. From any thread; may be empty.
    std::function<bool()> departed;
};

/// Memory that sending digits takes, of however many pieces.
inline constexpr std::size_t kHexMemory = 64 * 1024;

/// Sent as twice as many hexadecimal digits, put into that form piece by piece while sending. Bytes in a
/// segment are read from its file then, so that a reply of many blocks takes no memory for them.
struct HexBytes {
    explicit HexBytes(MappedBytes source) : bytes(std::move(source)) {}
    explicit HexBytes(SharedBytes source);
    MappedBytes bytes;
};

/// A stretch of a body. Mapped bytes are handed to the kernel only: see MappedBytes.
using BodyPiece = std::variant<SharedBytes, MappedBytes, HexBytes, std::string>;

[[nodiscard]] std::size_t body_piece_size(const BodyPiece& piece);

/// A reply, whole: the text first, then the pieces in order.
struct HttpResponse {
    int status = 200;
    std::string_view content_type;  ///< of static storage; empty: text/html as libevent's default
    std::string fields;             ///< further fields, each `Name: value\r\n`
    std::string text;
    std::vector<BodyPiece> pieces;
    std::size_t shared_text = 0;  ///< bytes of a text that pieces lie in
    bool close = false;           ///< end the connection behind this reply
    std::string entity_tag;       ///< names an answer that never changes; without its quotes
    bool takes_ranges = false;    ///< with an entity tag: parts of the body may be asked for

    [[nodiscard]] std::size_t body_size() const;
    /// Bytes of memory that are there for this reply alone. Blocks that others hold as well, or that lie in a
    /// segment, do not count.
    [[nodiscard]] std::size_t memory() const;
};

/// Whether a reply of that status to that method has a body (and says how long it is).
[[nodiscard]] bool response_has_body(int status, std::string_view method);

/// The words behind a status in the status line, as libevent spells them.
[[nodiscard]] std::string_view reason_phrase(int status);

/// `Date:` of a second since 1970, as in `Sun, 06 Nov 1994 08:49:37 GMT`; 29 characters.
[[nodiscard]] std::string http_date(std::time_t time);

/// Appends status line and fields, in the order and spelling of libevent, which bitcoind's clients know: the
/// reply's own fields, Date, Content-Length, a default Content-Type, Connection. Differs: Content-Length is
/// sent to HTTP/1.0 clients too.
void append_response_head(std::string& out, const HttpResponse& response, const HttpHead& request,
                          std::time_t now);

}  // namespace blockpub
