// SPDX-License-Identifier: MIT
#include "source/p2p_framing.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <array>
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

/// Where only pings are held, a stream has the same messages, of the same sizes.
void check_passing(ByteSpan stream, const Outcome& whole, std::size_t step) {
    static constexpr std::array<HeldMessage, 1> kHeld{{{"ping", kMaxPayload}}};
    MessageFramer framer(kMagic, PeerSide::came, kHeld);
    std::size_t count = 0;
    while (!stream.empty()) {
        ByteSpan piece = stream.first(std::min(step, stream.size()));
        stream = stream.subspan(piece.size());
        while (!piece.empty()) {
            const auto message = framer.take(piece);
            if (!message) {
                BLOCKPUB_CHECK(whole.failed && count == whole.messages.size());
                return;
            }
            if (!*message) continue;
            BLOCKPUB_CHECK(count < whole.messages.size());
            BLOCKPUB_CHECK(kMessageHeadSize + (*message)->size == whole.messages[count].size());
            const bool held = (*message)->name.view() == "ping";
            BLOCKPUB_CHECK((*message)->payload.size() == (held ? (*message)->size : 0));
            ++count;
        }
    }
    BLOCKPUB_CHECK(count == whole.messages.size());
}

}  // namespace

/// However a stream comes in pieces, its messages are the same, and they encode to the bytes they came from.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    if (size == 0) return 0;
    const ByteSpan stream(bytes + 1, size - 1);
    const Outcome whole = split(stream, std::max<std::size_t>(stream.size(), 1));
    const Outcome pieces = split(stream, std::size_t{1} + bytes[0] % 40);
    BLOCKPUB_CHECK(whole.messages == pieces.messages && whole.failed == pieces.failed);
    check_passing(stream, whole, std::size_t{1} + bytes[0] % 40);
    std::size_t at = 0;
    for (const auto& message : whole.messages) {
        BLOCKPUB_CHECK(std::ranges::equal(message, stream.subspan(at, message.size())));
        at += message.size();
    }
    return 0;
}
