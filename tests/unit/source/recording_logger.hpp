// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"

#include <blockpub/logger.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace blockpub::test {

/// Keeps every line.
class RecordingLogger final : public Logger {
 public:
    void write(LogLevel level, LogCategory, std::string_view line) noexcept override {
        const MutexLock lock(mutex_);
        lines_.emplace_back(level, line);
    }
    [[nodiscard]] bool debug_enabled(LogCategory) const noexcept override { return true; }

    /// Number of lines of `level` that contain `text`.
    [[nodiscard]] std::size_t count(LogLevel level, std::string_view text) const {
        const MutexLock lock(mutex_);
        std::size_t found = 0;
        for (const auto& [line_level, line] : lines_) {
            if (line_level == level && line.find(text) != std::string::npos) ++found;
        }
        return found;
    }

 private:
    mutable Mutex mutex_;
    std::vector<std::pair<LogLevel, std::string>> lines_ BLOCKPUB_GUARDED_BY(mutex_);
};

}  // namespace blockpub::test
