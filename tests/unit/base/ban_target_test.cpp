// SPDX-License-Identifier: MIT
#include "base/ban_target.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace blockpub;

TEST_SUITE_BEGIN("base.ban_target");

namespace {
const std::string kOnion = "pg6mmjiyjmcrsslvykfwnntlaru7p5svn6y2ymmju6nubxndf4pscryd.onion";
const std::string kI2p = "ukeu3k5oycgaauneqgtnvselmt4yemvoilkln7jpvamvfx7dnkdq.b32.i2p";
}  // namespace

TEST_CASE("a network concerns the addresses in it") {
    const auto target = BanTarget::parse("10.1.2.3/8");
    REQUIRE(target);
    CHECK(target->text() == "10.0.0.0/8");
    CHECK(target->contains(*IpAddress::parse("10.9.9.9")));
    CHECK_FALSE(target->contains(*IpAddress::parse("11.0.0.1")));
    REQUIRE(target->subnet() != nullptr);
    CHECK(*target == BanTarget(*Subnet::parse("10.0.0.0/8")));
}

TEST_CASE("names of Tor and I2P are kept, and concern no address here") {
    for (const std::string& name : {kOnion, kI2p}) {
        CAPTURE(name);
        const auto target = BanTarget::parse(name);
        REQUIRE(target);
        CHECK(target->text() == name);
        CHECK(target->subnet() == nullptr);
        CHECK_FALSE(target->contains(IpAddress()));
        CHECK(*target > *BanTarget::parse("::/0"));
    }
    std::string loud = kOnion;
    loud[0] = 'P';
    CHECK(*BanTarget::parse(loud) == *BanTarget::parse(kOnion));
}

TEST_CASE("what looks like a name and is none is refused") {
    const auto changed = [](std::string name, std::size_t at, char to) {
        name[at] = to;
        return name;
    };
    for (const std::string& text :
         {std::string(".onion"), std::string("x.onion"), kOnion + "/32", kOnion.substr(1), "a" + kOnion,
          changed(kOnion, 3, '1'), changed(kOnion, 55, 'a'), changed(kI2p, 51, 'b'), changed(kI2p, 0, '-'),
          kI2p.substr(0, 52) + ".onion", std::string("example.org")}) {
        CAPTURE(text);
        const auto target = BanTarget::parse(text);
        REQUIRE_FALSE(target);
        CHECK(target.error().code == Errc::invalid_argument);
    }
}

TEST_SUITE_END();
