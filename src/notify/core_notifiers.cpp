// SPDX-License-Identifier: MIT
#include "notify/core_notifiers.hpp"

#include "base/endian.hpp"

#include <blockpub/publisher.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace blockpub {
namespace {

/// As Core, which tells new tips once the chain has caught up, and nothing when it only became shorter.
bool is_silent(const UpdatedBlockTip& event) {
    return event.initial_download || event.tip_hash == event.fork_hash;
}

/// Topic hashtx: each transaction of a block that connects or disconnects, and each that enters the mempool.
/// Body: txid, 32 bytes in display order.
class HashTxNotifier final : public Notifier {
 public:
    [[nodiscard]] std::string_view topic() const override { return "hashtx"; }
    [[nodiscard]] bool wants_block_transactions() const override { return true; }
    [[nodiscard]] Result<void> block_transaction(MessageSink& sink, EventBlock& block,
                                                 std::size_t position) override {
        return sink.send(topic(), block.txid(position).display_bytes());
    }
    [[nodiscard]] Result<void> transaction_added(MessageSink& sink,
                                                 const TransactionAddedToMempool& event) override {
        return sink.send(topic(), event.txid.display_bytes());
    }
};

/// Topic rawtx: when hashtx comes. Body: the transaction, serialized with witness.
class RawTxNotifier final : public Notifier {
 public:
    [[nodiscard]] std::string_view topic() const override { return "rawtx"; }
    [[nodiscard]] bool wants_block_transactions() const override { return true; }
    [[nodiscard]] Result<void> block_transaction(MessageSink& sink, EventBlock& block,
                                                 std::size_t position) override {
        return sink.send(topic(), block.raw_transaction(position));
    }
    [[nodiscard]] Result<void> transaction_added(MessageSink& sink,
                                                 const TransactionAddedToMempool& event) override {
        return sink.send(topic(), event.raw);
    }
};

/// Topic sequence: blocks connected (C) and disconnected (D), transactions added to the mempool (A) and
/// removed from it for another reason than a block (R). Body: hash in display order, letter, and for A and R
/// the mempool sequence as 64 bits little-endian.
class SequenceNotifier final : public Notifier {
 public:
    [[nodiscard]] std::string_view topic() const override { return "sequence"; }
    [[nodiscard]] Result<void> block_connected(MessageSink& sink, const BlockConnected& event,
                                               EventBlock&) override {
        return send_block(sink, event.hash, 'C');
    }
    [[nodiscard]] Result<void> block_disconnected(MessageSink& sink, const BlockDisconnected& event,
                                                  EventBlock&) override {
        return send_block(sink, event.hash, 'D');
    }
    [[nodiscard]] Result<void> transaction_added(MessageSink& sink,
                                                 const TransactionAddedToMempool& event) override {
        return send_transaction(sink, event.txid, 'A', event.sequence);
    }
    [[nodiscard]] Result<void> transaction_removed(MessageSink& sink,
                                                   const TransactionRemovedFromMempool& event) override {
        return send_transaction(sink, event.txid, 'R', event.sequence);
    }

 private:
    [[nodiscard]] Result<void> send_block(MessageSink& sink, const BlockHash& hash, char letter) const {
        std::array<std::uint8_t, 33> body{};
        std::ranges::copy(hash.display_bytes(), body.begin());
        body[32] = static_cast<std::uint8_t>(letter);
        return sink.send(topic(), body);
    }
    [[nodiscard]] Result<void> send_transaction(MessageSink& sink, const Txid& txid, char letter,
                                                MempoolSequence sequence) const {
        std::array<std::uint8_t, 41> body{};
        std::ranges::copy(txid.display_bytes(), body.begin());
        body[32] = static_cast<std::uint8_t>(letter);
        write_le(body.data() + 33, sequence.value);
        return sink.send(topic(), body);
    }
};

/// Topic hashblock: the new tip at the end of a step. Body: block hash, 32 bytes in display order.
class HashBlockNotifier final : public Notifier {
 public:
    [[nodiscard]] std::string_view topic() const override { return "hashblock"; }
    [[nodiscard]] Result<void> updated_block_tip(MessageSink& sink, const UpdatedBlockTip& event,
                                                 EventBlock&) override {
        if (is_silent(event)) return {};
        return sink.send(topic(), event.tip_hash.display_bytes());
    }
};

/// Topic rawblock: when hashblock comes. Body: the block, serialized with witnesses.
class RawBlockNotifier final : public Notifier {
 public:
    [[nodiscard]] std::string_view topic() const override { return "rawblock"; }
    [[nodiscard]] Result<void> updated_block_tip(MessageSink& sink, const UpdatedBlockTip& event,
                                                 EventBlock& block) override {
        if (is_silent(event)) return {};
        const Result<SharedBytes> raw = block.raw();
        if (!raw) return std::unexpected(raw.error());
        return sink.send(topic(), *raw);
    }
};

}  // namespace

Result<std::unique_ptr<Notifier>> make_core_notifier(std::string_view topic) {
    if (topic == "hashblock") return std::make_unique<HashBlockNotifier>();
    if (topic == "rawblock") return std::make_unique<RawBlockNotifier>();
    if (topic == "hashtx") return std::make_unique<HashTxNotifier>();
    if (topic == "rawtx") return std::make_unique<RawTxNotifier>();
    if (topic == "sequence") return std::make_unique<SequenceNotifier>();
    return fail(Errc::not_found, fmt::format("topic '{}' is none of Core's", topic));
}

}  // namespace blockpub
