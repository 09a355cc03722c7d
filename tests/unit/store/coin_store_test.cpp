// SPDX-License-Identifier: MIT
#include "store/coin_store.hpp"

#include "base/mutex.hpp"
#include "store/file_descriptor.hpp"
#include "store_fixture.hpp"
#include "support/coin_options.hpp"
#include "support/seed.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <lmdb.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <thread>

using namespace blockpub;

namespace {

Outpoint outpoint_of(std::uint32_t number) {
    std::array<std::uint8_t, 32> wire{};
    std::mt19937 mix(number / 3);  // outpoints of one txid among them
    for (auto& byte : wire) byte = static_cast<std::uint8_t>(mix());
    return {.txid = Txid(wire), .position = number % 3};
}

Coin coin_of(std::uint64_t value) {
    Coin coin;
    coin.amount = static_cast<Amount>(value % kMaxMoney);
    coin.height = {static_cast<std::uint32_t>(value % 1000)};
    coin.coinbase = value % 7 == 0;
    coin.script = std::vector<std::uint8_t>(value % 60, static_cast<std::uint8_t>(value));
    return coin;
}

Tip tip_of(std::uint32_t height) {
    std::array<std::uint8_t, 32> wire{};
    wire[0] = static_cast<std::uint8_t>(height);
    wire[1] = static_cast<std::uint8_t>(height >> 8);
    wire[31] = 1;
    return {.hash = BlockHash(wire), .height = {height}};
}

using CoinModel = std::map<Outpoint, Coin>;

CoinModel read_all(const CoinSnapshot& snapshot) {
    CoinModel model;
    std::optional<Outpoint> last;
    const auto done = snapshot.scan([&](const Outpoint& outpoint, const Coin& coin) -> Result<void> {
        if (last) CHECK(*last < outpoint);
        last = outpoint;
        model.emplace(outpoint, coin);
        return {};
    });
    REQUIRE(done);
    CoinModel by_parts;
    for (std::size_t part = 0; part < CoinSnapshot::kParts; ++part) {
        REQUIRE(snapshot.scan_part(part, [&](const Outpoint& outpoint, const Coin& coin) -> Result<void> {
            CHECK(outpoint.txid.wire_bytes()[0] == part);
            by_parts.emplace(outpoint, coin);
            return {};
        }));
    }
    CHECK(by_parts == model);
    return model;
}

/// Fails, or holds up, the flusher at will.
class FlushFaults final : public StoreFaults {
 public:
    std::atomic<int> code{0};
    std::atomic<Point> where{Point::coin_put};

    void hold() {
        const MutexLock lock(mutex_);
        held_ = true;
    }
    void release() {
        const MutexLock lock(mutex_);
        held_ = false;
        changed_.notify_all();
    }
    void wait_until_reached() {
        const MutexLock lock(mutex_);
        while (!reached_) changed_.wait(mutex_);
    }
    int at(Point point) noexcept override {
        if (point != where.load()) return 0;
        const MutexLock lock(mutex_);
        reached_ = true;
        changed_.notify_all();
        while (held_) changed_.wait(mutex_);
        return code.load();
    }

 private:
    Mutex mutex_;
    CondVar changed_;
    bool held_ BLOCKPUB_GUARDED_BY(mutex_) = false;
    bool reached_ BLOCKPUB_GUARDED_BY(mutex_) = false;
};

struct CoinStoreFixture {
    test::TemporaryDirectory directory;
    FlushFaults faults;
    std::unique_ptr<CoinStore> store;

    explicit CoinStoreFixture(std::uint64_t budget = std::uint64_t{64} << 20) { open(budget); }
    void open(std::uint64_t budget = std::uint64_t{64} << 20) {
        store.reset();
        CoinStoreOptions options = test::coin_options(directory.path());
        options.budget_bytes = budget;
        options.retry_first = std::chrono::milliseconds(1);
        options.retry_longest = std::chrono::milliseconds(4);
        options.faults = &faults;
        auto opened = CoinStore::open(options);
        REQUIRE_MESSAGE(opened, opened.error().context);
        store = std::move(*opened);
    }
    /// Publishes, and says that it is durable. What that leaves behind is done at some times, and left for
    /// others to find at others.
    void publish(const Tip& tip) {
        store->publish(tip);
        store->committed();
        if (++published_ % 3 == 0) static_cast<void>(store->settle());
    }
    CoinSnapshot snapshot() {
        auto taken = store->snapshot();
        REQUIRE(taken);
        return std::move(*taken);
    }

