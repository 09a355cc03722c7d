// SPDX-License-Identifier: MIT
#include "base/ascii.hpp"
#include "query/json_reader.hpp"

#include <cstring>
#include <utility>

namespace blockpub {

namespace {

/// Whether a word of eight bytes has none that a string must be looked at for: quote, backslash, control,
/// non-ASCII.
bool plain_word(std::uint64_t word) {
    constexpr std::uint64_t kOnes = 0x0101010101010101;
    constexpr std::uint64_t kHigh = 0x8080808080808080;
    const auto has_zero = [](std::uint64_t v) { return (v - kOnes) & ~v & kHigh; };
    const std::uint64_t control = (word - kOnes * 0x20) & ~word & kHigh;
    return ((word & kHigh) | control | has_zero(word ^ (kOnes * '"')) | has_zero(word ^ (kOnes * '\\'))) == 0;
}

using Chars16 [[gnu::vector_size(16)]] = signed char;

constexpr std::size_t kStride = 64;

/// As plain_word, of `kStride` characters.
bool plain_stride(const char* p) {
    Chars16 special{};
    for (std::size_t i = 0; i < kStride; i += sizeof(Chars16)) {
        Chars16 in;
        std::memcpy(&in, p + i, sizeof in);
        // Signed: what is not ASCII is below the blank, too.
        special |= (in < ' ') | (in == '"') | (in == '\\');
    }
    std::uint64_t halves[2];
    std::memcpy(halves, &special, sizeof halves);
    return (halves[0] | halves[1]) == 0;
}

/// Length of the UTF-8 sequence at `p`, 0 when it is not one (overlong, surrogate, beyond U+10FFFF, cut
/// short).
std::size_t utf8_sequence(const char* p, std::size_t left) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(p[i]); };
    const auto tail = [&](std::size_t i) { return i < left && (byte(i) & 0xc0) == 0x80; };
    const unsigned first = byte(0);
    if (first < 0x80) return 1;
    if (first >= 0xc2 && first <= 0xdf) return tail(1) ? 2 : 0;
    if (first >= 0xe0 && first <= 0xef) {
        if (!tail(1) || !tail(2)) return 0;
        if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f)) return 0;
        return 3;
    }
    if (first >= 0xf0 && first <= 0xf4) {
        if (!tail(1) || !tail(2) || !tail(3)) return 0;
        if ((first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f)) return 0;
        return 4;
    }
    return 0;
}

void append_utf8(std::string& out, std::uint32_t code) {
    if (code < 0x80) {
        out += static_cast<char>(code);
    } else if (code < 0x800) {
        out += static_cast<char>(0xc0 | code >> 6);
        out += static_cast<char>(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        out += static_cast<char>(0xe0 | code >> 12);
        out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
        out += static_cast<char>(0x80 | (code & 0x3f));
    } else {
        out += static_cast<char>(0xf0 | code >> 18);
        out += static_cast<char>(0x80 | (code >> 12 & 0x3f));
        out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
        out += static_cast<char>(0x80 | (code & 0x3f));
    }
}

}  // namespace

/// Fills a document's list of values; without recursion, so that nesting costs no stack.
class JsonDocument::Parser {
 public:
    explicit Parser(JsonDocument& document)
        : text_(document.text_), unescaped_(document.unescaped_), nodes_(document.nodes_) {}

    bool run() {
        skip_space();
        if (!value()) return false;
        while (depth_ > 0) {
            if (!step()) return false;
        }
        skip_space();
        return at_ == text_.size();
    }

 private:
    /// What follows within the innermost open container: its end, or the next element.
    bool step() {
        skip_space();
        const std::uint32_t container = open_[depth_ - 1];
        const bool object = nodes_[container].kind == JsonKind::object;
        const bool first = nodes_[container].size == 0;
        if (at_ == text_.size()) return false;
        if (text_[at_] == (object ? '}' : ']')) {
            ++at_;
            nodes_[container].next = static_cast<std::uint32_t>(nodes_.size());
            --depth_;
            return true;
        }
        if (!first) {
            if (!take(',')) return false;
            skip_space();
        }
        if (object) {
            if (!string()) return false;
            skip_space();
            if (!take(':')) return false;
            skip_space();
        }
        ++nodes_[container].size;
        return value();
    }

    bool value() {
        if (at_ == text_.size()) return false;
        switch (text_[at_]) {
            case '{':
                return open(JsonKind::object);
            case '[':
                return open(JsonKind::array);
            case '"':
                return string();
            case 't':
                return word("true", JsonKind::boolean, true);
            case 'f':
                return word("false", JsonKind::boolean, false);
            case 'n':
                return word("null", JsonKind::null, false);
            default:
                return number();
        }
    }

    bool open(JsonKind kind) {
        if (depth_ == kMaxDepth) return false;
        open_[depth_++] = static_cast<std::uint32_t>(nodes_.size());
        ++at_;
        return add(kind, false, 0, 0);
    }

