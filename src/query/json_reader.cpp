// SPDX-License-Identifier: MIT
#include "query/json_reader.hpp"

#include "base/check.hpp"

#include <charconv>

namespace blockpub {

std::string_view json_kind_name(JsonKind kind) {
    switch (kind) {
        case JsonKind::null:
            return "null";
        case JsonKind::boolean:
            return "bool";
        case JsonKind::number:
            return "number";
        case JsonKind::string:
            return "string";
        case JsonKind::array:
            return "array";
        case JsonKind::object:
            return "object";
    }
    return "null";
}

JsonKind JsonValue::kind() const {
    return document_ == nullptr ? JsonKind::null : document_->nodes_[node_].kind;
}

bool JsonValue::is_true() const {
    return kind() == JsonKind::boolean && document_->nodes_[node_].flag;
}

std::string_view JsonValue::text() const {
    const JsonKind k = kind();
    if (k != JsonKind::string && k != JsonKind::number) return {};
    const auto& node = document_->nodes_[node_];
    return std::string_view(node.flag ? document_->unescaped_ : document_->text_)
        .substr(node.begin, node.size);
}

std::size_t JsonValue::size() const {
    const JsonKind k = kind();
    return k == JsonKind::array || k == JsonKind::object ? document_->nodes_[node_].size : 0;
}

std::optional<std::int64_t> JsonValue::integer() const {
    if (kind() != JsonKind::number) return std::nullopt;
    const std::string_view digits = text();
    std::int64_t result = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), result);
    if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return result;
}

std::optional<JsonValue> JsonValue::find(std::string_view name) const {
    if (kind() != JsonKind::object) return std::nullopt;
    for (Cursor cursor(*this); !cursor.done(); cursor.next()) {
        if (cursor.name() == name) return cursor.value();
    }
    return std::nullopt;
}

JsonValue JsonValue::at(std::size_t position) const {
    if (kind() != JsonKind::array) return {};
    Cursor cursor(*this);
    for (; !cursor.done() && position > 0; --position) cursor.next();
    return cursor.done() ? JsonValue() : cursor.value();
}

JsonValue::Cursor::Cursor(JsonValue container)
    : document_(container.document_),
      at_(container.node_ + 1),
      left_(container.size()),
      named_(container.kind() == JsonKind::object) {}

std::string_view JsonValue::Cursor::name() const {
    BLOCKPUB_CHECK(left_ > 0 && named_);
    return JsonValue(document_, at_).text();
}

JsonValue JsonValue::Cursor::value() const {
    BLOCKPUB_CHECK(left_ > 0);
    return JsonValue(document_, at_ + (named_ ? 1 : 0));
}

void JsonValue::Cursor::next() {
    BLOCKPUB_CHECK(left_ > 0);
    at_ = document_->nodes_[at_ + (named_ ? 1 : 0)].next;
    --left_;
}

}  // namespace blockpub
