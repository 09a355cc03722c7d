// SPDX-License-Identifier: MIT
#include "primitives/block.hpp"

#include "base/check.hpp"
#include "primitives/merkle.hpp"
#include "support/block_builder.hpp"

using namespace blockpub;

namespace {

// The block again, from its header and its transactions.
test::Bytes reassemble(const ParsedBlock& block) {
    test::Bytes out;
    test::append(out, block.header().encode());
    test::append_compact_size(out, block.transactions().size());
    for (std::size_t i = 0; i < block.transactions().size(); ++i) {
        const TransactionView view = block.transaction(i);
        BLOCKPUB_CHECK(view.txid() == block.transactions()[i].txid);
        BLOCKPUB_CHECK(view.has_witness() == block.transactions()[i].has_witness);
        const SharedBytes raw = block.raw_transaction(i);
        test::append(out, raw.bytes());
    }
    return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const ByteSpan input(bytes, size);
    const SharedBytes raw = SharedBytes::copy_of(input);
    const auto front = ParsedBlock::parse_front(raw);
    const auto whole = ParsedBlock::parse(raw);
    BLOCKPUB_CHECK(whole.has_value() == (front && front->raw().size() == size));
    const auto visited = for_each_transaction(input, [](std::size_t, const TransactionView&) {});
    BLOCKPUB_CHECK(visited.has_value() == whole.has_value());
    if (!front) return 0;

    BLOCKPUB_CHECK(std::ranges::equal(reassemble(*front), front->raw().bytes()));
    BLOCKPUB_CHECK(front->hash() == hash_header(input));
    BLOCKPUB_CHECK(front->stripped_size() <= front->raw().size());
    BLOCKPUB_CHECK(front->weight() <= 4 * front->raw().size());
    static_cast<void>(block_merkle_root(*front));
    static_cast<void>(block_witness_merkle_root(*front));
    if (!front->transactions().empty()) static_cast<void>(witness_commitment_output(front->transaction(0)));
    return 0;
}
