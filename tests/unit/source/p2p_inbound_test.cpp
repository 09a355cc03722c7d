// SPDX-License-Identifier: MIT
#include "source/p2p_inbound.hpp"

#include "source/p2p_permissions.hpp"
#include "support/regtest_chain.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace blockpub;
using namespace blockpub::test;
using namespace std::chrono_literals;

TEST_SUITE_BEGIN("source.p2p_inbound");

namespace {

const std::uint32_t kInboundMagic = chain_params(ChainKind::regtest).magic;

/// What a connection was given, and what the other side would see of it. Takes nothing more once `full`.
struct Wire {
    InboundConnection::Handlers handlers;
    std::vector<std::pair<std::string, std::vector<std::uint8_t>>> sent;
    std::vector<std::uint8_t> bytes;
    std::size_t unsent = 0;
    bool full = false;
    bool reading = false;

    void take(ByteSpan more) {
        bytes.insert(bytes.end(), more.begin(), more.end());
        if (full) unsent += more.size();
        MessageFramer framer(kInboundMagic);
        ByteSpan rest(bytes);
        while (true) {
            const ByteSpan before = rest;
            auto message = framer.take(rest);
            REQUIRE(message.has_value());
            if (!*message) {
                bytes.assign(before.begin(), before.end());
                return;
            }
            const ByteSpan payload = (*message)->payload.bytes();
            sent.emplace_back((*message)->name.view(),
                              std::vector<std::uint8_t>(payload.begin(), payload.end()));
        }
    }
    [[nodiscard]] std::vector<std::string> names() const {
        std::vector<std::string> names;
        for (const auto& [name, payload] : sent) names.push_back(name);
        return names;
    }
};

class FakeInboundConnection final : public InboundConnection {
 public:
    explicit FakeInboundConnection(Wire& wire) : wire_(wire) {}
    void begin(Handlers handlers) override { wire_.handlers = std::move(handlers); }
    void read() override { wire_.reading = true; }
    void send(std::vector<std::uint8_t> bytes) override { wire_.take(bytes); }
    void send(MappedBytes bytes) override { wire_.take(bytes.bytes()); }
    std::size_t unsent() const override { return wire_.unsent; }
    Time last_progress() const override { return Time{}; }
    const IpAddress& address() const override { return address_; }
    const std::string& remote() const override { return name_; }
    const std::string& local() const override { return name_; }
    std::uint32_t permissions() const override { return 0; }

 private:
    Wire& wire_;
    const IpAddress address_;
    const std::string name_ = "10.0.0.1:1000";
};

class InboundFixture final : private InboundHost {
 public:
    explicit InboundFixture(std::size_t blocks = 0, std::uint32_t permissions = 0) {
        built.push_back(regtest_genesis());
        for (std::size_t i = 0; i < blocks; ++i) {
            built.push_back(child_of(built.back(), i + 1));
            REQUIRE(node.submit(built.back()).empty());
        }
        InboundPeer::Options options;
        options.magic = kInboundMagic;
        options.permissions = permissions;
        peer.emplace(7, options, std::make_unique<FakeInboundConnection>(wire),
                     static_cast<InboundHost&>(*this));
        peer->begin();
    }

    void say(std::string_view name, ByteSpan payload = {}) {
        hear(encode_message(kInboundMagic, name, payload));
    }
    void hear(const std::vector<std::uint8_t>& bytes) {
        REQUIRE(std::exchange(wire.reading, false));
        received.push_back(bytes);
        wire.handlers.received(received.back());
        run();
    }
    void run() {
        while (std::exchange(again, false)) peer->work();
    }
    void shake_hands(std::uint32_t protocol = 70016) {
        PeerVersion version;
        version.protocol = protocol;
        version.nonce = 1;
        say("version", encode_version(version));
        say("verack");
        REQUIRE(peer->ready());
        wire.sent.clear();
    }
    void grow() {
        built.push_back(child_of(built.back(), built.size()));
        REQUIRE(node.submit(built.back()).empty());
        peer->chain_moved(built[built.size() - 2].height);
        run();
    }
    [[nodiscard]] static std::vector<std::uint8_t> wanting(const std::vector<InventoryItem>& items) {
        return encode_inventory(items);
    }

    RegtestChain node;
    std::vector<BuiltBlock> built;
    ServedChain served{node.store(), node.store().block_reader(), chain_params(ChainKind::regtest)};
    MempoolBoard board;
    TransactionRelay relay{board};
    Wire wire;
    std::deque<std::vector<std::uint8_t>> received;
    std::string reason;
    bool fault = false;
    bool again = false;
    bool may_send = true;
    std::optional<InboundPeer> peer;

