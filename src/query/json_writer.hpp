// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/bytes.hpp>
#include <blockpub/result.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace blockpub {

class JsonValue;

/// Bytes whose hexadecimal digits belong at a place in a text, but are not in it.
struct JsonSplice {
    std::size_t at = 0;
    MappedBytes bytes;
};

/// Appends compact JSON to a string, once and in order, as bitcoind's own writer spells it.
///
/// Thread safety: one thread at a time.
/// Ownership: borrows the string and the list of splices.
/// Source: Bitcoin Core v28 src/univalue: escapes, 16 significant digits for reals.
class JsonWriter {
 public:
    explicit JsonWriter(std::string& out, std::vector<JsonSplice>* splices = nullptr)
        : out_(out), splices_(splices) {}

    void begin_object() { open('{'); }
    void end_object() { close('}'); }
    void begin_array() { open('['); }
    void end_array() { close(']'); }
    /// Name of the member whose value comes next.
    void key(std::string_view name);

    void null() { literal("null"); }
    void boolean(bool value) { literal(value ? "true" : "false"); }
    void integer(std::int64_t value);
    void unsigned_integer(std::uint64_t value);
    void real(double value);
    void string(std::string_view text);
    /// A string of hexadecimal digits.
    void hex(ByteSpan bytes);
    /// The same of stored bytes. Where there is a list of splices, they are read when they are sent.
    /// Errors: those of reading them; nothing has been written then.
    [[nodiscard]] Result<void> hex(const MappedBytes& bytes);
    /// A value that is JSON already.
    void literal(std::string_view json);
    /// What `append(std::string&)` appends: a value that is JSON already, or members of an object.
    template <class Append>
    void raw(Append&& append) {
        separate();
        append(out_);
    }
    /// An amount of satoshi as bitcoin with eight decimals.
    void amount(std::int64_t satoshi);
    /// A parsed value: numbers as they came, strings in this writer's escapes, members in their order.
    void copy(JsonValue value);

    void member(std::string_view name, std::string_view text) { key(name), string(text); }
    void member(std::string_view name, const char* text) { key(name), string(text); }
    void member(std::string_view name, bool value) { key(name), boolean(value); }
    void member(std::string_view name, double value) { key(name), real(value); }
    void member(std::string_view name, std::int64_t value) { key(name), integer(value); }
    void member(std::string_view name, std::uint64_t value) { key(name), unsigned_integer(value); }
    void member(std::string_view name, std::int32_t value) { key(name), integer(value); }
    void member(std::string_view name, std::uint32_t value) { key(name), unsigned_integer(value); }

    /// A point to come back to when what was begun there turns out to be an error.
    struct Mark {
        std::size_t size;
        std::size_t splices;
        bool comma;
    };
    [[nodiscard]] Mark mark() const {
        return {out_.size(), splices_ == nullptr ? 0 : splices_->size(), comma_};
    }
    void rewind(Mark mark) {
        out_.resize(mark.size);
        if (splices_ != nullptr) splices_->resize(mark.splices);
        comma_ = mark.comma;
    }

 private:
    static constexpr std::size_t kSpliced = 4096;  // shorter ones are written at once

    void open(char bracket);
    void close(char bracket);
    void separate();
    void quote(std::string_view text);

    std::string& out_;
    std::vector<JsonSplice>* splices_;
    bool comma_ = false;  // a value stands before what comes next
};

}  // namespace blockpub
