// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/result.hpp>

#include <chrono>
#include <string>

namespace blockpub {

/// A running `/bin/sh -c command`, in a process group of its own.
///
/// It inherits no descriptor but standard output and error, no blocked signal, and nothing on standard input.
/// Thread safety: a resource of one thread.
/// Ownership: whoever is not waited for goes on when this object ends, and is reaped by the system once we
/// end.
class Command {
 public:
    enum class Wait { ended, timed_out, cancelled };

    /// Errors: io (no process, no descriptor).
    [[nodiscard]] static Result<Command> start(const std::string& line);
    Command(Command&& other) noexcept;
    Command& operator=(Command&&) = delete;
    ~Command();

    /// Waits until it ends, the time is up, or `cancel_descriptor` becomes readable (-1: none).
    [[nodiscard]] Wait wait(std::chrono::milliseconds longest, int cancel_descriptor);
    /// Sends a signal to it and all it has started. Requires: it was not seen to end.
    void kill_group(int signal) const;
    /// For the log: "exit status 3", "signal 9". Empty for success. Requires: wait said `ended`.
    [[nodiscard]] const std::string& failure() const { return failure_; }

 private:
    Command(int process, int descriptor) : process_(process), descriptor_(descriptor) {}

    int process_;
    int descriptor_;  // readable when it has ended
    std::string failure_;
};

}  // namespace blockpub
