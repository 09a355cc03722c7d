// SPDX-License-Identifier: MIT
#pragma once

#include "chain/peer_control.hpp"
#include "source/p2p_server.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

namespace blockpub {

/// Steers the peers that were called, and with them those that came.
/// Thread safety: as PeerControl. Ownership: borrows both.
class AllPeerControl final : public PeerControl {
 public:
    /// `came`: null when nobody is served.
    AllPeerControl(PeerControl& called, P2pServer* came) : called_(called), came_(came) {}

    Result<bool> add_node(std::string_view node) override { return called_.add_node(node); }
    Result<bool> remove_node(std::string_view node) override { return called_.remove_node(node); }
    Result<void> try_node(std::string_view node) override { return called_.try_node(node); }
    Result<std::vector<AddedNodeRow>> added_nodes() override { return called_.added_nodes(); }
    Result<bool> disconnect(std::string_view address) override {
        return disconnect_if([&](const PeerRow& row) { return row.address == address; },
                             [&] { return called_.disconnect(address); });
    }
    Result<bool> disconnect(std::int64_t peer) override {
        return disconnect_if([&](const PeerRow& row) { return row.number == peer; },
                             [&] { return called_.disconnect(peer); });
    }
    Result<void> bans_changed() override {
        if (came_ != nullptr) came_->disconnect_banned();
        return called_.bans_changed();
    }
    Result<void> ping() override {
        if (came_ != nullptr) came_->ping_all();
        return called_.ping();
    }
    Result<void> set_active(bool active) override {
        if (came_ != nullptr) came_->set_active(active);
        return called_.set_active(active);
    }
    [[nodiscard]] bool active() const override { return called_.active(); }
    Result<void> fetch_block(const BlockHash& hash, Height height, std::int64_t peer) override {
        return called_.fetch_block(hash, height, peer);
    }

 private:
    template <class Meant, class Otherwise>
    Result<bool> disconnect_if(Meant meant, Otherwise otherwise) {
        const std::vector<PeerRow> rows = came_ == nullptr ? std::vector<PeerRow>() : came_->rows();
        const auto found = std::ranges::find_if(rows, meant);
        if (found == rows.end()) return otherwise();
        came_->disconnect(found->number);
        return true;
    }

    PeerControl& called_;
    P2pServer* const came_;
};

}  // namespace blockpub
