// SPDX-License-Identifier: MIT
#include "daemon/node.hpp"

#include "temporary_directory.hpp"

#include <blockpub/logger.hpp>

#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <string>

using namespace blockpub;

namespace {

// Of tests/vectors/manifest.json, chain-a.
constexpr std::int64_t kClock = 1700082181;
constexpr const char* kBestHash = "0c009567b35ca2f7f1c467ed62e8a21d54b0201900d1c48c9a499de3bfc88432";

std::filesystem::path vectors() {
    return std::filesystem::path(BLOCKPUB_SOURCE_ROOT) / "tests/vectors";
}

/// A node's options for a test: ports that the system chooses, little address space.
NodeOptions options_in(const std::filesystem::path& directory) {
    NodeOptions options = default_options(chain_params(ChainKind::regtest), directory);
    std::filesystem::create_directories(options.chain_dir);
    options.rpc.port = 0;
    options.map_bytes = std::uint64_t{1} << 30;
    options.mocktime = kClock;
    options.zmq = {{"zmqpubhashblock", "tcp://127.0.0.1:*"}, {"zmqpubsequence", "tcp://127.0.0.1:*"}};
    return options;
}

/// Runs a node until its work asks for the end.
ExitStatus run_to_end(NodeOptions options, std::string* tip = nullptr) {
    NullLogger logger;
    StopRequest stop_request;
    auto node = Node::start(std::move(options), logger, stop_request);
    REQUIRE(node);
    CHECK(stop_request.wait_until(std::chrono::steady_clock::now() + std::chrono::seconds(60)));
    if (tip != nullptr) *tip = (*node)->chain().status().tip.hash.display_hex();
    return (*node)->stop();
}

/// Lets each call at one point fail.
class FixedFault final : public StoreFaults {
 public:
    FixedFault(Point where, int code) : where_(where), code_(code) {}
    int at(Point point) noexcept override {
        if (point != where_) return 0;
        asked = true;
        return code_;
    }
    std::atomic<bool> asked{false};

 private:
    const Point where_;
    const int code_;
};

/// A port of 127.0.0.1 that something else listens on.
class TakenPort {
 public:
    TakenPort() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        REQUIRE(::bind(socket_, reinterpret_cast<sockaddr*>(&address), size) == 0);
        REQUIRE(::listen(socket_, 1) == 0);
        REQUIRE(::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
        port_ = ntohs(address.sin_port);
    }
    ~TakenPort() { ::close(socket_); }
    TakenPort(const TakenPort&) = delete;
    TakenPort& operator=(const TakenPort&) = delete;
    [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
    int socket_;
    std::uint16_t port_ = 0;
};

}  // namespace

TEST_SUITE("daemon.node") {
    TEST_CASE("a fresh directory gets genesis, and the next start finds it") {
        const test::TemporaryDirectory directory;
        NullLogger logger;
        for (int round = 0; round < 2; ++round) {
            StopRequest stop_request;
            auto node = Node::start(options_in(directory.path()), logger, stop_request);
            REQUIRE(node);
            CHECK((*node)->chain().status().tip.hash == chain_params(ChainKind::regtest).genesis_hash);
            CHECK((*node)->bus().next_index() == 1);
            CHECK((*node)->rpc_port() != 0);
            CHECK((*node)->publishers().size() == 1);
            CHECK(std::filesystem::exists(directory.path() / "regtest/.cookie"));
            CHECK((*node)->stop() == ExitStatus::ok);
            CHECK_FALSE(std::filesystem::exists(directory.path() / "regtest/.cookie"));
        }
    }

    TEST_CASE("the status names endpoints as bound, the RPC address and the cookie") {
        const test::TemporaryDirectory directory;
        NullLogger logger;
        StopRequest stop_request;
        auto node = Node::start(options_in(directory.path()), logger, stop_request);
        REQUIRE(node);
        const StatusFacts facts = (*node)->status();
        CHECK(facts.now == kClock);
        CHECK(facts.source == "submitblock");
        REQUIRE(facts.endpoints.size() == 1);
        CHECK(facts.endpoints[0].find('*') == std::string::npos);
        REQUIRE_FALSE(facts.rpc_addresses.empty());
        CHECK(facts.rpc_addresses[0] == "127.0.0.1:" + std::to_string((*node)->rpc_port()));
        CHECK(facts.cookie_path == (directory.path() / "regtest/.cookie").string());
    }

    TEST_CASE("a start that fails names the option, and leaves nothing that holds up the next") {
        const TakenPort taken;
        struct Case {
            const char* name;
            void (*change)(NodeOptions&, std::uint16_t port);
            const char* names;
        };
        constexpr Case kCases[] = {
            {"RPC port taken", [](NodeOptions& options, std::uint16_t port) { options.rpc.port = port; },
             "-rpcport"},
            {"ZMQ port taken",
             [](NodeOptions& options, std::uint16_t port) {
                 options.zmq.push_back({"zmqpubrawtx", "tcp://127.0.0.1:" + std::to_string(port)});
             },
             "zmqpubrawtx"},
            {"malformed endpoint",
             [](NodeOptions& options, std::uint16_t) { options.zmq.push_back({"zmqpubrawtx", "127.0.0.1"}); },
             "zmqpubrawtx"},
            {"no such blocks directory",
             [](NodeOptions& options, std::uint16_t) { options.sources.import_blocks = "/no/such/place"; },
             "/no/such/place"},
            {"no place for the cookie",
             [](NodeOptions& options, std::uint16_t) { options.rpc.cookie_file = "/no/such/place/cookie"; },
             "/no/such/place/cookie"},
        };
        const test::TemporaryDirectory directory;
        NullLogger logger;
        for (const Case& c : kCases) {
            CAPTURE(c.name);
            StopRequest stop_request;
            NodeOptions options = options_in(directory.path());
            c.change(options, taken.port());
            const auto refused = Node::start(std::move(options), logger, stop_request);
            REQUIRE_FALSE(refused);
            CAPTURE(refused.error().context);
            CHECK(refused.error().context.find(c.names) != std::string::npos);
            CHECK(refused.error().context.find('\n') == std::string::npos);
            CHECK_FALSE(std::filesystem::exists(directory.path() / "regtest/.cookie"));
            CHECK(Node::start(options_in(directory.path()), logger, stop_request));
        }
    }

    TEST_CASE("a store of another chain is refused by its name") {
        const test::TemporaryDirectory directory;
        NullLogger logger;
        StopRequest stop_request;
        REQUIRE(Node::start(options_in(directory.path()), logger, stop_request));
        NodeOptions other = options_in(directory.path());
        other.params = &chain_params(ChainKind::testnet4);
        const auto refused = Node::start(std::move(other), logger, stop_request);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().context.find((directory.path() / "regtest").string()) != std::string::npos);
    }

