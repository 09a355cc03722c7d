// SPDX-License-Identifier: MIT
#include "chain/pruner.hpp"

#include "chain/coins_ledger.hpp"
#include "primitives/block.hpp"
#include "store/coin_store.hpp"
#include "support/coin_options.hpp"
#include "support/desk_calls.hpp"
#include "support/regtest_chain.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace blockpub;
using namespace blockpub::test;

TEST_SUITE_BEGIN("chain.pruner");

namespace {

constexpr std::uint32_t kKeep = 5;
constexpr std::size_t kBlockBytes = 800'000;  // some twenty to a segment

/// A valid child of `parent` with so much data in its coinbase.
BuiltBlock large_child(const BuiltBlock& parent, std::size_t bytes = kBlockBytes, std::uint64_t salt = 0) {
    BlockSpec spec = child_spec(parent, salt);
    spec.coinbase_amount = kCoin;
    TransactionSpec coinbase = detail::make_coinbase(spec);
    Script data{0x6a};
    data.resize(bytes, 0);
    coinbase.outputs.insert(coinbase.outputs.begin(), {.amount = 0, .script = std::move(data)});
    spec.coinbase = std::move(coinbase);
    return build_block(spec);
}

std::vector<BuiltBlock> large_branch(const BuiltBlock& parent, std::size_t length, std::uint64_t salt = 0) {
    std::vector<BuiltBlock> branch;
    for (std::size_t i = 0; i < length; ++i)
        branch.push_back(large_child(i == 0 ? parent : branch.back(), kBlockBytes, salt));
    return branch;
}

RegtestChain::Options pruning_options(PruneOptions::Mode mode = PruneOptions::Mode::manual) {
    RegtestChain::Options options = RegtestChain::default_options();
    options.chain.prune = {.mode = mode,
                           .target_bytes = std::uint64_t{36} << 20,
                           .reserve_bytes = std::uint64_t{2} << 20,
                           .after_height = 10,
                           .keep_blocks = kKeep};
    return options;
}

std::vector<std::uint32_t> segment_files(RegtestChain& node) {
    std::vector<std::uint32_t> numbers;
    for (const auto& entry : std::filesystem::directory_iterator(node.store_options().directory / "blocks")) {
        if (entry.path().extension() == ".mdb")
            numbers.push_back(static_cast<std::uint32_t>(std::stoul(entry.path().stem().string())));
    }
    std::ranges::sort(numbers);
    return numbers;
}

std::filesystem::path file_of(RegtestChain& node, std::uint32_t segment) {
    return node.store_options().directory / "blocks" / fmt::format("{:05}.mdb", segment);
}

/// Whether the block is there; it must be whole, or pruned whole.
bool is_here(RegtestChain& node, const BuiltBlock& block) {
    const HeaderRecord record = node.header(block.hash);
    const auto raw = node.store().block_reader().read_block(block.hash);
    const bool pruned = (record.status & HeaderRecord::kPruned) != 0;
    CHECK(raw.has_value() != pruned);
    CHECK(record.block.has_value() != pruned);
    if (pruned) {
        CHECK_FALSE(record.undo.has_value());
        CHECK_FALSE(record.facts.has_value());
        CHECK(raw.error().code == Errc::unavailable);
        CHECK(raw.error().context == "Block not available (pruned data)");
        CHECK(record.tx_count == 1);
        CHECK(record.chain_tx_count != 0);
        return false;
    }
    CHECK(std::ranges::equal(raw->bytes(), block.raw.bytes()));
    if (record.undo) CHECK(node.store().read_blob(*record.undo).has_value());
    if (record.facts) CHECK(node.store().read_blob(*record.facts).has_value());
    return true;
}

/// Height below which every block of the chain is gone; all from there on must be here.
std::uint32_t check_border(RegtestChain& node, const std::vector<BuiltBlock>& chain) {
    std::size_t gone = 0;
    while (gone < chain.size() && !is_here(node, chain[gone])) ++gone;
    for (std::size_t i = gone; i < chain.size(); ++i) CHECK(is_here(node, chain[i]));
    return static_cast<std::uint32_t>(gone);  // the chain begins with height 1
}

/// What the chain thread does by itself comes before imports: at the end of an empty one it is done.
void let_work_end(RegtestChain& node) {
    node.chain().begin_import();
    must(node.chain().end_import());
}

struct ErrorCase {
    std::int64_t argument;
    Errc code;
    const char* text;
};

void check_error(RegtestChain& node, const ErrorCase& c) {
    CAPTURE(c.argument);
    const auto pruned = node.chain().prune_blocks(c.argument);
    REQUIRE_FALSE(pruned.has_value());
    CHECK(pruned.error().code == c.code);
    CHECK(pruned.error().context == c.text);
}

}  // namespace

