// SPDX-License-Identifier: MIT
#include "query/http_head.hpp"

#include "base/check.hpp"
#include "query/http_chunks.hpp"
#include "query/rpc_auth.hpp"

#include <algorithm>
#include <string>

using namespace blockpub;

namespace {

bool lies_within(std::string_view part, const std::string& whole) {
    return part.empty() ||
           (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

/// The whole body, fed in pieces of `piece` bytes.
ChunkDecoder::State decode(std::string_view coded, std::size_t piece, std::string& body, std::size_t& taken) {
    ChunkDecoder decoder(100'000);
    auto state = ChunkDecoder::State::more;
    taken = 0;
    while (state == ChunkDecoder::State::more && taken < coded.size()) {
        std::string_view part = coded.substr(taken, piece);
        const std::size_t size = part.size();
        state = decoder.feed(part, &body);
        taken += size - part.size();
    }
    BLOCKPUB_CHECK(body.size() == decoder.size() && body.size() <= 100'000);
    return state;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    std::string stream(reinterpret_cast<const char*>(bytes), size);
    stream.erase(0, leading_blank_lines(stream));

    std::size_t scanned = 0;
    const auto end = find_head_end(stream, scanned);
    std::size_t piecewise = 0;
    for (std::size_t known = 0; known < std::min(end.value_or(stream.size()), kMaxHttpHead); ++known) {
        BLOCKPUB_CHECK(!find_head_end(std::string_view(stream).substr(0, known), piecewise));
    }
    BLOCKPUB_CHECK(find_head_end(stream, piecewise) == end);
    if (!end) return 0;

    std::string text = stream.substr(0, *end);
    HttpHead head;
    const auto parsed = parse_http_head(text, head);
    if (!parsed) {
        BLOCKPUB_CHECK(parsed.error().status >= 400 && !parsed.error().reason.empty());
        return 0;
    }
    BLOCKPUB_CHECK(head.minor_version <= 9 && !head.method.empty() && !head.target.empty());
    BLOCKPUB_CHECK(head.target == "*" || head.target.front() == '/');
    BLOCKPUB_CHECK(lies_within(head.method, text));
    bool length = false;
    bool encoding = false;
    for (const HttpField& field : head.fields) {
        BLOCKPUB_CHECK(!field.name.empty() && lies_within(field.name, text) &&
                       lies_within(field.value, text));
        BLOCKPUB_CHECK(
            std::ranges::none_of(field.value, [](char c) { return c == '\r' || c == '\n' || c == '\0'; }));
        length |= equal_ignoring_case(field.name, "Content-Length");
        encoding |= equal_ignoring_case(field.name, "Transfer-Encoding");
    }
    BLOCKPUB_CHECK(!(length && encoding));
    BLOCKPUB_CHECK(length == (head.framing == HttpHead::Framing::length));
    BLOCKPUB_CHECK(encoding == (head.framing == HttpHead::Framing::chunked));

    RpcAuth auth;
    auth.add_password("user", "password");
    if (const auto value = head.field("authorization")) {
        const auto user = auth.user_of(*value);
        BLOCKPUB_CHECK(!user || *user == "user");
    }
    if (head.framing != HttpHead::Framing::chunked) return 0;
    const std::string_view coded = std::string_view(stream).substr(*end);
    std::string whole;
    std::string pieces;
    std::size_t whole_taken;
    std::size_t pieces_taken;
    const auto whole_state = decode(coded, coded.size() + 1, whole, whole_taken);
    const auto pieces_state = decode(coded, 1, pieces, pieces_taken);
    BLOCKPUB_CHECK(whole_state == pieces_state && whole == pieces && whole_taken == pieces_taken);
    return 0;
}
