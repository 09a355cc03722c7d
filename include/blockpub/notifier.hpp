// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <blockpub/block_reader.hpp>
#include <blockpub/bytes.hpp>
#include <blockpub/events.hpp>
#include <blockpub/export.hpp>
#include <blockpub/result.hpp>

namespace blockpub {

/// Where a notifier puts its messages: topic and body; the publisher adds the counter frame and sends all three.
///
/// Thread safety: used on the publisher's thread only.
/// Errors: io from the socket. A message that failed has not been sent and its counter has not been raised.
class BLOCKPUB_API MessageSink {
   public:
    virtual ~MessageSink() = default;
    /// Sends a small body, which is copied.
    [[nodiscard]] virtual Result<void> send(std::string_view topic, ByteSpan body) = 0;
    /// Sends a large body without a copy; the socket keeps a reference until it is done.
    [[nodiscard]] virtual Result<void> send(std::string_view topic, const SharedBytes& body) = 0;
};

/// The block of the event at hand, read once for all notifiers of an endpoint, when the first one asks.
class BLOCKPUB_API EventBlock {
   public:
    virtual ~EventBlock() = default;
    /// The raw block. Errors: as BlockReader::read_block.
    [[nodiscard]] virtual Result<SharedBytes> raw() = 0;
    /// Number of transactions. Errors: as raw(), corrupt.
    [[nodiscard]] virtual Result<std::size_t> transaction_count() = 0;
    /// Requires: position < transaction_count(), which was asked first.
    [[nodiscard]] virtual SharedBytes raw_transaction(std::size_t position) = 0;
    [[nodiscard]] virtual Txid txid(std::size_t position) = 0;
};

/// Turns events into the messages of one topic.
///
/// A publisher calls its notifiers in a fixed order for each *point* of an event: Core interleaves `hashtx` and
/// `rawtx` transaction by transaction, so those are asked once for each transaction of a block. Every method has a
/// default that sends nothing: a notifier overrides what its topic is about.
///
/// Thread safety: every method runs on the publisher's thread.
/// Errors: an error makes the publisher keep its place and ask again later, at the same point.
class BLOCKPUB_API Notifier {
   public:
    virtual ~Notifier() = default;
    /// Topic of the messages, such as `rawblock`; constant.
    [[nodiscard]] virtual std::string_view topic() const = 0;
    /// One transaction of a connected or disconnected block, in block order, before the block's own event.
    [[nodiscard]] virtual Result<void> block_transaction(MessageSink&, EventBlock&, std::size_t /*position*/) { return {}; }
    /// Whether block_transaction does anything: without such a notifier a block is not walked at all.
    [[nodiscard]] virtual bool wants_block_transactions() const { return false; }
    [[nodiscard]] virtual Result<void> block_connected(MessageSink&, const BlockConnected&, EventBlock&) { return {}; }
    [[nodiscard]] virtual Result<void> block_disconnected(MessageSink&, const BlockDisconnected&, EventBlock&) { return {}; }
    /// The block is the new tip's.
    [[nodiscard]] virtual Result<void> updated_block_tip(MessageSink&, const UpdatedBlockTip&, EventBlock&) { return {}; }
    [[nodiscard]] virtual Result<void> transaction_added(MessageSink&, const TransactionAddedToMempool&) { return {}; }
    [[nodiscard]] virtual Result<void> transaction_removed(MessageSink&, const TransactionRemovedFromMempool&) { return {}; }
};

}  // namespace blockpub
