// SPDX-License-Identifier: MIT
#include "source/p2p_eviction.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

using namespace blockpub;

TEST_SUITE_BEGIN("source.p2p_eviction");

namespace {

/// Peers in the order in which they came, numbered from 1 on.
class Seats {
 public:
    Seats& ready(const char* address) { return add(address, true, false); }
    Seats& new_here(const char* address) { return add(address, false, false); }
    Seats& safe(const char* address) { return add(address, true, true); }
    [[nodiscard]] std::optional<std::uint32_t> evicts(bool privileged = false,
                                                      const char* from = "200.0.0.1") const {
        const IpAddress newcomer = *IpAddress::parse(from);
        // In whatever order they are given.
        auto reversed = peers_;
        std::reverse(reversed.begin(), reversed.end());
        const auto evicted = peer_to_evict(peers_, newcomer, privileged);
        CHECK(peer_to_evict(reversed, newcomer, privileged) == evicted);
        return evicted;
    }

 private:
    Seats& add(const char* address, bool ready, bool safe) {
        peers_.push_back({.number = static_cast<std::uint32_t>(peers_.size() + 1),
                          .address = *IpAddress::parse(address),
                          .ready = ready,
                          .safe = safe});
        return *this;
    }
    std::vector<SeatedPeer> peers_;
};

constexpr std::nullopt_t kNobody = std::nullopt;

}  // namespace

TEST_CASE("nobody has to go where all are safe") {
    CHECK(Seats().evicts() == kNobody);
    CHECK(Seats().safe("1.2.3.4").safe("1.2.3.5").evicts() == kNobody);
    CHECK(Seats().safe("1.2.3.4").safe("1.2.3.5").evicts(true) == kNobody);
}

TEST_CASE("the half that has been here the longer stays, and the last that came goes") {
    CHECK(Seats().ready("1.0.0.1").evicts() == kNobody);
    CHECK(Seats().ready("1.0.0.1").ready("2.0.0.1").evicts() == 2);
    CHECK(Seats().ready("1.0.0.1").ready("2.0.0.1").ready("3.0.0.1").evicts() == 3);
    // Who is safe takes nobody's place among the settled.
    CHECK(Seats().safe("9.0.0.1").safe("9.0.0.2").ready("1.0.0.1").evicts() == kNobody);
    CHECK(Seats().ready("1.0.0.1").ready("2.0.0.1").safe("9.0.0.1").evicts() == 2);
}

TEST_CASE("for whom the operator has named, any that is not safe makes room") {
    CHECK(Seats().ready("1.0.0.1").evicts(true) == 1);
    CHECK(Seats().ready("1.0.0.1").ready("2.0.0.1").safe("9.0.0.1").evicts(true) == 2);
}

TEST_CASE("of those that are not settled the largest network gives up a place") {
    Seats seats;
    for (const char* settled : {"8.8.0.1", "8.8.0.2", "8.8.0.3", "8.8.0.4", "8.8.0.5"}) seats.ready(settled);
    seats.ready("1.1.0.1").ready("1.1.255.255").ready("1.2.0.1").ready("3.3.3.3");
    // 6 and 7 share a network, 8 does not; the settled do not go, however many of a network they are.
    CHECK(seats.evicts() == 7);
    // Nor do they make room for more of their own.
    CHECK(seats.evicts(false, "8.8.0.6") == kNobody);
    CHECK(seats.evicts(true, "8.8.0.6") == 5);
    // The newcomer is one of its network.
    CHECK(seats.evicts(false, "1.2.0.2") == 8);
    CHECK(seats.evicts(false, "3.3.0.1") == 9);
    Seats six;
    for (const char* settled : {"8.8.0.1", "8.8.0.2", "8.8.0.3", "8.8.0.4"}) six.ready(settled);
    six.ready("2001:db8:1::1").ready("2001:db8:ffff::1").ready("2001:db9::1").ready("32.1.13.184");
    CHECK(six.evicts() == 6);
}

TEST_CASE("who has not shaken hands goes before all others, and whoever takes the longest first") {
    CHECK(Seats().new_here("1.0.0.1").evicts() == 1);
    CHECK(Seats().ready("1.0.0.1").new_here("2.0.0.1").ready("3.0.0.1").evicts() == 2);
    CHECK(Seats().new_here("1.0.0.1").new_here("2.0.0.1").ready("3.0.0.1").evicts() == 1);
    CHECK(Seats().new_here("1.0.0.1").new_here("2.0.0.1").new_here("2.0.9.9").evicts() == 2);
    CHECK(Seats().new_here("1.0.0.1").ready("2.0.0.1").evicts(true) == 1);
}

TEST_CASE("a network with many places pushes out none who are shaking hands") {
    Seats seats;
    for (const char* settled : {"8.8.0.1", "8.8.0.2", "8.8.0.3"}) seats.ready(settled);
    seats.ready("6.6.0.1").ready("6.6.0.2").new_here("1.0.0.1").new_here("2.0.0.1");
    CHECK(seats.evicts(false, "6.6.0.3") == 5);
    // All that it has is settled.
    CHECK(seats.evicts(false, "8.8.0.4") == kNobody);
    // Others push out the slowest, and whoever the operator has named does too.
    CHECK(seats.evicts() == 6);
    CHECK(seats.evicts(true, "6.6.0.3") == 6);
    // Of its own who are slow it pushes out the slowest.
    seats.new_here("6.6.0.4");
    CHECK(seats.evicts(false, "6.6.0.3") == 8);
    // Of as many places as its own none is worth more.
    CHECK(Seats().ready("6.6.0.1").new_here("1.0.0.1").new_here("1.0.0.2").evicts(false, "6.6.0.2") == 2);
}

TEST_CASE("a crowd of one network pushes out itself and nobody else") {
    std::vector<SeatedPeer> here;
    std::uint32_t number = 0;
    const auto come = [&](const std::string& text) {
        const IpAddress address = *IpAddress::parse(text);
        if (here.size() >= 30) {
            const auto evicted = peer_to_evict(here, address, false);
            REQUIRE(evicted);
            std::erase_if(here, [&](const SeatedPeer& peer) { return peer.number == *evicted; });
        }
        here.push_back({.number = ++number, .address = address, .ready = true, .safe = false});
    };
    for (int i = 0; i < 29; ++i) come("10." + std::to_string(i) + ".0.1");
    for (int i = 0; i < 1000; ++i) come("6.6." + std::to_string(i / 250) + "." + std::to_string(i % 250));
    REQUIRE(here.size() == 30);
    for (std::uint32_t i = 0; i < 29; ++i) CHECK(here[i].number == i + 1);
}

TEST_SUITE_END();
