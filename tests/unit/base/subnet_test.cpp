// SPDX-License-Identifier: MIT
#include "base/subnet.hpp"

#include <doctest/doctest.h>

using namespace blockpub;

TEST_SUITE_BEGIN("base.subnet");

TEST_CASE("subnets contain what their prefix says") {
    struct Case {
        const char* subnet;
        const char* address;
        bool contained;
    };
    static constexpr Case kCases[] = {
        {"1.2.3.4", "1.2.3.4", true},
        {"1.2.3.4", "1.2.3.5", false},
        {"1.2.3.0/24", "1.2.3.255", true},
        {"1.2.3.0/24", "1.2.4.0", false},
        {"1.2.3.99/24", "1.2.3.1", true},
        {"10.0.0.0/255.0.0.0", "10.200.1.1", true},
        {"10.0.0.0/255.0.0.0", "11.0.0.1", false},
        {"192.168.0.0/22", "192.168.3.255", true},
        {"192.168.0.0/22", "192.168.4.0", false},
        {"0.0.0.0/0", "8.8.8.8", true},
        {"0.0.0.0/0", "2001:db8::1", false},
        {"::/0", "2001:db8::1", true},
        {"::/0", "8.8.8.8", false},
        {"2001:db8::/33", "2001:db8:7fff::1", true},
        {"2001:db8::/33", "2001:db8:8000::1", false},
        {"2001:db8::/ffff:ffff::", "2001:db8:ffff::", true},
        {"10.0.0.0/8", "::ffff:10.1.2.3", true},
        {"::ffff:10.0.0.0/8", "10.1.2.3", true},
    };
    for (const Case& c : kCases) {
        CAPTURE(c.subnet);
        CAPTURE(c.address);
        const auto subnet = Subnet::parse(c.subnet);
        REQUIRE(subnet);
        CHECK(subnet->contains(*IpAddress::parse(c.address)) == c.contained);
    }
}

TEST_CASE("what is no subnet is refused with the forms that are") {
    for (const char* text :
         {"", "localhost", "1.2.3", "1.2.3.4/33", "1.2.3.4/-1", "1.2.3.4/", "1.2.3.4/255.0.255.0", "::1/129",
          "1.2.3.4/ffff::", "1.2.3.4/24x", "*", "1.2.3.4/24/24"}) {
        CAPTURE(text);
        const auto subnet = Subnet::parse(text);
        REQUIRE_FALSE(subnet);
        CHECK(subnet.error().code == Errc::invalid_argument);
        CHECK(subnet.error().context.find(text) != std::string::npos);
    }
}

TEST_CASE("addresses that no machine has are not valid") {
    for (const char* text : {"0.0.0.0", "255.255.255.255", "::", "::ffff:0.0.0.0", "::ffff:255.255.255.255",
                             "2001:db8::", "2001:db8:ffff::1", "fd6b:88c0:8724::1", "fd87:d87e:eb43::1"}) {
        CAPTURE(text);
        CHECK_FALSE(IpAddress::parse(text)->is_valid());
    }
    for (const char* text :
         {"0.0.0.1", "255.255.255.254", "127.0.0.1", "10.0.0.1", "192.0.2.1", "224.0.0.1", "::1",
          "2001:db7::1", "2001:db9::1", "fe80::1", "fc00::1", "fd6b:88c0:8725::1"}) {
        CAPTURE(text);
        CHECK(IpAddress::parse(text)->is_valid());
    }
}

TEST_CASE("a subnet of one address is known") {
    CHECK(Subnet::parse("1.2.3.4")->is_one_address());
    CHECK(Subnet::parse("1.2.3.4/32")->is_one_address());
    CHECK_FALSE(Subnet::parse("1.2.3.4/31")->is_one_address());
    CHECK(Subnet::parse("::1/128")->is_one_address());
    CHECK_FALSE(Subnet::parse("::1/32")->is_one_address());
}

