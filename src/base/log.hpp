// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <string_view>

#include <blockpub/logger.hpp>

namespace blockpub {

/// A Logger with formatting and a subject, cheap to copy; a null logger drops all.
/// Thread safety: as Logger.
class Log {
   public:
    Log() = default;
    Log(Logger* logger, LogCategory category) : logger_(logger), category_(category) {}

    template <class... Args>
    void debug(fmt::format_string<Args...> format, Args&&... args) const {
        if (logger_ == nullptr || !logger_->debug_enabled(category_)) return;
        logger_->write(LogLevel::debug, category_, fmt::format(format, std::forward<Args>(args)...));
    }
    template <class... Args>
    void info(fmt::format_string<Args...> format, Args&&... args) const {
        write(LogLevel::info, format, std::forward<Args>(args)...);
    }
    template <class... Args>
    void warning(fmt::format_string<Args...> format, Args&&... args) const {
        write(LogLevel::warning, format, std::forward<Args>(args)...);
    }
    template <class... Args>
    void error(fmt::format_string<Args...> format, Args&&... args) const {
        write(LogLevel::error, format, std::forward<Args>(args)...);
    }

   private:
    template <class... Args>
    void write(LogLevel level, fmt::format_string<Args...> format, Args&&... args) const {
        if (logger_ != nullptr) logger_->write(level, category_, fmt::format(format, std::forward<Args>(args)...));
    }

    Logger* logger_ = nullptr;
    LogCategory category_ = LogCategory::general;
};

}  // namespace blockpub
