// SPDX-License-Identifier: MIT
#include "source/p2p_messages.hpp"

#include "base/check.hpp"

using namespace blockpub;

namespace {

/// What decodes, and is encoded, decodes to what encodes to the same.
template <class Decode, class Encode>
void round_trip(ByteSpan payload, Decode&& decode, Encode&& encode) {
    const auto message = decode(payload);
    if (!message) return;
    const std::vector<std::uint8_t> encoded = encode(*message);
    const auto again = decode(ByteSpan(encoded));
    BLOCKPUB_CHECK(again.has_value());
    BLOCKPUB_CHECK(encode(*again) == encoded);
}

}  // namespace

/// The first byte says which message the rest is.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    if (size == 0) return 0;
    const ByteSpan payload(bytes + 1, size - 1);
    switch (bytes[0] % 7) {
        case 0:
            round_trip(payload, decode_version, encode_version);
            break;
        case 1:
            round_trip(payload, decode_nonce, encode_nonce);
            break;
        case 2:
            round_trip(payload, decode_fee_filter, encode_fee_filter);
            break;
        case 3:
            round_trip(payload, decode_send_compact, encode_send_compact);
            break;
        case 4:
            round_trip(payload, decode_get_headers, encode_get_headers);
            break;
        case 5:
            round_trip(payload, decode_headers, encode_headers);
            break;
        default:
            round_trip(payload, decode_inventory, encode_inventory);
    }
    return 0;
}
