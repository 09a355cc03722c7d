// SPDX-License-Identifier: MIT
#include "source/p2p_messages.hpp"

#include "base/hex.hpp"
#include "source/p2p_framing.hpp"

#include <doctest/doctest.h>

#include <string_view>
#include <vector>

using namespace blockpub;

TEST_SUITE_BEGIN("source.p2p_messages");

namespace {

std::vector<std::uint8_t> from_hex(std::string_view hex) {
    auto bytes = decode_hex(hex);
    REQUIRE(bytes.has_value());
    return std::move(*bytes);
}

// The example of the Bitcoin wiki, "Protocol documentation", version: release 0.7.2.
constexpr std::string_view kWikiVersion =
    "62ea0000010000000000000011b2d05000000000010000000000000000000000000000000000ffff000000000000"
    "010000000000000000000000000000000000ffff0000000000003b2eb35d8ce617650f2f5361746f7368693a302e372e322f"
    "c03e0300";

std::vector<BlockHeader> some_headers(std::size_t count) {
    std::vector<BlockHeader> headers(count);
    for (std::size_t i = 0; i < count; ++i) headers[i].nonce = static_cast<std::uint32_t>(i);
    return headers;
}

}  // namespace

TEST_CASE("the version message of an old release is understood") {
    const auto payload = from_hex(kWikiVersion);
    const auto version = decode_version(payload);
    REQUIRE(version.has_value());
    CHECK(version->protocol == 60002);
    CHECK(version->services == kServiceNetwork);
    CHECK(version->time == 0x50d0b211);
    CHECK(version->nonce == 0x6517e68c5db32e3b);
    CHECK(version->user_agent == "/Satoshi:0.7.2/");
    CHECK(version->start_height == 212672);
    CHECK(version->relay);
    CHECK(encode_hex(ByteSpan(encode_message(0xd9b4bef9, "version", payload)).first(24)) ==
          "f9beb4d976657273696f6e0000000000640000003b648d5a");
}

TEST_CASE("a version is read as it was written") {
    PeerVersion version;
    version.services = kServiceNetwork | kServiceWitness;
    version.time = 1'700'000'000;
    version.nonce = 42;
    version.user_agent = "/blockpub/";
    version.start_height = 7;
    version.relay = false;
    const auto again = decode_version(encode_version(version));
    REQUIRE(again.has_value());
    CHECK(again->services == version.services);
    CHECK(again->user_agent == version.user_agent);
    CHECK(again->start_height == 7);
    CHECK_FALSE(again->relay);
}

TEST_CASE("a version with a name of 257 bytes is refused") {
    auto payload = from_hex(std::string(kWikiVersion.substr(0, 160)) + "fd0101");
    payload.resize(payload.size() + 257 + 5);
    const auto version = decode_version(payload);
    REQUIRE_FALSE(version.has_value());
    CHECK(version.error().context == "version with a name of 257 entries, 256 are allowed");
}

TEST_CASE("every message that ends too early is refused") {
    const auto version = from_hex(kWikiVersion);
    for (std::size_t size = 0; size < version.size(); ++size)
        CHECK_FALSE(decode_version(ByteSpan(version).first(size)).has_value());
    const auto headers = encode_headers(some_headers(2));
    for (std::size_t size = 0; size < headers.size(); ++size)
        CHECK_FALSE(decode_headers(ByteSpan(headers).first(size)).has_value());
    const auto request = encode_get_headers({{BlockHash(), BlockHash()}, BlockHash()});
    for (std::size_t size = 0; size < request.size(); ++size)
        CHECK_FALSE(decode_get_headers(ByteSpan(request).first(size)).has_value());
    const auto inventory = encode_inventory({wanted_block(BlockHash()), wanted_block(BlockHash())});
    for (std::size_t size = 0; size < inventory.size(); ++size)
        CHECK_FALSE(decode_inventory(ByteSpan(inventory).first(size)).has_value());
    CHECK_FALSE(decode_nonce(std::vector<std::uint8_t>(7)).has_value());
    CHECK_FALSE(decode_fee_filter(std::vector<std::uint8_t>(7)).has_value());
    CHECK_FALSE(decode_send_compact(std::vector<std::uint8_t>(8)).has_value());
}

TEST_CASE("counts beyond the protocol's limits are refused, those at the limit are not") {
    CHECK(decode_headers(encode_headers(some_headers(kMaxHeaders)))->size() == kMaxHeaders);
    std::vector<std::uint8_t> headers = encode_headers(some_headers(kMaxHeaders));
    headers[1] = 0xd1;  // 2001
    headers.resize(headers.size() + 81);
    CHECK(decode_headers(headers).error().context == "headers of 2001 entries, 2000 are allowed");

    std::vector<std::uint8_t> inventory = encode_inventory(std::vector<InventoryItem>(kMaxInventory));
    CHECK(decode_inventory(inventory)->size() == kMaxInventory);
    inventory[1] = 0x51;  // 50,001
    inventory.resize(inventory.size() + 36);
    CHECK(decode_inventory(inventory).error().context == "inventory of 50001 entries, 50000 are allowed");

    std::vector<std::uint8_t> locator =
        encode_get_headers({std::vector<BlockHash>(kMaxLocator), BlockHash()});
    CHECK(decode_get_headers(locator)->locator.size() == kMaxLocator);
    locator[4] = 102;
    locator.resize(locator.size() + 32);
    CHECK_FALSE(decode_get_headers(locator).has_value());
}

TEST_CASE("a block is asked for with its witnesses") {
    const InventoryItem item = wanted_block(BlockHash());
    CHECK(item.type == 0x40000002);
    CHECK(item.is_block());
    CHECK_FALSE(InventoryItem{InventoryItem::witness_transaction, {}}.is_block());
}

TEST_CASE("sendcmpct says yes or no and nothing else") {
    CHECK(decode_send_compact(encode_send_compact({.announce = true, .version = 2}))->announce);
    CHECK_FALSE(decode_send_compact(from_hex("020200000000000000")).has_value());
}

TEST_CASE("what later versions append is passed over") {
    CHECK(decode_nonce(from_hex("010000000000000099")) == 1U);
}

TEST_SUITE_END();
