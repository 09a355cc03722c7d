// SPDX-License-Identifier: MIT
// The coin store at work: reads while it flushes against reads while it does not; an import whose flushes
// overlap with it against one that waits for each; how much memory and disk the coins of a long import take.
//
//   bench_coins [--coins=N] [--dbcache=MiB] [reads] [ingest] [size]        (default: 1,000,000, 40, all
//   three)

#include "bench_support.hpp"
#include "chain/coins_engine.hpp"
#include "primitives/subsidy.hpp"
#include "source/file.hpp"
#include "support/block_builder.hpp"

#include <atomic>
#include <charconv>
#include <deque>
#include <random>
#include <set>
#include <string_view>
#include <thread>

using namespace blockpub;
using namespace blockpub::bench;

namespace {

struct Options {
    std::uint64_t coins = 1'000'000;
    std::uint64_t dbcache = std::uint64_t{40} << 20;
    std::set<std::string_view> parts;
    [[nodiscard]] bool wants(std::string_view part) const { return parts.empty() || parts.contains(part); }
};

Options read_options(int argc, char** argv) {
    Options options;
    const auto number = [](std::string_view text) {
        std::uint64_t value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc() || end != text.data() + text.size() || value == 0)
            give_up(fmt::format("{}: not a number", text));
        return value;
    };
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        if (word.starts_with("--coins=")) {
            options.coins = number(word.substr(8));
        } else if (word.starts_with("--dbcache=")) {
            options.dbcache = number(word.substr(10)) << 20;
        } else if (word == "reads" || word == "ingest" || word == "size") {
            options.parts.insert(word);
        } else {
            give_up(fmt::format("{}: unknown", word));
        }
    }
    return options;
}

// Blocks.

constexpr std::size_t kMadeInBlock = 12'000;
constexpr std::size_t kSpentInBlock = 4'000;

/// A chain of blocks that make coins of new scripts, and spend a part of what was made a hundred blocks
/// before.
class SyntheticChain {
 public:
    test::BuiltBlock next() {
        test::BlockSpec spec = test::child_spec(tip_, 1);
        spec.time = tip_.time + 1;
        spec.coinbase_amount = block_subsidy(spec.height, params_) / 2;
        if (mature_.size() > 100) {
            spec.transactions.push_back(spend_some(mature_.front()));
            mature_.pop_front();
        }
        test::TransactionSpec coinbase = test::detail::make_coinbase(spec);
        for (std::size_t i = 0; i < kMadeInBlock; ++i)
            coinbase.outputs.push_back({.amount = 1, .script = new_script()});
        spec.coinbase = std::move(coinbase);
        tip_ = test::build_block(spec);
        mature_.push_back(tip_.coinbase.txid());
        return tip_;
    }

 private:
    test::TransactionSpec spend_some(const Txid& coinbase) {
        test::TransactionSpec transaction;
        for (std::uint32_t i = 0; i < kSpentInBlock; ++i) {
            // Position 0 has the rest of the subsidy, 1 the commitment.
            transaction.inputs.push_back({.prevout = {.txid = coinbase, .position = i + 2},
                                          .script = {},
                                          .sequence = 0xffffffff,
                                          .witness = {}});
            transaction.outputs.push_back({.amount = 1, .script = new_script()});
        }
        return transaction;
    }
    Script new_script() {
        Script script{0x00, 0x14};
        for (int i = 0; i < 5; ++i) test::append_le(script, static_cast<std::uint32_t>(random_()));
        return script;
    }

    const ChainParams& params_ = chain_params(ChainKind::regtest);
    std::mt19937 random_{1};
    test::BuiltBlock tip_ = test::regtest_genesis();
    std::deque<Txid> mature_;
};

/// A file of so many blocks that at least `coins` coins are left. Result: coins made on the way.
std::uint64_t write_blocks(const std::filesystem::path& path, std::uint64_t coins) {
    File file = must(File::create(path));
    SyntheticChain chain;
    std::uint64_t made = 0;
    for (std::uint64_t left = 0; left < coins;) {
        const test::BuiltBlock block = chain.next();
        std::vector<std::uint8_t> head;
        test::append_le(head, std::uint32_t{0xdab5bffa});
        test::append_le(head, static_cast<std::uint32_t>(block.raw.size()));
        must(file.write(head));
        must(file.write(block.raw.bytes()));
        const bool spends = block.height.value > 101;
        made += kMadeInBlock + 1 + (spends ? kSpentInBlock : 0);
        left += kMadeInBlock + 1;
    }
    must(file.sync());
    return made;
}

// Memory.

