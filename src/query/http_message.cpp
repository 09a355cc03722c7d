// SPDX-License-Identifier: MIT
#include "query/http_message.hpp"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <iterator>
#include <memory>

namespace blockpub {

HexBytes::HexBytes(SharedBytes source) {
    auto held = std::make_shared<const SharedBytes>(std::move(source));
    const ByteSpan view = held->bytes();
    bytes = MappedBytes(view, std::move(held));
}

std::size_t body_piece_size(const BodyPiece& piece) {
    if (const auto* hex = std::get_if<HexBytes>(&piece)) return 2 * hex->bytes.size();
    if (const auto* shared = std::get_if<SharedBytes>(&piece)) return shared->size();
    if (const auto* mapped = std::get_if<MappedBytes>(&piece)) return mapped->size();
    return std::get<std::string>(piece).size();
}

std::size_t HttpResponse::body_size() const {
    std::size_t size = text.size();
    for (const BodyPiece& piece : pieces) size += body_piece_size(piece);
    return size;
}

std::size_t HttpResponse::memory() const {
    std::size_t size = text.capacity() + shared_text;
    bool digits = false;
    for (const BodyPiece& piece : pieces) {
        if (const auto* part = std::get_if<std::string>(&piece)) size += part->capacity();
        digits = digits || std::holds_alternative<HexBytes>(piece);
        size += sizeof piece;
    }
    return size + (digits ? kHexMemory : 0);
}

bool response_has_body(int status, std::string_view method) {
    return status >= 200 && status != 204 && status != 304 && method != "HEAD";
}

std::string_view reason_phrase(int status) {
    switch (status) {
        case 100:
            return "Continue";
        case 200:
            return "OK";
        case 204:
            return "No Content";
        case 206:
            return "Partial Content";
        case 304:
            return "Not Modified";
        case 400:
            return "Bad Request";
        case 401:
            return "Unauthorized";
        case 403:
            return "Forbidden";
        case 404:
            return "Not Found";
        case 405:
            return "Method Not Allowed";
        case 408:
            return "Request Time-out";
        case 413:
            return "Request Entity Too Large";
        case 416:
            return "Requested range not satisfiable";
        case 417:
            return "Expectation Failed";
        case 500:
            return "Internal Server Error";
        case 501:
            return "Not Implemented";
        case 503:
            return "Service Unavailable";
        default:
            return "Status";
    }
}

namespace {

void append_date(std::string& out, std::time_t time) {
    static constexpr std::string_view kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static constexpr std::string_view kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    std::tm utc{};
    ::gmtime_r(&time, &utc);
    fmt::format_to(std::back_inserter(out), FMT_COMPILE("{}, {:02d} {} {:04d} {:02d}:{:02d}:{:02d} GMT"),
                   kDays[utc.tm_wday], utc.tm_mday, kMonths[utc.tm_mon], utc.tm_year + 1900, utc.tm_hour,
                   utc.tm_min, utc.tm_sec);
}

}  // namespace

std::string http_date(std::time_t time) {
    std::string out;
    append_date(out, time);
    return out;
}

void append_response_head(std::string& out, const HttpResponse& response, const HttpHead& request,
                          std::time_t now) {
    const bool has_body = response_has_body(response.status, request.method);
    const auto append = std::back_inserter(out);
    fmt::format_to(append, FMT_COMPILE("HTTP/1.{} {} {}\r\n"), request.minor_version == 0 ? 0 : 1,
                   response.status, reason_phrase(response.status));
    if (!response.content_type.empty())
        fmt::format_to(append, FMT_COMPILE("Content-Type: {}\r\n"), response.content_type);
    out += response.fields;
    if (request.minor_version >= 1) {
        out += "Date: ";
        append_date(out, now);
        out += "\r\n";
    }
    const bool close = response.close || request.asks_close;
    if (request.minor_version == 0 && request.asks_keep_alive && !close) out += "Connection: keep-alive\r\n";
    // HEAD is told the length that GET would get; an error has none.
    if (has_body || (response.status == 200 && request.method == "HEAD"))
        fmt::format_to(append, FMT_COMPILE("Content-Length: {}\r\n"), response.body_size());
    if (has_body) {
        if (response.content_type.empty()) out += "Content-Type: text/html; charset=ISO-8859-1\r\n";
    }
    if (close) out += "Connection: close\r\n";
    out += "\r\n";
}

}  // namespace blockpub