TEST_CASE("whole segment files go, the oldest first, and a record tells before") {
    RegtestChain node(pruning_options());
    const auto chain = large_branch(regtest_genesis(), 70);
    node.submit_all(chain);
    static_cast<void>(node.released());
    CHECK(segment_files(node) == std::vector<std::uint32_t>{0, 1, 2, 3});
    CHECK_FALSE(node.chain().status().pruned_to.has_value());

    // Not a whole file below that height.
    CHECK_FALSE(must(node.chain().prune_blocks(10)).has_value());
    CHECK(segment_files(node).size() == 4);
    CHECK(node.released().empty());

    const auto pruned = must(node.chain().prune_blocks(50));
    REQUIRE(pruned.has_value());
    CHECK(pruned->value <= 50);
    CHECK(pruned->value > 30);
    CHECK(check_border(node, chain) == pruned->value);
    CHECK(segment_files(node) == std::vector<std::uint32_t>{2, 3});
    CHECK(node.chain().status().pruned_to == pruned);
    CHECK(node.store().status().segments == 2);
    CHECK(node.store().status().blob_bytes_on_disk < 40u << 20);

    const auto events = node.released();
    REQUIRE(events.size() == 1);
    const auto& event = std::get<BlocksPruned>(events.front());
    CHECK(event.height == *pruned);
    CHECK(event.hash == chain[pruned->value - 1].hash);
    const auto log = node.log();
    CHECK(log.back().index == event.index);
    CHECK(log.back().kind == BlockEventKind::pruned);
    CHECK(log.back().previous_hash.is_null());

    // Genesis went with its file, and counts for nothing.
    CHECK((node.header(regtest_genesis().hash).status & HeaderRecord::kPruned) != 0);
    CHECK(must(node.chain().prune_blocks(50)) == pruned);

    node.restart();
    CHECK(node.chain().status().pruned_to == pruned);
    CHECK(check_border(node, chain) == pruned->value);
    const BuiltBlock next = child_of(chain.back());
    CHECK(node.submit(next).empty());
    CHECK(node.tip() == next.hash);
    CHECK(node.submit(chain[0]) == "duplicate");
    CHECK_FALSE(is_here(node, chain[0]));
}

TEST_CASE("what cannot be pruned is refused in Core's words") {
    SUBCASE("without -prune") {
        RegtestChain node(pruning_options(PruneOptions::Mode::off));
        check_error(node, {1, Errc::unavailable, "Cannot prune blocks because node is not in prune mode."});
    }
    SUBCASE("a chain that is too short") {
        RegtestChain node(pruning_options());
        node.submit_all(build_branch(regtest_genesis(), 9));
        check_error(node, {-1, Errc::invalid_argument, "Negative block height."});
        check_error(node, {1, Errc::unavailable, "Blockchain is too short for pruning."});
        check_error(node, {20, Errc::unavailable, "Blockchain is too short for pruning."});
    }
    SUBCASE("heights and times that the chain has not reached") {
        RegtestChain node(pruning_options());
        const auto chain = build_branch(regtest_genesis(), 12);
        node.submit_all(chain);
        check_error(node,
                    {13, Errc::invalid_argument, "Blockchain is shorter than the attempted prune height."});
        check_error(node, {1'000'000'000, Errc::invalid_argument,
                           "Blockchain is shorter than the attempted prune height."});
        check_error(node, {std::int64_t{chain.back().time} + 7201, Errc::invalid_argument,
                           "Could not find block with at least the specified timestamp."});
        CHECK_FALSE(must(node.chain().prune_blocks(std::int64_t{chain.back().time} + 7200)).has_value());
        CHECK_FALSE(must(node.chain().prune_blocks(12)).has_value());
    }
}

TEST_CASE("a time stands for the first block that is less than two hours older") {
    RegtestChain node(pruning_options());
    const auto chain = large_branch(regtest_genesis(), 50);
    node.submit_all(chain);
    // Height 25, when two hours are added; a file ends below.
    const auto pruned = must(node.chain().prune_blocks(std::int64_t{chain[24].time} + 7200));
    REQUIRE(pruned.has_value());
    CHECK(pruned->value <= 25);
    CHECK(pruned->value > 10);
    CHECK(check_border(node, chain) == pruned->value);
}

