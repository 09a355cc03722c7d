// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/coin.hpp"
#include "primitives/transaction.hpp"
#include "store/coin_store.hpp"

#include <blockpub/block_reader.hpp>
#include <blockpub/hash.hpp>
#include <blockpub/result.hpp>
#include <blockpub/store.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>

namespace blockpub {

/// The coins of one tip that pay to certain scripts.
struct ScriptScanResult {
    struct Found {
        Coin coin;
        BlockHash block;  ///< that made it, in the tip's chain
    };
    bool complete = false;    ///< false: told to end before all had been looked at
    std::uint64_t coins = 0;  ///< looked at
    Tip tip;
    std::map<Outpoint, Found> found;
};

/// Looks through all coins for those that pay to certain scripts.
///
/// The coins are read in parts, each from a snapshot of its own: a read transaction that lasted for the whole
/// scan would keep the table from using its pages again, and memory from dropping old values. Before the next
/// part is read, what blocks have changed in the parts before it is looked up again, in the next part's
/// snapshot, so that all that was seen is of one tip: that of the last snapshot.
///
/// Thread safety: one thread at a time.
/// Ownership: borrows the sources.
/// Blocking: reads the disk; never takes the chain lock.
class ScriptScan {
 public:
    struct Sources {
        const CoinStore& coins;
        const Store& store;
        BlockReader& blocks;
    };
    /// How others follow the scan and end it; called every few thousand coins. All must be set.
    struct Control {
        std::function<bool()> stopping;  ///< the scan fails
        std::function<bool()> aborted;   ///< the scan ends with what it has
        std::function<void(int percent)> progress;
    };

    /// `wanted` says whether a script is looked for.
    ScriptScan(Sources sources, Control control, std::function<bool(const Script&)> wanted)
        : sources_(sources), control_(std::move(control)), wanted_(std::move(wanted)) {}

    /// Requires: called once. Errors: stopped; limit, when more coins are found, or are changed while one
    /// part is read, than are held in memory; unavailable, corrupt, io.
    [[nodiscard]] Result<ScriptScanResult> run();

 private:
    enum class Progress : std::uint8_t { done, aborted };

    [[nodiscard]] Result<Progress> scan_part(const CoinSnapshot& snapshot, std::size_t part);
    /// Brings what was seen in the first `parts` parts from one snapshot to a later one.
    [[nodiscard]] Result<void> follow(const CoinSnapshot& before, const CoinSnapshot& after,
                                      std::size_t parts);
    [[nodiscard]] Result<void> look_again(const CoinSnapshot& before, const CoinSnapshot& after,
                                          const Outpoint& outpoint);
    [[nodiscard]] bool is_wanted(const Coin& coin);
    [[nodiscard]] Result<void> keep(const Outpoint& outpoint, const Coin& coin);
    [[nodiscard]] Result<void> find_blocks();

    // Constant after construction.
    const Sources sources_;
    const Control control_;
    const std::function<bool(const Script&)> wanted_;

    Script script_;  // memory for the one that is looked at

    ScriptScanResult result_;
};

}  // namespace blockpub
