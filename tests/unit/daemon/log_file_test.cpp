// SPDX-License-Identifier: MIT
#include "daemon/log_file.hpp"

#include "daemon/line_limiter.hpp"
#include "temporary_directory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <regex>
#include <thread>
#include <vector>

using namespace blockpub;

namespace {

std::unique_ptr<LogFile> open_log(const std::filesystem::path& file, LogCategories categories = {}) {
    auto log = LogFile::open({.file = file, .console = false, .timestamps = false, .categories = categories});
    REQUIRE(log);
    return std::move(*log);
}

}  // namespace

TEST_SUITE("daemon.line_limiter") {
    TEST_CASE("a few equal lines are written in each window, and the rest counted") {
        LineLimiter limiter;
        LineLimiter::Time now{};
        for (std::uint64_t i = 1; i <= LineLimiter::kLinesPerWindow; ++i) {
            const auto verdict = limiter.admit("x", now);
            CHECK(verdict.write);
            CHECK(verdict.last_of_window == (i == LineLimiter::kLinesPerWindow));
        }
        for (int i = 0; i < 7; ++i) CHECK_FALSE(limiter.admit("x", now).write);
        CHECK(limiter.admit("y", now).write);
        now += LineLimiter::kWindow;
        const auto verdict = limiter.admit("x", now);
        CHECK(verdict.write);
        CHECK(verdict.left_out == 7);
        CHECK(limiter.admit("x", now).left_out == 0);
    }

    TEST_CASE("lines that differ never hold each other up, however many") {
        LineLimiter limiter;
        const LineLimiter::Time now{};
        for (int i = 0; i < 5000; ++i) CHECK(limiter.admit(std::to_string(i), now).write);
        for (std::size_t i = 5000 - LineLimiter::kLinesRemembered; i < 5000; ++i) {
            for (int again = 0; again < 10; ++again) (void)limiter.admit(std::to_string(i), now);
            CHECK_FALSE(limiter.admit(std::to_string(i), now).write);
        }
    }
}