TEST_CASE("loopback and any are known in both families") {
    CHECK(IpAddress::parse("127.3.2.1")->is_loopback());
    CHECK(IpAddress::parse("::1")->is_loopback());
    CHECK(IpAddress::parse("::ffff:127.0.0.1")->is_loopback());
    CHECK_FALSE(IpAddress::parse("::2")->is_loopback());
    CHECK_FALSE(IpAddress::parse("128.0.0.1")->is_loopback());
    CHECK(IpAddress::parse("0.0.0.0")->is_any());
    CHECK(IpAddress::parse("::")->is_any());
}

TEST_CASE("addresses are spelt in their short form") {
    struct Case {
        const char* given;
        const char* text;
    };
    static constexpr Case kCases[] = {
        {"1.2.3.4", "1.2.3.4"},
        {"::ffff:1.2.3.4", "1.2.3.4"},
        {"::", "::"},
        {"::1", "::1"},
        {"1::", "1::"},
        {"2001:0db8:0000:0000:0000:0000:0000:0001", "2001:db8::1"},
        {"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},
        {"2001:0:0:1:0:0:0:1", "2001:0:0:1::1"},
        {"2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},
        {"::1.2.3.4", "::102:304"},
        {"FE80::ABCD", "fe80::abcd"},
    };
    for (const Case& c : kCases) {
        CAPTURE(c.given);
        CHECK(IpAddress::parse(c.given)->text() == c.text);
        CHECK(*IpAddress::parse(c.text) == *IpAddress::parse(c.given));
    }
}

TEST_CASE("subnets are spelt with their first address and a prefix length, however they came") {
    struct Case {
        const char* given;
        const char* text;
    };
    static constexpr Case kCases[] = {
        {"1.2.3.4", "1.2.3.4/32"},
        {"1.2.3.4/24", "1.2.3.0/24"},
        {"1.2.3.255/25", "1.2.3.128/25"},
        {"10.1.2.3/255.0.0.0", "10.0.0.0/8"},
        {"1.2.3.4/0", "0.0.0.0/0"},
        {"2001:db8::1", "2001:db8::1/128"},
        {"2001:db8:ffff::1/33", "2001:db8:8000::/33"},
        {"::1/0", "::/0"},
    };
    for (const Case& c : kCases) {
        CAPTURE(c.given);
        const auto subnet = Subnet::parse(c.given);
        REQUIRE(subnet);
        CHECK(subnet->text() == c.text);
        CHECK(*Subnet::parse(c.text) == *subnet);
    }
    CHECK(Subnet::of(*IpAddress::parse("10.0.0.1")) == *Subnet::parse("10.0.0.1/32"));
}

TEST_CASE("subnets stand in the order of their addresses, IPv4 first, wider ones first") {
    const char* const ordered[] = {"1.0.0.0/8", "1.0.0.0/24", "1.0.0.1",      "200.0.0.0/8",
                                   "::/0",      "::1",        "2001:db8::/32"};
    for (std::size_t i = 0; i + 1 < std::size(ordered); ++i) {
        CAPTURE(ordered[i]);
        CHECK(*Subnet::parse(ordered[i]) < *Subnet::parse(ordered[i + 1]));
    }
}

TEST_CASE("addresses of private, local and reserved networks are not routable") {
    for (const char* text :
         {"10.1.2.3", "172.31.0.1", "192.168.1.1", "127.0.0.1", "169.254.1.1", "100.64.0.1", "0.0.0.0",
          "192.0.2.1", "::", "::1", "fe80::1", "fd00::1", "2001:db8::1"}) {
        CAPTURE(text);
        CHECK_FALSE(IpAddress::parse(text)->is_routable());
    }
    for (const char* text : {"8.8.8.8", "172.32.0.1", "100.128.0.1", "2a00:1450::1"}) {
        CAPTURE(text);
        CHECK(IpAddress::parse(text)->is_routable());
    }
}

TEST_SUITE_END();