    bool word(std::string_view letters, JsonKind kind, bool flag) {
        if (std::string_view(text_).substr(at_, letters.size()) != letters) return false;
        at_ += letters.size();
        return add(kind, flag, 0, 0);
    }

    bool number() {
        const std::size_t begin = at_;
        if (peek() == '-') ++at_;
        if (peek() == '0') {
            ++at_;
        } else if (!digits()) {
            return false;
        }
        if (peek() == '.') {
            ++at_;
            if (!digits()) return false;
        }
        if (peek() == 'e' || peek() == 'E') {
            ++at_;
            if (peek() == '+' || peek() == '-') ++at_;
            if (!digits()) return false;
        }
        return add(JsonKind::number, false, begin, at_ - begin);
    }

    bool digits() {
        const std::size_t begin = at_;
        while (is_digit(peek())) ++at_;
        return at_ != begin;
    }

    bool string() {
        if (!take('"')) return false;
        const std::size_t begin = at_;
        if (!plain_run()) return false;
        if (text_[at_] == '"') return add(JsonKind::string, false, begin, at_++ - begin);

        // An escape: from here on the string is put together elsewhere.
        const std::size_t start = unescaped_.size();
        unescaped_.append(text_, begin, at_ - begin);
        while (text_[at_] != '"') {
            if (!escape()) return false;
            const std::size_t run = at_;
            if (!plain_run()) return false;
            unescaped_.append(text_, run, at_ - run);
        }
        ++at_;
        return add(JsonKind::string, true, start, unescaped_.size() - start);
    }

    /// Goes on to the next quote or backslash. Result: false at a control character, bad UTF-8, or the text's
    /// end.
    bool plain_run() {
        while (true) {
            while (at_ + kStride <= text_.size() && plain_stride(text_.data() + at_)) at_ += kStride;
            std::uint64_t eight;
            while (at_ + sizeof eight <= text_.size()) {
                std::memcpy(&eight, text_.data() + at_, sizeof eight);
                if (!plain_word(eight)) break;
                at_ += sizeof eight;
            }
            if (at_ == text_.size()) return false;
            const char c = text_[at_];
            if (c == '"' || c == '\\') return true;
            if (static_cast<unsigned char>(c) < 0x20) return false;
            const std::size_t length = utf8_sequence(text_.data() + at_, text_.size() - at_);
            if (length == 0) return false;
            at_ += length;
        }
    }

    bool escape() {
        ++at_;
        if (at_ == text_.size()) return false;
        switch (text_[at_++]) {
            case '"':
                unescaped_ += '"';
                return true;
            case '\\':
                unescaped_ += '\\';
                return true;
            case '/':
                unescaped_ += '/';
                return true;
            case 'b':
                unescaped_ += '\b';
                return true;
            case 'f':
                unescaped_ += '\f';
                return true;
            case 'n':
                unescaped_ += '\n';
                return true;
            case 'r':
                unescaped_ += '\r';
                return true;
            case 't':
                unescaped_ += '\t';
                return true;
            case 'u':
                return unicode_escape();
            default:
                return false;
        }
    }

    bool unicode_escape() {
        std::uint32_t code;
        if (!four_digits(code)) return false;
        if (code >= 0xdc00 && code <= 0xdfff) return false;
        if (code >= 0xd800 && code <= 0xdbff) {
            std::uint32_t low;
            if (!take('\\') || !take('u') || !four_digits(low) || low < 0xdc00 || low > 0xdfff) return false;
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        }
        append_utf8(unescaped_, code);
        return true;
    }

    bool four_digits(std::uint32_t& code) {
        if (text_.size() - at_ < 4) return false;
        code = 0;
        for (int i = 0; i < 4; ++i) {
            const int digit = hex_digit(text_[at_++]);
            if (digit < 0) return false;
            code = code << 4 | static_cast<std::uint32_t>(digit);
        }
        return true;
    }

    bool add(JsonKind kind, bool flag, std::size_t begin, std::size_t size) {
        if (nodes_.size() == kMaxValues) return false;
        const auto next = static_cast<std::uint32_t>(nodes_.size() + 1);
        nodes_.push_back(
            {kind, flag, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(size), next});
        return true;
    }

    [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    bool take(char c) {
        if (peek() != c) return false;
        ++at_;
        return true;
    }
    void skip_space() {
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (c != ' ' && c != '\n' && c != '\r' && c != '\t') return;
            ++at_;
        }
    }

    const std::string& text_;
    std::string& unescaped_;
    std::vector<Node>& nodes_;
    std::size_t at_ = 0;
    std::size_t depth_ = 0;
    std::uint32_t open_[kMaxDepth];  // innermost containers not closed yet
};

bool JsonDocument::parse(std::string text) {
    text_ = std::move(text);
    unescaped_.clear();
    nodes_.clear();
    if (text_.size() <= kMaxText && Parser(*this).run()) return true;
    nodes_.clear();
    return false;
}

}  // namespace blockpub
