// SPDX-License-Identifier: MIT
#include "source/p2p_framing.hpp"

#include "base/hex.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

using namespace blockpub;

TEST_SUITE_BEGIN("source.p2p_framing");

namespace {

constexpr std::uint32_t kMain = 0xd9b4bef9;
constexpr std::uint32_t kRegtest = 0xdab5bffa;

/// The error that a stream ends in; empty without one.
std::string error_of(std::uint32_t magic, ByteSpan stream) {
    MessageFramer framer(magic);
    while (!stream.empty()) {
        const auto message = framer.take(stream);
        if (!message) return message.error().context;
    }
    return {};
}

std::vector<std::uint8_t> head_of(std::string_view name, std::uint32_t length) {
    auto head = encode_message(kRegtest, name, {});
    for (std::size_t i = 0; i < 4; ++i) head[16 + i] = static_cast<std::uint8_t>(length >> (8 * i));
    return head;
}

ByteSpan bytes_of(std::string_view text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace

TEST_CASE("a verack of the main chain has the bytes that everybody sends") {
    CHECK(encode_hex(encode_message(kMain, "verack", {})) ==
          "f9beb4d976657261636b000000000000000000005df6e0e2");
}

TEST_CASE("messages come out of a stream in pieces of any size") {
    std::vector<std::uint8_t> stream = encode_message(kRegtest, "verack", {});
    const std::vector<std::uint8_t> payload{1, 2, 3, 4, 5, 6, 7, 8};
    const auto ping = encode_message(kRegtest, "ping", payload);
    stream.insert(stream.end(), ping.begin(), ping.end());
    for (std::size_t step = 1; step <= stream.size(); ++step) {
        MessageFramer framer(kRegtest);
        std::vector<std::string> names;
        for (std::size_t at = 0; at < stream.size(); at += step) {
            ByteSpan piece = ByteSpan(stream).subspan(at, std::min(step, stream.size() - at));
            while (!piece.empty()) {
                const auto message = framer.take(piece);
                REQUIRE(message.has_value());
                if (!*message) continue;
                names.emplace_back((*message)->name.view());
                if (names.size() == 2) CHECK(std::ranges::equal((*message)->payload.bytes(), payload));
            }
        }
        CAPTURE(step);
        CHECK(names == std::vector<std::string>{"verack", "ping"});
        CHECK(framer.pending() == 0);
    }
}

TEST_CASE("what is of no interest is checked and counted, and not held") {
    constexpr std::array<HeldMessage, 1> held{{{"ping", 8}}};
    const std::vector<std::uint8_t> payload{1, 2, 3, 4, 5, 6, 7, 8};
    MessageFramer framer(kRegtest, PeerSide::came, held);
    for (const std::string_view name : {"tx", "ping"}) {
        const auto bytes = encode_message(kRegtest, name, payload);
        ByteSpan rest(bytes);
        const auto message = framer.take(rest);
        REQUIRE(message.has_value());
        REQUIRE(message->has_value());
        CHECK((*message)->name.view() == name);
        CHECK((*message)->size == payload.size());
        CHECK((*message)->payload.size() == (name == "ping" ? payload.size() : 0));
    }
    auto damaged = encode_message(kRegtest, "tx", payload);
    damaged.back() ^= 1;
    ByteSpan rest(damaged);
    const auto message = framer.take(rest);
    REQUIRE_FALSE(message.has_value());
    CHECK(message.error().context == "message tx with a wrong checksum");

    MessageFramer other(kRegtest, PeerSide::came, held);
    const auto head = head_of("ping", 9);
    rest = head;
    const auto longer = other.take(rest);
    REQUIRE_FALSE(longer.has_value());
    CHECK(longer.error().context == "message ping claims 9 bytes, 8 are allowed");
}

TEST_CASE("the port of a node's RPC is named as such") {
    CHECK(error_of(kRegtest, bytes_of("HTTP/1.1 400 Bad Request")).find("RPC port") != std::string::npos);
}

TEST_CASE("a node of another chain is named with the remedy") {
    const std::string error = error_of(kRegtest, encode_message(kMain, "version", {}));
    CHECK(error.find("a node of chain main") != std::string::npos);
    CHECK(error.find("-chain=main") != std::string::npos);
}

TEST_CASE("what speaks another protocol is known by its first four bytes") {
    CHECK(error_of(kRegtest, bytes_of("SSH-")).find("wrong magic 5353482d") != std::string::npos);
}

TEST_CASE("a wrong checksum ends the stream") {
    auto message = encode_message(kRegtest, "ping", std::vector<std::uint8_t>(8));
    message[20] ^= 1;
    CHECK(error_of(kRegtest, message) == "message ping with a wrong checksum");
}

TEST_CASE("a payload beyond the limit is refused before there is room for it") {
    CHECK(error_of(kRegtest, head_of("block", 4'000'001)) ==
          "message block claims 4000001 bytes, 4000000 are allowed");
    CHECK(error_of(kRegtest, head_of("block", 4'000'000)).empty());
}

TEST_CASE("a name must be printable, with zeros behind it alone") {
    for (const std::string_view name : {std::string_view("pi\0ng", 5), std::string_view("pi\x07ng", 5)}) {
        CHECK(error_of(kRegtest, encode_message(kRegtest, name, {})) ==
              "a message whose name is not printable");
    }
}

TEST_SUITE_END();
