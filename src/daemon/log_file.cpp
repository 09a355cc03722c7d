// SPDX-License-Identifier: MIT
#include "daemon/log_file.hpp"

#include "daemon/printable.hpp"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/dist_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <atomic>
#include <fstream>
#include <mutex>
#include <string>
#include <vector>

namespace blockpub {
namespace {

constexpr std::size_t kLongestLine = 16 << 10;
constexpr std::uintmax_t kShrinkFrom = 11'000'000;
constexpr std::size_t kShrinkTo = 10'000'000;

constexpr std::size_t bit(LogCategory category) {
    return static_cast<std::size_t>(category);
}

constexpr std::string_view category_name(LogCategory category) {
    switch (category) {
        case LogCategory::general:
            return "";
        case LogCategory::zmq:
            return "zmq";
        case LogCategory::http:
            return "http";
        case LogCategory::rpc:
            return "rpc";
        case LogCategory::chain:
            return "chain";
        case LogCategory::store:
            return "store";
        case LogCategory::import:
            return "import";
        case LogCategory::bus:
            return "bus";
        case LogCategory::net:
            return "net";
    }
    return "";
}

std::string prefix(LogLevel level, LogCategory category) {
    const std::string_view name = category_name(category);
    switch (level) {
        case LogLevel::debug:
            return name.empty() ? "" : fmt::format("[{}] ", name);
        case LogLevel::info:
            return "";
        case LogLevel::warning:
            return name.empty() ? "[warning] " : fmt::format("[{}:warning] ", name);
        case LogLevel::error:
            return name.empty() ? "[error] " : fmt::format("[{}:error] ", name);
    }
    return "";
}

void append_escaped(std::string& out, std::string_view line) {
    const std::size_t cut = line.size() > kLongestLine ? line.size() - kLongestLine : 0;
    append_printable(out, line.substr(0, kLongestLine));
    if (cut != 0) fmt::format_to(std::back_inserter(out), "… ({} bytes left out)", cut);
}

/// Keeps the last whole lines of a file that has grown long. What fails here leaves the file as it is.
void shrink(const std::filesystem::path& path) {
    std::error_code error;
    const auto size = std::filesystem::file_size(path, error);
    if (error || size < kShrinkFrom) return;
    std::ifstream in(path, std::ios::binary);
    in.seekg(static_cast<std::streamoff>(size - kShrinkTo));
    std::string rest;
    std::getline(in, rest);
    std::string tail(kShrinkTo, '\0');
    in.read(tail.data(), static_cast<std::streamsize>(tail.size()));
    tail.resize(static_cast<std::size_t>(in.gcount()));
    if (tail.empty()) return;
    const std::filesystem::path shorter = path.string() + ".shrunk";
    {
        std::ofstream out(shorter, std::ios::binary | std::ios::trunc);
        out.write(tail.data(), static_cast<std::streamsize>(tail.size()));
        if (!out.flush()) {
            std::filesystem::remove(shorter, error);
            return;
        }
    }
    std::filesystem::rename(shorter, path, error);
}

std::string pattern(const LogOptions& options) {
    if (!options.timestamps) return "%v";
    return options.microseconds ? "%Y-%m-%dT%H:%M:%S.%fZ %v" : "%Y-%m-%dT%H:%M:%SZ %v";
}

/// Lines above the one that the terminal shows anew.
class TerminalSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
    explicit TerminalSink(Terminal& terminal) : terminal_(terminal) {}

 private:
    void sink_it_(const spdlog::details::log_msg& message) override {
        spdlog::memory_buf_t text;
        formatter_->format(message, text);
        terminal_.write({text.data(), text.size()});
    }
    void flush_() override {}

    Terminal& terminal_;
};

}  // namespace

struct LogFile::Output {
    explicit Output(const LogOptions& options)
        : sinks(std::make_shared<spdlog::sinks::dist_sink_mt>()), logger("blockpub", sinks) {
        if (options.console && options.terminal != nullptr)
            console = std::make_shared<TerminalSink>(*options.terminal);
        else if (options.console)
            console = std::make_shared<spdlog::sinks::stdout_sink_mt>();
        sinks->set_formatter(
            std::make_unique<spdlog::pattern_formatter>(pattern(options), spdlog::pattern_time_type::utc));
        logger.set_level(spdlog::level::trace);
        logger.flush_on(spdlog::level::trace);
        logger.set_error_handler(
            [this](const std::string&) { lost.fetch_add(1, std::memory_order_relaxed); });
    }
    /// Opens the file (by its name) and puts it in the place of the one before. Throws spdlog_ex.
    void open(const LogOptions& options) {
        std::vector<spdlog::sink_ptr> all;
        if (console) all.push_back(console);
        if (options.file) {
            // spdlog would make the directory, and a slip of the hand would hide the log somewhere.
            const std::filesystem::path directory = options.file->parent_path();
            if (!directory.empty() && !std::filesystem::is_directory(directory)) {
                throw spdlog::spdlog_ex("there is no directory " + directory.string());
            }
            all.push_back(std::make_shared<spdlog::sinks::basic_file_sink_mt>(options.file->string(), false));
        }
        for (const auto& sink : all) {
            sink->set_formatter(std::make_unique<spdlog::pattern_formatter>(pattern(options),
                                                                            spdlog::pattern_time_type::utc));
        }
        sinks->set_sinks(std::move(all));
    }

