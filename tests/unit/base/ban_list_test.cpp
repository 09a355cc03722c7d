// SPDX-License-Identifier: MIT
#include "base/ban_list.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace blockpub;

TEST_SUITE_BEGIN("base.ban_list");

namespace {

struct Fixture {
    Fixture() { clock.set_fixed(1000); }
    BanList list(const std::vector<BanList::Ban>& bans = {}) {
        return BanList(bans, clock, [this](const std::vector<BanList::Ban>& now) -> Result<void> {
            if (failure) return std::unexpected(*failure);
            saved = now;
            ++saves;
            return {};
        });
    }
    Clock clock;
    std::vector<BanList::Ban> saved;
    int saves = 0;
    std::optional<Error> failure;
};

Subnet net(const char* text) {
    return *Subnet::parse(text);
}

IpAddress address(const char* text) {
    return *IpAddress::parse(text);
}

}  // namespace

TEST_CASE("a ban holds for all addresses of its subnet until its end") {
    Fixture fixture;
    BanList bans = fixture.list();
    REQUIRE(bans.add(net("10.0.0.0/8"), 1500));
    CHECK(bans.contains(address("10.200.3.4")));
    CHECK_FALSE(bans.contains(address("11.0.0.1")));
    CHECK(bans.contains(net("10.0.0.0/8")));
    CHECK_FALSE(bans.contains(net("10.0.0.0/9")));
    fixture.clock.set_fixed(1499);
    CHECK(bans.contains(address("10.200.3.4")));
    fixture.clock.set_fixed(1500);
    CHECK_FALSE(bans.contains(address("10.200.3.4")));
    CHECK_FALSE(bans.contains(net("10.0.0.0/8")));
    CHECK(bans.bans().empty());
}

TEST_CASE("every change is saved, and what was saved makes the same list") {
    Fixture fixture;
    BanList bans = fixture.list();
    REQUIRE(bans.add(net("2001:db8::/32"), 5000));
    REQUIRE(bans.add(net("1.2.3.4"), 2000));
    CHECK(fixture.saved == bans.bans());
    REQUIRE(bans.bans().size() == 2);
    CHECK(bans.bans()[0].target == net("1.2.3.4"));
    CHECK(bans.bans()[0].created == 1000);
    CHECK(bans.bans()[0].until == 2000);
    CHECK(fixture.list(fixture.saved).bans() == bans.bans());
    CHECK(*bans.remove(net("1.2.3.4")));
    CHECK(fixture.saved == bans.bans());
    CHECK_FALSE(*bans.remove(net("1.2.3.4")));
    REQUIRE(bans.clear());
    CHECK(fixture.saved.empty());
    CHECK(fixture.saves == 4);
}

TEST_CASE("of two bans of a subnet the later end counts") {
    Fixture fixture;
    BanList bans = fixture.list();
    REQUIRE(bans.add(net("1.2.3.4"), 2000));
    REQUIRE(bans.add(net("1.2.3.4"), 1800));
    CHECK(bans.bans()[0].until == 2000);
    REQUIRE(bans.add(net("1.2.3.4"), 2200));
    CHECK(bans.bans()[0].until == 2200);
}

TEST_CASE("a ban that has ended is gone, and can be made anew") {
    Fixture fixture;
    BanList bans = fixture.list();
    REQUIRE(bans.add(net("1.2.3.4"), 1100));
    fixture.clock.set_fixed(1200);
    CHECK_FALSE(*bans.remove(net("1.2.3.4")));
    REQUIRE(bans.add(net("1.2.3.4"), 1300));
    CHECK(bans.bans()[0].created == 1200);
}

TEST_CASE("a list that cannot be saved is in force") {
    Fixture fixture;
    BanList bans = fixture.list();
    fixture.failure = Error{Errc::disk_full, "no room"};
    const auto added = bans.add(net("1.2.3.4"), 2000);
    REQUIRE_FALSE(added);
    CHECK(added.error().context == "no room");
    CHECK(bans.contains(address("1.2.3.4")));
}

TEST_CASE("what is saved last is the whole list, whoever changes it at once") {
    Fixture fixture;
    BanList bans = fixture.list();
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&bans, t] {
            for (int i = 0; i < 20; ++i)
                (void)bans.add(net(("10." + std::to_string(t) + ".0." + std::to_string(i)).c_str()), 2000);
        });
    }
    threads.clear();
    CHECK(fixture.saved.size() == 80);
    CHECK(fixture.saved == bans.bans());
}

TEST_SUITE_END();
