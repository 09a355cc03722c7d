// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/result.hpp>

#include <utility>

namespace blockpub {

/// The background process' line to the one that started it, which waits for word of the start.
/// Ownership: owns the pipe's end; letting it go without `ready()` tells of a failure.
class BackgroundReport {
 public:
    BackgroundReport() = default;
    explicit BackgroundReport(int pipe) : pipe_(pipe) {}
    BackgroundReport(BackgroundReport&& other) noexcept : pipe_(std::exchange(other.pipe_, -1)) {}
    BackgroundReport& operator=(BackgroundReport&&) = delete;
    ~BackgroundReport();
    /// The start is done: the process in the foreground ends with success.
    void ready();

 private:
    int pipe_ = -1;
};

/// Goes on in a child without a terminal; the calling process ends here: at once, or when the child reports
/// (`wait`). Until the report the child keeps standard error, so that a start that fails says why.
/// Requires: no thread has been started. Errors: io.
[[nodiscard]] Result<BackgroundReport> go_to_background(bool wait);

}  // namespace blockpub
