// SPDX-License-Identifier: MIT
#pragma once

#include "base/log.hpp"
#include "base/mutex.hpp"
#include "chain/mempool_service.hpp"

#include <blockpub/result.hpp>

#include <filesystem>
#include <functional>

namespace blockpub {

/// Keeps the mempool over a restart, in a file that bitcoind can read and whose own it reads.
///
/// Thread safety: every method from any thread.
/// Ownership: borrows service and logger.
/// Blocking: reads and writes the file; loading waits for the chain thread.
class MempoolKeeper {
 public:
    MempoolKeeper(MempoolService& service, std::filesystem::path file, Logger* logger)
        : service_(service), file_(std::move(file)), log_(logger, LogCategory::general) {}

    [[nodiscard]] const std::filesystem::path& file() const { return file_; }
    /// Takes in what an earlier run left, and then tells that the mempool is loaded; a file that is damaged
    /// is left where it is and logged. `stop` is asked now and then, and ends it.
    void load(const std::function<bool()>& stop);
    /// Tells that there is nothing to load.
    void skip_loading();
    /// Replaces the file whole, or leaves it as it was. Asks nothing of the chain thread, which may have
    /// ended. Errors: io, disk_full.
    [[nodiscard]] Result<void> save() BLOCKPUB_EXCLUDES(mutex_);

 private:
    [[nodiscard]] Result<void> load_file(const std::function<bool()>& stop);

    MempoolService& service_;
    const std::filesystem::path file_;
    const Log log_;
    Mutex mutex_;  // around the file: two must not write it at a time
};

}  // namespace blockpub
