// SPDX-License-Identifier: MIT
#include "source/p2p_session.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace blockpub;
using namespace std::chrono_literals;

TEST_SUITE_BEGIN("source.p2p_session");

namespace {

constexpr std::uint32_t kMagic = 0xdab5bffa;
const PeerSession::Time kSessionStart{1000s};

class Host final : public PeerSessionHost {
 public:
    void send_bytes(std::vector<std::uint8_t> bytes) override {
        ByteSpan rest(bytes);
        while (!rest.empty()) {
            auto message = framer_.take(rest);
            REQUIRE(message.has_value());
            if (!*message) continue;
            sent.emplace_back((*message)->name.view());
            last_payload = (*message)->payload;
        }
    }
    void session_ready() override { ++ready; }
    Result<void> session_message(const PeerMessage& message) override {
        messages.emplace_back(message.name.view());
        return {};
    }

    std::vector<std::string> sent;
    SharedBytes last_payload;
    std::vector<std::string> messages;
    int ready = 0;

 private:
    MessageFramer framer_{kMagic};
};

struct Fixture {
    Fixture() { session.begin(); }
    [[nodiscard]] static PeerSessionOptions options() {
        PeerSessionOptions options;
        options.magic = kMagic;
        options.timeout = 60s;
        options.version.nonce = 77;
        return options;
    }
    [[nodiscard]] static PeerVersion honest() {
        PeerVersion version;
        version.services = kServiceNetwork | kServiceWitness;
        version.nonce = 1;
        return version;
    }
    std::string say(std::string_view name, ByteSpan payload = {}, PeerSession::Time now = kSessionStart) {
        const auto done = session.receive(encode_message(kMagic, name, payload), now);
        return done ? std::string() : done.error().context;
    }
    void shake_hands(const PeerVersion& version = honest()) {
        REQUIRE(say("version", encode_version(version)).empty());
        REQUIRE(say("verack").empty());
    }
    std::string tick(PeerSession::Time now) {
        const auto done = session.tick(now);
        return done ? std::string() : done.error().context;
    }

    Host host;
    PeerSession session{options(), host, kSessionStart};
};

}  // namespace

TEST_CASE("nothing but version is said before the peer's own has come") {
    Fixture fixture;
    CHECK(fixture.host.sent == std::vector<std::string>{"version"});
    CHECK(fixture.say("version", encode_version(Fixture::honest())).empty());
    CHECK(fixture.host.sent == std::vector<std::string>{"version", "wtxidrelay", "verack"});
    CHECK(fixture.host.ready == 0);
    CHECK(fixture.say("verack").empty());
    CHECK(fixture.host.ready == 1);
    CHECK(fixture.host.sent.back() == "sendheaders");
}

TEST_CASE("a peer of before sendheaders is not told of it") {
    Fixture fixture;
    PeerVersion old = Fixture::honest();
    old.protocol = 70002;
    fixture.shake_hands(old);
    CHECK(fixture.host.sent == std::vector<std::string>{"version", "verack"});
}

TEST_CASE("transactions are spoken of by wtxid where both sides say so before verack") {
    Fixture fixture;
    CHECK(fixture.say("version", encode_version(Fixture::honest())).empty());
    SUBCASE("it says so") {
        CHECK(fixture.say("wtxidrelay").empty());
        CHECK(fixture.say("verack").empty());
        CHECK(fixture.session.by_wtxid());
        CHECK(fixture.session.relays());
    }
    SUBCASE("it says so too late") {
        CHECK(fixture.say("verack").empty());
        CHECK(fixture.say("wtxidrelay").empty());
        CHECK_FALSE(fixture.session.by_wtxid());
    }
}

TEST_CASE("who cannot be followed is told apart by the reason") {
    struct Case {
        const char* name;
        void (*change)(PeerVersion&);
        const char* reason;
    };
    const Case cases[] = {
        {"ourselves", [](PeerVersion& v) { v.nonce = 77; }, "it is this very daemon"},
        {"no blocks", [](PeerVersion& v) { v.services = kServiceWitness; }, "it serves no blocks"},
        {"no witnesses", [](PeerVersion& v) { v.services = kServiceNetwork; }, "without their witnesses"},
        {"too old", [](PeerVersion& v) { v.protocol = 60000; }, "version 60000 of the protocol"},
    };
    for (const Case& c : cases) {
        CAPTURE(c.name);
        Fixture fixture;
        PeerVersion version = Fixture::honest();
        c.change(version);
        CHECK(fixture.say("version", encode_version(version)).find(c.reason) != std::string::npos);
    }
}

