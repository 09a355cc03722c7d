// SPDX-License-Identifier: MIT
#include "base/ban_list.hpp"

#include <algorithm>
#include <utility>

namespace blockpub {

BanList::BanList(const std::vector<Ban>& bans, const Clock& clock, Save save)
    : clock_(clock), save_(std::move(save)) {
    const MutexLock lock(mutex_);
    for (const Ban& ban : bans) bans_.insert_or_assign(ban.subnet, ban);
}

std::vector<BanList::Ban> BanList::bans() const {
    const MutexLock lock(mutex_);
    std::vector<Ban> out;
    for (const auto& [subnet, ban] : bans_) {
        if (in_force(ban)) out.push_back(ban);
    }
    return out;
}

bool BanList::contains(const IpAddress& address) const {
    const MutexLock lock(mutex_);
    return std::ranges::any_of(
        bans_, [&](const auto& entry) { return entry.first.contains(address) && in_force(entry.second); });
}

bool BanList::contains(const Subnet& subnet) const {
    const MutexLock lock(mutex_);
    const auto found = bans_.find(subnet);
    return found != bans_.end() && in_force(found->second);
}

Result<void> BanList::add(const Subnet& subnet, std::int64_t until) {
    {
        const MutexLock lock(mutex_);
        Ban& ban = bans_[subnet];
        if (in_force(ban) && ban.until >= until) return {};
        ban = {.subnet = subnet, .created = clock_.now_seconds(), .until = until};
    }
    return save();
}

Result<bool> BanList::remove(const Subnet& subnet) {
    {
        const MutexLock lock(mutex_);
        const auto found = bans_.find(subnet);
        if (found == bans_.end()) return false;
        const bool counted = in_force(found->second);
        bans_.erase(found);
        if (!counted) return false;
    }
    if (auto saved = save(); !saved) return forward_error(saved);
    return true;
}

Result<void> BanList::clear() {
    {
        const MutexLock lock(mutex_);
        bans_.clear();
    }
    return save();
}

Result<void> BanList::save() {
    const MutexLock saving(save_mutex_);
    return save_(bans());
}

}  // namespace blockpub