 private:
    unsigned published_ = 0;
};

}  // namespace

TEST_SUITE_BEGIN("store.coin_store");

TEST_CASE("a coin is seen once its step is published, and gone once it is spent") {
    CoinStoreFixture f;
    const Outpoint outpoint = outpoint_of(1);
    const CoinChange made{.outpoint = outpoint, .coin = coin_of(5), .fresh = true};
    f.store->apply({&made, 1});
    CHECK(f.store->find(outpoint) == coin_of(5));
    CHECK(f.snapshot().find(outpoint).error().code == Errc::not_found);
    f.publish(tip_of(1));
    const CoinSnapshot before = f.snapshot();
    const CoinChange spent{.outpoint = outpoint, .coin = std::nullopt, .fresh = false};
    f.store->apply({&spent, 1});
    f.publish(tip_of(2));
    CHECK(before.find(outpoint) == coin_of(5));
    CHECK(before.tip() == tip_of(1));
    CHECK(f.snapshot().find(outpoint).error().code == Errc::not_found);
    CHECK(read_all(before).size() == 1);
    CHECK(read_all(f.snapshot()).empty());
}

TEST_CASE("readers see the same coins whatever has been settled") {
    CoinStoreFixture f;
    CoinModel model;
    std::vector<std::pair<CoinSnapshot, CoinModel>> readers;
    for (std::uint32_t step = 1; step <= 40; ++step) {
        std::vector<CoinChange> changes;
        for (std::uint32_t i = 0; i < 5; ++i)
            changes.push_back({.outpoint = outpoint_of(step * 5 + i), .coin = coin_of(step), .fresh = true});
        // One of the step before, and one of long ago.
        for (const std::uint32_t gone : {step * 5 - 5, step * 5 - 103})
            if (model.contains(outpoint_of(gone)))
                changes.push_back({outpoint_of(gone), std::nullopt, false});
        for (const CoinChange& change : changes) {
            if (change.coin)
                model[change.outpoint] = *change.coin;
            else
                model.erase(change.outpoint);
        }
        f.store->apply(std::move(changes));
        f.store->publish(tip_of(step));
        f.store->committed();
        readers.emplace_back(f.snapshot(), model);
        // Nothing for a while, then some, then all of it.
        if (step % 12 == 10) CHECK(f.store->settle());
        if (step % 12 == 11) {
            while (f.store->settle()) {
            }
        }
        for (const auto& [outpoint, coin] : model) REQUIRE(f.store->find(outpoint) == coin);
    }
    for (const auto& [snapshot, expected] : readers) CHECK(read_all(snapshot) == expected);
    readers.clear();
    REQUIRE(f.store->flush());
    CHECK_FALSE(f.store->settle());
    CHECK(read_all(f.snapshot()) == model);
}

TEST_CASE("coins and their tip survive a flush and a new start") {
    CoinStoreFixture f;
    CoinModel model;
    for (std::uint32_t i = 0; i < 1000; ++i) {
        const CoinChange change{.outpoint = outpoint_of(i), .coin = coin_of(i), .fresh = true};
        f.store->apply({&change, 1});
        model[change.outpoint] = *change.coin;
    }
    f.publish(tip_of(7));
    REQUIRE(f.store->flush());
    CHECK(f.store->status().flushed == tip_of(7));
    CHECK(read_all(f.snapshot()) == model);
    f.open();
    CHECK(f.store->status().flushed == tip_of(7));
    CHECK(f.snapshot().tip() == tip_of(7));
    CHECK(read_all(f.snapshot()) == model);
}