 private:
    PeerVersion own_version() override {
        PeerVersion version;
        version.services = kServiceNetwork | kServiceWitness;
        version.nonce = 99;
        return version;
    }
    ServedChain& chain() override { return served; }
    const TransactionRelay& transactions() const override { return relay; }
    bool may_send_block(std::int64_t) const override { return may_send; }
    std::int64_t now_seconds() const override { return RegtestChain::kNow; }
    void note_sent(std::size_t) override {}
    void peer_ready(InboundPeer&) override {}
    void go_on(InboundPeer&) override { again = true; }
    void peer_ended(InboundPeer&, const std::string& why, bool blame) override {
        reason = why;
        fault = blame;
    }
};

using MessageNames = std::vector<std::string>;

}  // namespace

TEST_CASE("version is said when the peer's has come, and verack not before it could say wtxidrelay") {
    InboundFixture fixture;
    CHECK(fixture.wire.sent.empty());
    PeerVersion version;
    version.nonce = 1;
    SUBCASE("one that wants wtxidrelay") {
        fixture.say("version", encode_version(version));
        CHECK(fixture.wire.names() == MessageNames{"version"});
        fixture.say("wtxidrelay");
        CHECK(fixture.wire.names() == MessageNames{"version", "wtxidrelay", "verack"});
        fixture.say("verack");
    }
    SUBCASE("one that does not") {
        fixture.say("version", encode_version(version));
        fixture.say("verack");
        CHECK(fixture.wire.names() == MessageNames{"version", "verack"});
    }
    SUBCASE("one that waits for verack itself") {
        fixture.say("version", encode_version(version));
        fixture.peer->tick(std::chrono::steady_clock::now() + 2s);
        CHECK(fixture.wire.names() == MessageNames{"version", "verack"});
        // Too late now.
        fixture.say("wtxidrelay");
        fixture.say("verack");
        CHECK(fixture.wire.names() == MessageNames{"version", "verack"});
    }
    SUBCASE("one of before wtxidrelay") {
        version.protocol = 70015;
        fixture.say("version", encode_version(version));
        CHECK(fixture.wire.names() == MessageNames{"version", "verack"});
        fixture.say("verack");
    }
    CHECK(fixture.peer->ready());
    CHECK(fixture.reason.empty());
}

TEST_CASE("of version and verack the first counts, and later ones are passed over") {
    InboundFixture fixture(1);
    PeerVersion version;
    version.protocol = 70015;
    version.nonce = 1;
    PeerVersion other = version;
    other.protocol = 200;
    other.nonce = 99;
    fixture.say("version", encode_version(version));
    fixture.say("version", encode_version(other));
    fixture.say("verack");
    const auto sent = fixture.wire.names();
    fixture.say("verack");
    fixture.say("version", encode_version(other));
    fixture.say("version");
    CHECK(fixture.reason.empty());
    CHECK(fixture.wire.names() == sent);
    CHECK(fixture.peer->row({}).protocol == 70015);
    fixture.say("ping", encode_nonce(5));
    CHECK(fixture.wire.names().back() == "pong");
}

TEST_CASE("a handshake that is not done in time ends") {
    const auto later = std::chrono::steady_clock::now() + 61s;
    InboundFixture silent;
    silent.peer->tick(later);
    CHECK(silent.reason == "no version within 60 s");
    InboundFixture halfway;
    PeerVersion version;
    halfway.say("version", encode_version(version));
    halfway.peer->tick(later);
    CHECK(halfway.reason == "no verack within 60 s");
}

TEST_CASE("who gives no answer to a ping is left, and who is asked for none is not") {
    InboundFixture fixture;
    fixture.shake_hands();
    const auto now = std::chrono::steady_clock::now();
    fixture.peer->tick(now + 29s);
    CHECK(fixture.wire.sent.empty());
    fixture.peer->tick(now + 31s);
    CHECK(fixture.wire.names() == MessageNames{"ping"});
    SUBCASE("no answer") {
        fixture.peer->tick(now + 31s + 19min);
        CHECK(fixture.reason.empty());
        fixture.peer->tick(now + 31s + 21min);
        CHECK(fixture.reason == "no answer to a ping within 1260 s");
    }
    SUBCASE("an answer") {
        fixture.say("pong", fixture.wire.sent.back().second);
        CHECK(fixture.peer->row(now + 40s).ping.has_value());
        fixture.peer->tick(now + 31s + 21min);
        CHECK(fixture.reason.empty());
    }
}

