// SPDX-License-Identifier: MIT
#include "base/ban_list.hpp"
#include "chain/peer_control.hpp"
#include "unit/query/rpc_fixture.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace blockpub;
using blockpub::test::RpcFixture;

TEST_SUITE_BEGIN("query.rpc_peers");

namespace {

/// Writes down what it is told, and answers what it is to answer.
class ScriptedControl final : public PeerControl {
 public:
    Result<bool> add_node(std::string_view node) override { return told("add " + std::string(node)); }
    Result<bool> remove_node(std::string_view node) override { return told("remove " + std::string(node)); }
    Result<void> try_node(std::string_view node) override { return done("try " + std::string(node)); }
    Result<std::vector<AddedNodeRow>> added_nodes() override {
        if (error) return std::unexpected(*error);
        return std::vector<AddedNodeRow>{{"node.example", ""}, {"10.0.0.1", "10.0.0.1:8333"}};
    }
    Result<bool> disconnect(std::string_view address) override {
        return told("disconnect " + std::string(address));
    }
    Result<bool> disconnect(std::int64_t peer) override {
        return told("disconnect #" + std::to_string(peer));
    }
    Result<void> bans_changed() override { return done("bans"); }
    Result<void> ping() override { return done("ping"); }
    Result<void> set_active(bool on) override {
        is_active = on;
        return done("active");
    }
    bool active() const override { return is_active; }
    Result<void> fetch_block(const BlockHash&, Height height, std::int64_t peer) override {
        return done("fetch " + std::to_string(height.value) + " of #" + std::to_string(peer));
    }

    std::vector<std::string> calls;
    std::optional<Error> error;
    bool answer = true;
    bool is_active = true;

 private:
    Result<bool> told(std::string what) {
        calls.push_back(std::move(what));
        if (error) return std::unexpected(*error);
        return answer;
    }
    Result<void> done(std::string what) {
        calls.push_back(std::move(what));
        if (error) return std::unexpected(*error);
        return {};
    }
};

struct PeersFixture : RpcFixture {
    PeersFixture() {
        context.peer_control = &control;
        context.bans = &bans;
    }
    ScriptedControl control;
    int saves = 0;
    std::optional<Error> save_error;
    BanList bans{{}, *context.clock, [this](const std::vector<BanList::Ban>&) -> Result<void> {
                     ++saves;
                     if (save_error) return std::unexpected(*save_error);
                     return {};
                 }};
};

}  // namespace

TEST_CASE("without peers the calls that steer them are refused in Core's words") {
    RpcFixture fixture;
    const auto refused = RpcFixture::error(-31, "Error: Peer-to-peer functionality missing or disabled");
    CHECK(fixture.call("ping", "[]") == refused);
    CHECK(fixture.call("addnode", "[\"10.0.0.1\",\"add\"]") == refused);
    CHECK(fixture.call("getaddednodeinfo", "[]") == refused);
    CHECK(fixture.call("setnetworkactive", "[true]") == refused);
    CHECK(fixture.call("listbanned", "[]") == RpcFixture::error(-20, "Error: Ban database not loaded"));
}

TEST_CASE("what is asked of peers reaches them, and their answers the caller") {
    PeersFixture f;
    CHECK(f.call("addnode", "[\"10.0.0.1\",\"add\"]") == RpcFixture::result("null"));
    CHECK(f.call("addnode", "[\"10.0.0.1\",\"onetry\",false]") == RpcFixture::result("null"));
    CHECK(f.call("addnode", "[\"10.0.0.1\",\"remove\"]") == RpcFixture::result("null"));
    CHECK(f.call("disconnectnode", "[\"10.0.0.1:8333\"]") == RpcFixture::result("null"));
    CHECK(f.call("disconnectnode", "[\"\",7]") == RpcFixture::result("null"));
    CHECK(f.call("ping", "[]") == RpcFixture::result("null"));
    CHECK(f.call("setnetworkactive", "[false]") == RpcFixture::result("false"));
    CHECK(f.control.calls == std::vector<std::string>{"add 10.0.0.1", "try 10.0.0.1", "remove 10.0.0.1",
                                                      "disconnect 10.0.0.1:8333", "disconnect #7", "ping",
                                                      "active"});
    CHECK(f.call("getaddednodeinfo", "[]") ==
          RpcFixture::result(
              "[{\"addednode\":\"node.example\",\"connected\":false,\"addresses\":[]},"
              "{\"addednode\":\"10.0.0.1\",\"connected\":true,\"addresses\":[{\"address\":\"10.0.0.1:8333\","
              "\"connected\":\"outbound\"}]}]"));
    f.control.error = Error{Errc::stopped, "over"};
    CHECK(f.call("ping", "[]") == RpcFixture::error(-1, "over"));
    f.control.error = Error{Errc::invalid_argument, "no address"};
    CHECK(f.call("addnode", "[\"x y\",\"add\"]") == RpcFixture::error(-8, "no address"));
}

TEST_CASE("wrong types of arguments are told as everywhere") {
    PeersFixture f;
    for (const auto& [method, arguments] :
         std::vector<std::pair<const char*, const char*>>{{"addnode", "[1,\"add\"]"},
                                                          {"setnetworkactive", "[1]"},
                                                          {"disconnectnode", "[\"\",\"7\"]"},
                                                          {"setban", "[\"10.0.0.1\",\"add\",\"60\"]"},
                                                          {"getblockfrompeer", "[\"00\",\"1\"]"}}) {
        CAPTURE(method);
        CHECK(f.call(method, arguments).find("\"code\":-3") != std::string::npos);
    }
    CHECK(f.control.calls.empty());
}

TEST_CASE("a ban that could not be saved is told, and in force") {
    PeersFixture f;
    f.save_error = Error{Errc::disk_full, "no room"};
    CHECK(f.call("setban", "[\"10.0.0.1\",\"add\"]") ==
          RpcFixture::error(-1, "The change is in force, but was not saved: no room"));
    CHECK(f.bans.contains(*IpAddress::parse("10.0.0.1")));
    // The peers are told of it.
    CHECK(f.control.calls == std::vector<std::string>{"bans"});
}

TEST_SUITE_END();