TEST_CASE("a pruned node is followed") {
    Fixture fixture;
    PeerVersion pruned = Fixture::honest();
    pruned.services = kServiceLimited | kServiceWitness;
    fixture.shake_hands(pruned);
    CHECK(fixture.session.ready());
}

TEST_CASE("the handshake has an order and a time") {
    CHECK(Fixture().say("verack") == "it said verack before version");
    Fixture slow;
    CHECK(slow.tick(kSessionStart + 59s).empty());
    CHECK(slow.tick(kSessionStart + 60s).find("no version within 60 s") != std::string::npos);
    CHECK(slow.say("version", encode_version(Fixture::honest())).empty());
    CHECK(slow.tick(kSessionStart + 60s) == "no verack within 60 s");
}

TEST_CASE("of version and verack the first counts, and later ones are passed over") {
    Fixture fixture;
    PeerVersion other = Fixture::honest();
    other.protocol = 60000;
    other.services = 0;
    REQUIRE(fixture.say("version", encode_version(Fixture::honest())).empty());
    CHECK(fixture.say("version", encode_version(other)).empty());
    REQUIRE(fixture.say("verack").empty());
    const auto sent = fixture.host.sent;
    CHECK(fixture.say("verack").empty());
    CHECK(fixture.say("version", encode_version(other)).empty());
    CHECK(fixture.say("version").empty());
    CHECK(fixture.session.peer()->protocol == Fixture::honest().protocol);
    CHECK(fixture.host.ready == 1);
    CHECK(fixture.host.sent == sent);
    CHECK(fixture.host.messages.empty());
}

TEST_CASE("a ping is answered with its nonce") {
    Fixture fixture;
    fixture.shake_hands();
    CHECK(fixture.say("ping", encode_nonce(123)).empty());
    CHECK(fixture.host.sent.back() == "pong");
    CHECK(decode_nonce(fixture.host.last_payload.bytes()) == 123U);
}

TEST_CASE("a peer is pinged, and must answer in time") {
    Fixture fixture;
    fixture.shake_hands();
    CHECK(fixture.tick(kSessionStart + 30s).empty());
    REQUIRE(fixture.host.sent.back() == "ping");
    const std::uint64_t nonce = *decode_nonce(fixture.host.last_payload.bytes());
    CHECK(fixture.say("pong", encode_nonce(nonce ^ 1), kSessionStart + 31s).empty());
    CHECK_FALSE(fixture.session.stats(kSessionStart + 31s).ping);
    CHECK(fixture.say("pong", encode_nonce(nonce), kSessionStart + 32s).empty());
    CHECK(fixture.session.stats(kSessionStart + 32s).ping == 2s);
    CHECK(fixture.tick(kSessionStart + 60s).empty());
    CHECK(fixture.tick(kSessionStart + 239s).empty());
    CHECK(fixture.tick(kSessionStart + 240s) == "no answer to a ping within 180 s");
}

TEST_CASE("time in which nothing was read does not count") {
    Fixture fixture;
    fixture.shake_hands();
    CHECK(fixture.tick(kSessionStart + 30s).empty());
    fixture.session.resume(kSessionStart + 500s);
    CHECK(fixture.tick(kSessionStart + 600s).empty());
}

TEST_CASE("messages are counted by name, those that nobody knows together") {
    Fixture fixture;
    fixture.shake_hands();
    for (const std::string_view name : {"headers", "nonsense1", "nonsense2"})
        CHECK(fixture.say(name).empty());
    PeerRow row;
    fixture.session.traffic().show(row);
    CHECK(row.received_by_message.at("headers") == kMessageHeadSize);
    CHECK(row.received_by_message.at("*other*") == 2 * kMessageHeadSize);
    CHECK(fixture.host.messages.size() == 3);
}

TEST_CASE("what comes before the handshake's end does not reach the chain") {
    Fixture fixture;
    CHECK(fixture.say("version", encode_version(Fixture::honest())).empty());
    CHECK(fixture.say("headers", encode_headers({})).empty());
    CHECK(fixture.host.messages.empty());
}

TEST_SUITE_END();
