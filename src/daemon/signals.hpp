// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/result.hpp>

#include <functional>
#include <thread>

namespace blockpub {

/// Blocks the signals that a SignalWatcher takes, in this thread and all that it starts, and ignores SIGPIPE.
/// Children that are to have them must unblock them. Call before any thread is started.
void block_signals();

/// Waits for SIGTERM, SIGINT and SIGHUP on a thread of its own.
///
/// Thread safety: the callbacks come from that thread, one at a time.
/// Ownership: owns its thread; the callbacks must work until it is destroyed.
class SignalWatcher {
 public:
    struct Callbacks {
        std::function<void(int signal)> stop;  ///< the first SIGTERM or SIGINT
        std::function<void()> stop_at_once;    ///< each further one
        std::function<void()> hang_up;         ///< SIGHUP
    };
    /// Requires: block_signals() was called. Errors: io.
    [[nodiscard]] static Result<SignalWatcher> start(Callbacks callbacks);
    SignalWatcher(SignalWatcher&& other) noexcept;
    SignalWatcher& operator=(SignalWatcher&&) = delete;
    ~SignalWatcher();

 private:
    SignalWatcher(int signals, int wake, Callbacks callbacks);
    int signals_;
    int wake_;
    std::jthread thread_;
};

}  // namespace blockpub