TEST_CASE("a flush that would leave too little free disk is refused with the numbers") {
    CoinStoreFixture f;
    f.store.reset();
    CoinStoreOptions options = test::coin_options(f.directory.path());
    options.min_free_disk = std::uint64_t{1} << 60;
    f.store = test::must(CoinStore::open(options));
    const CoinChange change{.outpoint = outpoint_of(1), .coin = coin_of(1), .fresh = true};
    f.store->apply({&change, 1});
    f.publish(tip_of(1));
    const auto refused = f.store->flush();
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Errc::disk_full);
    CHECK(refused.error().context.find("must leave 1099511627776 MB") != std::string::npos);
    CHECK(f.snapshot().find(change.outpoint) == coin_of(1));
}

TEST_CASE("a damaged table is refused by its name, with what to do") {
    struct Case {
        const char* name;
        void (*damage)(const std::filesystem::path& file);
    };
    constexpr Case kCases[] = {
        {"cut short", [](const std::filesystem::path& file) { std::filesystem::resize_file(file, 8192); }},
        {"overwritten",
         [](const std::filesystem::path& file) {
             std::ofstream out(file, std::ios::binary | std::ios::in);
             out << std::string(8192, 'x');
         }},
    };
    for (const Case& c : kCases) {
        CAPTURE(c.name);
        CoinStoreFixture f;
        for (std::uint32_t i = 0; i < 1000; ++i) {
            const CoinChange change{.outpoint = outpoint_of(i), .coin = coin_of(i), .fresh = true};
            f.store->apply({&change, 1});
        }
        f.publish(tip_of(1));
        REQUIRE(f.store->flush());
        f.store.reset();
        c.damage(f.directory.path() / "coins/data.mdb");
        CoinStoreOptions options;
        options.directory = f.directory.path();
        options.map_bytes = std::uint64_t{1} << 30;
        const auto refused = CoinStore::open(options);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().code == Errc::corrupt);
        CHECK(refused.error().context.find((f.directory.path() / "coins").native()) == 0);
        CHECK(refused.error().context.find("remove the directory") != std::string::npos);
    }
}

TEST_CASE("what was not flushed is gone after a new start, and the tip says so") {
    CoinStoreFixture f;
    const CoinChange first{.outpoint = outpoint_of(1), .coin = coin_of(1), .fresh = true};
    f.store->apply({&first, 1});
    f.publish(tip_of(1));
    REQUIRE(f.store->flush());
    const CoinChange second{.outpoint = outpoint_of(2), .coin = coin_of(2), .fresh = true};
    f.store->apply({&second, 1});
    f.publish(tip_of(2));
    f.open();
    CHECK(f.store->status().flushed == tip_of(1));
    CHECK(f.snapshot().find(outpoint_of(2)).error().code == Errc::not_found);
}

TEST_CASE("a flush that is held up disturbs neither readers nor the writer") {
    CoinStoreFixture f(std::uint64_t{16} << 20);
    const CoinChange first{.outpoint = outpoint_of(1), .coin = coin_of(1), .fresh = true};
    f.store->apply({&first, 1});
    f.publish(tip_of(1));
    f.faults.hold();
    std::thread flusher([&] { CHECK(f.store->flush()); });
    f.faults.wait_until_reached();
    for (std::uint32_t height = 2; height < 50; ++height) {
        const CoinChange change{.outpoint = outpoint_of(height * 3), .coin = coin_of(height), .fresh = true};
        f.store->apply({&change, 1});
        f.publish(tip_of(height));
        CHECK(f.snapshot().find(change.outpoint) == coin_of(height));
        CHECK(f.snapshot().find(first.outpoint) == coin_of(1));
    }
    CHECK(f.store->status().flushing);
    CHECK(f.store->make_room());
    f.faults.release();
    flusher.join();
    CHECK(read_all(f.snapshot()).size() == 49);
}

