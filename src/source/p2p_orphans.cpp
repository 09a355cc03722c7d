// SPDX-License-Identifier: MIT
#include "source/p2p_orphans.hpp"

#include <set>
#include <utility>

namespace blockpub {
namespace {

std::set<Txid> parents_of(const MempoolTransaction& transaction) {
    std::set<Txid> parents;
    for (const Outpoint& outpoint : transaction.spends()) parents.insert(outpoint.txid);
    return parents;
}

}  // namespace

bool OrphanPool::add(const TransactionRef& transaction, std::uint32_t peer) {
    if (transaction->raw().size() > limits_.bytes_of_one) return false;
    const Wtxid& wtxid = transaction->wtxid();
    if (!orphans_.emplace(wtxid, Orphan{transaction, peer}).second) return false;
    for (const Txid& parent : parents_of(*transaction)) children_.emplace(parent, wtxid);
    by_age_.push_back(wtxid);
    while (orphans_.size() > limits_.count) {
        static_cast<void>(take(by_age_.front()));
        by_age_.pop_front();
    }
    // What has left by other ways would add up where nothing is too much.
    if (by_age_.size() > 2 * limits_.count)
        std::erase_if(by_age_, [this](const Wtxid& one) { return !orphans_.contains(one); });
    return true;
}

std::optional<OrphanPool::Orphan> OrphanPool::take(const Wtxid& wtxid) {
    auto node = orphans_.extract(wtxid);
    if (node.empty()) return std::nullopt;
    for (const Txid& parent : parents_of(*node.mapped().transaction)) {
        const auto [begin, end] = children_.equal_range(parent);
        for (auto child = begin; child != end; ++child) {
            if (child->second != wtxid) continue;
            children_.erase(child);
            break;
        }
    }
    return std::move(node.mapped());
}

std::vector<OrphanPool::Orphan> OrphanPool::take_children(const Txid& parent) {
    std::vector<Wtxid> wtxids;
    const auto [begin, end] = children_.equal_range(parent);
    for (auto child = begin; child != end; ++child) wtxids.push_back(child->second);
    std::vector<Orphan> taken;
    for (const Wtxid& wtxid : wtxids) {
        if (auto orphan = take(wtxid)) taken.push_back(std::move(*orphan));
    }
    return taken;
}

std::vector<OrphanPool::Orphan> OrphanPool::take_all() {
    std::vector<Orphan> taken;
    for (auto& [wtxid, orphan] : std::exchange(orphans_, {})) taken.push_back(std::move(orphan));
    children_.clear();
    by_age_.clear();
    return taken;
}

void OrphanPool::forget(std::uint32_t peer) {
    std::vector<Wtxid> wtxids;
    for (const auto& [wtxid, orphan] : orphans_) {
        if (orphan.peer == peer) wtxids.push_back(wtxid);
    }
    for (const Wtxid& wtxid : wtxids) static_cast<void>(take(wtxid));
}

}  // namespace blockpub