std::uint64_t anonymous_bytes() {
    std::FILE* const status = std::fopen("/proc/self/status", "r");
    if (status == nullptr) return 0;
    std::uint64_t kib = 0;
    char line[256];
    while (std::fgets(line, sizeof line, status) != nullptr) {
        if (std::string_view(line).starts_with("RssAnon:")) kib = std::strtoull(line + 8, nullptr, 10);
    }
    std::fclose(status);
    return kib << 10;
}

/// The largest anonymous memory while it lives.
class MemoryWatch {
 public:
    MemoryWatch()
        : thread_([this](const std::stop_token& stop) {
              while (!stop.stop_requested()) {
                  peak_ = std::max(peak_.load(), anonymous_bytes());
                  std::this_thread::sleep_for(std::chrono::milliseconds(20));
              }
          }) {}
    [[nodiscard]] std::uint64_t peak() const { return peak_; }

 private:
    std::atomic<std::uint64_t> peak_{0};
    std::jthread thread_;
};

// Import, with flushes that overlap and without.

/// Waits for each flush as soon as it has begun.
class WaitingLedger final : public CoinsEngine {
 public:
    WaitingLedger(CoinsEngine& behind, CoinStore& coins) : behind_(behind), coins_(coins) {}
    Result<Connected> connect(BlockInChain& block) override { return behind_.connect(block); }
    Result<void> disconnect(BlockInChain& block) override { return behind_.disconnect(block); }
    Result<std::string> test(BlockInChain& block) override { return behind_.test(block); }
    void show(const Tip& tip) override { behind_.show(tip); }
    void committed() override {
        behind_.committed();
        if (coins_.status().flushing) must(coins_.flush());
    }
    bool commit_due() const override { return behind_.commit_due(); }
    std::optional<Tip> stored_tip() const override { return behind_.stored_tip(); }

 private:
    CoinsEngine& behind_;
    CoinStore& coins_;
};

struct Ingest {
    double seconds = 0;
    std::uint64_t flushes = 0;
    std::uint64_t disk_bytes = 0;
    std::uint64_t peak_memory = 0;
};

Ingest ingest(const std::filesystem::path& file, const Options& options, bool waiting) {
    const MemoryWatch memory;
    NodeOptions with{.coin_bytes = options.dbcache, .wrap = {}};
    if (waiting) {
        with.wrap = [](CoinsEngine& engine, CoinStore& coins) {
            return std::make_unique<WaitingLedger>(engine, coins);
        };
    }
    const auto begin = SteadyClock::now();
    Node node(with);
    const ImportResult result = node.import(file);
    if (result.imported == 0 || result.invalid != 0 || result.waiting != 0)
        give_up("not all blocks were imported");
    must(node.coins->flush());
    return {.seconds = seconds_since(begin),
            .flushes = node.coins->status().flushes,
            .disk_bytes = node.coins->status().disk_bytes,
            .peak_memory = memory.peak()};
}

void bench_ingest(const std::filesystem::path& file, std::uint64_t made, const Options& options) {
    std::vector<double> overlapping;
    std::vector<double> waiting;
    std::uint64_t flushes = 0;
    for (int round = 0; round < 3; ++round) {
        waiting.push_back(ingest(file, options, true).seconds);
        const Ingest run = ingest(file, options, false);
        overlapping.push_back(run.seconds);
        flushes = run.flushes;
    }
    const double ratio = median(waiting) / median(overlapping);
    fmt::print(
        "ingest of {} coins, {} flushes: {:.2f} s overlapping, {:.2f} s waiting for each: {:.2f} times\n",
        made, flushes, median(overlapping), median(waiting), ratio);
    fmt::print(
        "{{\"bench\":\"coins_ingest\",\"coins\":{},\"flushes\":{},\"overlapping_s\":{:.3f},\"waiting_s\":{:."
        "3f},"
        "\"ratio\":{:.3f}}}\n",
        made, flushes, median(overlapping), median(waiting), ratio);
}

void bench_size(const std::filesystem::path& file, std::uint64_t made, const Options& options) {
    const Ingest run = ingest(file, options, false);
    const double per_coin = static_cast<double>(run.disk_bytes) / static_cast<double>(options.coins);
    fmt::print(
        "import of {} coins with -dbcache={}: {:.0f} coins/s, {:.0f} bytes a coin on disk, RssAnon at most "
        "{} "
        "MiB\n",
        made, options.dbcache >> 20, static_cast<double>(made) / run.seconds, per_coin,
        run.peak_memory >> 20);
    fmt::print(
        "{{\"bench\":\"coins_size\",\"coins_made\":{},\"coins_left\":{},\"dbcache_mib\":{},\"coins_s\":{:.0f}"
        ","
        "\"bytes_a_coin\":{:.1f},\"rss_anon_mib\":{}}}\n",
        made, options.coins, options.dbcache >> 20, static_cast<double>(made) / run.seconds, per_coin,
        run.peak_memory >> 20);
}

