// SPDX-License-Identifier: MIT
#include "primitives/fee_rate.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace blockpub;

TEST_SUITE_BEGIN("primitives.fee_rate");

TEST_CASE("a rate is rounded down, and what it asks for up") {
    CHECK(FeeRate::of(999, 1000).per_kvb == 999);
    CHECK(FeeRate::of(1, 3).per_kvb == 333);
    CHECK(FeeRate::of(5, 0).per_kvb == 0);
    CHECK(FeeRate{1000}.fee_for(141) == 141);
    CHECK(FeeRate{1}.fee_for(10) == 1);
    CHECK(FeeRate{1001}.fee_for(1) == 2);
    CHECK(FeeRate{0}.fee_for(1000) == 0);
    CHECK(FeeRate{1000}.fee_for(0) == 0);
    CHECK(FeeRate{123'456'789}.text() == "1.23456789 BTC/kvB");
}

TEST_CASE("amounts have eight decimals, and in messages two at least") {
    CHECK(format_amount(0) == "0.00000000");
    CHECK(format_amount(-1) == "-0.00000001");
    CHECK(format_amount(std::numeric_limits<Amount>::min()) == "-92233720368.54775808");
    CHECK(format_money(0) == "0.00");
    CHECK(format_money(10) == "0.0000001");
    CHECK(format_money(150 * kCoin) == "150.00");
    CHECK(format_money(150'500'000) == "1.505");
}