TEST_CASE("a flush that fails keeps every change and is tried again") {
    struct Case {
        const char* name;
        int code;
        StoreFaults::Point where;
    };
    constexpr Case kCases[] = {
        {"no space at a put", ENOSPC, StoreFaults::Point::coin_put},
        {"input error at a put", EIO, StoreFaults::Point::coin_put},
        {"map full at a put", MDB_MAP_FULL, StoreFaults::Point::coin_put},
        {"no space at the commit", ENOSPC, StoreFaults::Point::coin_commit},
        {"no free disk", ENOSPC, StoreFaults::Point::free_space},
    };
    for (const Case& c : kCases) {
        SUBCASE(c.name) {
            CoinStoreFixture f;
            f.faults.where = c.where;
            const CoinChange change{.outpoint = outpoint_of(1), .coin = coin_of(1), .fresh = true};
            f.store->apply({&change, 1});
            f.publish(tip_of(1));
            f.faults.code = c.code;
            CHECK_FALSE(f.store->flush());
            CHECK(f.store->status().failed_flushes >= 1);
            CHECK(f.snapshot().find(change.outpoint) == coin_of(1));
            const CoinChange later{.outpoint = outpoint_of(9), .coin = coin_of(9), .fresh = true};
            f.store->apply({&later, 1});
            f.publish(tip_of(2));
            f.faults.code = 0;
            Result<void> flushed = f.store->flush();
            while (!flushed) flushed = f.store->flush();
            CHECK(f.store->status().flushed == tip_of(2));
            f.open();
            CHECK(read_all(f.snapshot()).size() == 2);
        }
    }
}

TEST_CASE("a sync that fails stops writing for good, and reading goes on") {
    CoinStoreFixture f;
    f.faults.where = StoreFaults::Point::coin_sync;
    f.faults.code = EIO;
    const CoinChange change{.outpoint = outpoint_of(1), .coin = coin_of(1), .fresh = true};
    f.store->apply({&change, 1});
    f.publish(tip_of(1));
    const auto flushed = f.store->flush();
    REQUIRE_FALSE(flushed);
    CHECK(flushed.error().code == Errc::outcome_unknown);
    CHECK(f.store->status().write_stopped);
    CHECK(f.store->make_room().error().code == Errc::outcome_unknown);
    CHECK(f.snapshot().find(change.outpoint) == coin_of(1));
    CHECK(read_all(f.snapshot()).size() == 1);
}

TEST_CASE("reading coins goes on from a fresh environment where LMDB is left in MDB_PANIC") {
    CoinStoreFixture f;
    const CoinChange first{.outpoint = outpoint_of(1), .coin = coin_of(1), .fresh = true};
    f.store->apply({&first, 1});
    f.publish(tip_of(1));
    REQUIRE(f.store->flush());
    test::refuse_meta_pages(f.directory.path() / "coins/data.mdb");

    const CoinChange second{.outpoint = outpoint_of(9), .coin = coin_of(9), .fresh = true};
    f.store->apply({&second, 1});
    f.publish(tip_of(2));
    const CoinSnapshot held = f.snapshot();
    CHECK(f.store->flush().error().code == Errc::outcome_unknown);
    CHECK(f.store->status().write_stopped);
    for (int i = 0; i < 2; ++i) {
        CHECK(f.snapshot().find(first.outpoint) == coin_of(1));
        CHECK(read_all(f.snapshot()).size() == 2);
        CHECK(f.store->find(first.outpoint) == coin_of(1));
    }
    CHECK(held.find(first.outpoint) == coin_of(1));
    CHECK(read_all(held).size() == 2);
}

TEST_CASE("what the chain has not committed is not flushed") {
    CoinStoreFixture f;
    const CoinChange change{.outpoint = outpoint_of(1), .coin = coin_of(1), .fresh = true};
    f.store->apply({&change, 1});
    f.store->publish(tip_of(1));
    CHECK(f.store->flush().error().code == Errc::unavailable);
    CHECK(f.store->status().flushes == 0);
    f.store->committed();
    CHECK(f.store->flush());
    CHECK(f.store->status().flushed == tip_of(1));
}

