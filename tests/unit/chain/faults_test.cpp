// SPDX-License-Identifier: MIT
#include "event_script.hpp"
#include "fake_coins.hpp"
#include "support/regtest_chain.hpp"

#include <doctest/doctest.h>
#include <lmdb.h>

#include <atomic>
#include <cerrno>
#include <map>
#include <thread>

using namespace blockpub;
using namespace blockpub::test;

namespace {

/// Fails chosen points of the store a number of times.
class FaultPlan final : public StoreFaults {
 public:
    void fail(Point point, int code, int times) {
        const MutexLock lock(mutex_);
        plan_[point] = {code, times};
    }
    void heal() {
        const MutexLock lock(mutex_);
        plan_.clear();
    }
    [[nodiscard]] int given() const {
        const MutexLock lock(mutex_);
        return given_;
    }
    [[nodiscard]] int at(Point point) noexcept override {
        const MutexLock lock(mutex_);
        const auto found = plan_.find(point);
        if (found == plan_.end() || found->second.times == 0) return 0;
        --found->second.times;
        ++given_;
        return found->second.code;
    }

 private:
    struct Failure {
        int code;
        int times;
    };
    mutable Mutex mutex_;
    std::map<Point, Failure> plan_ BLOCKPUB_GUARDED_BY(mutex_);
    int given_ BLOCKPUB_GUARDED_BY(mutex_) = 0;
};

/// Keeps the lines above debug.
class LineLogger final : public Logger {
 public:
    void write(LogLevel level, LogCategory, std::string_view line) noexcept override {
        const MutexLock lock(mutex_);
        if (level == LogLevel::error) errors_.emplace_back(line);
    }
    [[nodiscard]] bool debug_enabled(LogCategory) const noexcept override { return false; }
    [[nodiscard]] std::size_t errors_with(std::string_view part) const {
        const MutexLock lock(mutex_);
        std::size_t count = 0;
        for (const std::string& line : errors_) count += line.find(part) != std::string::npos;
        return count;
    }

 private:
    mutable Mutex mutex_;
    std::vector<std::string> errors_ BLOCKPUB_GUARDED_BY(mutex_);
};

using Point = StoreFaults::Point;
constexpr int kAlways = 1'000'000'000;

}  // namespace

TEST_SUITE_BEGIN("chain.faults");

TEST_CASE("a write that fails for a while delays the answer and loses nothing") {
    struct Case {
        const char* name;
        Point point;
        int code;
    };
    constexpr Case kFaultCases[] = {
        {"segment put, full disk", Point::segment_put, ENOSPC},
        {"segment put, map full", Point::segment_put, MDB_MAP_FULL},
        {"segment commit, I/O error", Point::segment_commit, EIO},
        {"chain put, map full", Point::chain_put, MDB_MAP_FULL},
        {"chain put, I/O error", Point::chain_put, EIO},
        {"chain commit, full disk", Point::chain_commit, ENOSPC},
        {"no free disk", Point::free_space, ENOSPC},
    };
    const auto a = build_branch(regtest_genesis(), 3, 1);
    const auto b = build_branch(a[0], 3, 2);
    EventScript script;
    script.name_branch(a, "a");
    script.name_branch(b, "b", 2);
    for (const Case& c : kFaultCases) {
        const std::string name = c.name;
        CAPTURE(name);
        FaultPlan faults;
        LineLogger logger;
        auto options = RegtestChain::default_options();
        options.faults = &faults;
        options.logger = &logger;
        RegtestChain node(options);
        static_cast<void>(node.released());
        node.submit_all(a);
        faults.fail(c.point, c.code, 3);
        node.submit_all(b);
        CHECK(faults.given() == 3);
        CHECK(script.tell(node.released()) == "Ca1 Ta1<g Ca2 Ta2<a1 Ca3 Ta3<a2 Da3 Da2 Cb2 Cb3 Cb4 Tb4<a1");
        CHECK(logger.errors_with("cannot commit") == 1);
        const ChainStatus status = node.chain().status();
        CHECK(status.write_error.empty());
        CHECK_FALSE(status.write_stopped);
        CHECK(node.store().status().failed_commits == 3);
        for (const BuiltBlock& block : b) {
            const SharedBytes stored = must(node.store().read_blob(*node.header(block.hash).block));
            CHECK(std::ranges::equal(stored.bytes(), block.raw.bytes()));
        }
        node.restart();
        CHECK(node.tip() == b[2].hash);
        CHECK(node.log().size() == 9);
    }
}

