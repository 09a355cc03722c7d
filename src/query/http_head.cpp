// SPDX-License-Identifier: MIT
#include "query/http_head.hpp"

#include "base/ascii.hpp"

#include <algorithm>
#include <charconv>

namespace blockpub {

namespace {

using Outcome = std::expected<void, HttpHeadError>;

Outcome refuse(int status, std::string_view reason) {
    return std::unexpected(HttpHeadError{status, reason});
}

bool is_token_char(char c) {
    return is_alphanumeric(c) || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool is_token(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, is_token_char);
}

/// Takes the next line off `rest`, without its LF or CRLF. Requires: rest holds a LF.
std::string_view take_line(std::string_view& rest) {
    const std::size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    return line;
}

Outcome parse_request_line(std::string_view line, HttpHead& head) {
    const std::size_t first = line.find(' ');
    const std::size_t last = line.rfind(' ');
    if (first == std::string_view::npos || first == last) return refuse(400, "malformed request line");
    head.method = line.substr(0, first);
    head.target = line.substr(first + 1, last - first - 1);
    const std::string_view version = line.substr(last + 1);
    if (!is_token(head.method)) return refuse(400, "malformed method");
    if (version.size() != 8 || !version.starts_with("HTTP/1.") || version[7] < '0' || version[7] > '9') {
        return refuse(400, "not HTTP/1");
    }
    head.minor_version = static_cast<unsigned>(version[7] - '0');
    if (head.target.empty() || std::ranges::any_of(head.target, [](char c) {
            return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f;
        })) {
        return refuse(400, "malformed target");
    }
    if (head.target.front() == '/' || head.target == "*") return {};
    const std::size_t scheme = head.target.find("://");
    if (scheme == std::string_view::npos) return refuse(400, "malformed target");
    const std::size_t path = head.target.find('/', scheme + 3);
    head.target = path == std::string_view::npos ? std::string_view("/") : head.target.substr(path);
    return {};
}

Outcome note_content_length(std::string_view value, HttpHead& head) {
    if (value.empty() || !std::ranges::all_of(value, is_digit)) {
        return refuse(400, "malformed Content-Length");
    }
    std::uint64_t length = 0;
    if (std::from_chars(value.data(), value.data() + value.size(), length).ec != std::errc()) {
        return refuse(413, "Content-Length too large");
    }
    if (head.framing == HttpHead::Framing::chunked)
        return refuse(400, "both Content-Length and Transfer-Encoding");
    if (head.framing == HttpHead::Framing::length && head.content_length != length) {
        return refuse(400, "several Content-Length fields");
    }
    head.framing = HttpHead::Framing::length;
    head.content_length = length;
    return {};
}

Outcome note_transfer_encoding(std::string_view value, HttpHead& head) {
    if (head.framing == HttpHead::Framing::length)
        return refuse(400, "both Content-Length and Transfer-Encoding");
    if (head.framing == HttpHead::Framing::chunked) return refuse(400, "several Transfer-Encoding fields");
    if (!equal_ignoring_case(value, "chunked")) return refuse(501, "transfer coding not known");
    head.framing = HttpHead::Framing::chunked;
    return {};
}

void note_connection(std::string_view value, HttpHead& head) {
    while (true) {
        const std::size_t comma = value.find(',');
        const std::string_view option = trim_blanks(value.substr(0, comma));
        if (equal_ignoring_case(option, "close")) head.asks_close = true;
        if (equal_ignoring_case(option, "keep-alive")) head.asks_keep_alive = true;
        if (comma == std::string_view::npos) return;
        value.remove_prefix(comma + 1);
    }
}

Outcome note_field(const HttpField& field, bool folded, HttpHead& head) {
    const bool length = equal_ignoring_case(field.name, "content-length");
    const bool encoding = equal_ignoring_case(field.name, "transfer-encoding");
    if ((length || encoding) && folded) return refuse(400, "folded length field");
    if (length) return note_content_length(field.value, head);
    if (encoding) return note_transfer_encoding(field.value, head);
    if (equal_ignoring_case(field.name, "connection")) note_connection(field.value, head);
    if (equal_ignoring_case(field.name, "expect")) {
        head.expect = equal_ignoring_case(field.value, "100-continue") ? HttpHead::Expect::go_on
                                                                       : HttpHead::Expect::other;
    }
    return {};
}

/// Overwrites line ends that are followed by a space or tab, so that a folded field is one line.
void unfold(std::string& text) {
    for (std::size_t i = text.find('\n'); i != std::string::npos && i + 1 < text.size();
         i = text.find('\n', i + 1)) {
        if (text[i + 1] != ' ' && text[i + 1] != '\t') continue;
        // The mark stands for the fold until the field has been looked at: nothing else lets a NUL through.
        text[i] = '\0';
        if (i > 0 && text[i - 1] == '\r') text[i - 1] = ' ';
    }
}

}  // namespace

std::string_view trim_blanks(std::string_view text) {
    const auto blank = [](char c) { return c == ' ' || c == '\t'; };
    while (!text.empty() && blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && blank(text.back())) text.remove_suffix(1);
    return text;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                              [](char x, char y) { return to_lower(x) == to_lower(y); });
}

