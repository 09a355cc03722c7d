// SPDX-License-Identifier: MIT
#include "primitives/transaction.hpp"

#include "base/check.hpp"
#include "support/block_builder.hpp"

using namespace blockpub;

namespace {

test::Bytes copy_of(ByteSpan bytes) {
    return {bytes.begin(), bytes.end()};
}

test::TransactionSpec describe(const TransactionView& view) {
    test::TransactionSpec spec;
    spec.version = view.version();
    spec.lock_time = view.lock_time();
    view.for_each_input([&](std::size_t position, const TxInput& input) {
        BLOCKPUB_CHECK(position == spec.inputs.size());
        spec.inputs.push_back({.prevout = input.prevout,
                               .script = copy_of(input.script),
                               .sequence = input.sequence,
                               .witness = {}});
        return true;
    });
    view.for_each_output([&](std::size_t position, const TxOutput& output) {
        BLOCKPUB_CHECK(position == spec.outputs.size());
        spec.outputs.push_back({.amount = output.amount, .script = copy_of(output.script)});
        return true;
    });
    view.for_each_witness_item([&](std::size_t input, std::size_t item, ByteSpan bytes) {
        BLOCKPUB_CHECK(item == spec.inputs.at(input).witness.size());
        spec.inputs[input].witness.push_back(copy_of(bytes));
        return true;
    });
    return spec;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const ByteSpan input(bytes, size);
    ByteReader reader(input);
    const auto view = TransactionView::parse(reader);
    BLOCKPUB_CHECK(view.has_value() == (reader.position() != 0));
    const bool whole = view && reader.remaining() == 0;
    BLOCKPUB_CHECK(TransactionView::parse_whole(input).has_value() == whole);
    if (!view) return 0;

    const test::TransactionSpec spec = describe(*view);
    BLOCKPUB_CHECK(spec.inputs.size() == view->input_count() && spec.outputs.size() == view->output_count());
    BLOCKPUB_CHECK(spec.has_witness() == view->has_witness());
    BLOCKPUB_CHECK(std::ranges::equal(spec.build(), input.first(reader.position())));
    const test::Bytes stripped = spec.build(false);
    BLOCKPUB_CHECK(stripped.size() == view->stripped_size());
    BLOCKPUB_CHECK(spec.txid() == view->txid());
    BLOCKPUB_CHECK(view->has_witness() || view->txid().wire_bytes() == view->wtxid().wire_bytes());
    BLOCKPUB_CHECK(view->weight() == 4 * stripped.size() + (view->total_size() - stripped.size()));
    BLOCKPUB_CHECK(view->is_coinbase() == (spec.inputs.size() == 1 && spec.inputs[0].prevout.is_null()));
    return 0;
}
