// SPDX-License-Identifier: MIT
#include "chain/mempool_transaction.hpp"

#include <utility>

namespace blockpub {
namespace {

constexpr std::uint32_t kLargestReplaceableSequence = 0xfffffffd;

}  // namespace

Result<TransactionRef> MempoolTransaction::decode(SharedBytes raw) {
    auto view = TransactionView::parse_whole(raw.bytes());
    if (!view) return forward_error(view);
    return TransactionRef(new MempoolTransaction(std::move(raw), *view));
}

MempoolTransaction::MempoolTransaction(SharedBytes raw, const TransactionView& view)
    : raw_(std::move(raw)), view_(view), txid_(view.txid()), wtxid_(view.wtxid()) {
    spends_.reserve(view.input_count());
    view.for_each_input([&](std::size_t, const TxInput& input) {
        spends_.push_back(input.prevout);
        signals_replacement_ |= input.sequence <= kLargestReplaceableSequence;
        return true;
    });
}

std::optional<Coin> MempoolTransaction::output(std::uint32_t position) const {
    std::optional<Coin> coin;
    view_.for_each_output([&](std::size_t at, const TxOutput& output) {
        if (at != position) return true;
        coin = Coin{.amount = output.amount, .height = {}, .coinbase = false, .script = output.script};
        return false;
    });
    return coin;
}

std::size_t MempoolTransaction::memory() const {
    return sizeof *this + raw_.size() + spends_.capacity() * sizeof(Outpoint);
}

}  // namespace blockpub
