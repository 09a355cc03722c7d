// SPDX-License-Identifier: MIT
#include "query/rpc_whitelist.hpp"

#include <utility>

namespace blockpub {

namespace {

std::set<std::string, std::less<>> split_methods(std::string_view text) {
    std::set<std::string, std::less<>> methods;
    while (true) {
        const std::size_t end = text.find_first_of(", ");
        methods.emplace(text.substr(0, end));
        if (end == std::string_view::npos) return methods;
        text.remove_prefix(end + 1);
    }
}

}  // namespace

RpcWhitelist::RpcWhitelist(const std::vector<std::string>& entries, bool deny_others)
    : deny_others_(deny_others) {
    for (const std::string& entry : entries) {
        const std::size_t colon = entry.find(':');
        const auto [list, first] = lists_.try_emplace(entry.substr(0, colon));
        if (colon == std::string::npos) continue;
        Methods methods = split_methods(std::string_view(entry).substr(colon + 1));
        if (!first)
            std::erase_if(methods, [&](const std::string& name) { return !list->second.contains(name); });
        list->second = std::move(methods);
    }
}

bool RpcWhitelist::may_call(std::string_view user, std::string_view method) const {
    const auto list = lists_.find(user);
    return list != lists_.end() && list->second.contains(method);
}

}  // namespace blockpub
