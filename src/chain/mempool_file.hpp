// SPDX-License-Identifier: MIT
#pragma once

#include "chain/mempool_transaction.hpp"

#include <blockpub/bytes.hpp>
#include <blockpub/hash.hpp>
#include <blockpub/result.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace blockpub {

/// What `mempool.dat` holds. Units: seconds since 1970, satoshi.
struct MempoolFileContents {
    struct Item {
        TransactionRef transaction;
        std::int64_t time = 0;       ///< of its arrival
        std::int64_t fee_delta = 0;  ///< what prioritising adds to its fee
    };
    std::vector<Item> items;                  ///< parents before children
    std::map<Txid, std::int64_t> fee_deltas;  ///< of transactions that are not here
    std::set<Txid> unbroadcast;
};

/// The file of bitcoind: version 2, its payload obfuscated by an XOR key that lies in the file, or version 1,
/// which is plain. Source: Bitcoin Core v28.1 src/node/mempool_persist.cpp.
struct MempoolFile {
    static constexpr const char* kName = "mempool.dat";
    static constexpr std::size_t kKeySize = 8;
    using Key = std::array<std::uint8_t, kKeySize>;

    /// Version 2, under the key.
    [[nodiscard]] static std::vector<std::uint8_t> encode(const MempoolFileContents& contents,
                                                          const Key& key);
    /// Errors: corrupt; unsupported for another version.
    [[nodiscard]] static Result<MempoolFileContents> decode(ByteSpan file);
};

}  // namespace blockpub
