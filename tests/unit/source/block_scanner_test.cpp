// SPDX-License-Identifier: MIT
#include "source/block_scanner.hpp"

#include "support/regtest_params.hpp"
#include "unit/source/block_file_bytes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <vector>

using namespace blockpub;
using namespace blockpub::test;

namespace {

const ChainParams& main_params() {
    return chain_params(ChainKind::main);
}
struct Found {
    std::vector<Bytes> blocks;
    struct Spot {
        BadSpotKind kind;
        std::uint64_t begin;
        std::uint64_t size;
        bool operator==(const Spot&) const = default;
    };
    std::vector<Spot> spots;
    std::uint64_t content_end = 0;
    std::uint64_t zero_tail = 0;
    bool operator==(const Found&) const = default;
};

/// Scans a decoded file, showing the scanner `window` bytes at a time, or more where it asks for more.
Found scan(const Bytes& file, const ChainParams& params, XorKey key = {}, std::size_t window = 1 << 20) {
    BlockScanner scanner(params, key);
    Found found;
    std::uint64_t offset = 0;
    std::size_t size = std::min(window, file.size());
    while (true) {
        // An exact-size copy, so that a sanitizer sees a read beyond the window.
        const Bytes shown(file.begin() + static_cast<std::ptrdiff_t>(offset),
                          file.begin() + static_cast<std::ptrdiff_t>(offset + size));
        const ScanStep step = scanner.next(shown, offset, offset + size == file.size());
        if (step.kind == ScanStep::Kind::block) {
            const auto begin = file.begin() + static_cast<std::ptrdiff_t>(step.begin);
            found.blocks.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(step.size));
            CHECK(step.hash == hash_header(found.blocks.back()));
        } else if (step.kind == ScanStep::Kind::bad_spot) {
            REQUIRE(step.size > 0);
            found.spots.push_back({step.spot, step.begin, step.size});
        } else if (step.kind == ScanStep::Kind::end) {
            found.content_end = step.begin;
            found.zero_tail = step.size;
            return found;
        } else {
            REQUIRE(offset + size < file.size());
            REQUIRE(scanner.wanted_end() <= scanner.position() + kMaxWanted);
            REQUIRE((scanner.position() > offset || scanner.wanted_end() > offset + size));
            offset = scanner.position();
            size = std::max<std::size_t>(window, static_cast<std::size_t>(scanner.wanted_end() - offset));
            size = std::min<std::size_t>(size, file.size() - static_cast<std::size_t>(offset));
        }
    }
}

using Spots = std::vector<Found::Spot>;

Bytes regtest_block() {
    const BuiltBlock block = child_of(regtest_genesis());
    return bytes_of(block.raw.bytes());
}

Bytes zeros(std::size_t count) {
    return Bytes(count, 0);
}

}  // namespace