TEST_CASE("a full budget that cannot be written is an error for the writer, until it can") {
    CoinStoreFixture f(std::uint64_t{8} << 20);
    f.faults.where = StoreFaults::Point::coin_put;
    f.faults.code = ENOSPC;
    std::uint32_t next = 1;
    Result<void> room;
    for (; next < 1'000'000 && room; ++next) {
        const CoinChange change{.outpoint = outpoint_of(next), .coin = coin_of(next), .fresh = true};
        f.store->apply({&change, 1});
        f.publish(tip_of(next));
        room = f.store->make_room();
    }
    REQUIRE_FALSE(room);
    CHECK(room.error().code == Errc::disk_full);
    CHECK(f.store->status().failing);
    CHECK(f.store->status().bytes < std::uint64_t{9} << 20);
    CHECK(f.snapshot().find(outpoint_of(1)) == coin_of(1));
    f.faults.code = 0;
    while (!f.store->make_room()) std::this_thread::yield();
    CHECK_FALSE(f.store->status().failing);
    CHECK(f.store->flush());
    CHECK(read_all(f.snapshot()).size() == next - 1);
}

TEST_CASE("a coin made and spent before a flush leaves nothing behind") {
    CoinStoreFixture f;
    for (std::uint32_t i = 0; i < 20'000; ++i) {
        const CoinChange made{.outpoint = outpoint_of(i), .coin = coin_of(i), .fresh = true};
        f.store->apply({&made, 1});
        f.publish(tip_of(2 * i + 1));
        const CoinChange spent{.outpoint = outpoint_of(i), .coin = std::nullopt, .fresh = false};
        f.store->apply({&spent, 1});
        f.publish(tip_of(2 * i + 2));
    }
    // One shard's first chunks, however many coins came and went.
    CHECK(f.store->status().bytes < std::uint64_t{16} << 20);
    CHECK(read_all(f.snapshot()).empty());
}

TEST_CASE("random changes, snapshots, scans and failing flushes agree with a map") {
    const unsigned seed = test::seed_of_run();
    MESSAGE("seed " << seed);
    std::mt19937 random(seed);
    CoinStoreFixture f(std::uint64_t{12} << 20);
    CoinModel model;
    struct Held {
        CoinSnapshot snapshot;
        CoinModel model;
        Tip tip;
    };
    std::vector<Held> held;
    Tip tip = tip_of(0);
    for (std::uint32_t step = 1; step < 400; ++step) {
        for (unsigned n = random() % 30; n > 0; --n) {
            const Outpoint outpoint = outpoint_of(random() % 300);
            const auto found = model.find(outpoint);
            CoinChange change{.outpoint = outpoint, .coin = std::nullopt, .fresh = false};
            if (found == model.end()) {
                change.coin = coin_of(random());
                change.fresh = f.store->find(outpoint).error().code == Errc::not_found;
                model[outpoint] = *change.coin;
            } else {
                model.erase(found);
            }
            f.store->apply({&change, 1});
        }
        tip = tip_of(step);
        f.publish(tip);
        f.faults.where = random() % 2 == 0 ? StoreFaults::Point::coin_put : StoreFaults::Point::coin_commit;
        f.faults.code = random() % 3 == 0 ? ENOSPC : 0;
        if (random() % 10 == 0) static_cast<void>(f.store->flush());
        if (random() % 5 == 0) held.push_back({f.snapshot(), model, tip});
        if (random() % 8 == 0 && !held.empty()) {
            const std::size_t which = random() % held.size();
            CHECK(read_all(held[which].snapshot) == held[which].model);
            CHECK(held[which].snapshot.tip() == held[which].tip);
            held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
        }
        const Outpoint probe = outpoint_of(random() % 300);
        const auto want = model.find(probe);
        const auto got = f.snapshot().find(probe);
        CHECK(got.has_value() == (want != model.end()));
        if (got && want != model.end()) CHECK(*got == want->second);
    }
    for (const Held& h : held) CHECK(read_all(h.snapshot) == h.model);
    held.clear();
    f.faults.code = 0;
    Result<void> flushed = f.store->flush();
    while (!flushed) flushed = f.store->flush();
    f.open();
    CHECK(read_all(f.snapshot()) == model);
    CHECK(f.snapshot().tip() == tip);
}

