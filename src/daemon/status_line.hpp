// SPDX-License-Identifier: MIT
#pragma once

#include "chain/chain.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace blockpub {

/// What somebody at the terminal wants to know of a running daemon.
struct StatusFacts {
    ChainStatus chain;
    std::int64_t now = 0;             ///< Unix time, in seconds
    std::uint64_t read_failures = 0;  ///< reads of stored blocks that should have gone well
    std::string last_read_error;
    std::string source;                  ///< where blocks come from just now
    std::vector<std::string> endpoints;  ///< of ZeroMQ, as bound
    std::vector<std::string> failing;    ///< those of them that cannot send just now
    std::vector<std::string> rpc_addresses;
    std::string cookie_path;  ///< empty without a cookie
};

/// One line, such as `tip 169 0c00…8432, 3 min old; blocks by submitblock; ZMQ tcp://127.0.0.1:28432; RPC
/// 127.0.0.1:18483, cookie /home/ann/.blockpub/regtest/.cookie`. Trouble comes first.
[[nodiscard]] std::string format_status(const StatusFacts& facts);

/// `8 s`, `4 min`, `3 h`, `12 days`.
[[nodiscard]] std::string format_age(std::chrono::seconds age);

}  // namespace blockpub
