// SPDX-License-Identifier: MIT
#pragma once

#include "base/hex.hpp"
#include "query/http_message.hpp"

#include <string>
#include <variant>

namespace blockpub::test {

/// A reply's body as it is sent.
inline std::string body_of(const HttpResponse& response) {
    std::string body = response.text;
    const auto add = [&](ByteSpan bytes) {
        body.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    };
    for (const BodyPiece& piece : response.pieces) {
        if (const auto* text = std::get_if<std::string>(&piece)) body += *text;
        if (const auto* shared = std::get_if<SharedBytes>(&piece)) add(shared->bytes());
        if (const auto* mapped = std::get_if<MappedBytes>(&piece)) add(mapped->bytes());
        if (const auto* hex = std::get_if<HexBytes>(&piece)) body += encode_hex(hex->bytes.bytes());
    }
    return body;
}

}  // namespace blockpub::test
