// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace blockpub {

enum class JsonKind : std::uint8_t { null, boolean, number, string, array, object };

/// The word that RPC error texts use for a kind: null, bool, number, string, array, object.
[[nodiscard]] std::string_view json_kind_name(JsonKind kind);

class JsonDocument;

/// One value within a JsonDocument; the empty one is null.
/// Thread safety: immutable.
/// Ownership: borrows the document, which must outlive it and not move.
class JsonValue {
 public:
    JsonValue() = default;

    [[nodiscard]] JsonKind kind() const;
    [[nodiscard]] bool is_null() const { return kind() == JsonKind::null; }
    [[nodiscard]] bool is_string() const { return kind() == JsonKind::string; }
    /// Whether it is the literal `true`.
    [[nodiscard]] bool is_true() const;
    /// A string without its quotes and escapes, a number exactly as it was written; empty for the other
    /// kinds.
    [[nodiscard]] std::string_view text() const;
    /// Elements of an array, members of an object; 0 for the other kinds.
    [[nodiscard]] std::size_t size() const;
    /// The number as an integer. Nothing for a fraction, an exponent, or what 64 bits cannot hold.
    [[nodiscard]] std::optional<std::int64_t> integer() const;
    /// The first member of that name. Nothing when there is none, or for another kind.
    [[nodiscard]] std::optional<JsonValue> find(std::string_view name) const;
    /// Element `position` of an array; the empty value beyond its end. Takes time with the position: use a
    /// cursor for a walk.
    [[nodiscard]] JsonValue at(std::size_t position) const;

    /// Walks an array's elements, or an object's members.
    class Cursor {
     public:
        explicit Cursor(JsonValue container);
        [[nodiscard]] bool done() const { return left_ == 0; }
        /// Requires: !done() and an object.
        [[nodiscard]] std::string_view name() const;
        /// Requires: !done().
        [[nodiscard]] JsonValue value() const;
        void next();

     private:
        const JsonDocument* document_ = nullptr;
        std::uint32_t at_ = 0;
        std::size_t left_ = 0;
        bool named_ = false;
    };

 private:
    friend class JsonDocument;
    JsonValue(const JsonDocument* document, std::uint32_t node) : document_(document), node_(node) {}

    const JsonDocument* document_ = nullptr;
    std::uint32_t node_ = 0;
};

/// Parsed JSON text, as one flat list of values that points into the text: long strings are not copied,
/// numbers keep the digits they came with, and freeing takes no recursion.
///
/// Strict RFC 8259 in UTF-8; members of the same name are all kept.
/// Thread safety: immutable after parse.
class JsonDocument {
 public:
    static constexpr std::size_t kMaxDepth = 512;
    static constexpr std::size_t kMaxValues = std::size_t{4} << 20;
    static constexpr std::size_t kMaxText = std::size_t{1} << 30;

    JsonDocument() = default;
    JsonDocument(const JsonDocument&) = delete;
    JsonDocument& operator=(const JsonDocument&) = delete;

    /// Result: false when the text is not JSON, nests deeper than kMaxDepth, or holds more than kMaxValues;
    /// the root is null then. Takes no longer than the text is long.
    [[nodiscard]] bool parse(std::string text);
    [[nodiscard]] JsonValue root() const { return nodes_.empty() ? JsonValue() : JsonValue(this, 0); }

 private:
    friend class JsonValue;
    class Parser;

    struct Node {
        JsonKind kind;
        bool flag;            // boolean: its value; string: lies in unescaped_
        std::uint32_t begin;  // string, number: where its text begins
        std::uint32_t size;   // string, number: length; array, object: elements
        std::uint32_t next;   // the node behind this value and all within it
    };

    std::string text_;
    std::string unescaped_;    // strings that had escapes
    std::vector<Node> nodes_;  // an object's members: name and value in turn
};

}  // namespace blockpub
