// SPDX-License-Identifier: MIT
#include "source/p2p_compact.hpp"

#include "base/check.hpp"

#include <algorithm>

using namespace blockpub;

namespace {

/// What decodes encodes to the bytes it came from, up to what stands behind it.
template <class Encode, class Message>
void check_bytes(ByteSpan payload, Encode&& encode, const Message& message) {
    const std::vector<std::uint8_t> encoded = encode(message);
    BLOCKPUB_CHECK(encoded.size() <= payload.size());
    BLOCKPUB_CHECK(std::ranges::equal(encoded, payload.first(encoded.size())));
}

}  // namespace

/// The first byte says which message the rest is.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    if (size == 0) return 0;
    const SharedBytes payload = SharedBytes::copy_of({bytes + 1, size - 1});
    if (bytes[0] % 3 == 0) {
        const auto block = decode_compact_block(payload);
        if (!block) return 0;
        check_bytes(payload.bytes(), encode_compact_block, *block);
        BLOCKPUB_CHECK(block->transaction_count() <= kMaxCompactTransactions);
        for (const auto& prefilled : block->prefilled)
            BLOCKPUB_CHECK(prefilled.position < block->transaction_count());
        BLOCKPUB_CHECK(short_id(block->key(), Wtxid()) < std::uint64_t{1} << 48);
    } else if (bytes[0] % 3 == 1) {
        const auto message = decode_block_transactions_request(payload.bytes());
        if (message) check_bytes(payload.bytes(), encode_block_transactions_request, *message);
    } else {
        const auto message = decode_block_transactions(payload);
        if (message) check_bytes(payload.bytes(), encode_block_transactions, *message);
    }
    return 0;
}
