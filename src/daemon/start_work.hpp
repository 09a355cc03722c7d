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
    /// `progress` may be null.
    StartWork(const SourceOptions& options, Chain& chain, Store& store, const ChainParams& params,
              Logger& logger, StopRequest& stop_request, ProgressSink* progress);
    ~StartWork();
    StartWork(const StartWork&) = delete;
    StartWork& operator=(const StartWork&) = delete;

    void request_stop();
    /// Waits until the work has ended.
    void wait() { thread_ = std::jthread(); }
    /// Where blocks come from just now, for a person.
    [[nodiscard]] std::string source() const;
    /// Why work that the daemon was to end with was not done whole; empty when it was.
    [[nodiscard]] std::string failure() const BLOCKPUB_EXCLUDES(mutex_);

 private:
    void run(const std::stop_token& stop);
    /// Result: why it was not done whole; empty when it was.
    [[nodiscard]] std::string run_import();
    [[nodiscard]] std::string run_export(const std::stop_token& stop);

    const SourceOptions options_;
    Store& store_;
    const ChainParams& params_;
    Logger& logger_;
    const Log log_;
    StopRequest& stop_request_;
    ProgressSink* const progress_;
    std::unique_ptr<Importer> importer_;

    mutable Mutex mutex_;
    std::string failure_ BLOCKPUB_GUARDED_BY(mutex_);
    std::jthread thread_;
};

}  // namespace blockpub
