// SPDX-License-Identifier: MIT
#include "query/json_writer.hpp"

#include "base/hex.hpp"
#include "base/mapped_read.hpp"
#include "base/text_appender.hpp"
#include "query/json_reader.hpp"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <iterator>

namespace blockpub {

void JsonWriter::separate() {
    if (comma_) out_ += ',';
    comma_ = true;
}

void JsonWriter::open(char bracket) {
    separate();
    out_ += bracket;
    comma_ = false;
}

void JsonWriter::close(char bracket) {
    out_ += bracket;
    comma_ = true;
}

void JsonWriter::key(std::string_view name) {
    separate();
    quote(name);
    out_ += ':';
    comma_ = false;
}

void JsonWriter::literal(std::string_view json) {
    separate();
    out_ += json;
}

void JsonWriter::integer(std::int64_t value) {
    separate();
    fmt::format_to(std::back_inserter(out_), FMT_COMPILE("{}"), value);
}

void JsonWriter::unsigned_integer(std::uint64_t value) {
    separate();
    fmt::format_to(std::back_inserter(out_), FMT_COMPILE("{}"), value);
}

void JsonWriter::real(double value) {
    separate();
    fmt::format_to(std::back_inserter(out_), FMT_COMPILE("{:.16g}"), value);
}

void JsonWriter::amount(std::int64_t satoshi) {
    raw([&](std::string& out) { TextAppender(out).amount(satoshi); });
}

void JsonWriter::string(std::string_view text) {
    separate();
    quote(text);
}

void JsonWriter::hex(ByteSpan bytes) {
    separate();
    const std::size_t begin = out_.size();
    const std::size_t end = begin + 2 * bytes.size() + 2;
    // Written over at once: no digit is stored twice. libstdc++ 12 hands the new capacity on as the size.
    out_.resize_and_overwrite(end, [&](char* data, std::size_t) {
        data[begin] = '"';
        encode_hex_to(bytes, data + begin + 1);
        data[end - 1] = '"';
        return end;
    });
}

Result<void> JsonWriter::hex(const MappedBytes& bytes) {
    if (splices_ == nullptr || bytes.size() <= kSpliced) {
        std::vector<std::uint8_t> copy(bytes.size());
        if (auto read = read_mapped(bytes, 0, copy); !read) return read;
        hex(copy);
        return {};
    }
    separate();
    out_ += '"';
    splices_->push_back({out_.size(), bytes});
    out_ += '"';
    return {};
}

void JsonWriter::quote(std::string_view text) {
    out_ += '"';
    std::size_t written = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto c = static_cast<unsigned char>(text[i]);
        if (c >= 0x20 && c != '"' && c != '\\' && c != 0x7f) [[likely]]
            continue;
        out_.append(text, written, i - written);
        written = i + 1;
        switch (c) {
            case '"':
                out_ += "\\\"";
                break;
            case '\\':
                out_ += "\\\\";
                break;
            case '\b':
                out_ += "\\b";
                break;
            case '\t':
                out_ += "\\t";
                break;
            case '\n':
                out_ += "\\n";
                break;
            case '\f':
                out_ += "\\f";
                break;
            case '\r':
                out_ += "\\r";
                break;
            default:
                fmt::format_to(std::back_inserter(out_), FMT_COMPILE("\\u{:04x}"), c);
        }
    }
    out_.append(text, written, text.size() - written);
    out_ += '"';
}

void JsonWriter::copy(JsonValue value) {
    switch (value.kind()) {
        case JsonKind::null:
            null();
            break;
        case JsonKind::boolean:
            boolean(value.is_true());
            break;
        case JsonKind::number:
            literal(value.text());
            break;
        case JsonKind::string:
            string(value.text());
            break;
        case JsonKind::array:
            begin_array();
            for (JsonValue::Cursor c(value); !c.done(); c.next()) copy(c.value());
            end_array();
            break;
        case JsonKind::object:
            begin_object();
            for (JsonValue::Cursor c(value); !c.done(); c.next()) {
                key(c.name());
                copy(c.value());
            }
            end_object();
            break;
    }
}

}  // namespace blockpub