TEST_CASE("the blocks next to the tip stay, whatever is asked for") {
    RegtestChain node(pruning_options());
    const auto chain = large_branch(regtest_genesis(), 62);
    node.submit_all(chain);
    const auto pruned = must(node.chain().prune_blocks(62));
    REQUIRE(pruned.has_value());
    CHECK(pruned->value <= 62 - kKeep);
    CHECK(check_border(node, chain) == pruned->value);
    // The deepest reorganization that the rule is for.
    const auto other = build_branch(chain[61 - kKeep], kKeep + 1, 7);
    node.submit_all(other);
    CHECK(node.tip() == other.back().hash);
}

TEST_CASE("a file with a block that waits for its parent stays") {
    RegtestChain node(pruning_options());
    const auto chain = large_branch(regtest_genesis(), 70);
    const auto orphan = child_of(child_of(regtest_genesis(), 9), 9);
    node.chain().begin_import();
    must(node.chain().import_block(must(ParsedBlock::parse(orphan.raw))));
    must(node.chain().end_import());
    node.submit_all(chain);
    CHECK(node.chain().import_counters().waiting == 1);
    REQUIRE(must(node.chain().prune_blocks(60)).has_value());
    CHECK(segment_files(node).front() == 0);
    CHECK(segment_files(node)[1] > 1);
    CHECK(is_here(node, chain[0]));
    CHECK_FALSE(is_here(node, chain[30]));
    node.restart();
    // It is still good.
    CHECK(node.submit(child_of(regtest_genesis(), 9)) == "inconclusive");
    let_work_end(node);
    CHECK(node.header(orphan.hash).block.has_value());
}

TEST_CASE("blocks off the active chain go by their height") {
    RegtestChain node(pruning_options());
    const auto chain = large_branch(regtest_genesis(), 60);
    const BuiltBlock stale = large_child(chain[3], kBlockBytes, 5);
    for (std::size_t i = 0; i < 6; ++i) static_cast<void>(node.submit(chain[i]));
    CHECK(node.submit(stale) == "inconclusive");
    for (std::size_t i = 6; i < chain.size(); ++i) static_cast<void>(node.submit(chain[i]));
    REQUIRE(must(node.chain().prune_blocks(30)).has_value());
    CHECK((node.header(stale.hash).status & HeaderRecord::kPruned) != 0);
    CHECK(node.submit(stale) == "inconclusive");  // never connected: it may come back
    CHECK(node.store().block_reader().read_block(stale.hash).has_value());
}

TEST_CASE("pruned blocks that are imported again are known, and not stored") {
    RegtestChain node(pruning_options());
    const auto chain = large_branch(regtest_genesis(), 50);
    node.submit_all(chain);
    const auto pruned = must(node.chain().prune_blocks(45));
    REQUIRE(pruned.has_value());
    const auto bytes = node.store().status().blob_bytes_on_disk;
    node.chain().begin_import();
    for (const BuiltBlock& block : chain)
        must(node.chain().import_block(must(ParsedBlock::parse(block.raw))));
    must(node.chain().end_import());
    CHECK(node.chain().import_counters().known == chain.size());
    CHECK(node.store().status().blob_bytes_on_disk == bytes);
    CHECK(check_border(node, chain) == pruned->value);
}

TEST_CASE("automatic pruning keeps an import within the target and one file") {
    RegtestChain node(pruning_options(PruneOptions::Mode::automatic));
    const auto chain = large_branch(regtest_genesis(), 130);
    const std::uint64_t target = node.options().chain.prune.target_bytes;
    const std::uint64_t segment = node.store_options().segment_bytes;
    node.chain().begin_import();
    std::uint64_t most = 0;
    for (const BuiltBlock& block : chain) {
        must(node.chain().import_block(must(ParsedBlock::parse(block.raw))));
        most = std::max(most, node.store().status().blob_bytes_on_disk);
    }
    must(node.chain().end_import());
    let_work_end(node);
    CHECK(most <= target + segment);
    CHECK(node.store().status().blob_bytes_on_disk <= target);
    const auto pruned = node.chain().status().pruned_to;
    REQUIRE(pruned.has_value());
    CHECK(pruned->value > 60);
    CHECK(pruned->value <= 130 - kKeep);
    CHECK(check_border(node, chain) == pruned->value);
    std::size_t told = 0;
    for (const EventRecord& record : node.log()) told += record.kind == BlockEventKind::pruned;
    CHECK(told >= 3);
}

