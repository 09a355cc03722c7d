// SPDX-License-Identifier: MIT
#include "base/text_appender.hpp"

#include "base/hex.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace blockpub {
namespace {

constexpr std::size_t kIntegerLength = 20;  // of a 64-bit number with its sign
constexpr std::uint64_t kSatoshi = 100'000'000;

/// Opens all of a string's capacity, at least `capacity`, without writing to it.
void open_to(std::string& text, std::size_t capacity) {
    text.resize_and_overwrite(std::max(capacity, text.capacity()),
                              [](char*, std::size_t size) { return size; });
}

/// Eight digits with leading zeros.
void write_eight_digits(char* out, std::uint32_t number) {
    for (int i = 7; i >= 0; --i) {
        out[i] = static_cast<char>('0' + number % 10);
        number /= 10;
    }
}

}  // namespace

TextAppender::TextAppender(std::string& text) : text_(text) {
    const std::size_t used = text.size();
    open_to(text, used);
    next_ = text.data() + used;
    end_ = text.data() + text.size();
}

TextAppender::~TextAppender() {
    text_.resize(size());
}

void TextAppender::grow(std::size_t size) {
    const std::size_t used = this->size();
    open_to(text_, std::max(used + size, 2 * text_.capacity()));
    next_ = text_.data() + used;
    end_ = text_.data() + text_.size();
}

void TextAppender::hex(ByteSpan bytes) {
    encode_hex_to(bytes, room(2 * bytes.size()));
    next_ += 2 * bytes.size();
}

void TextAppender::reversed_hex(ByteSpan bytes) {
    std::array<std::uint8_t, 64> reversed;
    std::size_t left = bytes.size();
    while (left > 0) {
        const std::size_t part = std::min(left, reversed.size());
        std::reverse_copy(bytes.begin() + static_cast<std::ptrdiff_t>(left - part),
                          bytes.begin() + static_cast<std::ptrdiff_t>(left), reversed.begin());
        hex(ByteSpan(reversed).first(part));
        left -= part;
    }
}

void TextAppender::integer(std::int64_t value) {
    char* out = room(kIntegerLength);
    next_ = std::to_chars(out, out + kIntegerLength, value).ptr;
}

void TextAppender::unsigned_integer(std::uint64_t value) {
    char* out = room(kIntegerLength);
    next_ = std::to_chars(out, out + kIntegerLength, value).ptr;
}

void TextAppender::amount(std::int64_t satoshi) {
    char* out = room(kIntegerLength + 2);
    if (satoshi < 0) *out++ = '-';
    const std::uint64_t magnitude =
        satoshi < 0 ? 0 - static_cast<std::uint64_t>(satoshi) : static_cast<std::uint64_t>(satoshi);
    out = std::to_chars(out, out + kIntegerLength, magnitude / kSatoshi).ptr;
    *out++ = '.';
    write_eight_digits(out, static_cast<std::uint32_t>(magnitude % kSatoshi));
    next_ = out + 8;
}

}  // namespace blockpub
