// SPDX-License-Identifier: MIT
#include "source/block_file.hpp"

#include "support/regtest_params.hpp"
#include "unit/source/block_file_bytes.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <vector>

using namespace blockpub;
using namespace blockpub::test;

namespace {

struct Walked {
    std::vector<BlockHash> hashes;
    std::vector<BadSpotKind> spots;
    ScanStep end;
};

Walked walk(const std::filesystem::path& path, XorKey key = {}, std::uint64_t start = 0) {
    auto file = File::open_for_reading(path);
    REQUIRE(file);
    BlockFile blocks(std::move(*file), regtest(), key, start);
    Walked walked;
    while (true) {
        const auto step = blocks.next();
        REQUIRE(step);
        if (step->kind == ScanStep::Kind::block) {
            CHECK(blocks.block().size() == step->size);
            CHECK(hash_header(blocks.block()) == step->hash);
            walked.hashes.push_back(step->hash);
        } else if (step->kind == ScanStep::Kind::bad_spot) {
            walked.spots.push_back(step->spot);
        } else {
            REQUIRE(step->kind == ScanStep::Kind::end);
            walked.end = *step;
            return walked;
        }
    }
}

/// A block of `size` bytes or a little more: one transaction with one long output.
BuiltBlock block_of_size(std::size_t size, std::uint64_t salt) {
    BlockSpec spec = child_spec(regtest_genesis(), salt);
    TransactionSpec filler = spend({.txid = Txid::from_wire(Bytes(32, 7)), .position = 0}, 1);
    filler.outputs.front().script.assign(size, 0x6a);
    spec.transactions.push_back(filler);
    return build_block(spec);
}

}  // namespace

TEST_SUITE("source.block_file") {
    TEST_CASE("a node's own obfuscated file is read to its preallocated tail") {
        const std::filesystem::path vectors = BLOCKPUB_SOURCE_ROOT "/tests/vectors";
        const XorKey key = read_xor_key(vectors).value();
        REQUIRE_FALSE(key.is_plain());
        const Walked walked = walk(vectors / "blk00000.dat", key);
        CHECK(walked.hashes.size() > 100);
        CHECK(walked.hashes.front() == regtest().genesis_hash);
        CHECK(walked.spots.empty());
        CHECK(walked.end.size > 0);
        CHECK(walked.end.begin + walked.end.size == std::filesystem::file_size(vectors / "blk00000.dat"));
        CHECK(walk(vectors / "blk00000.dat", key, walked.end.begin).hashes.empty());
        CHECK(walk(vectors / "blk00000.dat").hashes.empty());
    }

    TEST_CASE("blocks up to the limit are read whole across the buffer's ends, under any key") {
        const TempDirectory directory;
        for (const char* digits : {"0000000000000000", "0102030405060708"}) {
            const XorKey key = XorKey::from_hex(digits).value();
            Bytes bytes;
            std::vector<BlockHash> expected;
            std::uint64_t salt = 0;
            for (const std::size_t size : {100, 3'999'700, 70'000, 3'999'700, 3'999'700, 5, 1'000'003}) {
                const BuiltBlock block = block_of_size(size, ++salt);
                REQUIRE(block.raw.size() <= 4'000'000);
                append(bytes, record(block.raw.bytes(), regtest().magic));
                expected.push_back(block.hash);
            }
            const Walked walked = walk(directory.write("blk00000.dat", obfuscated(bytes, key)), key);
            CHECK(walked.hashes == expected);
            CHECK(walked.spots.empty());
            CHECK(walked.end.begin == bytes.size());
        }
    }

    TEST_CASE("a block beyond the limit is passed over, and found by nobody") {
        const TempDirectory directory;
        const BuiltBlock big = block_of_size(4'000'000, 1);
        const BuiltBlock small = block_of_size(100, 2);
        const Bytes bytes =
            join({record(big.raw.bytes(), regtest().magic), record(small.raw.bytes(), regtest().magic)});
        const Walked walked = walk(directory.write("blk00000.dat", bytes));
        CHECK(walked.hashes == std::vector<BlockHash>{small.hash});
        CHECK(walked.spots == std::vector<BadSpotKind>{BadSpotKind::bad_length});
    }

    TEST_CASE("holes of a terabyte are passed over at once") {
        const TempDirectory directory;
        const BuiltBlock block = block_of_size(100, 1);
        const Bytes good = record(block.raw.bytes(), regtest().magic);
        const auto tail = directory.write("tail.dat", good);
        std::error_code error;
        std::filesystem::resize_file(tail, std::uint64_t{1} << 40, error);
        if (error) return;  // a file system without files that large
        Walked walked = walk(tail);
        CHECK(walked.hashes.size() == 1);
        CHECK(walked.spots.empty());
        CHECK(walked.end.begin == good.size());
        CHECK(walked.end.begin + walked.end.size == std::uint64_t{1} << 40);

        std::ofstream append_to(tail, std::ios::binary | std::ios::app);
        append_to.write(reinterpret_cast<const char*>(good.data()),
                        static_cast<std::streamsize>(good.size()));
        append_to.close();
        walked = walk(tail);
        CHECK(walked.hashes.size() == 2);
        CHECK(walked.spots == std::vector<BadSpotKind>{BadSpotKind::empty});

        // Behind junk as well.
        const auto junk = directory.write("junk.dat", hex("00ff00ff"));
        std::filesystem::resize_file(junk, std::uint64_t{1} << 40, error);
        walked = walk(junk);
        CHECK(walked.hashes.empty());
        CHECK(walked.spots.size() == 2);
    }

    TEST_CASE("an empty file ends at once") {
        const TempDirectory directory;
        const Walked walked = walk(directory.write("blk00000.dat", {}));
        CHECK(walked.hashes.empty());
        CHECK(walked.spots.empty());
        CHECK(walked.end.begin == 0);
    }

    TEST_CASE("a file that is cut short while it is read ends where it ends") {
        const TempDirectory directory;
        Bytes bytes;
        for (std::uint64_t salt = 0; salt < 12; ++salt) {
            const BuiltBlock block = block_of_size(1'000'000, salt);
            append(bytes, record(block.raw.bytes(), regtest().magic));
        }
        const auto path = directory.write("blk00000.dat", bytes);
        BlockFile blocks(File::open_for_reading(path).value(), regtest(), {});
        CHECK(blocks.next().value().kind == ScanStep::Kind::block);
        std::filesystem::resize_file(path, 9'500'000);
        std::size_t found = 1;
        ScanStep step;
        while ((step = blocks.next().value()).kind == ScanStep::Kind::block) ++found;
        CHECK(found == 9);
        CHECK(step.kind == ScanStep::Kind::bad_spot);
        CHECK(step.spot == BadSpotKind::torn);
        CHECK(blocks.next().value().kind == ScanStep::Kind::end);
    }
}