TEST_CASE("each snapshot is one state while the writer goes on and flushes fail") {
    // Coins are numbered. A step goes forward or back by some: there are always the same many, and the newest
    // is as high as the tip.
    const unsigned seed = test::seed_of_run();
    MESSAGE("seed " << seed);
    std::mt19937 random(seed);
    CoinStoreFixture f(std::uint64_t{12} << 20);
    constexpr std::uint32_t kCoins = 50;
    for (std::uint32_t i = 0; i < kCoins; ++i) {
        const CoinChange change{.outpoint = outpoint_of(i), .coin = coin_of(i), .fresh = true};
        f.store->apply({&change, 1});
    }
    std::uint32_t height = kCoins - 1;
    f.publish(tip_of(height));
    std::atomic<bool> over{false};
    std::atomic<unsigned> checked{0};
    std::vector<std::jthread> readers;
    for (unsigned n = 0; n < 3; ++n) {
        readers.emplace_back([&, reader_seed = seed + n] {
            std::mt19937 pause(reader_seed);
            while (!over.load() || checked.load() < 3) {
                const auto snapshot = f.store->snapshot();
                if (!snapshot) {
                    FAIL_CHECK("no snapshot: " << snapshot.error().context);
                    return;
                }
                // The writer and the flusher go on between the snapshot and its reads.
                for (unsigned i = pause() % 4; i > 0; --i) std::this_thread::yield();
                const std::uint32_t newest = snapshot->tip().height.value;
                std::map<Outpoint, Coin> want;
                for (std::uint32_t i = newest - kCoins + 1; i <= newest; ++i)
                    want.emplace(outpoint_of(i), coin_of(i));
                std::size_t count = 0;
                bool all_known = true;
                const auto scanned = snapshot->scan([&](const Outpoint& outpoint, const Coin& coin) {
                    const auto known = want.find(outpoint);
                    all_known = all_known && known != want.end() && known->second == coin;
                    ++count;
                    return Result<void>();
                });
                if (!scanned || !all_known || count != kCoins ||
                    snapshot->find(outpoint_of(newest)) != coin_of(newest) ||
                    snapshot->find(outpoint_of(newest - kCoins)) || snapshot->find(outpoint_of(newest + 1))) {
                    FAIL_CHECK("the snapshot of height " << newest << " is not one state");
                }
                ++checked;
            }
        });
    }
    const auto move_to = [&](std::uint32_t to) {
        std::vector<CoinChange> changes;
        const auto add = [&](std::uint32_t coin, bool is_there, bool fresh) {
            changes.push_back({.outpoint = outpoint_of(coin),
                               .coin = is_there ? std::optional(coin_of(coin)) : std::nullopt,
                               .fresh = fresh});
        };
        for (; height < to; ++height) {
            add(height + 1, true, true);
            add(height + 1 - kCoins, false, false);
        }
        for (; height > to; --height) {
            add(height, false, false);
            add(height - kCoins, true, false);
        }
        f.store->apply(changes);
        f.publish(tip_of(to));
    };
    for (int step = 0; step < 2000; ++step) {
        const bool back = random() % 4 == 0 && height > 2 * kCoins;
        const std::uint32_t by = random() % 5 + 1;
        move_to(back ? height - by : height + by);
        f.faults.where = random() % 2 == 0 ? StoreFaults::Point::coin_put : StoreFaults::Point::coin_commit;
        f.faults.code = random() % 3 == 0 ? ENOSPC : 0;
        if (random() % 50 == 0) {
            const auto flushed = f.store->flush();
            CHECK((flushed || flushed.error().code == Errc::disk_full));
        }
    }
    over = true;
    readers.clear();
    f.faults.code = 0;
    while (!f.store->flush()) {
    }
    CHECK(f.store->status().flushed == tip_of(height));
}
