// SPDX-License-Identifier: MIT
#include "source/importer.hpp"

#include "support/regtest_chain.hpp"
#include "support/regtest_params.hpp"
#include "unit/source/block_file_bytes.hpp"
#include "unit/source/recording_logger.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <random>
#include <semaphore>
#include <string>
#include <vector>

using namespace blockpub;
using namespace blockpub::test;
using namespace std::chrono_literals;

namespace {

Bytes records(const std::vector<BuiltBlock>& blocks) {
    Bytes out;
    for (const BuiltBlock& block : blocks) append(out, record(block.raw.bytes(), regtest().magic));
    return out;
}

class RecordingSink final : public ProgressSink {
 public:
    void show(std::string_view line) noexcept override { lines.emplace_back(line); }
    std::vector<std::string> lines;
};

struct Import {
    explicit Import(RegtestChain& node, ImportPlan plan, ImportOptions options = {})
        : importer(std::move(plan), node.chain(), node.store(), regtest(), logger, &sink, options) {
        importer.start();
    }
    RecordingLogger logger;
    RecordingSink sink;
    Importer importer;
};

ImportPlan directory_plan(const TempDirectory& directory) {
    return {.blocks_directory = directory.path(), .load_files = {}};
}

ImportPlan file_plan(const std::filesystem::path& path) {
    return {.blocks_directory = {}, .load_files = {path}};
}

ImportResult import_all(RegtestChain& node, ImportPlan plan) {
    Import import(node, std::move(plan));
    return import.importer.wait();
}

/// A block with about `size` bytes of filling.
BuiltBlock big_child(const BuiltBlock& parent, std::size_t size) {
    BlockSpec spec = child_spec(parent);
    TransactionSpec filler = spend({.txid = Txid::from_wire(Bytes(32, 7)), .position = 0}, 1);
    filler.outputs.front().script.assign(size, 0x6a);
    spec.transactions.push_back(filler);
    return build_block(spec);
}

std::vector<BuiltBlock> big_branch(std::size_t length, std::size_t size) {
    std::vector<BuiltBlock> branch;
    for (std::size_t i = 0; i < length; ++i) {
        branch.push_back(big_child(i == 0 ? regtest_genesis() : branch.back(), size));
    }
    return branch;
}

}  // namespace

