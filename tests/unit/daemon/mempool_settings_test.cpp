// SPDX-License-Identifier: MIT
#include "daemon/mempool_settings.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace blockpub;

namespace {

Result<MempoolSettings> read(const std::vector<const char*>& arguments,
                             ChainKind chain = ChainKind::regtest) {
    auto settings = Settings::from_command_line(arguments);
    if (!settings) return forward_error(settings);
    if (auto valid = settings->validate(); !valid) return forward_error(valid);
    return read_mempool_settings(*settings, chain_params(chain));
}

}  // namespace

TEST_SUITE("daemon.mempool_settings") {
    TEST_CASE("defaults are bitcoind's") {
        const auto mempool = read({});
        REQUIRE(mempool);
        CHECK(mempool->max_bytes == 300'000'000);
        CHECK(mempool->expiry == std::chrono::hours(336));
        CHECK(mempool->persist);
        CHECK(mempool->policy.require_standard);
        CHECK(mempool->policy.full_replacement);
        CHECK(mempool->policy.min_relay == FeeRate{1000});
        CHECK(mempool->policy.max_datacarrier_bytes == 83);
        CHECK(mempool->policy.limits.ancestor_vsize == 101'000);
    }

    TEST_CASE("what is given counts") {
        const auto mempool =
            read({"-maxmempool=5", "-mempoolexpiry=2", "-persistmempool=0", "-mempoolfullrbf=0",
                  "-acceptnonstdtxn=1", "-minrelaytxfee=0.00002", "-limitancestorcount=7",
                  "-limitdescendantsize=50", "-datacarrier=0", "-bytespersigop=21"});
        REQUIRE(mempool);
        CHECK(mempool->max_bytes == 5'000'000);
        CHECK(mempool->expiry == std::chrono::hours(2));
        CHECK_FALSE(mempool->persist);
        CHECK_FALSE(mempool->policy.full_replacement);
        CHECK_FALSE(mempool->policy.require_standard);
        CHECK(mempool->policy.min_relay == FeeRate{2000});
        CHECK(mempool->policy.limits.ancestor_count == 7);
        CHECK(mempool->policy.limits.descendant_vsize == 50'000);
        CHECK_FALSE(mempool->policy.max_datacarrier_bytes);
        CHECK(mempool->policy.bytes_per_sigop == 21);
    }

    TEST_CASE("a higher rate for replacements raises the least rate with it, unless that is given too") {
        CHECK(read({"-incrementalrelayfee=0.0001"})->policy.min_relay == FeeRate{10'000});
        CHECK(read({"-incrementalrelayfee=0.0001", "-minrelaytxfee=0.00003"})->policy.min_relay ==
              FeeRate{3000});
    }

    TEST_CASE("what cannot be is refused in bitcoind's words") {
        const auto words = [](const Result<MempoolSettings>& refused) {
            return refused ? std::string() : refused.error().context;
        };
        CHECK(words(read({"-maxmempool=4"})) == "-maxmempool must be at least 5 MB");
        CHECK(words(read({"-minrelaytxfee=x"})) == "Invalid amount for -minrelaytxfee=<amount>: 'x'");
        CHECK(words(read({"-acceptnonstdtxn=1"}, ChainKind::main)) ==
              "acceptnonstdtxn is not currently supported for main chain");
    }
}
