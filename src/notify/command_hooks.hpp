// SPDX-License-Identifier: MIT
#pragma once

#include "base/log.hpp"
#include "base/mutex.hpp"

#include <blockpub/bus.hpp>
#include <blockpub/result.hpp>

#include <chrono>
#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <thread>

namespace blockpub {

/// The shell commands that the options name; an empty one is never run.
struct CommandHookOptions {
    std::string block_notify;      ///< at each new tip outside initial download; `%s` is the block's hash
    std::string startup_notify;    ///< when the daemon is ready
    std::string shutdown_notify;   ///< when it begins to end
    std::size_t most_running = 4;  ///< runs of block_notify at a time; further tips wait their turn
    std::chrono::milliseconds longest_run{5 * 60'000};      ///< then it is killed
    std::chrono::milliseconds longest_shutdown_run{4'000};  ///< then the end goes on without it
};

/// Runs commands at new tips, at the start and at the end, off every thread that has other work.
///
/// Tips wait in the bus, not here, so that none is left out and nothing grows however slow the command is.
/// Thread safety: every method from any thread.
/// Ownership: borrows bus and logger, which must outlive it.
/// Blocking: `run_shutdown` for no longer than longest_shutdown_run; the destructor lets running commands go
/// on. Errors: a command that fails, cannot be started or takes too long is logged. Source: bitcoind's
/// -blocknotify, -startupnotify and -shutdownnotify. Differs: the number of runs at a time and their time are
/// bounded.
class CommandHooks final : private EventHandler {
 public:
    CommandHooks(CommandHookOptions options, Bus& bus, Logger& logger);
    ~CommandHooks() override;
    CommandHooks(const CommandHooks&) = delete;
    CommandHooks& operator=(const CommandHooks&) = delete;

    /// Starts the startup command and returns.
    void run_startup();
    /// Runs the shutdown command and waits for it.
    void run_shutdown();

 private:
    struct Run {
        bool ended = false;
        std::jthread thread;
    };

    void on_event(const Event& event) override;
    void start(std::string option, std::string line, std::size_t most_running) BLOCKPUB_EXCLUDES(mutex_);
    void watch(const std::string& option, const std::string& line) const;
    void end_overdue(const std::string& option, class Command& command) const;

    // Constant after construction.
    const CommandHookOptions options_;
    const Log log_;
    int cancel_descriptor_ = -1;  // readable when running commands are no longer waited for

    Mutex mutex_;
    CondVar ended_;
    std::list<Run> runs_ BLOCKPUB_GUARDED_BY(mutex_);
    bool ending_ BLOCKPUB_GUARDED_BY(mutex_) = false;

    std::optional<Subscription> subscription_;
};

}  // namespace blockpub
