// SPDX-License-Identifier: MIT
#include "chain/header_checks.hpp"

#include "chain/checkpoints.hpp"
#include "support/block_builder.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <string>

using namespace blockpub;
using namespace blockpub::test;

namespace {

constexpr std::int64_t kNow = 1'600'000'000;

std::string reason_of(const Verdict& verdict) {
    return verdict ? verdict->reason : std::string();
}

/// A branch of headers that nobody has mined, a minute apart and ending in the present.
struct Branch {
    HeaderTree tree;
    HeaderNode* tip = nullptr;

    Branch(std::uint32_t length, std::uint32_t bits, std::uint32_t spacing = 60) {
        for (std::uint32_t i = 0; i < length; ++i) {
            BlockHeader header;
            if (tip != nullptr) header.previous = tip->hash;
            header.time = static_cast<std::uint32_t>(kNow) - (length - i) * spacing;
            header.bits = bits;
            tip = &tree.insert(header, header.hash(), tip);
        }
    }

    [[nodiscard]] BlockHeader child() const {
        BlockHeader header;
        header.version = 0x20000000;
        header.previous = tip->hash;
        header.time = tip->time + 60;
        header.bits = tip->bits;
        return header;
    }
};

}  // namespace

TEST_SUITE_BEGIN("chain.header_checks");

TEST_CASE("each rule of a header in its context has its reject reason") {
    const ChainParams& params = chain_params(ChainKind::regtest);
    const Branch branch(30, 0x207fffff);
    struct Case {
        const char* name;
        std::function<void(BlockHeader&)> change;
        const char* reason;
    };
    const auto median = static_cast<std::uint32_t>(branch.tip->median_time_past());
    const Case cases[] = {
        {"valid", [](BlockHeader&) {}, ""},
        {"other bits", [](BlockHeader& h) { h.bits = 0x207ffffe; }, "bad-diffbits"},
        {"time equal to the median", [&](BlockHeader& h) { h.time = median; }, "time-too-old"},
        {"time just above the median", [&](BlockHeader& h) { h.time = median + 1; }, ""},
        {"two hours ahead", [](BlockHeader& h) { h.time = static_cast<std::uint32_t>(kNow) + 7200; }, ""},
        {"two hours and a second ahead",
         [](BlockHeader& h) { h.time = static_cast<std::uint32_t>(kNow) + 7201; }, "time-too-new"},
        {"version 1", [](BlockHeader& h) { h.version = 1; }, "bad-version(0x00000001)"},
        {"version 3", [](BlockHeader& h) { h.version = 3; }, "bad-version(0x00000003)"},
        {"version 4", [](BlockHeader& h) { h.version = 4; }, ""},
        {"negative version", [](BlockHeader& h) { h.version = -2; }, "bad-version(0xfffffffe)"},
        {"bits before time",
         [&](BlockHeader& h) {
             h.bits = 1;
             h.time = median;
         },
         "bad-diffbits"},
        {"time before version",
         [&](BlockHeader& h) {
             h.version = 1;
             h.time = median;
         },
         "time-too-old"},
    };
    for (const Case& c : cases) {
        SUBCASE(c.name) {
            BlockHeader header = branch.child();
            c.change(header);
            CHECK(reason_of(check_header_in_context(header, *branch.tip, params, kNow)) == c.reason);
        }
    }
}

TEST_CASE("a header from the future may become valid, any other rule is broken for good") {
    const ChainParams& params = chain_params(ChainKind::regtest);
    const Branch branch(30, 0x207fffff);
    BlockHeader header = branch.child();
    header.time = static_cast<std::uint32_t>(kNow) + 7201;
    const Verdict future = check_header_in_context(header, *branch.tip, params, kNow);
    REQUIRE(future);
    CHECK(future->kind == Rejection::Kind::time_future);
    CHECK_FALSE(check_header_in_context(header, *branch.tip, params, kNow + 1));
    header.version = 1;
    const Verdict broken = check_header_in_context(header, *branch.tip, params, kNow + 1);
    REQUIRE(broken);
    CHECK(broken->kind == Rejection::Kind::consensus);
}

TEST_CASE("old versions are refused from the heights of their soft forks on") {
    ChainParams params = chain_params(ChainKind::regtest);
    params.bip34_height = {10};
    params.bip66_height = {20};
    params.bip65_height = {30};
    struct Case {
        const char* name;
        std::uint32_t height;
        std::int32_t version;
        const char* reason;
    };
    constexpr Case kHeaderCases[] = {
        {"1 before BIP 34", 9, 1, ""},  {"1 from BIP 34 on", 10, 1, "bad-version(0x00000001)"},
        {"2 before BIP 66", 19, 2, ""}, {"2 from BIP 66 on", 20, 2, "bad-version(0x00000002)"},
        {"3 before BIP 65", 29, 3, ""}, {"3 from BIP 65 on", 30, 3, "bad-version(0x00000003)"},
        {"4 for ever", 30, 4, ""},
    };
    for (const Case& c : kHeaderCases) {
        SUBCASE(c.name) {
            const Branch branch(c.height, 0x207fffff);
            BlockHeader header = branch.child();
            header.version = c.version;
            CHECK(reason_of(check_header_in_context(header, *branch.tip, params, kNow)) == c.reason);
        }
    }
}

