// SPDX-License-Identifier: MIT
#include "query/http_conditional.hpp"

#include "base/ascii.hpp"
#include "base/check.hpp"
#include "base/mapped_read.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace blockpub {

namespace {

/// Digits alone; a number that 64 bits cannot hold counts as their largest.
std::optional<std::uint64_t> number_of(std::string_view digits) {
    if (digits.empty() || !std::ranges::all_of(digits, is_digit)) return std::nullopt;
    std::uint64_t number = 0;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), number).ec != std::errc())
        return UINT64_MAX;
    return number;
}

BodyPiece slice_piece(const BodyPiece& piece, std::size_t offset, std::size_t size) {
    if (const auto* mapped = std::get_if<MappedBytes>(&piece)) return slice_mapped(*mapped, offset, size);
    if (const auto* shared = std::get_if<SharedBytes>(&piece)) return shared->slice(offset, size);
    const auto* text = std::get_if<std::string>(&piece);
    BLOCKPUB_CHECK(text != nullptr, "digits are not sliced");
    return text->substr(offset, size);
}

void keep_range(HttpResponse& response, ByteRange range) {
    std::vector<BodyPiece> pieces = std::move(response.pieces);
    if (!response.text.empty()) pieces.emplace(pieces.begin(), std::move(response.text));
    response.pieces.clear();
    response.text.clear();
    std::uint64_t begin = 0;  // of the piece, within the body
    for (const BodyPiece& piece : pieces) {
        const std::uint64_t end = begin + body_piece_size(piece);
        const std::uint64_t from = std::max(begin, range.first);
        const std::uint64_t to = std::min(end, range.last + 1);
        if (from < to) {
            response.pieces.push_back(slice_piece(piece, static_cast<std::size_t>(from - begin),
                                                  static_cast<std::size_t>(to - from)));
        }
        begin = end;
    }
}

void apply_range(const HttpHead& request, HttpResponse& response) {
    const auto value = request.field("range");
    if (!value || request.method != "GET") return;
    const auto condition = request.field("if-range");
    if (condition && (*condition == "*" || !names_entity_tag(*condition, response.entity_tag))) return;
    const std::uint64_t size = response.body_size();
    const RangeWish wish = parse_range(*value, size);
    if (wish.kind == RangeWish::Kind::unsatisfiable) {
        response.status = 416;
        response.fields += fmt::format("Content-Range: bytes */{}\r\n", size);
        response.text.clear();
        response.pieces.clear();
    } else if (wish.kind == RangeWish::Kind::part) {
        response.status = 206;
        response.fields +=
            fmt::format("Content-Range: bytes {}-{}/{}\r\n", wish.range.first, wish.range.last, size);
        keep_range(response, wish.range);
    }
}

}  // namespace

RangeWish parse_range(std::string_view value, std::uint64_t size) {
    const std::size_t equals = value.find('=');
    if (equals == std::string_view::npos ||
        !equal_ignoring_case(trim_blanks(value.substr(0, equals)), "bytes"))
        return {};
    const std::string_view spec = trim_blanks(value.substr(equals + 1));
    const std::size_t dash = spec.find('-');
    if (dash == std::string_view::npos || spec.find(',') != std::string_view::npos) return {};
    const std::string_view first_text = trim_blanks(spec.substr(0, dash));
    const std::string_view last_text = trim_blanks(spec.substr(dash + 1));
    const auto first = number_of(first_text);
    const auto last = number_of(last_text);
    if ((!first && !first_text.empty()) || (!last && !last_text.empty()) || (!first && !last)) return {};
    const RangeWish unsatisfiable{.kind = RangeWish::Kind::unsatisfiable, .range = {}};
    if (!first) {
        if (*last == 0 || size == 0) return unsatisfiable;
        return {.kind = RangeWish::Kind::part, .range = {size - std::min(*last, size), size - 1}};
    }
    if (last && *last < *first) return {};
    if (*first >= size) return unsatisfiable;
    return {.kind = RangeWish::Kind::part, .range = {*first, std::min(last.value_or(size - 1), size - 1)}};
}

bool names_entity_tag(std::string_view value, std::string_view tag) {
    if (trim_blanks(value) == "*") return true;
    while (true) {
        const std::size_t comma = value.find(',');
        std::string_view name = trim_blanks(value.substr(0, comma));
        if (name.starts_with("W/")) name.remove_prefix(2);
        if (name.size() == tag.size() + 2 && name.front() == '"' && name.back() == '"' &&
            name.substr(1, tag.size()) == tag)
            return true;
        if (comma == std::string_view::npos) return false;
        value.remove_prefix(comma + 1);
    }
}

void apply_conditions(const HttpHead& request, HttpResponse& response) {
    if (response.status != 200 || response.entity_tag.empty()) return;
    response.fields += fmt::format("ETag: \"{}\"\r\nCache-Control: public, max-age=31536000, immutable\r\n",
                                   response.entity_tag);
    if (response.takes_ranges) response.fields += "Accept-Ranges: bytes\r\n";
    const auto known = request.field("if-none-match");
    if (known && (request.method == "GET" || request.method == "HEAD") &&
        names_entity_tag(*known, response.entity_tag)) {
        response.status = 304;
        response.text.clear();
        response.pieces.clear();
        return;
    }
    if (response.takes_ranges) apply_range(request, response);
}

}  // namespace blockpub