TEST_CASE("while writing fails nothing is announced, readers see the block, and the error is shown") {
    FaultPlan faults;
    auto options = RegtestChain::default_options();
    options.faults = &faults;
    RegtestChain node(options);
    static_cast<void>(node.released());
    const auto a = build_branch(regtest_genesis(), 2);
    faults.fail(Point::chain_commit, ENOSPC, kAlways);
    std::thread submitter([&] { CHECK(node.submit(a[0]).empty()); });
    while (node.chain().status().write_error.empty()) std::this_thread::yield();
    while (faults.given() < 5) std::this_thread::yield();
    // Readers may be ahead of the announcements, never behind.
    CHECK(node.tip() == a[0].hash);
    CHECK(node.released().empty());
    CHECK(node.chain().status().durable_events == 1);
    CHECK(node.log().size() == 1);
    // The lock is free while the chain thread waits for better times.
    node.chain().chain_lock().lock();
    node.chain().chain_lock().unlock();
    faults.heal();
    submitter.join();
    CHECK(node.released().size() == 2);
    CHECK(node.chain().status().write_error.empty());
}

TEST_CASE("stopping while the disk is full ends, and the block can be given again") {
    FaultPlan faults;
    auto options = RegtestChain::default_options();
    options.faults = &faults;
    options.chain.commit_retry_first = std::chrono::milliseconds{60'000};
    options.chain.commit_retry_longest = std::chrono::milliseconds{60'000};
    RegtestChain node(options);
    const auto a = build_branch(regtest_genesis(), 1);
    faults.fail(Point::chain_commit, ENOSPC, kAlways);
    std::thread submitter([&] {
        const auto answer = node.chain().submit_block(a[0].raw);
        REQUIRE_FALSE(answer);
        CHECK(answer.error().code == Errc::stopped);
    });
    while (node.chain().status().write_error.empty()) std::this_thread::yield();
    node.chain().stop();
    submitter.join();
    faults.heal();
    node.restart();
    CHECK(node.tip() == regtest_genesis().hash);
    CHECK(node.submit(a[0]).empty());
    CHECK(node.log().size() == 2);
}

TEST_CASE("a disk that has room again just before the end gets what waited for it") {
    FaultPlan faults;
    auto options = RegtestChain::default_options();
    options.faults = &faults;
    options.chain.commit_retry_first = std::chrono::milliseconds{60'000};
    options.chain.commit_retry_longest = std::chrono::milliseconds{60'000};
    RegtestChain node(options);
    const auto a = build_branch(regtest_genesis(), 1);
    faults.fail(Point::chain_commit, ENOSPC, 1);
    std::thread submitter([&] { CHECK(node.submit(a[0]).empty()); });
    while (node.chain().status().write_error.empty()) std::this_thread::yield();
    node.chain().stop();
    submitter.join();
    node.restart();
    CHECK(node.tip() == a[0].hash);
}

TEST_CASE("a failed sync is for good: nothing is written or announced any more, and reading goes on") {
    for (Point point : {Point::segment_sync, Point::chain_sync}) {
        CAPTURE(static_cast<int>(point));
        FaultPlan faults;
        LineLogger logger;
        auto options = RegtestChain::default_options();
        options.faults = &faults;
        options.logger = &logger;
        RegtestChain node(options);
        const auto a = build_branch(regtest_genesis(), 3);
        CHECK(node.submit(a[0]).empty());
        static_cast<void>(node.released());
        faults.fail(point, EIO, 1);
        const auto answer = node.chain().submit_block(a[1].raw);
        REQUIRE_FALSE(answer);
        CHECK(answer.error().code == Errc::outcome_unknown);
        CHECK(node.released().empty());
        CHECK(node.chain().status().write_stopped);
        CHECK(logger.errors_with("nothing more is written") == 1);
        CHECK(node.chain().submit_block(a[2].raw).error().code == Errc::outcome_unknown);
        CHECK(node.chain().invalidate_block(a[0].hash).error().code == Errc::outcome_unknown);
        CHECK(node.chain().import_block(must(ParsedBlock::parse(a[2].raw))).error().code ==
              Errc::outcome_unknown);
        CHECK(node.chain().end_import().error().code == Errc::outcome_unknown);
        CHECK(node.header(a[0].hash).height.value == 1);
        CHECK(node.released().empty());
        CHECK(logger.errors_with("nothing more is written") == 1);
        // Started again, on a disk that works: either state may be there; what was announced is.
        node.restart();
        CHECK((node.tip() == a[0].hash || node.tip() == a[1].hash));
        node.submit_all(a);
        CHECK(node.tip() == a[2].hash);
        CHECK(node.log().size() == 4);
    }
}

TEST_CASE("a start that cannot write says why instead of waiting") {
    FaultPlan faults;
    auto options = RegtestChain::default_options();
    options.faults = &faults;
    options.chain.commit_retry_first = std::chrono::milliseconds{60'000};
    RegtestChain node(options, RegtestChain::NotStarted{});
    faults.fail(Point::chain_commit, ENOSPC, kAlways);
    const auto started = node.try_start();
    REQUIRE_FALSE(started);
    CHECK(started.error().code == Errc::disk_full);
    CHECK(node.released().empty());
    node.stop();
    faults.heal();
    node.start();
    CHECK(node.log().size() == 1);
}

TEST_CASE("a coins engine that cannot read for a while is asked again") {
    FakeCoins coins;
    LineLogger logger;
    auto options = RegtestChain::default_options();
    options.chain.coins = &coins;
    options.logger = &logger;
    RegtestChain node(options);
    const auto a = build_branch(regtest_genesis(), 1, 1);
    coins.fail_connects(4, {Errc::io, "bad sector"});
    CHECK(node.submit(a[0]).empty());
    CHECK(node.tip() == a[0].hash);
    CHECK(logger.errors_with("bad sector") == 1);
}

TEST_CASE("any other failure of the coins engine ends the work before anything wrong is written") {
    FakeCoins coins;
    auto options = RegtestChain::default_options();
    options.chain.coins = &coins;
    RegtestChain node(options);
    const auto a = build_branch(regtest_genesis(), 2, 1);
    CHECK(node.submit(a[0]).empty());
    coins.fail_connects(1, {Errc::corrupt, "coins contradict themselves"});
    const auto answer = node.chain().submit_block(a[1].raw);
    REQUIRE_FALSE(answer);
    CHECK(answer.error().code == Errc::corrupt);
    CHECK(node.chain().invalidate_block(a[0].hash).error().code == Errc::corrupt);
    CHECK(node.tip() == a[0].hash);
    node.restart();
    CHECK(node.submit(a[1]).empty());
}

TEST_CASE("a branch with a lost block is left until the block is given again") {
    FakeCoins coins;
    LineLogger logger;
    auto options = RegtestChain::default_options();
    options.chain.coins = &coins;
    options.logger = &logger;
    RegtestChain node(options);
    EventScript script;
    const auto a = build_branch(regtest_genesis(), 1, 1);
    const auto b = build_branch(regtest_genesis(), 3, 2);
    script.name_branch(a, "a");
    script.name_branch(b, "b");
    node.submit_all(a);
    node.submit_all({b[0]});
    node.stop();
    {
        const auto store = must(Store::open(node.store_options()));
        HeaderRecord record = must(must(store->snapshot()).header(b[0].hash));
        record.block = BlobPlace{.segment = 77, .number = 1, .size = 100};
        StoreChanges changes;
        changes.headers.emplace_back(b[0].hash, record);
        store->apply(std::move(changes));
        must(store->commit());
    }
    node.start();
    coins.read_blocks(true);
    CHECK(node.submit(b[1]) == "inconclusive");
    CHECK(script.tell(node.released()) == "Da1 Ca1");
    CHECK(node.tip() == a[0].hash);
    CHECK_FALSE(node.header(b[0].hash).block);
    CHECK(logger.errors_with("until the block is given again") == 1);
    CHECK(node.submit(b[2]) == "inconclusive");
    CHECK(node.released().empty());
    CHECK(node.submit(b[0]) == "");
    CHECK(script.tell(node.released()) == "Da1 Cb1 Cb2 Tb2<g Cb3 Tb3<b2");
    CHECK(coins.chain() == std::vector{regtest_genesis().hash, b[0].hash, b[1].hash, b[2].hash});
}

TEST_CASE("a stored block whose body has changed is not connected, though its header still fits") {
    for (const bool in_witness : {false, true}) {
        CAPTURE(in_witness);
        FakeCoins coins;
        LineLogger logger;
        auto options = RegtestChain::default_options();
        options.chain.coins = &coins;
        options.logger = &logger;
        RegtestChain node(options);
        const auto a = build_branch(regtest_genesis(), 1, 1);
        const auto b = build_branch(regtest_genesis(), 2, 2);
        node.submit_all(a);
        node.submit_all({b[0]});
        node.stop();
        Bytes damaged(b[0].raw.bytes().begin(), b[0].raw.bytes().end());
        // The block ends in the coinbase's lock time, and before it in the witness.
        damaged[damaged.size() - (in_witness ? 6 : 1)] ^= 1;
        {
            const auto store = must(Store::open(node.store_options()));
            HeaderRecord record = must(must(store->snapshot()).header(b[0].hash));
            record.block = must(store->append_blob(SharedBytes::copy_of(damaged)));
            StoreChanges changes;
            changes.headers.emplace_back(b[0].hash, record);
            store->apply(std::move(changes));
            must(store->commit());
        }
        node.start();
        coins.read_blocks(true);
        CHECK(node.submit(b[1]) == "inconclusive");
        CHECK(node.tip() == a[0].hash);
        CHECK(logger.errors_with("is damaged") == 1);
        CHECK(node.submit(b[0]).empty());
        CHECK(node.tip() == b[1].hash);
    }
}

TEST_CASE("a call is answered with the reason when the disk refuses writes for long, and made all the same") {
    FaultPlan faults;
    auto options = RegtestChain::default_options();
    options.faults = &faults;
    options.chain.call_patience = std::chrono::milliseconds{30};
    RegtestChain node(options);
    EventScript script;
    const auto a = build_branch(regtest_genesis(), 2, 1);
    script.name_branch(a, "a");
    static_cast<void>(node.released());
    faults.fail(Point::chain_commit, ENOSPC, kAlways);
    const auto begun = node.chain().submit_block(a[0].raw);
    REQUIRE_FALSE(begun);
    CHECK(begun.error().code == Errc::io);
    CHECK(begun.error().context.starts_with("cannot write: "));
    CHECK(begun.error().context.find("kept in memory") != std::string::npos);
    CHECK(node.tip() == a[0].hash);
    // Whoever comes now does not wait again, and has changed nothing.
    for (const auto& refused :
         {node.chain().invalidate_block(a[0].hash), node.chain().reconsider_block(a[0].hash)}) {
        REQUIRE_FALSE(refused);
        CHECK(refused.error().context.find("nothing was changed") != std::string::npos);
    }
    CHECK(node.released().empty());
    faults.heal();
    node.chain().begin_import();
    must(node.chain().end_import());  // waits as long as it takes
    CHECK(script.tell(node.released()) == "Ca1 Ta1<g");
    CHECK(node.submit(a[1]).empty());
    CHECK(script.tell(node.released()) == "Ca2 Ta2<a1");
}

TEST_CASE("a header record that does not decode refuses the start, naming the file") {
    RegtestChain node;
    node.submit_all(build_branch(regtest_genesis(), 3));
    node.stop();
    const auto directory = node.store_options().directory / "chain";
    MDB_env* env = nullptr;
    REQUIRE(mdb_env_create(&env) == 0);
    REQUIRE(mdb_env_set_maxdbs(env, 16) == 0);
    REQUIRE(mdb_env_set_mapsize(env, std::size_t{1} << 30) == 0);
    REQUIRE(mdb_env_open(env, directory.c_str(), 0, 0600) == 0);
    MDB_txn* txn = nullptr;
    REQUIRE(mdb_txn_begin(env, nullptr, 0, &txn) == 0);
    MDB_dbi table = 0;
    REQUIRE(mdb_dbi_open(txn, "header", 0, &table) == 0);
    Bytes hash(32, 0xee);
    Bytes nonsense(7, 0xee);
    MDB_val key{hash.size(), hash.data()};
    MDB_val value{nonsense.size(), nonsense.data()};
    REQUIRE(mdb_put(txn, table, &key, &value, 0) == 0);
    REQUIRE(mdb_txn_commit(txn) == 0);
    mdb_env_close(env);
    const auto started = node.try_start();
    REQUIRE_FALSE(started);
    CHECK(started.error().code == Errc::corrupt);
    CHECK(started.error().context.starts_with((directory / "data.mdb").string() + ": "));
}
