// SPDX-License-Identifier: MIT
#include "daemon/descriptors.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>

namespace blockpub {
namespace {

constexpr rlim_t kLimitWanted = 65536;
constexpr std::size_t kBase = 96;
constexpr std::size_t kFewestConnections = 16;
constexpr std::size_t kMostHttp = 4096;

}  // namespace

std::size_t raise_descriptor_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
    const rlim_t wanted = std::min(limit.rlim_max, kLimitWanted);
    if (limit.rlim_cur < wanted) {
        const rlimit raised{wanted, limit.rlim_max};
        if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit.rlim_cur = wanted;
    }
    return static_cast<std::size_t>(std::min(limit.rlim_cur, kLimitWanted));
}

Result<DescriptorBudget> share_descriptors(std::size_t limit, std::size_t segments, std::size_t peers) {
    DescriptorBudget budget{.limit = limit, .base = kBase, .segments = segments};
    const std::size_t required = kBase + segments + (peers == 0 ? 2 : 3) * kFewestConnections;
    if (limit < required) {
        return fail(
            Errc::limit,
            fmt::format("Not enough file descriptors available. {} available, {} required: raise the limit "
                        "(ulimit -n) or lower -opensegments.",
                        limit, required));
    }
    const std::size_t shared = limit - kBase - segments;
    budget.peers = std::min(peers, shared / 3);
    const std::size_t rest = shared - budget.peers;
    budget.http = std::min(rest / 2, kMostHttp);
    budget.zmq = rest - budget.http;
    return budget;
}

std::string DescriptorBudget::text() const {
    return fmt::format(
        "Using at most {} file descriptors: {} for block segments, {} for JSON-RPC connections, {} for "
        "subscribers, {} for peers, {} for the rest",
        limit, segments, http, zmq, peers, base);
}

}  // namespace blockpub
