// SPDX-License-Identifier: MIT
#pragma once

#include "source/p2p_messages.hpp"
#include "source/p2p_relay.hpp"
#include "source/p2p_served_chain.hpp"

#include <blockpub/bytes.hpp>
#include <blockpub/hash.hpp>
#include <blockpub/result.hpp>
#include <blockpub/store.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace blockpub {

/// How a peer wants to be spoken to: what its version allows, and what it has said since.
struct PeerManners {
    std::uint32_t protocol = 0;
    std::uint32_t permissions = 0;
    bool relay = false;          ///< wants to be told of transactions
    bool wants_headers = false;  ///< BIP 130
    TransactionTaste taste;
};

/// Where the answers to a peer go, and what they are made of.
class RequestHost {
 public:
    virtual ~RequestHost() = default;
    virtual void send(std::string_view name, ByteSpan payload) = 0;
    virtual void send_block(const ServedChain::Block& block) = 0;
    [[nodiscard]] virtual const PeerManners& manners() const = 0;
    [[nodiscard]] virtual ServedChain& chain() = 0;
    [[nodiscard]] virtual const TransactionRelay& transactions() const = 0;
    /// Whether a block of this time may still be sent today (-maxuploadtarget).
    [[nodiscard]] virtual bool may_send_block(std::int64_t time) const = 0;
};

/// What one peer has asked for and not got yet, and what it is to be told of, done step by step: whoever
/// calls says how many steps.
///
/// Thread safety: one thread at a time. Ownership: borrows the host.
/// Blocking: reads the disk.
/// Errors: a sentence that says why the connection must end: corrupt and unsupported are the peer's fault.
/// Source: Bitcoin Core v28.1 src/net_processing.cpp.  Differs: a block that is not here is answered by
/// notfound, or ends the connection of who would not understand that.
class PeerRequests {
 public:
    explicit PeerRequests(RequestHost& host) : host_(host) {}

    /// The peer is told of transactions from now on.
    void begin() { told_ = host_.transactions().end(); }

    // Messages of the peer. Requires: !busy().
    [[nodiscard]] Result<void> take_get_headers(ByteSpan payload);
    [[nodiscard]] Result<void> take_get_blocks(ByteSpan payload);
    [[nodiscard]] Result<void> take_get_data(ByteSpan payload);
    [[nodiscard]] Result<void> take_mempool();

    /// The active chain above `fork` is another one than before.
    void chain_moved(Height fork);
    /// Whether something that the peer asked for is still to be sent: nothing more is taken from it.
    [[nodiscard]] bool busy() const { return next_ < wanted_.size(); }
    /// Does some of what there is to do. Result: whether there was anything.
    [[nodiscard]] Result<bool> step();

    /// The last block that the peer is known to have.
    [[nodiscard]] const std::optional<Tip>& peers_tip() const& { return peers_tip_; }

 private:
    [[nodiscard]] Result<void> announce_tip();
    [[nodiscard]] bool announce_transactions();
    void announce_by_inv(const BlockHash& hash);
    [[nodiscard]] Result<void> serve_some();
    [[nodiscard]] Result<void> serve_block(const InventoryItem& item);
    std::size_t serve_transaction(const InventoryItem& item);
    [[nodiscard]] Result<void> lacks_block(const InventoryItem& item);
    void finish_serving();

    RequestHost& host_;
    std::vector<InventoryItem> wanted_;
    std::size_t next_ = 0;  // of wanted_
    std::vector<InventoryItem> not_found_;
    std::optional<BlockHash> continues_;  // asked for, it calls for the next getblocks
    std::optional<Tip> peers_tip_;
    std::optional<Height> moved_above_;  // what is not announced yet
    BlockHash announced_;                // by inv, last
    TransactionRelay::Place told_ = 0;
};

}  // namespace blockpub
