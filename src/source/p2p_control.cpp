// SPDX-License-Identifier: MIT
#include "source/p2p_control.hpp"

#include "base/subnet.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

namespace blockpub {
namespace {

/// A numeric host in its one spelling, so that equal addresses are equal.
PeerAddress canonical(PeerAddress address) {
    if (const auto numeric = IpAddress::parse(address.host)) address.host = numeric->text();
    return address;
}

}  // namespace

FollowerControl::FollowerControl(Options options, Follower& follower, const PeerNetwork& network)
    : default_port_(options.default_port),
      follower_(follower),
      post_(network.poster()),
      active_(options.active) {
    for (PeerAddress& address : options.connect) connect_.push_back(canonical(std::move(address)));
    for (const std::string& node : options.added) {
        if (const auto address = parse(node)) add(node, *address);
    }
}

void FollowerControl::stop() {
    const MutexLock lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
}

/// `work` may refer to what the caller has: it does not run any more once this has returned.
Result<void> FollowerControl::run(std::function<void()> work) {
    const auto done = std::make_shared<bool>(false);
    post_([this, done, work = std::move(work)] {
        work();
        const MutexLock lock(mutex_);
        *done = true;
        changed_.notify_all();
    });
    const MutexLock lock(mutex_);
    while (!*done && !stopped_) changed_.wait(mutex_);
    if (!*done) return fail(Errc::stopped, "peers are not followed any more: the daemon is being stopped");
    return {};
}

Result<PeerAddress> FollowerControl::parse(std::string_view node) const {
    auto address = PeerAddress::parse(node, default_port_);
    if (!address) return address;
    return canonical(std::move(*address));
}

Peer* FollowerControl::find(const PeerAddress& address) const {
    const auto found = std::ranges::find_if(
        follower_.peers(), [&](const auto& peer) { return canonical(peer->address()) == address; });
    return found == follower_.peers().end() ? nullptr : found->get();
}

bool FollowerControl::add(std::string_view node, const PeerAddress& address) {
    const bool listed = std::ranges::any_of(
        added_, [&](const Added& entry) { return entry.node == node || entry.address == address; });
    if (listed) return false;
    added_.push_back({std::string(node), address});
    if (Peer* const peer = find(address)) {
        peer->set_lasting(true);
    } else {
        follower_.add_peer(address, true);
    }
    return true;
}

void FollowerControl::release(const PeerAddress& address) {
    if (std::ranges::find(connect_, address) != connect_.end()) return;
    Peer* const peer = find(address);
    if (peer == nullptr) return;
    peer->set_lasting(false);
    if (!peer->calling()) follower_.remove_peer(*peer);
}

Result<bool> FollowerControl::add_node(std::string_view node) {
    const auto address = parse(node);
    if (!address) return std::unexpected(address.error());
    bool added = false;
    if (auto done = run([&] { added = add(node, *address); }); !done) return forward_error(done);
    return added;
}

Result<bool> FollowerControl::remove_node(std::string_view node) {
    bool removed = false;
    auto done = run([&] {
        const auto found = std::ranges::find(added_, node, &Added::node);
        if (found == added_.end()) return;
        const PeerAddress address = found->address;
        added_.erase(found);
        release(address);
        removed = true;
    });
    if (!done) return forward_error(done);
    return removed;
}

Result<void> FollowerControl::try_node(std::string_view node) {
    const auto address = parse(node);
    if (!address) return std::unexpected(address.error());
    return run([&] {
        if (!active_) return;
        if (Peer* const peer = find(*address)) {
            peer->call_soon();
        } else {
            follower_.add_peer(*address, false);
        }
    });
}

Result<std::vector<AddedNodeRow>> FollowerControl::added_nodes() {
    std::vector<AddedNodeRow> rows;
    auto done = run([&] {
        for (const Added& entry : added_) {
            const Peer* const peer = find(entry.address);
            const bool connected = peer != nullptr && peer->ready();
            rows.push_back({entry.node, connected ? peer->remote() : std::string()});
        }
    });
    if (!done) return forward_error(done);
    return rows;
}

Result<bool> FollowerControl::disconnect_if(std::function<bool(const Peer&)> meant) {
    bool found = false;
    auto done = run([&] {
        for (const auto& peer : follower_.peers()) {
            if (!peer->calling() || peer->remote().empty() || !meant(*peer)) continue;
            peer->drop("an operator asked for it (disconnectnode)", Peer::Blame::nobody);
            found = true;
        }
    });
    if (!done) return forward_error(done);
    return found;
}

Result<bool> FollowerControl::disconnect(std::string_view address) {
    return disconnect_if(
        [address](const Peer& peer) { return peer.name() == address || peer.remote() == address; });
}

Result<bool> FollowerControl::disconnect(std::int64_t peer) {
    return disconnect_if([peer](const Peer& other) { return other.number() == peer; });
}

Result<void> FollowerControl::bans_changed() {
    return run([&] {
        for (const auto& peer : follower_.peers()) {
            const auto address = peer->remote_address();
            if (!address) {
                if (!peer->calling()) peer->call_soon();
            } else if (!follower_.allows(*address)) {
                peer->drop("its address was banned (setban)", Peer::Blame::nobody);
            }
        }
    });
}

Result<void> FollowerControl::ping() {
    return run([&] {
        for (const auto& peer : follower_.peers()) {
            if (peer->ready()) peer->ping(std::chrono::steady_clock::now());
        }
    });
}

Result<void> FollowerControl::set_active(bool active) {
    return run([&] {
        active_ = active;
        follower_.set_active(active);
    });
}

Result<void> FollowerControl::fetch_block(const BlockHash& hash, Height height, std::int64_t peer) {
    Result<void> fetched;
    auto done = run([&] {
        const auto found = std::ranges::find_if(follower_.peers(), [peer](const auto& other) {
            return other->number() == peer && other->ready();
        });
        if (found == follower_.peers().end()) {
            fetched = fail(Errc::unavailable, "Peer does not exist");
        } else if (!follower_.request_block(**found, {hash, height})) {
            fetched = fail(Errc::unavailable, "Already requested from this peer");
        }
    });
    return done ? fetched : done;
}

}  // namespace blockpub
