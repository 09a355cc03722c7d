// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace blockpub {

/// Request line and header fields together, with their line ends. Source: Bitcoin Core v28 httpserver.cpp.
inline constexpr std::size_t kMaxHttpHead = 8192;

struct HttpField {
    std::string_view name;
    std::string_view value;
};

/// The head of one request, checked.
/// Ownership: views into the text it was parsed from.
struct HttpHead {
    enum class Framing : std::uint8_t { none, length, chunked };
    enum class Expect : std::uint8_t { none, go_on, other };

    std::string_view method;
    std::string_view target;  ///< path and query; of the absolute form, the part behind the authority
    unsigned minor_version = 1;
    std::vector<HttpField> fields;
    Framing framing = Framing::none;
    std::uint64_t content_length = 0;  ///< with Framing::length
    Expect expect = Expect::none;
    bool asks_close = false;       ///< `Connection: close`
    bool asks_keep_alive = false;  ///< `Connection: keep-alive`

    /// Whether the client expects the connection to stay open after the reply.
    [[nodiscard]] bool keeps_alive() const { return !asks_close && (minor_version >= 1 || asks_keep_alive); }
    /// Value of the first field of that name, in whatever case.
    [[nodiscard]] std::optional<std::string_view> field(std::string_view name) const;
    void clear();
};

/// Why a head was refused: the status to answer with. The connection cannot go on after it.
struct HttpHeadError {
    int status = 400;
    std::string_view reason;
};

/// Bytes of the head that `bytes` begins with, its empty line included. Nothing when it has not ended yet.
/// `scanned` is where an earlier call over a shorter `bytes` left off, and is moved on.
[[nodiscard]] std::optional<std::size_t> find_head_end(std::string_view bytes, std::size_t& scanned);

/// Empty lines that stand before a request and mean nothing (some clients end a body with one).
[[nodiscard]] std::size_t leading_blank_lines(std::string_view bytes);

/// Parses one whole head. Lines may end in a bare LF, Host may be missing, a field may be folded over several
/// lines (the folds in `text` are replaced by spaces), HTTP may be 1.0. Whatever leaves it open where the
/// body ends is refused: both lengths, lengths that differ, a fold in either, a space before the colon.
/// Errors: 400 (malformed), 501 (transfer coding other than chunked), 413 (a length of more digits than 64
/// bits hold).
[[nodiscard]] std::expected<void, HttpHeadError> parse_http_head(std::string& text, HttpHead& head);

/// Without the spaces and tabs at both ends.
[[nodiscard]] std::string_view trim_blanks(std::string_view text);

/// Whether two field names or tokens are equal but for the case of their letters.
[[nodiscard]] bool equal_ignoring_case(std::string_view a, std::string_view b);

}  // namespace blockpub
