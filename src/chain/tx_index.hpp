// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "chain/services.hpp"

#include <blockpub/bus.hpp>
#include <blockpub/hash.hpp>
#include <blockpub/logger.hpp>
#include <blockpub/result.hpp>
#include <blockpub/store.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>

namespace blockpub {

struct TxIndexOptions {
    std::filesystem::path directory;                   ///< `<datadir>/<chain>`; `txindex/` is made in it
    std::uint64_t map_bytes = std::uint64_t{1} << 40;  ///< address space, reserved once
    std::uint64_t min_free_disk = 0;                   ///< what a write must leave free (`-minfreedisk`)
    const Store* store = nullptr;
    Bus* bus = nullptr;
    Logger* logger = nullptr;
};

/// -txindex: follows the active chain on a thread of its own and remembers which block has each transaction.
/// On an existing store it begins at genesis, and says in the log how far it has come.
///
/// It stays behind what has been released, so that no crash takes blocks from under it.
/// A block that leaves the active chain keeps its rows until other blocks take its transactions, as in Core.
/// Thread safety: every method from any thread.
/// Ownership: borrows all that the options point to, which must outlive it.
/// Blocking: `stop` and the destructor until the batch under way is written.
/// Errors: a write or read that fails is tried again, with growing pauses, and logged; after a failed sync it
/// stops writing for good.
class TxIndex final : public TransactionIndex {
 public:
    /// Errors: those of TxTable::open; unsupported for an index of another store.
    [[nodiscard]] static Result<std::unique_ptr<TxIndex>> start(const TxIndexOptions& options);
    ~TxIndex() override;

    [[nodiscard]] Result<std::optional<BlockHash>> find(const Txid& txid) const override;
    [[nodiscard]] Status status() const override;
    void stop();

 private:
    struct Impl;
    explicit TxIndex(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace blockpub
