// SPDX-License-Identifier: MIT
#pragma once

#include "base/ban_target.hpp"
#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "base/subnet.hpp"

#include <blockpub/result.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

namespace blockpub {

/// Addresses that are kept out, each until its time has come. Every change is saved before the call returns.
///
/// Thread safety: every method from any thread. Ownership: borrows the clock.
/// Blocking: add, remove and clear wait until it is saved; the others for no longer than a copy takes.
/// Errors: those of saving; what was asked for is in force nevertheless.
/// Units: seconds since 1970.
class BanList {
 public:
    struct Ban {
        BanTarget target;
        std::int64_t created = 0;
        std::int64_t until = 0;
        friend bool operator==(const Ban&, const Ban&) = default;
    };
    using Save = std::function<Result<void>(const std::vector<Ban>&)>;

    /// `save` is called from one thread at a time.
    BanList(const std::vector<Ban>& bans, const Clock& clock, Save save);

    /// Those in force, in the order of their targets.
    [[nodiscard]] std::vector<Ban> bans() const BLOCKPUB_EXCLUDES(mutex_);
    /// Whether an address is in one of the networks.
    [[nodiscard]] bool contains(const IpAddress& address) const BLOCKPUB_EXCLUDES(mutex_);
    /// Whether just this target is banned.
    [[nodiscard]] bool contains(const BanTarget& target) const BLOCKPUB_EXCLUDES(mutex_);

    /// From now on. Of two bans of a target the later end counts.
    Result<void> add(const BanTarget& target, std::int64_t until) BLOCKPUB_EXCLUDES(mutex_, save_mutex_);
    /// Result: whether there was a ban of just this target.
    [[nodiscard]] Result<bool> remove(const BanTarget& target) BLOCKPUB_EXCLUDES(mutex_, save_mutex_);
    Result<void> clear() BLOCKPUB_EXCLUDES(mutex_, save_mutex_);

 private:
    [[nodiscard]] bool in_force(const Ban& ban) const { return ban.until > clock_.now_seconds(); }
    Result<void> save() BLOCKPUB_EXCLUDES(mutex_, save_mutex_);

    const Clock& clock_;
    const Save save_;
    mutable Mutex mutex_;
    std::map<BanTarget, Ban> bans_ BLOCKPUB_GUARDED_BY(mutex_);  // those of the past go when one is added
    Mutex save_mutex_;  // before mutex_: the file never goes back to an older list
};

}  // namespace blockpub