TEST_SUITE("source.importer") {
    TEST_CASE(
        "a node's own blocks directory leads to the node's tip, and a second import reads nothing again") {
        const std::filesystem::path vectors = BLOCKPUB_SOURCE_ROOT "/tests/vectors";
        const TempDirectory directory;
        for (const char* name : {"blk00000.dat", "xor.dat"})
            std::filesystem::copy(vectors / name, directory.path());
        RegtestChain node;
        node.clock().set_fixed(1'700'082'181);
        {
            Import import(node, directory_plan(directory));
            const ImportResult result = import.importer.wait();
            CHECK(result.errors.empty());
            CHECK(result.invalid == 0);
            CHECK(result.bad_spots == 0);
            CHECK(result.waiting == 0);
            CHECK(result.known == 1);  // genesis
            CHECK(result.imported == result.blocks);
            CHECK_FALSE(result.stopped);
            CHECK(import.logger.count(LogLevel::warning, "") == 0);
            CHECK(import.logger.count(LogLevel::info, "Import finished: height 169") == 1);
        }
        CHECK(node.tip().display_hex() == "0c009567b35ca2f7f1c467ed62e8a21d54b0201900d1c48c9a499de3bfc88432");
        node.restart();
        const ImportResult again = import_all(node, directory_plan(directory));
        CHECK(again.blocks == 0);
        CHECK(again.known == 0);
        CHECK(again.errors.empty());
    }

    TEST_CASE("records in any order, over several files, plain and obfuscated, lead to the same tip") {
        const auto seed = std::random_device{}();
        std::printf("source.importer seed %u\n", seed);
        CAPTURE(seed);
        std::mt19937 random(seed);
        const auto branch = build_branch(regtest_genesis(), 150);
        for (const char* digits : {"0000000000000000", "d0bf1e44da9e3c1f"}) {
            const XorKey key = XorKey::from_hex(digits).value();
            auto shuffled = branch;
            shuffled.insert(shuffled.end(), branch.begin(), branch.begin() + 20);  // some twice
            std::ranges::shuffle(shuffled, random);
            const TempDirectory directory;
            directory.write("xor.dat", key.bytes());
            for (std::size_t i = 0; i < 5; ++i) {
                const std::vector<BuiltBlock> part(
                    shuffled.begin() + static_cast<std::ptrdiff_t>(i * 34),
                    shuffled.begin() + static_cast<std::ptrdiff_t>((i + 1) * 34));
                directory.write("blk0000" + std::to_string(i) + ".dat", obfuscated(records(part), key));
            }
            RegtestChain node;
            const ImportResult result = import_all(node, directory_plan(directory));
            CHECK(node.tip() == branch.back().hash);
            CHECK(result.waiting == 0);
            CHECK(result.invalid == 0);
            CHECK(result.known == 20);
            CHECK(result.files == 5);
            // Every connect once, in order.
            std::uint32_t height = 0;
            for (const EventRecord& event : node.log()) {
                CHECK(event.kind == BlockEventKind::connected);
                CHECK(event.height.value == height++);
            }
            CHECK(height == 151);
        }
    }

    TEST_CASE("children wait for their parent across imports and restarts") {
        const auto branch = build_branch(regtest_genesis(), 30);
        const TempDirectory directory;
        const auto late = directory.write("late.dat", records({branch.begin() + 10, branch.end()}));
        const auto early = directory.write("early.dat", records({branch.begin(), branch.begin() + 10}));
        RegtestChain node;
        ImportResult result = import_all(node, file_plan(late));
        CHECK(result.waiting == 20);
        CHECK(result.imported == 0);
        CHECK(node.tip() == regtest_genesis().hash);
        node.restart();
        result = import_all(node, file_plan(early));
        CHECK(result.waiting == 0);
        CHECK(result.imported == 30);
        CHECK(node.tip() == branch.back().hash);
    }

    TEST_CASE("blocks without room to wait are offered again until the chain is whole") {
        auto branch = build_branch(regtest_genesis(), 40);
        std::ranges::reverse(branch);
        const TempDirectory directory;
        const auto file = directory.write("reversed.dat", records(branch));
        auto options = RegtestChain::default_options();
        options.chain.waiting_limit = 10 * branch.front().raw.size();
        RegtestChain node(options);
        Import import(node, file_plan(file));
        const ImportResult result = import.importer.wait();
        CHECK(node.tip() == branch.front().hash);
        CHECK(result.imported == 40);
        CHECK(result.turned_away > 0);
        CHECK(import.logger.count(LogLevel::info, "going through the files again") > 0);
        // What was turned away at first has come in since: nothing is left to be read.
        CHECK(import_all(node, file_plan(file)).blocks == 0);
    }

    TEST_CASE("passes end when nothing more comes in") {
        auto branch = build_branch(regtest_genesis(), 40);
        branch.erase(branch.begin());
        std::ranges::reverse(branch);
        const TempDirectory directory;
        auto options = RegtestChain::default_options();
        options.chain.waiting_limit = 10 * branch.front().raw.size();
        RegtestChain node(options);
        const ImportResult result =
            import_all(node, file_plan(directory.write("rootless.dat", records(branch))));
        CHECK(result.imported == 0);
        CHECK(result.waiting == 10);
        CHECK(result.turned_away == 29);
        CHECK(node.tip() == regtest_genesis().hash);
    }

    TEST_CASE("an import that was stopped half-way goes on where it was") {
        const auto branch = big_branch(60, 900'000);
        const TempDirectory directory;
        directory.write("blk00000.dat", records({branch.begin(), branch.begin() + 20}));
        directory.write("blk00001.dat", records({branch.begin() + 20, branch.end()}));
        ImportOptions options;
        options.chain_queue_bytes = std::size_t{1} << 20;
        options.read_ahead_bytes = std::size_t{2} << 20;
        auto node_options = RegtestChain::default_options();
        node_options.chain.import_queue_bytes = options.chain_queue_bytes;
        RegtestChain node(node_options);
        {
            Import import(node, directory_plan(directory), options);
            // Wait for some of it by the events, not by time; what is left takes longer than this thread to
            // stop it.
            std::size_t connected = 0;
            while (connected < 22 && !import.importer.finished()) {
                for (const Event& event : node.released())
                    connected += std::holds_alternative<BlockConnected>(event) ? 1 : 0;
                std::this_thread::yield();
            }
            import.importer.stop();
            const auto begin = std::chrono::steady_clock::now();
            const ImportResult result = import.importer.wait();
            CHECK(std::chrono::steady_clock::now() - begin < 5s);
            CHECK(result.stopped);
            CHECK(import.logger.count(LogLevel::info, "Import stopped") == 1);
        }
        const auto reached = node.chain().status().tip.height.value;
        CHECK(reached >= 21);
        node.restart();
        CHECK(node.chain().status().tip.height.value == reached);
        const ImportResult rest = import_all(node, directory_plan(directory));
        CHECK(node.tip() == branch.back().hash);
        CHECK(rest.blocks == 60 - reached);
        CHECK(rest.known + 20 <= reached);  // the first file is not read again
    }

    TEST_CASE("a file that was replaced is imported again, and one that has grown from where it ended") {
        const auto branch = build_branch(regtest_genesis(), 30);
        const TempDirectory directory;
        RegtestChain node;
        directory.write("blk00000.dat", records({branch.begin(), branch.begin() + 10}));
        CHECK(import_all(node, directory_plan(directory)).blocks == 10);
        Bytes grown = records({branch.begin(), branch.begin() + 20});
        append(grown, Bytes(100'000, 0));
        directory.write("blk00000.dat", grown);
        ImportResult result = import_all(node, directory_plan(directory));
        CHECK(result.blocks == 10);
        CHECK(result.known == 0);
        // Written on into the preallocated space: the size stays.
        Bytes written_on = records(branch);
        written_on.resize(grown.size());
        directory.write("blk00000.dat", written_on);
        result = import_all(node, directory_plan(directory));
        CHECK(result.blocks == 10);
        CHECK(result.known == 0);
        CHECK(node.tip() == branch.back().hash);
        directory.write("blk00000.dat", records({branch.begin() + 5, branch.end()}));
        result = import_all(node, directory_plan(directory));
        CHECK(result.blocks == 0);
        CHECK(result.known == 25);
    }

    TEST_CASE("what is behind a damaged place is read again: the damage may have been repaired") {
        const auto branch = build_branch(regtest_genesis(), 30);
        const TempDirectory directory;
        const Bytes good = records(branch);
        Bytes damaged = good;
        const std::size_t place = records({branch.begin(), branch.begin() + 15}).size() + 8 + 75;
        damaged[place] ^= 1;  // the header's bits: beyond the limit
        RegtestChain node;
        directory.write("blk00000.dat", damaged);
        {
            Import import(node, directory_plan(directory));
            const ImportResult result = import.importer.wait();
            CHECK(result.bad_spots == 1);
            CHECK(result.waiting == 14);
            CHECK(import.logger.count(LogLevel::warning, "blk00000.dat: passed over") == 1);
        }
        directory.write("blk00000.dat", good);
        CHECK(import_all(node, directory_plan(directory)).bad_spots == 0);
        CHECK(node.tip() == branch.back().hash);
    }

    TEST_CASE("warnings of a file of junk are bounded, and its blocks are imported") {
        const auto branch = build_branch(regtest_genesis(), 400);
        Bytes bytes;
        for (const BuiltBlock& block : branch) {
            append(bytes, record(block.raw.bytes(), regtest().magic));
            append(bytes, hex("deadbeef"));
        }
        const TempDirectory directory;
        RegtestChain node;
        for (int i = 0; i < 60; ++i) directory.write("blk000" + std::to_string(10 + i) + ".dat", bytes);
        Import import(node, directory_plan(directory));
        const ImportResult result = import.importer.wait();
        CHECK(node.tip() == branch.back().hash);
        CHECK(result.bad_spots == 60 * 400);
        CHECK(import.logger.count(LogLevel::warning, "") <= 201);
    }

    TEST_CASE("an invalid block is counted and its file's other blocks are imported") {
        const auto branch = build_branch(regtest_genesis(), 10);
        BlockSpec wrong = child_spec(branch[3]);
        wrong.time = 1;  // before the median of the past
        const TempDirectory directory;
        Bytes bytes = records({branch.begin(), branch.begin() + 4});
        append(bytes, records({build_block(wrong)}));
        append(bytes, records({branch.begin() + 4, branch.end()}));
        RegtestChain node;
        const ImportResult result = import_all(node, file_plan(directory.write("bootstrap.dat", bytes)));
        CHECK(result.invalid == 1);
        CHECK(result.imported == 10);
        CHECK(node.tip() == branch.back().hash);
    }

    TEST_CASE("a file or directory that cannot be read is named and stops no other") {
        const auto branch = build_branch(regtest_genesis(), 10);
        const TempDirectory directory;
        const auto good = directory.write("good.dat", records(branch));
        const auto empty = directory.write("empty.dat", {});
        std::filesystem::create_directory(directory.path() / "sub");
        std::filesystem::create_directory(directory.path() / "sub" / "blk00000.dat");
        RegtestChain node;
        ImportPlan plan;
        plan.blocks_directory = directory.path() / "absent";
        plan.load_files = {directory.path() / "nothing.dat", empty, good};
        {
            Import import(node, plan);
            const ImportResult result = import.importer.wait();
            CHECK(result.errors.size() == 3);
            for (const char* name : {"absent", "nothing.dat", "empty.dat"}) {
                CHECK(import.logger.count(LogLevel::error, name) == 1);
            }
        }
        CHECK(node.tip() == branch.back().hash);
        plan.blocks_directory = directory.path() / "sub";
        Import import(node, plan);
        CHECK(import.importer.wait().failed_files == 1);
        CHECK(import.logger.count(LogLevel::error, "blk00000.dat is a directory") == 1);
    }

    TEST_CASE("progress is shown while it lasts, and initial download holds until its end") {
        const auto branch = build_branch(regtest_genesis(), 200);
        const TempDirectory directory;
        auto node_options = RegtestChain::default_options();
        // Genesis is too old to end initial download; the branch's second half is not.
        node_options.chain.max_tip_age = 100 * 600s;
        RegtestChain node(node_options);
        node.clock().set_fixed(branch.back().time);
        ImportOptions options;
        options.progress_every = 0ms;
        Import import(node, file_plan(directory.write("bootstrap.dat", records(branch))), options);
        const ImportResult result = import.importer.wait();
        CHECK(import.importer.finished());
        CHECK(result.imported == 200);
        REQUIRE(import.sink.lines.size() >= 200);
        for (std::size_t i = 0; i + 1 < import.sink.lines.size(); ++i) {
            CHECK(import.sink.lines[i].starts_with("Import: height "));
            CHECK(import.sink.lines[i].find(" blocks/s, ") != std::string::npos);
            CHECK(import.sink.lines[i].ends_with(" left"));
        }
        CHECK(import.sink.lines.back().empty());
        CHECK_FALSE(node.chain().status().importing);
        for (const Event& event : node.released()) {
            if (const auto* tip = std::get_if<UpdatedBlockTip>(&event)) CHECK(tip->initial_download);
        }
        CHECK_FALSE(node.chain().status().initial_download);
    }

    TEST_CASE("an import ends when the chain is stopped under it") {
        const auto branch = big_branch(40, 900'000);
        const TempDirectory directory;
        RegtestChain node;
        Import import(node, file_plan(directory.write("bootstrap.dat", records(branch))));
        node.chain().stop();
        const ImportResult result = import.importer.wait();
        CHECK(result.stopped);
        CHECK(result.errors.empty());
    }

    TEST_CASE("files without any block of the chain are an error, junk behind blocks is not") {
        const TempDirectory directory;
        directory.write("blk00000.dat", hex("00112233445566778899aabbccddeeff"));
        RegtestChain node;
        const ImportResult none = import_all(node, directory_plan(directory));
        REQUIRE(none.errors.size() == 1);
        CHECK(none.errors.front().find("there is no block of chain regtest in ") == 0);
        const BuiltBlock genesis = regtest_genesis();
        Bytes some = record(genesis.raw.bytes(), chain_params(ChainKind::regtest).magic);
        append(some, hex("00112233445566778899aabbccddeeff"));
        directory.write("blk00000.dat", some);
        for (int i = 0; i < 2; ++i) CHECK(import_all(node, directory_plan(directory)).errors.empty());
    }
}
