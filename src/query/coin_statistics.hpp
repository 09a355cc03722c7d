// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/transaction.hpp"
#include "store/coin_store.hpp"

#include <blockpub/hash.hpp>
#include <blockpub/result.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace blockpub {

enum class CoinHash : std::uint8_t { none, hash_serialized_3, muhash };

/// The hash that gettxoutsetinfo calls by this name; nothing for another name.
[[nodiscard]] std::optional<CoinHash> coin_hash_from_name(std::string_view name);
[[nodiscard]] std::string_view coin_hash_name(CoinHash hash);

/// What gettxoutsetinfo tells of all coins of one tip.
/// Units: amounts in satoshi. Source: Bitcoin Core v28.1 src/kernel/coinstats.cpp.
struct CoinStatistics {
    Tip tip;
    std::uint64_t coins = 0;
    std::uint64_t transactions = 0;  ///< that have a coin left
    std::uint64_t bogosize = 0;      ///< a measure of size that no database has a part in
    Amount total = 0;
    std::string_view hash_name;  ///< empty without a hash
    BlockHash hash;              ///< of all coins; a 256-bit number, shown as hashes are
};

/// Reads every coin of the snapshot. `given_up` is asked now and then.
/// Errors: stopped; corrupt, io.
[[nodiscard]] Result<CoinStatistics> coin_statistics(const CoinSnapshot& snapshot, CoinHash hash,
                                                     const std::function<bool()>& given_up);

}  // namespace blockpub
