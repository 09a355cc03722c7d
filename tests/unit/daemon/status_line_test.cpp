// SPDX-License-Identifier: MIT
#include "daemon/status_line.hpp"

#include <doctest/doctest.h>

using namespace blockpub;

namespace {

StatusFacts healthy() {
    StatusFacts facts;
    facts.chain.tip = {chain_params(ChainKind::regtest).genesis_hash, Height{7}};
    facts.chain.tip_time = 1000;
    facts.chain.initial_download = false;
    facts.now = 1010;
    facts.source = "submitblock";
    facts.endpoints = {"tcp://127.0.0.1:1", "ipc:///x"};
    facts.rpc_addresses = {"127.0.0.1:18483"};
    facts.cookie_path = "/d/.cookie";
    return facts;
}

}  // namespace

TEST_SUITE("daemon.status_line") {
    TEST_CASE("an age is told in the unit a person would take") {
        struct Case {
            std::int64_t seconds;
            const char* text;
        };
        constexpr Case kCases[] = {{-5, "0 s"},      {0, "0 s"},         {119, "119 s"},
                                   {120, "2 min"},   {7199, "119 min"},  {7200, "2 h"},
                                   {172799, "47 h"}, {172800, "2 days"}, {86400 * 400, "400 days"}};
        for (const Case& c : kCases) CHECK(format_age(std::chrono::seconds(c.seconds)) == c.text);
    }

    TEST_CASE("the line says tip, age, source, endpoints, RPC and cookie") {
        CHECK(format_status(healthy()) ==
              "tip 7 0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206, 10 s old; blocks by "
              "submitblock; "
              "ZMQ tcp://127.0.0.1:1 ipc:///x; RPC 127.0.0.1:18483, cookie /d/.cookie");
    }

    TEST_CASE("trouble comes first") {
        StatusFacts facts = healthy();
        facts.failing = {"ipc:///x"};
        CHECK(format_status(facts).starts_with("cannot send at ipc:///x; tip 7 "));
        facts.chain.write_error = "disk full";
        CHECK(
            format_status(facts).starts_with("cannot write just now (disk full), trying again; cannot send"));
        facts.chain.write_stopped = true;
        CHECK(format_status(facts).starts_with("WRITING HAS STOPPED (disk full)"));
        facts = healthy();
        facts.read_failures = 3;
        facts.last_read_error = "block ab: bad sector";
        CHECK(format_status(facts).starts_with(
            "3 times a stored block could not be read (last: block ab: bad sector); tip 7 "));
        facts.chain.read_error = "bad sector";
        CHECK(format_status(facts).starts_with("cannot read just now (bad sector), trying again; 3 times"));
        facts.chain.halted = "undo data is damaged";
        CHECK(format_status(facts).starts_with("NO BLOCK IS TAKEN ANY MORE (undo data is damaged); cannot"));
    }

    TEST_CASE("what is not there is not told of") {
        StatusFacts facts = healthy();
        facts.endpoints.clear();
        facts.cookie_path.clear();
        CHECK(format_status(facts).ends_with("no ZMQ endpoint; RPC 127.0.0.1:18483"));
        facts.rpc_addresses.clear();
        CHECK(format_status(facts).ends_with("no ZMQ endpoint; no RPC"));
    }
}
