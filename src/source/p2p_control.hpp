// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "chain/peer_control.hpp"
#include "source/p2p_follower.hpp"
#include "source/p2p_network.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace blockpub {

/// Steers a follower of peers from other threads: each call is carried out on the network's thread, and waits
/// until it is.
///
/// Thread safety: as PeerControl. Ownership: borrows the follower and the network.
/// Source: Bitcoin Core v28.1 src/rpc/net.cpp.
class FollowerControl final : public PeerControl {
 public:
    struct Options {
        std::uint16_t default_port = 0;
        std::vector<PeerAddress> connect;  ///< followed whether they are on the list of added nodes or not
        std::vector<std::string> added;    ///< on it from the start; what is no address of a node is left out
        bool active = true;
    };
    /// Requires: the network has not been started.
    FollowerControl(Options options, Follower& follower, const PeerNetwork& network);

    /// Calls that wait, and later ones, answer stopped. Requires: the network's thread has ended.
    void stop() BLOCKPUB_EXCLUDES(mutex_);

    Result<bool> add_node(std::string_view node) override;
    Result<bool> remove_node(std::string_view node) override;
    Result<void> try_node(std::string_view node) override;
    Result<std::vector<AddedNodeRow>> added_nodes() override;
    Result<bool> disconnect(std::string_view address) override;
    Result<bool> disconnect(std::int64_t peer) override;
    Result<void> bans_changed() override;
    Result<void> ping() override;
    Result<void> set_active(bool active) override;
    bool active() const override { return active_; }
    Result<void> fetch_block(const BlockHash& hash, Height height, std::int64_t peer) override;

 private:
    struct Added {
        std::string node;
        PeerAddress address;
    };
    [[nodiscard]] Result<void> run(std::function<void()> work) BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] Result<PeerAddress> parse(std::string_view node) const;
    /// Result: false when the list has it.
    bool add(std::string_view node, const PeerAddress& address);
    void release(const PeerAddress& address);
    [[nodiscard]] Peer* find(const PeerAddress& address) const;
    [[nodiscard]] Result<bool> disconnect_if(std::function<bool(const Peer&)> meant);

    const std::uint16_t default_port_;
    std::vector<PeerAddress> connect_;
    Follower& follower_;
    const PeerNetwork::Poster post_;
    std::atomic<bool> active_;
    std::vector<Added> added_;  // the network's thread only

    Mutex mutex_;
    CondVar changed_;
    bool stopped_ BLOCKPUB_GUARDED_BY(mutex_) = false;
};

}  // namespace blockpub