    std::atomic<std::uint64_t> lost{0};
    spdlog::sink_ptr console;
    std::shared_ptr<spdlog::sinks::dist_sink_mt> sinks;
    spdlog::logger logger;
};

LogFile::LogFile(LogOptions options)
    : options_(std::move(options)),
      categories_(options_.categories.to_ulong()),
      output_(std::make_unique<Output>(options_)) {}
LogFile::~LogFile() = default;

Result<std::unique_ptr<LogFile>> LogFile::open(LogOptions options) {
    if (options.file && options.shrink) shrink(*options.file);
    std::unique_ptr<LogFile> log(new LogFile(std::move(options)));
    if (auto opened = log->reopen(); !opened) return forward_error(opened);
    return log;
}

Result<void> LogFile::reopen() {
    try {
        output_->open(options_);
        return {};
    } catch (const std::exception& error) {
        return fail(Errc::io, fmt::format("Could not open debug log file {}: {}",
                                          options_.file ? options_.file->string() : "", error.what()));
    }
}

bool LogFile::debug_enabled(LogCategory category) const noexcept {
    return LogCategories(categories_.load(std::memory_order_relaxed)).test(bit(category));
}

bool LogFile::set_debug(std::string_view category, bool on) noexcept {
    const auto named = log_categories_from_name(category);
    if (!named) return false;
    if (on) {
        categories_.fetch_or(named->to_ulong(), std::memory_order_relaxed);
    } else {
        categories_.fetch_and(~named->to_ulong(), std::memory_order_relaxed);
    }
    return true;
}

std::uint64_t LogFile::lines_lost() const noexcept {
    return output_->lost.load(std::memory_order_relaxed);
}

void LogFile::write(LogLevel level, LogCategory category, std::string_view line) noexcept {
    if (level == LogLevel::debug && !debug_enabled(category)) return;
    try {
        std::string text = prefix(level, category);
        append_escaped(text, line);
        LineLimiter::Verdict verdict;
        {
            MutexLock lock(mutex_);
            verdict = limiter_.admit(text, std::chrono::steady_clock::now());
        }
        if (!verdict.write) return;
        if (verdict.left_out != 0) {
            fmt::format_to(std::back_inserter(text), " ({} equal lines left out)", verdict.left_out);
        }
        if (verdict.last_of_window) text += " (equal lines are left out for a minute)";
        output_->logger.log(spdlog::level::info, spdlog::string_view_t(text));
    } catch (...) {
        output_->lost.fetch_add(1, std::memory_order_relaxed);
    }
}

std::optional<LogCategories> log_categories_from_name(std::string_view name) {
    LogCategories result;
    if (name.empty() || name == "1" || name == "all") return result.set();
    for (const LogCategory category :
         {LogCategory::zmq, LogCategory::http, LogCategory::rpc, LogCategory::chain, LogCategory::store,
          LogCategory::import, LogCategory::bus, LogCategory::net}) {
        if (name == category_name(category)) return result.set(bit(category));
    }
    if (name == "validation" || name == "bench" || name == "mempool" || name == "mempoolrej")
        return result.set(bit(LogCategory::chain));
    if (name == "reindex") return result.set(bit(LogCategory::import));
    if (name == "leveldb" || name == "coindb" || name == "blockstorage" || name == "prune") {
        return result.set(bit(LogCategory::store));
    }
    if (name == "libevent") return result.set(bit(LogCategory::http));
    constexpr std::string_view kNoSubjectHere[] = {
        "0",          "none", "tor",       "walletdb", "estimatefee", "addrman",          "selectcoins",
        "cmpctblock", "rand", "qt",        "proxy",    "i2p",         "txreconciliation", "ipc",
        "lock",       "scan", "txpackages"};
    for (const std::string_view known : kNoSubjectHere) {
        if (name == known) return result;
    }
    return std::nullopt;
}

}  // namespace blockpub
