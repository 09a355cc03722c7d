// SPDX-License-Identifier: MIT
#include "query/upstream_answer.hpp"

#include "query/json_reader.hpp"

#include <algorithm>
#include <limits>
#include <optional>

namespace blockpub {
namespace {

std::unexpected<Error> no_answer(std::string sentence) {
    return fail(Errc::corrupt, std::move(sentence));
}

bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/// Walks over text that is known to be JSON.
class ValidJson {
 public:
    explicit ValidJson(std::string_view text) : text_(text) {}

    void skip_space() {
        while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    }
    /// Requires: not at the end.
    [[nodiscard]] char next() const { return text_[at_]; }
    void skip() { ++at_; }
    std::string_view take_string() {
        const std::size_t begin = at_++;
        while (text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
        ++at_;
        return text_.substr(begin, at_ - begin);
    }
    std::string_view take_value() {
        const std::size_t begin = at_;
        std::size_t depth = 0;
        do {
            const char c = text_[at_];
            if (c == '"') {
                take_string();
                continue;
            }
            if (c == '{' || c == '[') ++depth;
            if (c == '}' || c == ']') --depth;
            ++at_;
        } while (depth != 0 || (at_ < text_.size() && !ends_value(begin)));
        return text_.substr(begin, at_ - begin);
    }

 private:
    /// Whether the value that began at `begin` is whole, outside of any bracket.
    [[nodiscard]] bool ends_value(std::size_t begin) const {
        const char first = text_[begin];
        if (first == '{' || first == '[' || first == '"') return true;
        const char c = text_[at_];
        return is_space(c) || c == ',' || c == '}' || c == ']';
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

/// The first member of that name as it is written. Requires: JSON whose top is an object.
std::optional<std::string_view> member_text(std::string_view json, std::string_view quoted_name) {
    ValidJson walk(json);
    walk.skip_space();
    walk.skip();
    walk.skip_space();
    while (walk.next() != '}') {
        const std::string_view name = walk.take_string();
        walk.skip_space();
        walk.skip();  // the colon
        walk.skip_space();
        const std::string_view value = walk.take_value();
        if (name == quoted_name) return value;
        walk.skip_space();
        if (walk.next() == ',') walk.skip();
        walk.skip_space();
    }
    return std::nullopt;
}

}  // namespace

Result<UpstreamAnswer> decode_upstream_answer(std::string body, std::string_view id) {
    JsonDocument document;
    if (!document.parse(body)) return no_answer("its reply is not JSON");
    const JsonValue root = document.root();
    if (root.kind() != JsonKind::object) return no_answer("its reply is not JSON-RPC");
    const auto result = member_text(body, "\"result\"");
    const auto error = member_text(body, "\"error\"");
    const JsonValue problem = root.find("error").value_or(JsonValue());
    const JsonValue answered = root.find("id").value_or(JsonValue());
    const bool own_id = answered.is_string() && answered.text() == id;
    if (!problem.is_null()) {
        const auto code = problem.find("code").value_or(JsonValue()).integer();
        const bool fits =
            code && *code >= std::numeric_limits<int>::min() && *code <= std::numeric_limits<int>::max();
        if (problem.kind() != JsonKind::object || !fits || !error || error->front() != '{')
            return no_answer("its error is not one of JSON-RPC");
        // An error that precedes the reading of the call has no id.
        if (!own_id && !answered.is_null()) return no_answer("it answers another call");
        return UpstreamAnswer{.result = {}, .error = std::string(*error), .code = static_cast<int>(*code)};
    }
    if (!result) return no_answer("its reply is not JSON-RPC");
    if (!own_id) return no_answer("it answers another call");
    return UpstreamAnswer{.result = std::string(*result), .error = {}, .code = 0};
}

}  // namespace blockpub