    TEST_CASE("an import ends the daemon when asked to, at the tip that bitcoind had") {
        const test::TemporaryDirectory directory;
        NodeOptions options = options_in(directory.path());
        options.sources.import_blocks = vectors();
        options.sources.stop_after_import = true;
        std::string tip;
        CHECK(run_to_end(options, &tip) == ExitStatus::ok);
        CHECK(tip == kBestHash);
    }

    TEST_CASE("what was exported, plain or with a key, brings another node to the same tip") {
        const test::TemporaryDirectory directory;
        for (const bool with_key : {false, true}) {
            CAPTURE(with_key);
            const auto name = [&](const char* what) {
                return directory.path() / (what + std::to_string(with_key));
            };
            NodeOptions first = options_in(name("first"));
            first.sources.import_blocks = vectors();
            first.sources.export_blocks = name("exported");
            if (with_key) first.sources.export_key = XorKey({1, 2, 3, 4, 5, 6, 7, 8});
            CHECK(run_to_end(first) == ExitStatus::ok);
            CHECK(std::filesystem::exists(name("exported") / "xor.dat") == with_key);

            NodeOptions second = options_in(name("second"));
            second.sources.import_blocks = name("exported");
            second.sources.stop_after_import = true;
            std::string tip;
            CHECK(run_to_end(second, &tip) == ExitStatus::ok);
            CHECK(tip == kBestHash);
        }
    }

    TEST_CASE("what becomes of coins that cannot be written at the end") {
        struct Case {
            const char* name;
            StoreFaults::Point where;
            int code;
            ExitStatus status;
        };
        constexpr Case kCases[] = {
            {"full disk: nothing is lost", StoreFaults::Point::coin_put, ENOSPC, ExitStatus::ok},
            {"failed sync: the exit status tells", StoreFaults::Point::coin_sync, EIO,
             ExitStatus::write_stopped},
        };
        for (const Case& c : kCases) {
            CAPTURE(c.name);
            const test::TemporaryDirectory directory;
            NullLogger logger;
            FixedFault fault(c.where, c.code);
            {
                StopRequest stop_request;
                NodeOptions options = options_in(directory.path());
                options.sources.import_blocks = vectors();
                options.sources.stop_after_import = true;
                auto node = Node::start(options, logger, stop_request, {.coin_faults = &fault});
                REQUIRE(node);
                CHECK(stop_request.wait_until(std::chrono::steady_clock::now() + std::chrono::seconds(60)));
                CHECK((*node)->stop() == c.status);
                CHECK(fault.asked);
            }
            StopRequest stop_request;
            auto node = Node::start(options_in(directory.path()), logger, stop_request);
            REQUIRE(node);
            CHECK((*node)->chain().status().tip.hash.display_hex() == kBestHash);
            CHECK((*node)->stop() == ExitStatus::ok);
        }
    }

    TEST_CASE("a start that is asked to stop while it makes coins says that it was stopped") {
        const test::TemporaryDirectory directory;
        NullLogger logger;
        NodeOptions options = options_in(directory.path());
        options.sources.import_blocks = vectors();
        options.sources.stop_after_import = true;
        CHECK(run_to_end(options) == ExitStatus::ok);
        std::filesystem::remove_all(directory.path() / "regtest/coins");
        StopRequest stop_request;
        stop_request.request();
        const auto stopped = Node::start(options_in(directory.path()), logger, stop_request);
        REQUIRE_FALSE(stopped);
        CHECK(stopped.error().code == Errc::stopped);
        StopRequest again;
        CHECK(Node::start(options_in(directory.path()), logger, again));
    }

    TEST_CASE("work that was not done whole shows in the exit status") {
        const test::TemporaryDirectory directory;
        directory.write("full/blk00000.dat", "something that must not be overwritten");
        NodeOptions options = options_in(directory.path() / "data");
        options.sources.export_blocks = directory.path() / "full";
        CHECK(run_to_end(options) == ExitStatus::work_unfinished);
        CHECK(test::file_text(directory.path() / "full/blk00000.dat") ==
              "something that must not be overwritten");
    }
}
