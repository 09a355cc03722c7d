// SPDX-License-Identifier: MIT
#include "query/http_reply.hpp"

#include "base/check.hpp"
#include "query/json_reader.hpp"
#include "query/upstream_answer.hpp"

#include <algorithm>
#include <string>

using namespace blockpub;

namespace {

constexpr std::size_t kMaxBody = 100'000;

/// The whole stream, fed in pieces of `piece` bytes, and then its end.
HttpReplyDecoder decode(std::string_view stream, std::size_t piece) {
    HttpReplyDecoder decoder(kMaxBody);
    while (decoder.state() == HttpReplyDecoder::State::more && !stream.empty()) {
        const std::string exact(stream.substr(0, piece));  // so that a read beyond it is seen
        decoder.feed(exact);
        stream.remove_prefix(exact.size());
    }
    if (decoder.state() == HttpReplyDecoder::State::more) decoder.finish();
    return decoder;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const std::string_view stream(reinterpret_cast<const char*>(bytes), size);
    HttpReplyDecoder whole = decode(stream, stream.size() + 1);
    HttpReplyDecoder pieces = decode(stream, 1);
    BLOCKPUB_CHECK(whole.state() == pieces.state());
    if (whole.state() == HttpReplyDecoder::State::failed) {
        BLOCKPUB_CHECK(!whole.error().empty() && !pieces.error().empty());
        return 0;
    }
    BLOCKPUB_CHECK(whole.status() == pieces.status() && whole.body() == pieces.body());
    BLOCKPUB_CHECK(whole.status() >= 200 && whole.status() <= 999);
    BLOCKPUB_CHECK(whole.body().size() <= kMaxBody && whole.body().size() <= size);

    const auto answer = decode_upstream_answer(whole.body(), "blockpub");
    if (!answer) {
        BLOCKPUB_CHECK(!answer.error().context.empty());
        return 0;
    }
    BLOCKPUB_CHECK(answer->result.empty() != answer->error.empty());
    JsonDocument document;
    BLOCKPUB_CHECK(document.parse(answer->result.empty() ? answer->error : answer->result));
    BLOCKPUB_CHECK(answer->error.empty() || document.root().kind() == JsonKind::object);
    return 0;
}
