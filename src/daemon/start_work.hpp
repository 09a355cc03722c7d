// SPDX-License-Identifier: MIT
#pragma once

#include "base/log.hpp"
#include "base/mutex.hpp"
#include "daemon/options.hpp"
#include "daemon/stop_request.hpp"
#include "source/importer.hpp"

#include <memory>
#include <string>
#include <thread>

namespace blockpub {

/// What the options told the daemon to do once it is ready: imports, then an export, then perhaps the end.
///
/// Thread safety: every method from any thread, but wait() from the one that destroys it.
/// Ownership: borrows all it is given, which must outlive it.
/// Blocking: request_stop never; wait and the destructor until the work has ended.
class StartWork {
 public:
    /// Whether everything can be begun at all. Errors: those of the parts.
    [[nodiscard]] static Result<void> check(const SourceOptions& options, const ChainParams& params);

    /// Begins; when this returns the chain knows of an import.
    StartWork(const SourceOptions& options, Chain& chain, Store& store, const ChainParams& params,
              Logger& logger, StopRequest& stop_request);
    ~StartWork();
    StartWork(const StartWork&) = delete;
    StartWork& operator=(const StartWork&) = delete;

    void request_stop();
    /// Waits until the work has ended.
    void wait() { thread_ = std::jthread(); }
    /// Where blocks come from just now, for a person.
    [[nodiscard]] std::string source() const;
    /// Whether work that the daemon was to end with was not done whole.
    [[nodiscard]] bool unfinished() const BLOCKPUB_EXCLUDES(mutex_);

 private:
    void run(const std::stop_token& stop);
    [[nodiscard]] bool run_export(const std::stop_token& stop);
    void set_unfinished() BLOCKPUB_EXCLUDES(mutex_);

    const SourceOptions options_;
    Store& store_;
    const ChainParams& params_;
    Logger& logger_;
    const Log log_;
    StopRequest& stop_request_;
    std::unique_ptr<Importer> importer_;

    mutable Mutex mutex_;
    bool unfinished_ BLOCKPUB_GUARDED_BY(mutex_) = false;
    std::jthread thread_;
};

}  // namespace blockpub