TEST_SUITE("source.block_scanner") {
    TEST_CASE("the file of scenario 33 gives exactly its two whole blocks, and tells of each bad spot") {
        const Bytes block = block_170();
        const Bytes whole = record(block, main_params().magic);
        REQUIRE(bytes_of(ByteSpan(whole).first(8)) == hex("f9beb4d9ea010000"));
        for (const bool torn_has_prefix : {true, false}) {
            CAPTURE(torn_has_prefix);
            const Bytes torn = torn_has_prefix ? cut(whole, 408) : cut(block, 400);
            const Bytes file =
                join({whole, hex("f9beb4d9ffffff7f"), hex("f9beb4d9f9beb4d9"), torn, zeros(16), whole});
            const Found found = scan(file, main_params());
            CHECK(found.blocks == std::vector<Bytes>{block, block});
            CHECK(found.spots.size() >= 3);
            CHECK(found.spots[0] == Found::Spot{BadSpotKind::bad_length, 498, 8});
            CHECK(found.spots[1] == Found::Spot{BadSpotKind::bad_length, 506, 4});
            CHECK(found.spots[2].begin == 510);
            std::uint64_t passed_over = 0;
            for (const auto& spot : found.spots) passed_over += spot.size;
            CHECK(passed_over == file.size() - 2 * whole.size());
        }
    }

    TEST_CASE("what is between, before and behind records is passed over and named") {
        const Bytes block = regtest_block();
        const Bytes good = record(block, regtest().magic);
        const Bytes main_block = record(block_170(), main_params().magic);
        Bytes no_work = good;
        no_work[8 + 72] ^= 1;  // bits: a target beyond the limit
        Bytes no_transactions_end = good;
        no_transactions_end[8 + 80] = 200;
        Bytes magic;
        append_le(magic, regtest().magic);
        const auto with_length = [&](std::uint32_t length) {
            Bytes out = magic;
            append_le(out, length);
            return out;
        };
        const std::uint64_t n = good.size();

        struct Case {
            std::string name;
            Bytes file;
            std::size_t blocks;
            Spots spots;
            std::uint64_t zero_tail = 0;
        };
        const std::vector<Case> cases = {
            {"nothing at all", {}, 0, {}},
            {"one record", good, 1, {}},
            {"records back to back", join({good, good, good}), 3, {}},
            {"a preallocated tail", join({good, zeros(1000)}), 1, {}, 1000},
            {"nothing but zeros", zeros(5000), 0, {}, 5000},
            {"a single zero at the end", join({good, zeros(1)}), 1, {}, 1},
            {"zeros with a record behind", join({good, zeros(16), good}), 2, {{BadSpotKind::empty, n, 16}}},
            {"zeros before the first record", join({zeros(3), good}), 1, {{BadSpotKind::empty, 0, 3}}},
            {"junk before the first record", join({hex("0102030405"), good}), 1, {{BadSpotKind::junk, 0, 5}}},
            {"junk between records", join({good, hex("ff"), good}), 2, {{BadSpotKind::junk, n, 1}}},
            {"junk at the end", join({good, hex("ffee")}), 1, {{BadSpotKind::junk, n, 2}}},
            {"junk, then zeros to the end", join({hex("aabb"), zeros(99)}), 0, {{BadSpotKind::junk, 0, 101}}},
            {"a record cut short by the end",
             join({good, cut(good, n - 1)}),
             1,
             {{BadSpotKind::torn, n, n - 1}}},
            {"a header cut short by the end", join({good, cut(good, 60)}), 1, {{BadSpotKind::torn, n, 60}}},
            {"a length cut short by the end", join({good, cut(good, 6)}), 1, {{BadSpotKind::torn, n, 6}}},
            {"a magic cut short by the end", join({good, cut(good, 3)}), 1, {{BadSpotKind::junk, n, 3}}},
            {"half a magic, then a record", join({cut(magic, 2), good}), 1, {{BadSpotKind::junk, 0, 2}}},
            {"a record cut short by the next",
             join({cut(good, n - 9), good, good}),
             2,
             {{BadSpotKind::undecodable, 0, n - 9}}},
            {"a length of 80", join({with_length(80), good}), 1, {{BadSpotKind::bad_length, 0, 8}}},
            {"a length of 0", join({with_length(0), good}), 1, {{BadSpotKind::bad_length, 0, 8}}},
            {"a length of 4,000,001",
             join({with_length(4'000'001), good}),
             1,
             {{BadSpotKind::bad_length, 0, 8}}},
            {"a length of 2^32 - 1",
             join({with_length(0xffffffff), good}),
             1,
             {{BadSpotKind::bad_length, 0, 8}}},
            {"a length of 4,000,000 and nothing there",
             join({with_length(4'000'000), good}),
             1,
             {{BadSpotKind::no_work, 0, 8}}},
            {"a header without work", join({no_work, good}), 1, {{BadSpotKind::no_work, 0, n}}},
            {"transactions that end too late",
             join({no_transactions_end, good}),
             1,
             {{BadSpotKind::undecodable, 0, n}}},
            {"a record of another network",
             join({main_block, good}),
             1,
             {{BadSpotKind::other_network, 0, main_block.size()}}},
            {"records of another network, each one told",
             join({main_block, main_block, good}),
             1,
             {{BadSpotKind::other_network, 0, main_block.size()},
              {BadSpotKind::other_network, main_block.size(), main_block.size()}}},
            {"another network's record torn by ours",
             join({cut(main_block, 450), good, good}),
             2,
             {{BadSpotKind::undecodable, 0, 450}}},
        };
        for (const Case& c : cases) {
            CAPTURE(c.name);
            for (const std::size_t window :
                 {std::size_t{1}, std::size_t{7}, std::size_t{64}, std::size_t{1} << 20}) {
                CAPTURE(window);
                const Found found = scan(c.file, regtest(), {}, window);
                CHECK(found.blocks == std::vector<Bytes>(c.blocks, block));
                CHECK(found.spots == c.spots);
                CHECK(found.zero_tail == c.zero_tail);
                if (c.spots.empty()) CHECK(found.content_end == c.file.size() - c.zero_tail);
            }
        }
    }

    TEST_CASE("a block shorter than its record is found, as Core finds it") {
        const Bytes block = regtest_block();
        Bytes slack = block;
        slack.resize(block.size() + 50, 0xee);
        const Found found =
            scan(join({record(slack, regtest().magic), record(block, regtest().magic)}), regtest());
        CHECK(found.blocks == std::vector<Bytes>{block, block});
        CHECK(found.spots == Spots{{BadSpotKind::junk, 8 + block.size(), 50}});
    }

    TEST_CASE("raw zeros under a key are preallocated space, whatever bytes key and magic share") {
        const Bytes block = regtest_block();
        const Bytes good = record(block, regtest().magic);
        // Keys that turn a run of zeros into what looks like magics, or a record's first bytes into zeros.
        for (const std::string digits :
             {"d0bf1e44da9e3c1f", "fabfb5dafabfb5da", "fabfb5da51000000", "fafafafafafafafa",
              "bfb5dafabfb5dafa", "0000000000000001", "b5dafabfb5dafabf"}) {
            const XorKey key = XorKey::from_hex(digits).value();
            CAPTURE(digits);
            for (std::size_t gap = 0; gap < 20; ++gap) {
                CAPTURE(gap);
                Bytes raw = obfuscated(good, key);
                append(raw, zeros(gap));
                Bytes second = good;
                key.apply(second, raw.size());
                append(raw, second);
                const std::size_t content = raw.size();
                append(raw, zeros(4096));
                const Bytes decoded = obfuscated(raw, key);
                for (const std::size_t window : {std::size_t{5}, std::size_t{1} << 20}) {
                    const Found found = scan(decoded, regtest(), key, window);
                    CHECK(found.blocks == std::vector<Bytes>{block, block});
                    std::uint64_t passed_over = 0;
                    for (const auto& spot : found.spots) passed_over += spot.size;
                    CHECK(passed_over == gap);
                    CHECK(found.zero_tail == 4096);
                    CHECK(found.content_end == content);
                }
            }
        }
    }

    TEST_CASE("a hole can be passed over unread") {
        const Bytes block = regtest_block();
        const Bytes good = record(block, regtest().magic);
        BlockScanner scanner(regtest(), {});
        const Bytes first = join({good, zeros(100)});
        CHECK(scanner.next(first, 0, false).kind == ScanStep::Kind::block);
        CHECK(scanner.next(first, 0, false).kind == ScanStep::Kind::need_more);
        REQUIRE(scanner.in_bad_spot());
        const std::uint64_t hole_end = std::uint64_t{1} << 40;
        scanner.skip_zeros(hole_end);
        const ScanStep gap = scanner.next(good, hole_end, true);
        CHECK(gap.kind == ScanStep::Kind::bad_spot);
        CHECK(gap.begin == good.size());
        CHECK(gap.size == hole_end - good.size());
        CHECK(scanner.next(good, hole_end, true).kind == ScanStep::Kind::block);
        CHECK(scanner.next(good, hole_end, true).kind == ScanStep::Kind::end);
    }

    TEST_CASE("random damage loses no block that is whole, whatever the windows") {
        const auto seed = std::random_device{}();
        std::printf("source.block_scanner seed %u\n", seed);
        std::mt19937 random(seed);
        const auto branch = build_branch(regtest_genesis(), 8);
        for (int round = 0; round < 200; ++round) {
            Bytes file;
            std::vector<Bytes> expected;
            for (int piece = 0; piece < 8; ++piece) {
                const Bytes block = bytes_of(branch[random() % branch.size()].raw.bytes());
                const Bytes whole = record(block, regtest().magic);
                switch (random() % 5) {
                    case 0:
                        // Not the zeros at the end: other zeros would make it whole again.
                        append(file, cut(whole, random() % (whole.size() - 40)));
                        break;
                    case 1:
                        append(file, zeros(random() % 40));
                        break;
                    case 2:
                        for (auto n = random() % 40; n > 0; --n)
                            file.push_back(static_cast<std::uint8_t>(random()));
                        break;
                    default:
                        append(file, whole);
                        expected.push_back(block);
                }
            }
            CAPTURE(seed);
            CAPTURE(round);
            const Found all_at_once = scan(file, regtest());
            CHECK(all_at_once.blocks == expected);
            CHECK(scan(file, regtest(), {}, 1 + random() % 300) == all_at_once);
        }
    }
}
