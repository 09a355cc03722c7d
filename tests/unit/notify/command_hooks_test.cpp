// SPDX-License-Identifier: MIT
#include "notify/command_hooks.hpp"

#include "support/eventually.hpp"
#include "unit/notify/notify_fixture.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <latch>

using namespace blockpub;
using namespace blockpub::test;

namespace {

/// A pipe with a name, which commands write to and the test waits at.
class Fifo {
 public:
    explicit Fifo(std::string path) : path_(std::move(path)) {
        REQUIRE(mkfifo(path_.c_str(), 0600) == 0);
        descriptor_ = open(path_.c_str(), O_RDWR | O_CLOEXEC);
        REQUIRE(descriptor_ >= 0);
    }
    ~Fifo() { close(descriptor_); }
    Fifo(const Fifo&) = delete;
    Fifo& operator=(const Fifo&) = delete;
    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] std::string line() {
        std::string text;
        while (true) {
            pollfd item{descriptor_, POLLIN, 0};
            if (poll(&item, 1, 20'000) != 1) return text + " (timed out)";
            char c = 0;
            if (read(descriptor_, &c, 1) != 1) return text + " (read failed)";
            if (c == '\n') return text;
            text.push_back(c);
        }
    }
    [[nodiscard]] bool silent() const {
        pollfd item{descriptor_, POLLIN, 0};
        return poll(&item, 1, 0) == 0;
    }
    void write_line(const std::string& text) {
        CHECK(write(descriptor_, (text + "\n").data(), text.size() + 1) > 0);
    }

 private:
    std::string path_;
    int descriptor_ = -1;
};

}  // namespace

TEST_SUITE("notify.command_hooks") {
    TEST_CASE("blocknotify runs at each new tip outside initial download, with the hash in display order") {
        const TempDirectory directory;
        Fifo fifo(directory.file("fifo"));
        Scene scene;
        const CommandHooks hooks({.block_notify = "echo '%s' %s > " + fifo.path()}, scene.bus, scene.logger);
        scene.connect(made_block(1, {10}), true);
        const EventRecord record = scene.connect(block170());
        CHECK(fifo.line() == std::string(kBlock170Hash) + " " + kBlock170Hash);
        scene.disconnect(record);
        CHECK(fifo.line() == record.previous_hash.display_hex() + " " + record.previous_hash.display_hex());
        CHECK(scene.bus.wait_until_drained(20'000));
        CHECK(fifo.silent());
    }

    TEST_CASE("startup and shutdown commands run once each, and the shutdown one is waited for") {
        const TempDirectory directory;
        Fifo fifo(directory.file("fifo"));
        Scene scene;
        CommandHooks hooks(
            {.startup_notify = "echo up > " + fifo.path(), .shutdown_notify = "echo %s > " + fifo.path()},
            scene.bus, scene.logger);
        hooks.run_startup();
        CHECK(fifo.line() == "up");
        hooks.run_shutdown();
        CHECK_FALSE(fifo.silent());
        CHECK(fifo.line() == "%s");
    }

    TEST_CASE("a command that fails is logged with its exit status or signal") {
        Scene scene;
        {
            CommandHooks hooks({.startup_notify = "exit 3", .shutdown_notify = "kill -9 $$"}, scene.bus,
                               scene.logger);
            hooks.run_startup();
            CHECK(eventually(
                [&] { return scene.logger.count("-startupnotify ended with exit status 3") == 1; }));
            hooks.run_shutdown();
        }
        CHECK(scene.logger.count("-shutdownnotify ended with signal 9") == 1);
    }

    TEST_CASE("no more commands run at a time than allowed, and none is left out") {
        const TempDirectory directory;
        Fifo out(directory.file("out"));
        Fifo go(directory.file("go"));
        Scene scene;
        const CommandHooks hooks({.block_notify = "echo begun > " + out.path() + "; read line < " +
                                                  go.path() + "; echo ended > " + out.path(),
                                  .most_running = 2},
                                 scene.bus, scene.logger);
        for (std::uint32_t i = 0; i < 6; ++i) scene.connect(made_block(i, {10}));
        int running = 0;
        int ended = 0;
        while (ended < 6) {
            const std::string line = out.line();
            REQUIRE((line == "begun" || line == "ended"));
            running += line == "begun" ? 1 : -1;
            ended += line == "ended" ? 1 : 0;
            CHECK(running <= 2);
            if (line == "begun") go.write_line("go");
        }
        CHECK(running == 0);
    }

    TEST_CASE("a command that runs too long is ended with all it started, and the next one runs") {
        const TempDirectory directory;
        Fifo fifo(directory.file("fifo"));
        Scene scene;
        const CommandHooks hooks({.block_notify = "echo %s > " + fifo.path() + "; sleep 1000 | sleep 1000",
                                  .most_running = 1,
                                  .longest_run = std::chrono::milliseconds(50)},
                                 scene.bus, scene.logger);
        const EventRecord first = scene.connect(made_block(1, {10}));
        const EventRecord second = scene.connect(made_block(2, {10}));
        CHECK(fifo.line() == first.hash.display_hex());
        CHECK(fifo.line() == second.hash.display_hex());
        CHECK(eventually([&] { return scene.logger.count("-blocknotify has been running for 50 ms") == 2; }));
    }

    TEST_CASE("a shutdown command that hangs does not hold up the end") {
        const TempDirectory directory;
        Fifo go(directory.file("go"));
        Scene scene;
        CommandHooks hooks({.shutdown_notify = "read line < " + go.path(),
                            .longest_shutdown_run = std::chrono::milliseconds(20)},
                           scene.bus, scene.logger);
        hooks.run_shutdown();
        CHECK(scene.logger.count("-shutdownnotify is still running") == 1);
        go.write_line("go");
    }

    TEST_CASE("the end does not wait for commands under way, nor for tips that wait their turn") {
        const TempDirectory directory;
        Fifo out(directory.file("out"));
        Fifo go(directory.file("go"));
        Scene scene;
        {
            const CommandHooks hooks(
                {.block_notify = "echo begun > " + out.path() + "; read line < " + go.path(),
                 .most_running = 1},
                scene.bus, scene.logger);
            for (std::uint32_t i = 0; i < 5; ++i) scene.connect(made_block(i, {10}));
            CHECK(out.line() == "begun");
        }
        go.write_line("go");
        CHECK(out.silent());
    }

    TEST_CASE("commands inherit no descriptor and no standard input") {
        const TempDirectory directory;
        Fifo fifo(directory.file("fifo"));
        Scene scene;
        const int leaked = dup(STDERR_FILENO);  // without CLOEXEC
        CommandHooks hooks(
            {.startup_notify = "exec 3>&-; (ls /proc/self/fd | tr '\\n' ' '; cat; echo) > " + fifo.path()},
            scene.bus, scene.logger);
        hooks.run_startup();
        // 0, 1, 2, and the directory that ls reads.
        CHECK(fifo.line() == "0 1 2 3 ");
        close(leaked);
    }
}