TEST_CASE("a peer of before a message is not sent it") {
    InboundFixture fixture(2);
    fixture.shake_hands(60'000);
    fixture.peer->tick(std::chrono::steady_clock::now() + 1h);
    CHECK(fixture.wire.sent.empty());
    fixture.say("ping");  // without a nonce in those days
    CHECK(fixture.wire.sent.empty());
    fixture.say("getdata", InboundFixture::wanting({wanted_block(BlockHash())}));
    CHECK(fixture.wire.sent.empty());
    CHECK(fixture.reason.starts_with("it asked for block 000000"));
    CHECK_FALSE(fixture.fault);
}

TEST_CASE("nothing is taken while answers wait to be sent, and nothing is lost") {
    InboundFixture fixture(3);
    fixture.shake_hands();
    fixture.wire.full = true;
    GetHeaders question;
    question.locator = {fixture.built[0].hash};
    std::vector<std::uint8_t> many;
    constexpr std::size_t kQuestions = 10'000;
    for (std::size_t i = 0; i < kQuestions; ++i) {
        const auto one = encode_message(kInboundMagic, "getheaders", encode_get_headers(question));
        many.insert(many.end(), one.begin(), one.end());
    }
    fixture.hear(many);
    const std::size_t first = fixture.wire.sent.size();
    CHECK(first < kQuestions / 2);
    CHECK(fixture.wire.unsent < InboundPeer::kMostUnsent + 1000);
    CHECK_FALSE(fixture.wire.reading);
    while (fixture.wire.sent.size() < kQuestions) {
        const std::size_t before = fixture.wire.sent.size();
        fixture.wire.unsent = 0;
        fixture.wire.handlers.sent();
        fixture.run();
        REQUIRE(fixture.wire.sent.size() > before);
    }
    fixture.wire.unsent = 0;
    fixture.wire.handlers.sent();
    fixture.run();
    CHECK(fixture.wire.reading);
}

TEST_CASE("while blocks are owed, new ones are announced and nothing else is taken") {
    InboundFixture fixture(3);
    fixture.shake_hands();
    fixture.wire.full = true;
    fixture.wire.unsent = InboundPeer::kMostUnsent - 1;
    const InventoryItem item = wanted_block(fixture.built[1].hash);
    auto bytes = encode_message(kInboundMagic, "getdata", InboundFixture::wanting({item, item, item}));
    const auto ping = encode_message(kInboundMagic, "ping", encode_nonce(5));
    bytes.insert(bytes.end(), ping.begin(), ping.end());
    fixture.hear(bytes);
    CHECK(fixture.wire.names() == MessageNames{"block"});
    fixture.grow();
    CHECK(fixture.wire.names() == MessageNames{"block"});
    fixture.wire.full = false;
    fixture.wire.unsent = 0;
    fixture.wire.handlers.sent();
    fixture.run();
    CHECK(fixture.wire.names() == MessageNames{"block", "inv", "block", "block", "pong"});
}

TEST_CASE("headers announce where the peer has the parent") {
    InboundFixture fixture(4);
    fixture.shake_hands();
    fixture.say("sendheaders");
    fixture.grow();
    CHECK(fixture.wire.names() == MessageNames{"inv"});
    // The same tip is not told of twice.
    fixture.peer->chain_moved({4});
    CHECK(fixture.wire.names() == MessageNames{"inv"});
    GetHeaders question;
    question.locator = {fixture.built.back().hash};
    fixture.say("getheaders", encode_get_headers(question));
    fixture.grow();
    CHECK(fixture.wire.names() == MessageNames{"inv", "headers", "headers"});
    CHECK(fixture.peer->row({}).synced_headers == 6);
    const auto told = decode_headers(fixture.wire.sent.back().second);
    REQUIRE(told);
    REQUIRE(told->size() == 1);
    CHECK(told->front().hash() == fixture.built.back().hash);
}

TEST_CASE("more than eight blocks at once are told of by the tip's hash") {
    InboundFixture fixture(3);
    fixture.shake_hands();
    fixture.say("sendheaders");
    GetHeaders question;
    question.locator = {fixture.built.back().hash};
    fixture.say("getheaders", encode_get_headers(question));
    fixture.wire.sent.clear();
    for (int i = 0; i < 9; ++i) {
        fixture.built.push_back(child_of(fixture.built.back(), fixture.built.size()));
        REQUIRE(fixture.node.submit(fixture.built.back()).empty());
    }
    fixture.peer->chain_moved({3});
    CHECK(fixture.wire.names() == MessageNames{"inv"});
}

TEST_CASE("beyond the upload target who lacks the permission is left") {
    for (const std::uint32_t permissions : {std::uint32_t{0}, std::uint32_t{kDownloadPermission}}) {
        CAPTURE(permissions);
        InboundFixture fixture(1, permissions);
        fixture.shake_hands();
        fixture.may_send = false;
        fixture.say("getdata", InboundFixture::wanting({wanted_block(fixture.built[1].hash)}));
        CHECK(fixture.reason.starts_with("-maxuploadtarget is reached") == (permissions == 0));
        CHECK(fixture.wire.names() == (permissions == 0 ? MessageNames{} : MessageNames{"block"}));
    }
}

TEST_CASE("this very daemon is recognized") {
    InboundFixture fixture;
    PeerVersion version;
    version.nonce = 99;
    fixture.say("version", encode_version(version));
    CHECK(fixture.reason == "it is this very daemon");
    CHECK(fixture.fault);
}

TEST_SUITE_END();
