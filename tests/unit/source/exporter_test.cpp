// SPDX-License-Identifier: MIT
#include "source/exporter.hpp"

#include "source/importer.hpp"
#include "support/regtest_chain.hpp"
#include "support/regtest_params.hpp"
#include "unit/source/block_file_bytes.hpp"
#include "unit/source/recording_logger.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

using namespace blockpub;
using namespace blockpub::test;

namespace fs = std::filesystem;

namespace {

Result<ExportSummary> run_export(RegtestChain& node, const ExportOptions& options,
                                 std::stop_token stop = {}) {
    NullLogger logger;
    return export_blocks(options, node.store(), regtest(), logger, nullptr, stop);
}

std::vector<std::string> names_in(const fs::path& directory) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory))
        names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
}

}  // namespace

TEST_SUITE("source.exporter") {
    TEST_CASE("what is exported can be imported, and gives the same chain; side branches stay") {
        RegtestChain node;
        const auto branch = build_branch(regtest_genesis(), 60, 1);
        node.submit_all(branch);
        node.submit_all(build_branch(branch[10], 5, 2));
        for (const char* digits : {"", "0000000000000000", "d0bf1e44da9e3c1f"}) {
            CAPTURE(std::string(digits));
            const TempDirectory directory;
            ExportOptions options{.directory = directory.path() / "new" / "blocks"};
            options.key = XorKey::from_hex(digits);
            options.file_bytes = 2000;
            const ExportSummary summary = must(run_export(node, options));
            CHECK(summary.blocks == 61);
            CHECK(summary.files > 3);
            CHECK(summary.tip.hash == branch.back().hash);
            CHECK(fs::exists(options.directory / "xor.dat") == options.key.has_value());
            std::uint64_t bytes = 0;
            for (const auto& file : must(list_block_files(options.directory))) {
                CHECK(file.size <= 2000);
                bytes += file.size;
            }
            CHECK(bytes == summary.bytes);

            RegtestChain copy;
            RecordingLogger logger;
            Importer importer({.blocks_directory = options.directory, .load_files = {}}, copy.chain(),
                              copy.store(), regtest(), logger, nullptr);
            importer.start();
            const ImportResult result = importer.wait();
            CHECK(result.bad_spots == 0);
            CHECK(result.imported == 60);
            CHECK(copy.tip() == node.tip());
            CHECK(copy.log().size() == 61);
        }
    }

    TEST_CASE("a block larger than a file has one of its own") {
        RegtestChain node;
        node.submit_all(build_branch(regtest_genesis(), 2));
        const TempDirectory directory;
        const ExportSummary summary =
            must(run_export(node, {.directory = directory.path(), .file_bytes = 1}));
        CHECK(summary.files == 3);
        CHECK(names_in(directory.path()) ==
              std::vector<std::string>{"blk00000.dat", "blk00001.dat", "blk00002.dat"});
    }

    TEST_CASE("a directory that holds block files or a key is left alone") {
        RegtestChain node;
        for (const char* name : {"blk00000.dat", "blk12345.dat", "xor.dat"}) {
            const TempDirectory directory;
            directory.write(name, Bytes(8, 1));
            const auto exported = run_export(node, {.directory = directory.path()});
            REQUIRE_FALSE(exported);
            CHECK(exported.error().code == Errc::invalid_argument);
            CHECK(exported.error().context.find(name) != std::string::npos);
            CHECK(names_in(directory.path()) == std::vector<std::string>{name});
        }
        const TempDirectory directory;
        directory.write("notes.txt", Bytes(3, 1));
        directory.write("blk00007.dat.part", Bytes(3, 1));  // left by an export that was killed
        must(run_export(node, {.directory = directory.path()}));
        CHECK(names_in(directory.path()) == std::vector<std::string>{"blk00000.dat", "notes.txt"});
    }

    TEST_CASE("a stopped export leaves whole files only") {
        RegtestChain node;
        node.submit_all(build_branch(regtest_genesis(), 5));
        const TempDirectory directory;
        std::stop_source stop;
        stop.request_stop();
        const auto exported = run_export(node, {.directory = directory.path()}, stop.get_token());
        REQUIRE_FALSE(exported);
        CHECK(exported.error().code == Errc::stopped);
        CHECK(names_in(directory.path()).empty());
    }

    TEST_CASE("a directory that cannot be made is named") {
        RegtestChain node;
        const TempDirectory directory;
        const auto file = directory.write("file", Bytes(3, 1));
        const auto exported = run_export(node, {.directory = file / "below"});
        REQUIRE_FALSE(exported);
        CHECK(exported.error().context.find((file / "below").string()) != std::string::npos);
    }

    TEST_CASE("a key is sixteen digits or chosen at random") {
        CHECK(must(parse_export_key("d0bf1e44da9e3c1f")).hex() == "d0bf1e44da9e3c1f");
        CHECK_FALSE(must(parse_export_key("random")).is_plain());
        for (const char* wrong : {"", "d0bf", "d0bf1e44da9e3c1g", "Random"}) {
            const auto key = parse_export_key(wrong);
            REQUIRE_FALSE(key);
            CHECK(key.error().code == Errc::invalid_argument);
        }
    }
}
