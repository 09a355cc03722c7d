// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace blockpub {

/// Appends to a string through a raw pointer: for long texts made of many short pieces.
///
/// The string's size is wrong, and its bytes behind the text are unwritten, until the appender is destroyed.
/// Thread safety: one thread at a time.
/// Ownership: borrows the string, and nobody else uses it meanwhile.
class TextAppender {
 public:
    explicit TextAppender(std::string& text);
    ~TextAppender();
    TextAppender(const TextAppender&) = delete;
    TextAppender& operator=(const TextAppender&) = delete;

    /// Bytes appended to the string so far, with those that were in it before.
    [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(next_ - text_.data()); }
    /// A part of the text. Valid until the next append.
    [[nodiscard]] std::string_view view(std::size_t begin, std::size_t length) const {
        return {text_.data() + begin, length};
    }

    /// Room for `size` more characters; `advance` says up to where they were written.
    [[nodiscard]] char* room(std::size_t size) {
        if (static_cast<std::size_t>(end_ - next_) < size) [[unlikely]]
            grow(size);
        return next_;
    }
    void advance(char* end) { next_ = end; }

    void character(char c) {
        *room(1) = c;
        ++next_;
    }
    void text(std::string_view piece) {
        std::memcpy(room(piece.size()), piece.data(), piece.size());
        next_ += piece.size();
    }
    /// Text that stands in the appender already, once more.
    void repeat(std::size_t begin, std::size_t length) {
        char* out = room(length);
        std::memcpy(out, text_.data() + begin, length);
        next_ += length;
    }
    /// Lower-case hexadecimal digits.
    void hex(ByteSpan bytes);
    /// The same of the bytes in reverse order: a hash as it is displayed.
    void reversed_hex(ByteSpan bytes);
    void integer(std::int64_t value);
    void unsigned_integer(std::uint64_t value);
    /// An amount of satoshi as bitcoin with eight decimals.
    void amount(std::int64_t satoshi);

 private:
    void grow(std::size_t size);

    std::string& text_;
    char* next_;
    char* end_;
};

}  // namespace blockpub