TEST_CASE("automatic pruning waits for blocks to lie deep enough") {
    auto options = pruning_options(PruneOptions::Mode::automatic);
    options.chain.prune.keep_blocks = 100;
    RegtestChain node(std::move(options));
    const auto chain = large_branch(regtest_genesis(), 90);
    node.submit_all(chain);
    let_work_end(node);
    CHECK_FALSE(node.chain().status().pruned_to.has_value());
    CHECK(segment_files(node).size() >= 4);
}

TEST_CASE("a file that cannot be removed is of no use, and goes at the next start") {
    RegtestChain node(pruning_options());
    const auto chain = large_branch(regtest_genesis(), 60);
    node.submit_all(chain);
    const auto file = file_of(node, 0);
    const auto aside = node.store_options().directory / "aside";
    std::filesystem::rename(file, aside);
    std::filesystem::create_directories(file / "in the way");
    const auto failed = node.chain().prune_blocks(50);
    REQUIRE_FALSE(failed.has_value());
    CHECK(failed.error().code == Errc::io);
    CHECK(failed.error().context.find(file.string()) != std::string::npos);
    const auto border = check_border(node, chain);
    CHECK(border > 30);
    CHECK(segment_files(node).front() == 0);
    CHECK(segment_files(node)[1] > 1);
    node.stop();
    std::filesystem::remove_all(file);
    std::filesystem::rename(aside, file);
    node.start();
    CHECK_FALSE(std::filesystem::exists(file));
    CHECK(check_border(node, chain) == border);
    // And once only: what another program puts there later is none of its business.
    node.stop();
    std::ofstream(file.string()) << "x";
    node.start();
    CHECK(std::filesystem::exists(file));
}

TEST_CASE("a commit whose outcome is unknown removes nothing") {
    class FailingSync final : public StoreFaults {
     public:
        int at(Point point) noexcept override { return on && point == Point::chain_sync ? EIO : 0; }
        std::atomic<bool> on{false};
    } faults;
    auto options = pruning_options();
    options.faults = &faults;
    RegtestChain node(std::move(options));
    const auto chain = large_branch(regtest_genesis(), 60);
    node.submit_all(chain);
    faults.on = true;
    const auto failed = node.chain().prune_blocks(50);
    REQUIRE_FALSE(failed.has_value());
    CHECK(failed.error().code == Errc::outcome_unknown);
    CHECK(segment_files(node).front() == 0);
    faults.on = false;
    node.restart();
    // Before or after: either is whole.
    const auto border = check_border(node, chain);
    CHECK((segment_files(node).front() == 0) == (border == 0));
}

TEST_CASE("a branch that leaves the chain below pruned blocks is not followed, and says so") {
    RegtestChain node(pruning_options());
    const auto chain = large_branch(regtest_genesis(), 50);
    node.submit_all(chain);
    REQUIRE(must(node.chain().prune_blocks(45)).has_value());
    const auto log = node.log().size();
    const auto other = build_branch(chain[5], 46, 3);
    node.submit_all(other);
    CHECK(node.tip() == chain.back().hash);
    CHECK(node.log().size() == log);
    CHECK(node.chain().status().halted.empty());
    CHECK(node.chain().status().unreachable.find(other.back().hash.display_hex()) != std::string::npos);

    node.restart();
    CHECK(node.tip() == chain.back().hash);
    CHECK_FALSE(node.chain().status().unreachable.empty());
    // Once the chain has as much work again, all is well.
    const auto more = build_branch(chain.back(), 2, 4);
    node.submit_all(more);
    CHECK(node.tip() == more.back().hash);
    CHECK(node.chain().status().unreachable.empty());
}

TEST_CASE("a block above pruned ones cannot be invalidated past them") {
    RegtestChain node(pruning_options());
    const auto chain = large_branch(regtest_genesis(), 50);
    node.submit_all(chain);
    const auto pruned = must(node.chain().prune_blocks(45));
    REQUIRE(pruned.has_value());
    const auto log = node.log();
    const auto refused = node.chain().invalidate_block(chain[pruned->value - 2].hash);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().context.find(chain[pruned->value - 1].hash.display_hex()) != std::string::npos);
    CHECK(node.log() == log);
    CHECK(node.tip() == chain.back().hash);
    // The lowest that can.
    must(node.chain().invalidate_block(chain[pruned->value].hash));
    CHECK(node.tip() == chain[pruned->value - 1].hash);
    must(node.chain().reconsider_block(chain[pruned->value].hash));
    CHECK(node.tip() == chain.back().hash);
}

