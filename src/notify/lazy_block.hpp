// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/block_reader.hpp>
#include <blockpub/notifier.hpp>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace blockpub {

/// One block for all notifiers of an endpoint: read when the first asks, taken apart when the first asks for
/// transactions, and ids calculated one by one as they are asked for.
///
/// A failed read is not remembered: asking again reads again, until the block is given up.
/// Thread safety: the publisher's thread.
/// Ownership: borrows the reader. Keeps the block's bytes until destroyed.
/// Blocking: reads the disk.
/// Errors: those of the reader; corrupt when the bytes do not decode; io when there is no memory.
class LazyBlock final : public EventBlock {
 public:
    LazyBlock(BlockReader& reader, const BlockHash& hash) : reader_(reader), hash_(hash) {}

    [[nodiscard]] const BlockHash& hash() const { return hash_; }
    [[nodiscard]] Result<SharedBytes> raw() override;
    [[nodiscard]] Result<std::size_t> transaction_count() override;
    [[nodiscard]] SharedBytes raw_transaction(std::size_t position) override;
    [[nodiscard]] Txid txid(std::size_t position) override;

    /// The error of the last attempt, once: what made a notifier fail was this block and not the notifier.
    [[nodiscard]] std::optional<Error> take_failure() { return std::exchange(failure_, std::nullopt); }
    /// Later attempts answer `error` at once.
    void give_up(Error error) { given_up_ = std::move(error); }
    [[nodiscard]] bool given_up() const { return given_up_.has_value(); }

 private:
    struct Range {
        std::uint32_t offset = 0;
        std::uint32_t size = 0;
    };

    [[nodiscard]] Result<void> read();
    [[nodiscard]] Result<void> take_apart();

    BlockReader& reader_;
    const BlockHash hash_;
    std::optional<SharedBytes> raw_;
    std::optional<std::vector<Range>> transactions_;
    std::optional<std::pair<std::size_t, Txid>> last_txid_;
    std::optional<Error> failure_;
    std::optional<Error> given_up_;
};

}  // namespace blockpub