// Reads.

Outpoint numbered_outpoint(std::uint64_t number) {
    std::array<std::uint8_t, 32> wire{};
    std::mt19937_64 mix(number);
    for (std::size_t i = 0; i < 32; i += 8) write_le(wire.data() + i, mix());
    return {.txid = Txid(wire), .position = 0};
}

std::vector<CoinChange> numbered_coins(std::uint64_t from, std::uint64_t count) {
    std::vector<CoinChange> changes;
    for (std::uint64_t i = from; i < from + count; ++i) {
        Coin coin{
            .amount = static_cast<Amount>(i), .height = {1}, .coinbase = false, .script = Script(22, 7)};
        changes.push_back({.outpoint = numbered_outpoint(i), .coin = std::move(coin), .fresh = true});
    }
    return changes;
}

/// Microseconds of single reads, each with a snapshot of its own, until told to stop.
class Reader {
 public:
    Reader(const CoinStore& coins, std::uint64_t count)
        : thread_([this, &coins, count](const std::stop_token& stop) {
              std::mt19937_64 random(7);
              while (!stop.stop_requested()) {
                  const Outpoint outpoint = numbered_outpoint(random() % count);
                  const auto begin = SteadyClock::now();
                  const CoinSnapshot snapshot = must(coins.snapshot());
                  const Coin coin = must(snapshot.find(outpoint));
                  times.push_back(seconds_since(begin) * 1e6 + (coin.amount < 0 ? 1 : 0));
              }
          }) {}
    std::vector<double> finish() {
        thread_.request_stop();
        thread_.join();
        return std::move(times);
    }

 private:
    std::vector<double> times;
    std::jthread thread_;
};

double percentile(std::vector<double>& values, double part) {
    const auto at = static_cast<std::ptrdiff_t>(static_cast<double>(values.size() - 1) * part);
    std::ranges::nth_element(values, values.begin() + at);
    return values[static_cast<std::size_t>(at)];
}

void bench_reads(const Options& options) {
    constexpr std::uint64_t kStep = 10'000;
    const test::TemporaryDirectory directory;
    CoinStoreOptions store;
    store.directory = directory.path();
    store.budget_bytes = std::uint64_t{4} << 30;  // flushes are ours to begin
    auto coins = must(CoinStore::open(store));
    Tip tip;
    const auto add = [&](std::uint64_t from, std::uint64_t count) {
        for (std::uint64_t i = from; i < from + count; i += kStep) {
            coins->apply(numbered_coins(i, kStep));
            tip.height = tip.height.next();
            coins->publish(tip);
            coins->committed();
        }
    };
    add(0, options.coins);
    must(coins->flush());
    std::vector<double> idle;
    std::vector<double> flushing;
    const std::uint64_t generation = std::max(options.coins / 10 / kStep, std::uint64_t{1}) * kStep;
    for (std::uint64_t round = 0; round < 5; ++round) {
        add(options.coins + round * generation, generation);
        Reader before(*coins, options.coins);
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
        std::ranges::copy(before.finish(), std::back_inserter(idle));
        Reader during(*coins, options.coins);
        must(coins->flush());
        std::ranges::copy(during.finish(), std::back_inserter(flushing));
    }
    const double idle_p99 = percentile(idle, 0.99);
    const double flushing_p99 = percentile(flushing, 0.99);
    fmt::print(
        "reads among {} coins: idle p50 {:.1f} us, p99 {:.1f} us; during flushes of {} p50 {:.1f} us, p99 "
        "{:.1f} us: {:.2f} times\n",
        options.coins, percentile(idle, 0.5), idle_p99, generation, percentile(flushing, 0.5), flushing_p99,
        flushing_p99 / idle_p99);
    fmt::print(
        "{{\"bench\":\"coins_reads\",\"coins\":{},\"flushed\":{},\"idle_p50_us\":{:.2f},\"idle_p99_us\":{:."
        "2f},"
        "\"flushing_p50_us\":{:.2f},\"flushing_p99_us\":{:.2f},\"p99_ratio\":{:.3f}}}\n",
        options.coins, generation, percentile(idle, 0.5), idle_p99, percentile(flushing, 0.5), flushing_p99,
        flushing_p99 / idle_p99);
}

}  // namespace

int main(int argc, char** argv) {
    const Options options = read_options(argc, argv);
    if (options.wants("reads")) bench_reads(options);
    if (!options.wants("ingest") && !options.wants("size")) return 0;
    const test::TemporaryDirectory directory;
    const auto file = directory.path() / "blk00000.dat";
    const std::uint64_t made = write_blocks(file, options.coins);
    if (options.wants("ingest")) bench_ingest(file, made, options);
    if (options.wants("size")) bench_size(file, made, options);
}