TEST_SUITE("daemon.log_file") {
    TEST_CASE("a line has the time in UTC, the level and the subject") {
        const test::TemporaryDirectory directory;
        auto log = LogFile::open(
            {.file = directory.path() / "debug.log", .console = false, .categories = LogCategories().set()});
        REQUIRE(log);
        (*log)->write(LogLevel::info, LogCategory::zmq, "hello");
        (*log)->write(LogLevel::debug, LogCategory::zmq, "detail");
        (*log)->write(LogLevel::warning, LogCategory::general, "careful");
        (*log)->write(LogLevel::error, LogCategory::store, "broken");
        const std::string time = "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z ";
        CHECK(std::regex_match(
            test::file_text(directory.path() / "debug.log"),
            std::regex(time + "hello\n" + time + R"(\[zmq\] detail)" + "\n" + time +
                       R"(\[warning\] careful)" + "\n" + time + R"(\[store:error\] broken)" + "\n")));
    }

    TEST_CASE("only the categories asked for have debug lines") {
        const test::TemporaryDirectory directory;
        const auto log = open_log(directory.path() / "debug.log", *log_categories_from_name("zmq"));
        CHECK(log->debug_enabled(LogCategory::zmq));
        CHECK_FALSE(log->debug_enabled(LogCategory::rpc));
        log->write(LogLevel::debug, LogCategory::zmq, "in");
        log->write(LogLevel::debug, LogCategory::rpc, "out");
        CHECK(test::file_text(directory.path() / "debug.log") == "[zmq] in\n");
    }

    TEST_CASE("a hostile line stays one line and short") {
        const test::TemporaryDirectory directory;
        const auto log = open_log(directory.path() / "debug.log");
        log->write(LogLevel::info, LogCategory::general, std::string_view("a\nfake {} %s\r\x1b[2J\0z", 19));
        log->write(LogLevel::info, LogCategory::general, std::string(1 << 20, 'x'));
        const std::string text = test::file_text(directory.path() / "debug.log");
        CHECK(text.starts_with("a\\x0afake {} %s\\x0d\\x1b[2J\\x00z\n"));
        CHECK(text.size() < 20'000);
        CHECK(text.ends_with("bytes left out)\n"));
    }

    TEST_CASE("equal lines are written a few times and then left out") {
        const test::TemporaryDirectory directory;
        const auto log = open_log(directory.path() / "debug.log");
        for (int i = 0; i < 1000; ++i) log->write(LogLevel::warning, LogCategory::zmq, "again");
        const std::string text = test::file_text(directory.path() / "debug.log");
        CHECK(std::ranges::count(text, '\n') == LineLimiter::kLinesPerWindow);
        CHECK(text.ends_with("(equal lines are left out for a minute)\n"));
    }

    TEST_CASE("a file moved away is opened anew on request") {
        const test::TemporaryDirectory directory;
        const auto log = open_log(directory.path() / "debug.log");
        log->write(LogLevel::info, LogCategory::general, "one");
        std::filesystem::rename(directory.path() / "debug.log", directory.path() / "debug.log.1");
        log->write(LogLevel::info, LogCategory::general, "two");
        REQUIRE(log->reopen());
        log->write(LogLevel::info, LogCategory::general, "three");
        CHECK(test::file_text(directory.path() / "debug.log.1") == "one\ntwo\n");
        CHECK(test::file_text(directory.path() / "debug.log") == "three\n");
    }

    TEST_CASE("when opening anew fails the old file goes on") {
        const test::TemporaryDirectory directory;
        directory.write("logs/x", "");
        const auto log = open_log(directory.path() / "logs/debug.log");
        std::filesystem::rename(directory.path() / "logs", directory.path() / "moved");
        directory.write("logs", "a file where the directory was");
        CHECK_FALSE(log->reopen());
        log->write(LogLevel::info, LogCategory::general, "still here");
        CHECK(test::file_text(directory.path() / "moved/debug.log") == "still here\n");
    }

    TEST_CASE("a log that cannot be opened is an error that names it") {
        const test::TemporaryDirectory directory;
        directory.write("file", "");
        const auto log = LogFile::open({.file = directory.path() / "file/debug.log", .console = false});
        REQUIRE_FALSE(log);
        CHECK(log.error().context.find("file/debug.log") != std::string::npos);
        CHECK_FALSE(LogFile::open({.file = directory.path() / "none/debug.log", .console = false}));
        CHECK_FALSE(std::filesystem::exists(directory.path() / "none"));
    }

    TEST_CASE("a full disk loses lines, not the daemon") {
        auto log = LogFile::open({.file = "/dev/full", .console = false});
        REQUIRE(log);
        (*log)->write(LogLevel::info, LogCategory::general, "into the void");
        CHECK((*log)->lines_lost() == 1);
    }

    TEST_CASE("a long file is cut to whole lines of its end, a short one is left alone") {
        const test::TemporaryDirectory directory;
        std::string text;
        while (text.size() < 12'000'000) text += "line " + std::to_string(text.size()) + "\n";
        const auto file = directory.write("debug.log", text);
        {
            REQUIRE(LogFile::open({.file = file, .console = false, .shrink = true}));
        }
        const std::string shrunk = test::file_text(file);
        CHECK(shrunk.size() <= 10'000'000);
        CHECK(shrunk.size() > 9'990'000);
        CHECK(shrunk.starts_with("line "));
        CHECK(text.ends_with(shrunk));
        {
            REQUIRE(LogFile::open({.file = file, .console = false, .shrink = true}));
        }
        CHECK(test::file_text(file) == shrunk);
    }

    TEST_CASE("lines of many threads stay whole") {
        const test::TemporaryDirectory directory;
        const auto log = open_log(directory.path() / "debug.log");
        {
            std::vector<std::jthread> threads;
            for (int t = 0; t < 4; ++t) {
                threads.emplace_back([&log, t] {
                    for (int i = 0; i < 200; ++i) {
                        log->write(LogLevel::info, LogCategory::general,
                                   "thread " + std::to_string(t) + " line " + std::to_string(i) + " end");
                        if (i == 100 && t == 0) CHECK(log->reopen());
                    }
                });
            }
        }
        const std::string text = test::file_text(directory.path() / "debug.log");
        const std::regex line("thread [0-3] line [0-9]+ end\n");
        CHECK(std::distance(std::sregex_iterator(text.begin(), text.end(), line), std::sregex_iterator()) ==
              800);
        CHECK(std::ranges::count(text, '\n') == 800);
    }
}
