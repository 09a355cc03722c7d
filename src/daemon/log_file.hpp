// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "daemon/line_limiter.hpp"
#include "daemon/terminal.hpp"

#include <blockpub/logger.hpp>
#include <blockpub/result.hpp>

#include <atomic>
#include <bitset>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

namespace blockpub {

/// A bit for each LogCategory.
using LogCategories = std::bitset<16>;

struct LogOptions {
    std::optional<std::filesystem::path> file;  ///< none: no file is written
    bool console = true;
    Terminal* terminal = nullptr;  ///< the console, where that is a person's; outlives the log
    bool timestamps = true;
    bool microseconds = false;
    bool shrink = false;       ///< cut a long file to its end before the first line
    LogCategories categories;  ///< whose debug lines are written
};

/// debug.log and the console: one line each, UTC time in front, as bitcoind's.
///
/// Control characters are written as \xNN, a very long line is cut, and of equal lines only a few a minute
/// are written.
///
/// Thread safety: every method from any thread.
/// Blocking: writes and flushes each line; holds no more of it in memory.
/// Errors: a line that cannot be written is lost and counted; nothing throws.
class LogFile final : public Logger {
 public:
    /// Errors: io, naming the file.
    [[nodiscard]] static Result<std::unique_ptr<LogFile>> open(LogOptions options);
    ~LogFile() override;

    void write(LogLevel level, LogCategory category, std::string_view line) noexcept override;
    [[nodiscard]] bool debug_enabled(LogCategory category) const noexcept override;

    /// Turns debug lines of a category on or off. False, and nothing changed, for an unknown name.
    [[nodiscard]] bool set_debug(std::string_view category, bool on) noexcept;

    /// Opens the file by its name again, after somebody moved it away. On failure the old one goes on being
    /// written.
    [[nodiscard]] Result<void> reopen();
    /// Lines that the system did not take.
    [[nodiscard]] std::uint64_t lines_lost() const noexcept;

 private:
    struct Output;
    explicit LogFile(LogOptions options);

    const LogOptions options_;
    std::atomic<unsigned long> categories_;  // bits of LogCategories
    std::unique_ptr<Output> output_;         // internally synchronised
    Mutex mutex_;
    LineLimiter limiter_ BLOCKPUB_GUARDED_BY(mutex_);
};

/// The category that `-debug=<name>` means; nothing for an unknown name. Those of bitcoind's that have no
/// subject here are known, and empty.
[[nodiscard]] std::optional<LogCategories> log_categories_from_name(std::string_view name);

}  // namespace blockpub
