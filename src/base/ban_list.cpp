// SPDX-License-Identifier: MIT
#include "base/ban_list.hpp"

#include <algorithm>
#include <utility>

namespace blockpub {

BanList::BanList(const std::vector<Ban>& bans, const Clock& clock, Save save)
    : clock_(clock), save_(std::move(save)) {
    const MutexLock lock(mutex_);
    for (const Ban& ban : bans) {
        if (in_force(ban)) bans_.insert_or_assign(ban.target, ban);
    }
}

std::vector<BanList::Ban> BanList::bans() const {
    const MutexLock lock(mutex_);
    std::vector<Ban> out;
    for (const auto& [target, ban] : bans_) {
        if (in_force(ban)) out.push_back(ban);
    }
    return out;
}

bool BanList::contains(const IpAddress& address) const {
    const MutexLock lock(mutex_);
    return std::ranges::any_of(
        bans_, [&](const auto& entry) { return entry.first.contains(address) && in_force(entry.second); });
}

bool BanList::contains(const BanTarget& target) const {
    const MutexLock lock(mutex_);
    const auto found = bans_.find(target);
    return found != bans_.end() && in_force(found->second);
}

Result<void> BanList::add(const BanTarget& target, std::int64_t until) {
    {
        const MutexLock lock(mutex_);
        std::erase_if(bans_, [this](const auto& entry) { return !in_force(entry.second); });
        Ban& ban = bans_[target];
        if (in_force(ban) && ban.until >= until) return {};
        ban = {.target = target, .created = clock_.now_seconds(), .until = until};
    }
    return save();
}

Result<bool> BanList::remove(const BanTarget& target) {
    {
        const MutexLock lock(mutex_);
        const auto found = bans_.find(target);
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
