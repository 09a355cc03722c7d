// SPDX-License-Identifier: MIT
#include "source/p2p_permissions.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace blockpub;

TEST_SUITE_BEGIN("source.p2p_permissions");

TEST_CASE("permissions are given by name, before the address") {
    struct Case {
        const char* name;
        const char* text;
        std::vector<std::string> names;
        bool incoming;
    };
    const Case cases[] = {
        {"none named", "10.0.0.0/8", {"noban", "relay", "mempool", "download"}, true},
        {"one", "mempool@10.0.0.0/8", {"mempool"}, true},
        {"several", "noban,addr@10.0.0.0/8", {"noban", "download", "addr"}, true},
        {"one that brings another", "forcerelay@10.0.0.0/8", {"forcerelay", "relay"}, true},
        {"all",
         "all@10.0.0.0/8",
         {"bloomfilter", "noban", "forcerelay", "relay", "mempool", "download", "addr"},
         true},
        {"nothing", "@10.0.0.0/8", {}, true},
        {"incoming alone", "in,relay@10.0.0.0/8", {"relay"}, true},
        {"outgoing alone", "out,relay@10.0.0.0/8", {"relay"}, false},
        {"both ways", "in,out,bloom@10.0.0.0/8", {"bloomfilter"}, true},
    };
    for (const Case& c : cases) {
        CAPTURE(c.name);
        const auto listed = parse_whitelist(c.text);
        REQUIRE(listed);
        CHECK(permission_names(listed->permissions) == c.names);
        CHECK(listed->incoming == c.incoming);
        CHECK(listed->subnet.contains(*IpAddress::parse("10.1.2.3")));
        CHECK_FALSE(listed->subnet.contains(*IpAddress::parse("11.1.2.3")));
    }
}

TEST_CASE("what is wrong with a permission is said in bitcoind's words") {
    CHECK(parse_whitelist("king@10.0.0.1").error().context == "Invalid P2P permission: 'king'");
    CHECK(parse_whitelist("noban@10.0.0.1/33").error().context ==
          "Invalid netmask specified in -whitelist: '10.0.0.1/33'");
    CHECK(parse_whitelist("here").error().context == "Invalid netmask specified in -whitelist: 'here'");
    CHECK(parse_white_bind("out,noban@10.0.0.1:8333").error().context ==
          "whitebind may only be used for incoming connections (\"out\" was passed)");
}

TEST_CASE("an address to bind keeps what is behind the permissions") {
    const auto white = parse_white_bind("mempool,download@[::1]:8333");
    REQUIRE(white);
    CHECK(white->address == "[::1]:8333");
    CHECK(white->permissions == (kMempoolPermission | kDownloadPermission));
    CHECK(parse_white_bind("127.0.0.1:1")->permissions == kImplicitPermissions);
}

TEST_SUITE_END();
