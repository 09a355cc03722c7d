// SPDX-License-Identifier: MIT
#include "query/rpc_amount.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace blockpub;

TEST_SUITE_BEGIN("query.rpc_amount");

TEST_CASE("decimal numbers in JSON's form become satoshi") {
    CHECK(parse_amount("0") == 0);
    CHECK(parse_amount("1") == kCoin);
    CHECK(parse_amount("-1.5") == -150'000'000);
    CHECK(parse_amount("0.00000001") == 1);
    CHECK(parse_amount("0.000000010") == 1);
    CHECK(parse_amount("1e-8") == 1);
    CHECK(parse_amount("0.1e-7") == 1);
    CHECK(parse_amount("1E+3") == 1000 * kCoin);
    CHECK(parse_amount("0.01e-6") == 1);
    CHECK(parse_amount("21000000") == kMaxMoney);
}

TEST_CASE("what is no such number, or too fine or too large, is refused") {
    for (const char* text : {"", "-", ".5", "01", "1.", "1e", "1e+", "+1", " 1", "1 ", "0x1", "0.000000001",
                             "1e-9", "10000000000", "1e99", "1e999999999999999999999", "1,5", "--1"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_amount(text));
    }
}

TEST_CASE("errors have bitcoind's words") {
    const auto outcome = [](const std::string& json) {
        JsonDocument document;
        REQUIRE(document.parse(json));
        const auto rate = fee_rate_argument(document.root());
        return rate ? std::to_string(rate->per_kvb) : rate.error().message;
    };
    CHECK(outcome("0.1") == "10000000");
    CHECK(outcome("\"0.1\"") == "10000000");
    CHECK(outcome("true") == "Amount is not a number or string");
    CHECK(outcome("\"x\"") == "Invalid amount");
    CHECK(outcome("-1") == "Amount out of range");
    CHECK(outcome("1") == "Fee rates larger than or equal to 1BTC/kvB are not accepted");
}
