// SPDX-License-Identifier: MIT
#include "source/p2p_framing.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <vector>

using namespace blockpub;

namespace {

constexpr std::uint32_t kMagic = 0xdab5bffa;

struct Outcome {
    std::vector<std::vector<std::uint8_t>> messages;  // encoded again
    bool failed = false;
};

/// The messages of a stream that comes in pieces of `step` bytes.
Outcome split(ByteSpan stream, std::size_t step) {
    MessageFramer framer(kMagic);
    Outcome outcome;
    while (!stream.empty()) {
        ByteSpan piece = stream.first(std::min(step, stream.size()));
        stream = stream.subspan(piece.size());
        while (!piece.empty()) {
            const auto message = framer.take(piece);
            if (!message) {
                outcome.failed = true;
                return outcome;
            }
            if (*message) {
                outcome.messages.push_back(
                    encode_message(kMagic, (*message)->name.view(), (*message)->payload.bytes()));
            }
        }
        BLOCKPUB_CHECK(framer.pending() <= kMessageHeadSize + kMaxPayload);
    }
    return outcome;
}

}  // namespace

/// However a stream comes in pieces, its messages are the same, and they encode to the bytes they came from.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    if (size == 0) return 0;
    const ByteSpan stream(bytes + 1, size - 1);
    const Outcome whole = split(stream, std::max<std::size_t>(stream.size(), 1));
    const Outcome pieces = split(stream, std::size_t{1} + bytes[0] % 40);
    BLOCKPUB_CHECK(whole.messages == pieces.messages && whole.failed == pieces.failed);
    std::size_t at = 0;
    for (const auto& message : whole.messages) {
        BLOCKPUB_CHECK(std::ranges::equal(message, stream.subspan(at, message.size())));
        at += message.size();
    }
    return 0;
}
