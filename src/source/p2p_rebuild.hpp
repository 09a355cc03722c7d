// SPDX-License-Identifier: MIT
#pragma once

#include "chain/mempool_board.hpp"
#include "source/p2p_compact.hpp"

#include <blockpub/bytes.hpp>
#include <blockpub/hash.hpp>
#include <blockpub/result.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace blockpub {

/// One block that is put together from a compact block and the transactions at hand.
///
/// A transaction that two at hand could be stays missing; a block in which two have one short id cannot be
/// put together. Thread safety: one thread at a time. Blocking: never. Source: BIP 152; Bitcoin Core v28.1
/// src/blockencodings.cpp.
class BlockRebuild {
 public:
    explicit BlockRebuild(CompactBlock compact);

    /// Whether two of its transactions have the same short id.
    [[nodiscard]] bool ambiguous() const { return ambiguous_; }
    /// Requires: not ambiguous.
    void offer(const MempoolTransaction& transaction);
    /// Places of those that are not here, rising.
    [[nodiscard]] std::vector<std::uint32_t> missing() const;
    /// Puts in what was missing, in that order. False: these are too many, or too few.
    [[nodiscard]] bool fill(const std::vector<SharedBytes>& transactions);
    /// The block's bytes; empty where they were more than a block can have. Requires: nothing is missing.
    [[nodiscard]] SharedBytes block() const;

 private:
    struct Slot {
        SharedBytes transaction;  // empty: not here
        bool doubtful = false;    // two at hand have its short id
    };
    struct ById {
        std::uint64_t id;
        std::uint32_t position;
    };
    BlockHeader header_;
    SipHashKey key_;
    std::vector<Slot> slots_;
    std::vector<ById> by_id_;  // rising
    bool ambiguous_ = false;
};

/// The compact blocks that peers have announced, the newest of each, and what becomes of them.
/// Thread safety: the network's thread only. Ownership: borrows the board.
/// Errors: corrupt: the peer sent what nobody asked for, or not what was asked for.
class CompactBlocks {
 public:
    using PeerNumber = std::uint32_t;
    /// What is to be done next.
    struct Step {
        enum class Kind : std::uint8_t {
            deliver,           ///< `block` is whole
            ask_transactions,  ///< those at `positions`
            ask_block,         ///< it cannot be put together
        };
        Kind kind = Kind::ask_block;
        SharedBytes block;
        std::vector<std::uint32_t> positions;
    };
    explicit CompactBlocks(const MempoolBoard& board) : board_(board) {}

    /// The peer's newest one; its header is not known to be good yet. Passed over while another one of the
    /// peer waits for transactions.
    void keep(PeerNumber peer, CompactBlock compact);
    [[nodiscard]] bool has(PeerNumber peer, const BlockHash& hash) const;
    /// Puts it together as far as the mempool goes. Requires: has().
    [[nodiscard]] Step begin(PeerNumber peer);
    /// The answer to `ask_transactions`.
    [[nodiscard]] Result<Step> take(PeerNumber peer, const BlockTransactions& message);
    /// The block comes from the peer in another way, or not at all.
    void give_up(PeerNumber peer, const BlockHash& hash);
    void forget(PeerNumber peer) { kept_.erase(peer); }

 private:
    [[nodiscard]] static Step deliver(const BlockRebuild& rebuild);
    struct Kept {
        BlockHash hash;
        std::optional<CompactBlock> compact;  // until begin()
        std::optional<BlockRebuild> rebuild;  // from then on
    };
    const MempoolBoard& board_;
    std::map<PeerNumber, Kept> kept_;
};

}  // namespace blockpub
