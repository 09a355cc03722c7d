// SPDX-License-Identifier: MIT
#include "source/miner.hpp"

#include "primitives/subsidy.hpp"
#include "support/regtest_chain.hpp"
#include "support/regtest_params.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace blockpub;
using namespace blockpub::test;

namespace {

MineRequest request(std::vector<SharedBytes> transactions = {}) {
    return {.coinbase_script = {0x51}, .transactions = std::move(transactions)};
}

}  // namespace

TEST_SUITE("source.miner") {
    TEST_CASE("mined blocks become the tip, one on the other") {
        RegtestChain node;
        Miner miner(node.chain(), node.store(), regtest(), node.clock());
        BlockHash previous = regtest().genesis_hash;
        for (std::uint32_t height = 1; height <= 20; ++height) {
            const MinedBlock mined = must(miner.mine(request()));
            CHECK(node.tip() == mined.hash);
            const auto block = must(ParsedBlock::parse(mined.raw));
            CHECK(block.header().previous == previous);
            CHECK(block.header().version == 0x20000000);
            CHECK(block.header().bits == 0x207fffff);
            CHECK(block.header().time >= RegtestChain::kNow);
            CHECK(block.hash() == mined.hash);
            previous = mined.hash;
        }
        CHECK(node.chain().status().tip.height.value == 20);
    }

    TEST_CASE("nonces that missed are counted") {
        RegtestChain node;
        Miner miner(node.chain(), node.store(), regtest(), node.clock());
        std::uint64_t missed = 0;
        for (int i = 0; i < 30; ++i) {
            const MinedBlock mined = must(miner.mine(request()));
            const auto block = must(ParsedBlock::parse(mined.raw));
            CHECK(mined.missed_tries == block.header().nonce);
            missed += mined.missed_tries;
        }
        CHECK(missed > 0);  // every other nonce misses on regtest
    }

    TEST_CASE("the coinbase is laid out as Core's: height and OP_0, the subsidy, the witness commitment") {
        RegtestChain node;
        Miner miner(node.chain(), node.store(), regtest(), node.clock());
        const MinedBlock mined = must(miner.mine(request()));
        const auto block = must(ParsedBlock::parse(mined.raw));
        REQUIRE(block.transactions().size() == 1);
        const TransactionView coinbase = block.transaction(0);
        CHECK(coinbase.is_coinbase());
        CHECK(coinbase.version() == 2);
        CHECK(coinbase.has_witness());
        coinbase.for_each_input([&](std::size_t, const TxInput& input) {
            CHECK(std::ranges::equal(input.script, Bytes{0x51, 0x00}));
            CHECK(input.sequence == 0xffffffff);
            return true;
        });
        REQUIRE(coinbase.output_count() == 2);
        coinbase.for_each_output([&](std::size_t position, const TxOutput& output) {
            CHECK(output.amount == (position == 0 ? 50 * kCoin : 0));
            if (position == 0) CHECK(std::ranges::equal(output.script, Bytes{0x51}));
            return true;
        });
        CHECK(witness_commitment_output(coinbase) == 1);
    }

    TEST_CASE("the time follows the clock, but never falls behind the median of the past") {
        RegtestChain node;
        Miner miner(node.chain(), node.store(), regtest(), node.clock());
        const auto mined_time = [&] {
            return must(ParsedBlock::parse(must(miner.mine(request())).raw)).header().time;
        };
        std::vector<std::int64_t> times{regtest_genesis().time};
        const auto check_next = [&](std::int64_t now) {
            node.clock().set_fixed(now);
            std::vector<std::int64_t> last(
                times.end() - static_cast<std::ptrdiff_t>(std::min<std::size_t>(times.size(), 11)),
                times.end());
            std::ranges::sort(last);
            times.push_back(mined_time());
            CHECK(times.back() == std::max(last[last.size() / 2] + 1, now));
        };
        for (int i = 0; i < 15; ++i) check_next(RegtestChain::kNow);
        CHECK(times.back() > RegtestChain::kNow);  // the median has overtaken a clock that stands
        check_next(RegtestChain::kNow + 100);
        CHECK(times.back() == RegtestChain::kNow + 100);
        check_next(RegtestChain::kNow - 1000);
    }

    TEST_CASE("the subsidy halves") {
        const TemplateParent parent{.hash = {}, .height = {149}, .time = 1, .median_time_past = 1};
        const auto block = must(make_template(regtest(), parent, 2, 0x207fffff, {0x51}, {}));
        const auto parsed = must(ParsedBlock::parse(block.assemble()));
        parsed.transaction(0).for_each_output([&](std::size_t, const TxOutput& output) {
            CHECK(output.amount == 25 * kCoin);
            return false;
        });
    }

    TEST_CASE("a block that breaks a rule is refused with Core's words, and nothing is stored") {
        RegtestChain node;
        Miner miner(node.chain(), node.store(), regtest(), node.clock());
        TransactionSpec wrong = spend({.txid = Txid::from_wire(Bytes(32, 7)), .position = 0}, -1);
        const auto mined = miner.mine(request({SharedBytes::copy_of(wrong.build())}));
        REQUIRE_FALSE(mined);
        CHECK(mined.error().code == Errc::invalid_argument);
        CHECK(mined.error().context ==
              "TestBlockValidity failed: bad-txns-vout-negative, Transaction check failed (tx hash " +
                  wrong.txid().display_hex() + ") ");
        CHECK(node.tip() == regtest().genesis_hash);
        CHECK_FALSE(miner.mine(request({SharedBytes::copy_of(Bytes{1, 2, 3})})));
    }

    TEST_CASE("a block may be made without handing it in") {
        RegtestChain node;
        Miner miner(node.chain(), node.store(), regtest(), node.clock());
        MineRequest only_made = request();
        only_made.submit = false;
        const MinedBlock mined = must(miner.mine(only_made));
        CHECK(node.tip() == regtest().genesis_hash);
        CHECK(must(node.chain().submit_block(mined.raw)).bip22().empty());
        CHECK(node.tip() == mined.hash);
    }

    TEST_CASE("tries run out, and stop ends everything") {
        RegtestChain node;
        Miner miner(node.chain(), node.store(), regtest(), node.clock());
        MineRequest none = request();
        none.max_tries = 0;
        auto mined = miner.mine(none);
        REQUIRE_FALSE(mined);
        CHECK(mined.error().code == Errc::unavailable);
        miner.stop();
        mined = miner.mine(request());
        REQUIRE_FALSE(mined);
        CHECK(mined.error().code == Errc::stopped);
        CHECK(node.tip() == regtest().genesis_hash);
    }
}
