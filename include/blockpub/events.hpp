// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>

#include <blockpub/bytes.hpp>
#include <blockpub/hash.hpp>

namespace blockpub {

/// Position in the durable event log: 0, 1, 2, … without gaps, never used twice.
using EventIndex = std::uint64_t;

enum class BlockEventKind : std::uint8_t { connected = 1, disconnected = 2, pruned = 3 };

/// One record of the durable event log: a block became part of the active chain, or left it; or the stored blocks up
/// to one of the active chain were given up, or are never fetched.
///
/// Written in the same commit as the change itself. The last record of a step also says how the step ended,
/// so that the tip update can be told again from the log alone.
struct EventRecord {
    /// How the step that this record closes ended. Absent on all other records, when the step ended at the tip
    /// it began with (a branch proved invalid half-way), and in an invalidateblock of several blocks until its
    /// last: then there is no tip update.
    struct StepEnd {
        BlockHash fork_hash;            ///< last block common to the tips before and after the step
        Height fork_height;
        bool initial_download = false;  ///< whether initial download held with the new tip in place
        friend bool operator==(const StepEnd&, const StepEnd&) = default;
    };

    EventIndex index = 0;
    BlockEventKind kind = BlockEventKind::connected;
    BlockHash hash;
    BlockHash previous_hash;  ///< null for genesis, and for `pruned`
    Height height;
    std::optional<StepEnd> step_end;  ///< never with `pruned`
    friend bool operator==(const EventRecord&, const EventRecord&) = default;
};

/// A block became the tip's newest block.
/// Issued by: the chain thread, once for each block, in chain order. Delivered on: the subscriber's own thread.
/// Skipped: never. Durable: yes; its record is in a synced commit before anyone is told.
struct BlockConnected {
    EventIndex index;
    BlockHash hash;
    BlockHash previous_hash;
    Height height;
};

/// The tip block left the active chain. The tip is its parent now.
/// Issued by: the chain thread. Delivered on: the subscriber's own thread. Skipped: never. Durable: yes.
struct BlockDisconnected {
    EventIndex index;
    BlockHash hash;
    BlockHash previous_hash;
    Height height;
};

/// A step ended at another tip than it began with.
/// Issued by: the chain thread, after the step's connects and disconnects. Delivered on: the subscriber's own
/// thread. Skipped: when the step ended where it began (a branch proved invalid), and for all but the last of the
/// blocks that one invalidateblock takes back, as Core does.
/// Durable: derived from the step's last record; told again when a subscriber catches up from the log.
struct UpdatedBlockTip {
    EventIndex last_index;          ///< the record that closed the step
    BlockHash tip_hash;
    Height tip_height;
    BlockHash fork_hash;            ///< equal to tip_hash when the chain only became shorter
    Height fork_height;
    bool initial_download;          ///< as it was when the step was made, with the new tip in place
};

/// Stored blocks are being given up: of the events before this one, those of blocks at `height` and below may be of
/// blocks that are not there any more. Nothing else changes, the chain stays as it is. Once, in a chain that begins at
/// the tip, the chain goes up to `height` with it: no event has told of the blocks between, and none of them is there.
/// Issued by: the chain thread, before the first of their files goes. Delivered on: the subscriber's own thread.
/// Skipped: never. Durable: yes.
struct BlocksPruned {
    EventIndex index;
    BlockHash hash;  ///< the active chain's block at `height`
    Height height;   ///< of the highest block that goes
};

/// A transaction entered the mempool.
/// Issued by: the chain thread. Delivered on: the subscriber's own thread. Durable: no; carries its own bytes.
/// Skipped: for a subscriber so far behind that the bus had to give up the event's bytes; counted in
/// Subscription::mempool_events_lost().
struct TransactionAddedToMempool {
    Txid txid;
    MempoolSequence sequence;
    SharedBytes raw;  ///< serialized with witness
};

/// A transaction left the mempool for another reason than inclusion in a block.
/// Issued by, delivered on, durable, skipped: as TransactionAddedToMempool.
struct TransactionRemovedFromMempool {
    Txid txid;
    MempoolSequence sequence;
};

using Event = std::variant<BlockConnected, BlockDisconnected, UpdatedBlockTip, TransactionAddedToMempool,
                           TransactionRemovedFromMempool, BlocksPruned>;

}  // namespace blockpub
