// SPDX-License-Identifier: MIT
#include "source/p2p_source.hpp"
#include "support/regtest_chain.hpp"
#include "support/regtest_params.hpp"

#include <doctest/doctest.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace blockpub;
using namespace blockpub::test;

namespace {

/// Nodes that are never reached: nobody listens on port 1.
struct SourceFixture {
    explicit SourceFixture(std::vector<std::string> added = {}, std::vector<PeerAddress> connect = {})
        : source(options(std::move(connect)), std::move(added), node.chain(), regtest(), node.clock(), logger,
                 nullptr) {}
    static FollowerOptions options(std::vector<PeerAddress> connect) {
        FollowerOptions options;
        options.peers = std::move(connect);
        options.user_agent = "/test/";
        return options;
    }
    std::vector<std::string> listed() {
        std::vector<std::string> nodes;
        for (const AddedNodeRow& row : must(source.control().added_nodes())) nodes.push_back(row.node);
        return nodes;
    }
    using List = std::vector<std::string>;

    RegtestChain node;
    NullLogger logger;
    P2pSource source;
};

}  // namespace

TEST_SUITE("source.p2p_control") {
    TEST_CASE("a node is on the list once, whatever its address is spelt like") {
        SourceFixture f({"127.0.0.1:1", "no address"}, {{"127.0.0.2", 1}});
        f.source.start();
        PeerControl& control = f.source.control();
        CHECK(f.listed() == SourceFixture::List{"127.0.0.1:1"});
        CHECK_FALSE(must(control.add_node("127.0.0.1:1")));
        CHECK_FALSE(must(control.add_node("[::ffff:127.0.0.1]:1")));
        CHECK(must(control.add_node("127.0.0.1:2")));
        // Followed already, and not on the list.
        CHECK(must(control.add_node("127.0.0.2:1")));
        CHECK(f.listed() == SourceFixture::List{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.2:1"});
        CHECK_FALSE(must(control.remove_node("[::ffff:127.0.0.1]:1")));
        CHECK(must(control.remove_node("127.0.0.1:1")));
        CHECK(must(control.remove_node("127.0.0.2:1")));
        CHECK_FALSE(must(control.remove_node("127.0.0.2:1")));
        CHECK(f.listed() == SourceFixture::List{"127.0.0.1:2"});
        CHECK(control.add_node("10.0.0.1:x").error().code == Errc::invalid_argument);
        CHECK(control.try_node("").error().code == Errc::invalid_argument);
    }

    TEST_CASE("who is not connected cannot be left or asked") {
        SourceFixture f({"127.0.0.1:1"});
        f.source.start();
        PeerControl& control = f.source.control();
        CHECK_FALSE(must(control.disconnect("127.0.0.1:1")));
        CHECK_FALSE(must(control.disconnect(std::int64_t{0})));
        CHECK(control.fetch_block(regtest().genesis_hash, Height{0}, 0).error().context ==
              "Peer does not exist");
        CHECK(control.ping());
        CHECK(control.bans_changed());
        CHECK(control.active());
        CHECK(control.set_active(false));
        CHECK_FALSE(control.active());
    }

    TEST_CASE("before the first node is called operators are answered") {
        SourceFixture f({"127.0.0.1:1"});
        PeerControl& control = f.source.control();
        CHECK(must(control.add_node("127.0.0.1:2")));
        CHECK(must(control.remove_node("127.0.0.1:1")));
        CHECK(control.try_node("127.0.0.1:3"));
        CHECK_FALSE(must(control.disconnect("127.0.0.1:2")));
        CHECK(control.bans_changed());
        CHECK(control.ping());
        CHECK(control.set_active(false));
        CHECK(control.fetch_block(regtest().genesis_hash, Height{0}, 0).error().code == Errc::unavailable);
        f.source.start();
        CHECK(f.listed() == SourceFixture::List{"127.0.0.1:2"});
        CHECK_FALSE(control.active());
    }

    TEST_CASE("calls answer stopped once it has stopped, and those under way end") {
        SourceFixture f({"127.0.0.1:1"});
        f.source.start();
        PeerControl& control = f.source.control();
        std::vector<std::jthread> callers;
        for (int i = 0; i < 4; ++i) {
            callers.emplace_back([&control] {
                Result<void> pinged;
                while (pinged) pinged = control.ping();
                CHECK(pinged.error().code == Errc::stopped);
            });
        }
        f.source.stop();
        callers.clear();
        CHECK(control.added_nodes().error().code == Errc::stopped);
    }

    TEST_CASE("a source that was never started stops") {
        SourceFixture f({"127.0.0.1:1"});
        f.source.stop();
        CHECK(f.source.control().ping().error().code == Errc::stopped);
    }
}
