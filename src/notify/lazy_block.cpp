// SPDX-License-Identifier: MIT
#include "notify/lazy_block.hpp"

#include "base/check.hpp"
#include "primitives/block.hpp"

#include <fmt/format.h>

#include <exception>

namespace blockpub {

Result<SharedBytes> LazyBlock::raw() {
    if (auto done = read(); !done) return forward_error(done);
    return *raw_;
}

Result<std::size_t> LazyBlock::transaction_count() {
    if (auto done = read(); !done) return forward_error(done);
    if (auto done = take_apart(); !done) return forward_error(done);
    return transactions_->size();
}

Result<void> LazyBlock::read() {
    if (raw_) return {};
    if (given_up_) {
        failure_ = given_up_;
        return std::unexpected(*given_up_);
    }
    Result<SharedBytes> block = [&]() -> Result<SharedBytes> {
        try {
            return reader_.read_block(hash_);
        } catch (const std::exception& error) {
            return fail(Errc::io, error.what());
        }
    }();
    if (!block) {
        failure_ = Error{block.error().code,
                         fmt::format("block {}: {}", hash_.display_hex(), block.error().context)};
        return std::unexpected(*failure_);
    }
    raw_ = std::move(*block);
    return {};
}

Result<void> LazyBlock::take_apart() {
    if (transactions_) return {};
    std::vector<Range> ranges;
    const std::uint8_t* begin = raw_->data();
    auto walked = for_each_transaction(raw_->bytes(), [&](std::size_t, const TransactionView& transaction) {
        ranges.push_back({static_cast<std::uint32_t>(transaction.bytes().data() - begin),
                          static_cast<std::uint32_t>(transaction.bytes().size())});
    });
    if (!walked) {
        raw_.reset();  // the next attempt reads again
        failure_ =
            Error{Errc::corrupt, fmt::format("block {}: {}", hash_.display_hex(), walked.error().context)};
        return std::unexpected(*failure_);
    }
    transactions_ = std::move(ranges);
    return {};
}

SharedBytes LazyBlock::raw_transaction(std::size_t position) {
    BLOCKPUB_CHECK(transactions_ && position < transactions_->size(), "transaction {}", position);
    const Range& range = (*transactions_)[position];
    return raw_->slice(range.offset, range.size);
}

Txid LazyBlock::txid(std::size_t position) {
    BLOCKPUB_CHECK(transactions_ && position < transactions_->size(), "transaction {}", position);
    if (last_txid_ && last_txid_->first == position) return last_txid_->second;
    const Range& range = (*transactions_)[position];
    const auto transaction = TransactionView::parse_whole(raw_->bytes().subspan(range.offset, range.size));
    BLOCKPUB_CHECK(transaction.has_value());
    last_txid_.emplace(position, transaction->txid());
    return last_txid_->second;
}

}  // namespace blockpub