std::optional<std::string_view> HttpHead::field(std::string_view name) const {
    for (const HttpField& field : fields) {
        if (equal_ignoring_case(field.name, name)) return field.value;
    }
    return std::nullopt;
}

void HttpHead::clear() {
    std::vector<HttpField> kept = std::move(fields);  // its memory serves the next request
    kept.clear();
    *this = HttpHead();
    fields = std::move(kept);
}

std::optional<std::size_t> find_head_end(std::string_view bytes, std::size_t& scanned) {
    while (true) {
        const std::size_t end = bytes.find('\n', scanned);
        if (end == std::string_view::npos) {
            scanned = bytes.size();
            return std::nullopt;
        }
        const std::string_view behind = bytes.substr(end + 1);
        if (behind.starts_with('\n')) return end + 2;
        if (behind.starts_with("\r\n")) return end + 3;
        if (behind.empty() || behind == "\r") {
            scanned = end;
            return std::nullopt;
        }
        scanned = end + 1;
    }
}

std::size_t leading_blank_lines(std::string_view bytes) {
    std::size_t blank = 0;
    while (true) {
        if (bytes.substr(blank).starts_with('\n')) {
            blank += 1;
        } else if (bytes.substr(blank).starts_with("\r\n")) {
            blank += 2;
        } else {
            return blank;
        }
    }
}

std::expected<void, HttpHeadError> parse_http_head(std::string& text, HttpHead& head) {
    head.clear();
    if (text.find('\0') != std::string::npos) return refuse(400, "NUL in head");
    unfold(text);
    std::string_view rest = text;
    if (!rest.ends_with('\n')) return refuse(400, "head cut short");
    if (auto line = parse_request_line(take_line(rest), head); !line) return line;
    while (!rest.empty()) {
        const std::string_view line = take_line(rest);
        if (line.empty()) return rest.empty() ? Outcome() : refuse(400, "bytes behind the head");
        const std::size_t colon = line.find(':');
        if (colon == std::string_view::npos || !is_token(line.substr(0, colon)))
            return refuse(400, "malformed field");
        const bool folded = line.find('\0') != std::string_view::npos;
        if (folded)
            std::ranges::replace(
                text.begin() + (line.data() - text.data()),
                text.begin() + (line.data() - text.data()) + static_cast<std::ptrdiff_t>(line.size()), '\0',
                ' ');
        const HttpField field{line.substr(0, colon), trim_blanks(line.substr(colon + 1))};
        const auto control = [](char c) {
            return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
        };
        if (std::ranges::any_of(field.value, control)) return refuse(400, "control character in a field");
        if (auto noted = note_field(field, folded, head); !noted) return noted;
        head.fields.push_back(field);
    }
    return refuse(400, "head cut short");
}

}  // namespace blockpub
