// SPDX-License-Identifier: MIT
#include "query/rest_target.hpp"

#include "base/ascii.hpp"

#include <algorithm>

namespace blockpub {

namespace {

/// A `%` and two digits. Requires: at < text.size().
bool is_escape(std::string_view text, std::size_t at) {
    return text[at] == '%' && at + 2 < text.size() && hex_digit(text[at + 1]) >= 0 &&
           hex_digit(text[at + 2]) >= 0;
}

/// Whether path, query and fragment hold only what RFC 3986 lets them hold.
bool is_valid_uri(std::string_view target) {
    bool fragment = false;
    for (std::size_t i = 0; i < target.size(); ++i) {
        const char c = target[i];
        if (is_alphanumeric(c) || std::string_view("-._~!$&'()*+,;=:@/").find(c) != std::string_view::npos)
            continue;
        if (is_escape(target, i)) {
            i += 2;
        } else if (c == '#' && !fragment) {
            fragment = true;
        } else if (c != '?') {
            return false;
        }
    }
    return true;
}

/// A value as libevent decodes it; what it would cut off at a NUL is cut off here, too.
std::string decode(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        char c = text[i];
        if (c == '+') {
            c = ' ';
        } else if (is_escape(text, i)) {
            c = static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
            i += 2;
        }
        if (c == '\0') break;
        out += c;
    }
    return out;
}

}  // namespace

std::vector<std::string_view> RestTarget::parts() const {
    std::vector<std::string_view> parts;
    std::string_view rest = parameter;
    while (true) {
        const std::size_t slash = rest.find('/');
        parts.push_back(rest.substr(0, slash));
        if (slash == std::string_view::npos) return parts;
        rest.remove_prefix(slash + 1);
    }
}

RestTarget parse_rest_target(std::string_view behind_prefix) {
    RestTarget target{.parameter = behind_prefix.substr(0, behind_prefix.rfind('?'))};
    const std::size_t dot = target.parameter.rfind('.');
    if (dot == std::string_view::npos) return target;
    const std::string_view suffix = target.parameter.substr(dot + 1);
    if (suffix == "bin") target.format = RestFormat::binary;
    if (suffix == "hex") target.format = RestFormat::hex;
    if (suffix == "json") target.format = RestFormat::json;
    if (target.format != RestFormat::none) target.parameter = target.parameter.substr(0, dot);
    return target;
}

QueryValue query_value(std::string_view target, std::string_view name) {
    if (!is_valid_uri(target)) return {.malformed = true};
    const std::size_t hash = target.find('#');
    target = target.substr(0, hash);
    const std::size_t mark = target.find('?');
    if (mark == std::string_view::npos) return {};
    std::string_view query = target.substr(mark + 1);
    QueryValue found;
    while (!query.empty()) {
        const std::size_t end = query.find('&');
        const std::string_view part = query.substr(0, end);
        const std::size_t equals = part.find('=');
        if (equals == std::string_view::npos || equals == 0) return {};
        if (!found.value && part.substr(0, equals) == name) found.value = decode(part.substr(equals + 1));
        if (end == std::string_view::npos) break;
        query.remove_prefix(end + 1);
    }
    return found;
}

}  // namespace blockpub
