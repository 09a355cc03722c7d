// SPDX-License-Identifier: MIT
#include "unit/store/store_fixture.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <limits>
#include <random>
#include <thread>

using namespace blockpub;
using namespace blockpub::test;

TEST_SUITE_BEGIN("store.crash");

namespace {

std::size_t size_of_block(std::uint32_t height) {
    return height % 5 == 0 ? 700'000 : 100 + height % 3000;
}

/// Extends the chain for ever, telling the pipe each height that a commit has returned for.
[[noreturn]] void write_until_killed(const StoreOptions& options, int pipe) {
    auto opened = Store::open(options);
    if (!opened) ::_exit(2);
    Store& store = **opened;
    std::uint32_t height = 0;
    {
        const auto snapshot = store.snapshot();
        if (!snapshot) ::_exit(3);
        if (const auto tip = snapshot->tip()) height = tip->height.value + 1;
    }
    for (;; ++height) {
        const auto place = store.append_blob(blob_of(height, size_of_block(height)));
        if (!place) ::_exit(4);
        store.apply(step(height, height, *place));
        if (height % 3 == 0) continue;
        if (!store.commit()) ::_exit(5);
        if (::write(pipe, &height, sizeof height) != sizeof height) ::_exit(6);
    }
}

/// Takes up to `count` of the heights that the child tells, all of them when it has ended. Result: the last.
std::optional<std::uint32_t> told_heights(int pipe,
                                          std::uint32_t count = std::numeric_limits<std::uint32_t>::max()) {
    std::optional<std::uint32_t> last;
    std::uint32_t height = 0;
    for (; count > 0 && ::read(pipe, &height, sizeof height) == sizeof height; --count) last = height;
    return last;
}

void check_whole(const Store& store, std::uint32_t& height) {
    const auto snapshot = must(store.snapshot());
    const auto tip = must(snapshot.tip());
    CHECK(must(snapshot.active(tip.height)) == tip.hash);
    CHECK(tip.hash == hash_of(tip.height.value));
    CHECK(error_of(snapshot.active(tip.height.next())).code == Errc::not_found);
    CHECK(must(snapshot.tips()) == std::vector{tip.hash});
    CHECK(must(snapshot.next_event()) == tip.height.value + 1);
    const auto events = must(snapshot.events(0, 1'000'000));
    REQUIRE(events.size() == tip.height.value + 1);
    for (std::uint32_t i = 0; i <= tip.height.value; ++i) {
        REQUIRE(events[i].index == i);
        REQUIRE(events[i].hash == hash_of(i));
        const auto record = must(snapshot.header(hash_of(i)));
        REQUIRE(record.block);
        REQUIRE(same_bytes(must(store.read_blob(*record.block)), blob_of(i, size_of_block(i))));
    }
    height = tip.height.value;
}

}  // namespace

TEST_CASE("after SIGKILL at any moment the store opens, whole, with all that was committed") {
    const auto seed = std::random_device{}();
    CAPTURE(seed);
    std::mt19937 random(seed);
    const TemporaryDirectory directory;
    const auto options = options_for(directory.path());
    std::uint32_t height = 0;
    for (int round = 0; round < 12; ++round) {
        CAPTURE(round);
        int pipe[2];
        REQUIRE(::pipe(pipe) == 0);
        const pid_t child = ::fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            ::close(pipe[0]);
            write_until_killed(options, pipe[1]);
        }
        ::close(pipe[1]);
        // Some are killed while they open the store, the others after some commits: in the middle of one.
        auto told = told_heights(pipe[0], round % 4 == 0 ? 0 : 1 + random() % 8);
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
        ::kill(child, SIGKILL);
        int status = 0;
        ::waitpid(child, &status, 0);
        CHECK(WIFSIGNALED(status));
        if (const auto rest = told_heights(pipe[0])) told = rest;
        ::close(pipe[0]);

        auto store = open_store(options);
        if (!must(store->snapshot()).tip()) {
            CHECK_FALSE(told);
            continue;
        }
        const std::uint32_t before = height;
        check_whole(*store, height);
        CHECK(height >= before);
        if (told) CHECK(height >= *told);
    }
    CHECK(height > 0);
}