TEST_CASE("only testnet4 holds the first block of an interval against its parent's time") {
    const auto check = [](const ChainParams& params, std::int64_t back) {
        // The parent's time is far above the median, so that only the timewarp rule can speak.
        const auto interval = static_cast<std::uint32_t>(params.retarget_interval());
        Branch branch(interval - 1, 0x1d00ffff, 600);
        BlockHeader last = branch.child();
        last.time = static_cast<std::uint32_t>(kNow) + 7000;
        branch.tip = &branch.tree.insert(last, last.hash(), branch.tip);
        BlockHeader header = branch.child();
        header.time = static_cast<std::uint32_t>(std::int64_t{last.time} - back);
        const Verdict verdict = check_header_in_context(header, *branch.tip, params, kNow);
        return reason_of(verdict);
    };
    CHECK(check(chain_params(ChainKind::testnet4), 601) == "time-timewarp-attack");
    CHECK(check(chain_params(ChainKind::testnet4), 600) == "");
    CHECK(check(chain_params(ChainKind::testnet3), 601) == "");
    CHECK(check(chain_params(ChainKind::main), 601) == "");
}

TEST_CASE("bits follow the retarget rules of the chain") {
    const ChainParams& params = chain_params(ChainKind::main);
    // A full interval at half the spacing: the target halves. 2015 gaps are measured against 2016 spacings.
    const Branch branch(2016, 0x1d00ffff, 300);
    BlockHeader header = branch.child();
    CHECK(reason_of(check_header_in_context(header, *branch.tip, params, kNow)) == "bad-diffbits");
    const Uint256 halved = *decode_compact(0x1d00ffff) * (2015 * 300) / Uint256(14 * 24 * 60 * 60);
    header.bits = encode_compact(halved);
    CHECK(reason_of(check_header_in_context(header, *branch.tip, params, kNow)) == "");
}

TEST_CASE("proof of work is held against the header's own bits and the chain's limit") {
    const ChainParams& regtest = chain_params(ChainKind::regtest);
    const ChainParams& main = chain_params(ChainKind::main);
    BlockHeader header = BlockHeader::decode(main.genesis);
    CHECK_FALSE(check_header_alone(header, header.hash(), main));
    CHECK_FALSE(check_header_alone(header, header.hash(), regtest));
    header.nonce += 1;
    CHECK(reason_of(check_header_alone(header, header.hash(), main)) == "high-hash");
    // Easy enough for regtest, not allowed on main.
    BlockHeader easy;
    easy.bits = 0x207fffff;
    mine_header(easy, regtest.pow_limit);
    CHECK_FALSE(check_header_alone(easy, easy.hash(), regtest));
    CHECK(reason_of(check_header_alone(easy, easy.hash(), main)) == "high-hash");
    for (std::uint32_t senseless : {0u, 0x01fedcbau, 0xff123456u}) {
        easy.bits = senseless;
        CHECK(reason_of(check_header_alone(easy, easy.hash(), regtest)) == "high-hash");
    }
}

TEST_CASE("below a checkpoint that is in the tree nothing forks off") {
    const ChainParams& params = chain_params(ChainKind::regtest);
    const Branch branch(30, 0x207fffff);
    const BlockHeader header = branch.child();  // at height 30
    CHECK_FALSE(check_header_in_context(header, *branch.tip, params, kNow, {30}));
    CHECK(reason_of(check_header_in_context(header, *branch.tip, params, kNow, {31})) ==
          "bad-fork-prior-to-checkpoint");
    BlockHeader wrong_bits = header;
    wrong_bits.bits = 1;
    CHECK(reason_of(check_header_in_context(wrong_bits, *branch.tip, params, kNow, {31})) == "bad-diffbits");
}

TEST_CASE("the last checkpoint is the highest one in the tree") {
    for (ChainKind kind : {ChainKind::main, ChainKind::testnet3}) {
        HeaderTree tree;
        BlockHeader header = BlockHeader::decode(chain_params(kind).genesis);
        HeaderNode* tip = &tree.insert(header, header.hash(), nullptr);
        CHECK(last_checkpoint(tree, kind) == Height{0});
        Height previous{0};
        for (const Checkpoint& checkpoint : checkpoints(kind)) {
            CHECK(previous < checkpoint.height);
            previous = checkpoint.height;
            const auto hash = BlockHash::from_display_hex(checkpoint.hash);
            REQUIRE(hash);
            CHECK(Uint256::from_hash(*hash) <= chain_params(kind).pow_limit);
            tip = &tree.insert(header, *hash, tip);
            CHECK(last_checkpoint(tree, kind) == checkpoint.height);
        }
    }
    CHECK(checkpoints(ChainKind::main).size() == 13);
    CHECK(checkpoints(ChainKind::regtest).empty());
}
