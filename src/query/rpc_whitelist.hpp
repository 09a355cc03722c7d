// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace blockpub {

/// Which methods a user may call: -rpcwhitelist and -rpcwhitelistdefault.
///
/// Thread safety: immutable once made.
/// Source: Bitcoin Core v28 src/httprpc.cpp.
class RpcWhitelist {
 public:
    /// Lets everybody call everything.
    RpcWhitelist() = default;
    /// `entries`: `user:method,method`; a user that is named several times keeps what all of them name.
    /// `deny_others`: who is not named may call nothing.
    RpcWhitelist(const std::vector<std::string>& entries, bool deny_others);

    /// Whether there is a list for the user.
    [[nodiscard]] bool lists(std::string_view user) const { return lists_.find(user) != lists_.end(); }
    [[nodiscard]] bool may_call_any(std::string_view user) const { return !deny_others_ || lists(user); }
    /// Requires: lists(user).
    [[nodiscard]] bool may_call(std::string_view user, std::string_view method) const;

 private:
    using Methods = std::set<std::string, std::less<>>;
    std::map<std::string, Methods, std::less<>> lists_;
    bool deny_others_ = false;
};

}  // namespace blockpub