namespace {

/// Coins that a test can keep from being written.
struct CoinsBeside {
    class Faults final : public StoreFaults {
     public:
        int at(Point point) noexcept override { return full && point == Point::coin_put ? ENOSPC : 0; }
        std::atomic<bool> full{false};
    };
    CoinsBeside() { open(); }
    void open() {
        CoinStoreOptions options = coin_options(directory.path());
        options.retry_first = std::chrono::milliseconds(1);
        options.retry_longest = std::chrono::milliseconds(5);
        options.faults = &faults;
        store = must(CoinStore::open(options));
        ledger.emplace(chain_params(ChainKind::regtest), *store);
    }
    void close() {
        ledger.reset();
        store.reset();
    }
    TemporaryDirectory directory;
    Faults faults;
    std::unique_ptr<CoinStore> store;
    std::optional<CoinsLedger> ledger;
};

}  // namespace

TEST_CASE("coins are written before blocks go that would make them again") {
    CoinsBeside coins;
    auto options = pruning_options();
    options.chain.coins = &*coins.ledger;
    RegtestChain node(std::move(options));
    const auto chain = large_branch(regtest_genesis(), 60);
    node.submit_all(chain);
    CHECK(coins.store->status().flushed.hash.is_null());

    coins.faults.full = true;
    const auto failed = node.chain().prune_blocks(50);
    REQUIRE_FALSE(failed.has_value());
    CHECK(check_border(node, chain) == 0);
    CHECK(segment_files(node).front() == 0);

    coins.faults.full = false;
    const auto pruned = must(node.chain().prune_blocks(50));
    REQUIRE(pruned.has_value());
    CHECK(coins.store->status().flushed.hash == chain.back().hash);
    CHECK(check_border(node, chain) == pruned->value);

    // What comes later is made again from what is kept.
    const auto more = large_branch(chain.back(), 3);
    node.submit_all(more);
    node.stop();
    coins.close();
    coins.open();
    node.options().chain.coins = &*coins.ledger;
    node.start();
    CHECK(node.tip() == more.back().hash);
    CHECK(coins.store->status().tip.hash == more.back().hash);

    // Coins that are no more need blocks that are no more.
    node.stop();
    coins.close();
    std::filesystem::remove_all(coins.directory.path() / "coins");
    coins.open();
    node.options().chain.coins = &*coins.ledger;
    const auto refused = node.try_start();
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().context.find("was pruned") != std::string::npos);
    node.stop();
}

TEST_CASE("a chain that begins at the tip is pruned as any other, and becomes whole all the same") {
    CoinsBeside coins;
    auto options = pruning_options();
    options.chain.start_at_tip = true;
    options.chain.start_depth = 60;
    RegtestChain node(options);
    const auto chain = large_branch(regtest_genesis(), 70);
    send_headers(node, chain);
    deliver_missing(node, chain);
    commit_all(node);
    REQUIRE(node.chain().status().pruned_to == Height{10});
    const auto pruned = must(node.chain().prune_blocks(60));
    REQUIRE(pruned.has_value());
    CHECK(pruned->value > 20);
    CHECK(segment_files(node).front() != 0);
    CHECK(node.submit(large_child(chain.back())).empty());
    node.restart();
    CHECK(node.chain().status().pruned_to == *pruned);

    node.stop();
    node.options().chain.start_at_tip = false;
    node.options().chain.prune.mode = PruneOptions::Mode::off;
    node.options().chain.coins = &*coins.ledger;
    node.start();
    // Genesis went with the first file.
    CHECK(missing(node, chain.back().hash).size() == pruned->value + 1);
    CHECK(deliver(node, regtest_genesis().raw).kind == DeliveredBlock::Kind::accepted);
    deliver_missing(node, chain);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (node.chain().status().coins_missing) {
        REQUIRE(std::chrono::steady_clock::now() < end);
        std::this_thread::yield();
    }
    commit_all(node);
    CHECK(coins.store->status().tip.height.value == 71);
    CHECK_FALSE(node.chain().status().pruned_to);
    CHECK(check_border(node, chain) == 0);
}

TEST_SUITE_END();
