// SPDX-License-Identifier: MIT
#include "query/rpc_whitelist.hpp"

#include <doctest/doctest.h>

using namespace blockpub;

TEST_SUITE_BEGIN("query.rpc_whitelist");

TEST_CASE("without a list everybody may call") {
    const RpcWhitelist whitelist;
    CHECK_FALSE(whitelist.lists("a"));
    CHECK(whitelist.may_call_any("a"));
}

TEST_CASE("a list names methods between commas and spaces") {
    const RpcWhitelist whitelist({"a:getblock,getblockhash, help", "b:", "c"}, false);
    for (const char* method : {"getblock", "getblockhash", "help"}) CHECK(whitelist.may_call("a", method));
    CHECK_FALSE(whitelist.may_call("a", "stop"));
    CHECK_FALSE(whitelist.may_call("b", "stop"));
    CHECK_FALSE(whitelist.may_call("c", "stop"));
    CHECK(whitelist.lists("c"));
    CHECK_FALSE(whitelist.lists("d"));
    CHECK(whitelist.may_call_any("d"));
}

TEST_CASE("of several lists for a user what all of them name counts") {
    const RpcWhitelist whitelist({"a:one,two,three", "a:two,three,four", "a"}, true);
    CHECK_FALSE(whitelist.may_call("a", "one"));
    CHECK(whitelist.may_call("a", "two"));
    CHECK(whitelist.may_call("a", "three"));
    CHECK_FALSE(whitelist.may_call("a", "four"));
    CHECK_FALSE(whitelist.may_call_any("b"));
}

TEST_SUITE_END();
