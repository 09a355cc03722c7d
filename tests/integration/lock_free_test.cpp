// SPDX-License-Identifier: MIT
#include "base/hex.hpp"
#include "daemon/node.hpp"
#include "daemon/options.hpp"
#include "node_parts.hpp"
#include "primitives/block.hpp"
#include "source/p2p_framing.hpp"
#include "source/p2p_messages.hpp"
#include "source/p2p_permissions.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace blockpub::test {
namespace {

std::string base64(const std::string& text) {
    static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    for (std::size_t i = 0; i < text.size(); i += 3) {
        std::uint32_t group = 0;
        for (std::size_t j = 0; j < 3; ++j)
            group = group << 8 | (i + j < text.size() ? static_cast<std::uint8_t>(text[i + j]) : 0);
        for (std::size_t j = 0; j < 4; ++j)
            out += j <= text.size() - i ? kDigits[group >> (18 - 6 * j) & 63] : '=';
    }
    return out;
}

/// The whole reply to a request on a connection of its own; empty when none comes within a minute.
std::string reply_to(std::uint16_t port, const std::string& request) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    const timeval limit{.tv_sec = 60, .tv_usec = 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    std::string reply;
    if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
        if (send(fd, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size())) {
            char buffer[65536];
            for (ssize_t got = 0; (got = recv(fd, buffer, sizeof buffer, 0)) > 0;)
                reply.append(buffer, static_cast<std::size_t>(got));
        }
    }
    close(fd);
    return reply;
}

std::string body_of(const std::string& reply) {
    const std::size_t end = reply.find("\r\n\r\n");
    return end == std::string::npos ? std::string() : reply.substr(end + 4);
}

Txid coinbase_txid(const BuiltBlock& block) {
    const auto parsed = ParsedBlock::parse(block.raw);
    REQUIRE(parsed.has_value());
    return parsed->transactions().front().txid;
}

/// The body of the reply to one JSON-RPC call.
std::string call(std::uint16_t port, const std::string& cookie, const std::string& method,
                 const std::string& params) {
    const std::string body =
        R"({"jsonrpc":"1.0","id":1,"method":")" + method + R"(","params":)" + params + "}";
    return body_of(reply_to(port, "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Basic " +
                                      base64(cookie) + "\r\nContent-Length: " + std::to_string(body.size()) +
                                      "\r\n\r\n" + body));
}

/// The result within the body of a reply, as it is spelt there; null of one that has none.
std::string result_of(const std::string& body) {
    const std::string begin = R"({"result":)";
    const std::size_t end = body.find(R"(,"error":null)");
    if (!body.starts_with(begin) || end == std::string::npos) return "null";
    return body.substr(begin.size(), end - begin.size());
}

/// A node's peer, as little of one as it takes to ask.
class Peer {
 public:
    explicit Peer(std::uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
        const timeval limit{.tv_sec = 60, .tv_usec = 0};
        setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        REQUIRE(connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
        PeerVersion version;
        version.nonce = 1;
        say("version", encode_version(version));
        say("verack");
        static_cast<void>(hear("verack"));
    }
    ~Peer() { close(fd_); }
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;

    void say(std::string_view name, ByteSpan payload = {}) {
        const auto bytes = encode_message(kMagic, name, payload);
        REQUIRE(send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size()));
    }
    /// The payload of the next message of this name. Nothing when none comes within a minute.
    [[nodiscard]] std::optional<SharedBytes> hear(std::string_view name) {
        while (true) {
            std::uint8_t byte = 0;
            if (recv(fd_, &byte, 1, 0) != 1) return std::nullopt;
            ByteSpan one(&byte, 1);
            auto message = framer_.take(one);
            REQUIRE(message.has_value());
            if (*message && (*message)->name.view() == name) return (*message)->payload;
        }
    }

 private:
    static constexpr std::uint32_t kMagic = 0xdab5bffa;  // regtest's
    const int fd_;
    MessageFramer framer_{kMagic};
};

/// All that a peer can ask for.
void check_peer(Peer& peer, const BuiltBlock& tip, const Txid& in_mempool) {
    using Hash = decltype(InventoryItem::hash);
    GetHeaders question;
    question.locator = {BlockHeader::decode(tip.raw.bytes()).previous};
    const auto headers = [&](std::string_view name) {
        peer.say(name, encode_get_headers(question));
        return peer.hear(name == "getheaders" ? "headers" : "inv");
    };
    const auto told = headers("getheaders");
    REQUIRE_MESSAGE(told.has_value(), "getheaders");
    CHECK(decode_headers(told->bytes())->front().hash() == tip.hash);
    CHECK_MESSAGE(headers("getblocks").has_value(), "getblocks");
    for (const std::uint32_t type :
         {std::uint32_t{InventoryItem::block}, InventoryItem::block | InventoryItem::witness_flag}) {
        CAPTURE(type);
        peer.say("getdata", encode_inventory({{type, Hash(tip.hash.wire_bytes())}}));
        const auto block = peer.hear("block");
        REQUIRE(block.has_value());
        CHECK(block->size() <= tip.raw.size());
    }
    peer.say("getdata", encode_inventory({{InventoryItem::transaction, Hash(in_mempool.wire_bytes())}}));
    CHECK_MESSAGE(peer.hear("tx").has_value(), "tx");
    peer.say("mempool");
    CHECK_MESSAGE(peer.hear("inv").has_value(), "mempool");
    peer.say("ping", encode_nonce(1));
    CHECK_MESSAGE(peer.hear("pong").has_value(), "ping");
}

/// Every REST path, with the status it has for the tip.
void check_rest(std::uint16_t port, const BuiltBlock& tip) {
    const std::string name = tip.hash.display_hex();
    const std::string outpoint = coinbase_txid(tip).display_hex() + "-0";
    struct Path {
        std::string target;
        const char* status;
    };
    const Path kPaths[] = {
        {"block/" + name + ".bin", "200"},
        {"block/" + name + ".hex", "200"},
        {"block/" + name + ".json", "200"},
        {"block/notxdetails/" + name + ".json", "200"},
        {"blockpart/" + name + ".bin?offset=0&size=80", "200"},
        {"headers/" + name + ".bin", "200"},
        {"headers/1/" + name + ".json", "200"},
        {"blockhashbyheight/" + std::to_string(tip.height.value) + ".hex", "200"},
        {"chaininfo.json", "200"},
        {"getutxos/" + outpoint + ".bin", "200"},
        {"getutxos/checkmempool/" + outpoint + ".json", "200"},
        {"spenttxouts/" + name + ".bin", "200"},
        {"spenttxouts/" + name + ".json", "200"},
        {"tx/" + outpoint.substr(0, 64) + ".json", "200"},
        {"mempool/info.json", "200"},
        {"mempool/contents.json", "200"},
        {"deploymentinfo.json", "200"},
        {"blockfilter/basic/" + name + ".bin", "400"},
        {"blockfilterheaders/basic/" + name + ".bin", "400"},
    };
    for (const Path& path : kPaths) {
        CAPTURE(path.target);
        const std::string reply =
            reply_to(port, "GET /rest/" + path.target + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        CHECK(reply.starts_with("HTTP/1.1 " + std::string(path.status)));
        if (path.target == "block/" + name + ".hex")
            CHECK(body_of(reply) == encode_hex(tip.raw.bytes()) + "\n");
    }
}

TEST_SUITE("integration.lock_free") {
    TEST_CASE("with the chain lock held, pending notifications arrive and queries are answered") {
        const TemporaryDirectory directory;
        std::filesystem::create_directory(directory.path() / "regtest");
        NodeOptions options = default_options(chain_params(ChainKind::regtest), directory.path());
        options.mocktime = static_cast<std::int64_t>(regtest_genesis().time) + 120'000;
        options.map_bytes = std::uint64_t{1} << 30;
        options.min_free_disk = 0;
        options.rpc.port = 0;
        options.tx_index = true;
        options.listen.endpoints = {{.host = "127.0.0.1", .port = 0, .permissions = kMempoolPermission}};
        options.rpc.bind = {"127.0.0.1"};
        options.rpc.rest = true;
        options.mempool.policy.require_standard = false;
        for (const char* topic : {"hashblock", "hashtx", "rawblock", "rawtx", "sequence"}) {
            options.zmq.push_back({.name = std::string("zmqpub") + topic, .value = "tcp://127.0.0.1:*"});
        }
        LineLogger logger;
        StopRequest stop_request;
        std::unique_ptr<FaultyReader> reader;
        NodeHooks hooks;
        hooks.wrap_publisher_reader = [&](BlockReader& behind) -> BlockReader& {
            reader = std::make_unique<FaultyReader>(behind);
            return *reader;
        };
        auto started = Node::start(options, logger, stop_request, hooks);
        REQUIRE_MESSAGE(started.has_value(), started.error().context);
        std::unique_ptr<Node> node = std::move(*started);
        REQUIRE(reader);
        std::ifstream cookie_file(options.rpc.cookie_file);
        const std::string cookie{std::istreambuf_iterator<char>(cookie_file), {}};
        REQUIRE(node->publishers().size() == 1);
        TestSubscriber subscriber(node->publishers().front().endpoint);

        BuiltBlock tip = regtest_genesis();
        std::uint64_t salt = 0;
        const auto submit_next = [&] {
            tip = child_of(tip, ++salt);
            const auto outcome = node->chain().submit_block(tip.raw);
            REQUIRE(outcome.has_value());
            REQUIRE(outcome->kind == BlockOutcome::Kind::connected);
        };
        // What the methods of the mempool tell of: a transaction that spends the first coinbase.
        submit_next();
        TransactionSpec sent = spend({.txid = tip.coinbase.txid(), .position = 0}, 49 * kCoin);
        sent.outputs.push_back({.amount = kCoin - 10'000, .script = {0x51}});
        while (tip.height.value <= 100) submit_next();
        const std::string sent_txid = '"' + sent.txid().display_hex() + '"';
        REQUIRE(
            call(node->rpc_port(), cookie, "sendrawtransaction", "[\"" + encode_hex(sent.build()) + "\"]") ==
            R"({"result":)" + sent_txid + R"(,"error":null,"id":1})" + "\n");

        // Mines until a block's last message arrives: then the subscription is in force.
        for (bool heard = false; !heard;) {
            submit_next();
            for (auto message = subscriber.receive(200); message && !heard;
                 message = subscriber.receive(60'000)) {
                heard = message->topic == "rawblock" && std::ranges::equal(message->body, tip.raw.bytes());
                if (heard) break;
            }
        }

        const std::string peer_port = result_of(call(node->rpc_port(), cookie, "getnetworkinfo", "[]"));
        const std::size_t port_at = peer_port.find(R"("port":)");
        REQUIRE(port_at != std::string::npos);
        Peer peer(static_cast<std::uint16_t>(std::stoi(peer_port.substr(port_at + 7))));

        Mutex gate;
        MutexLock held_gate(gate);
        reader->set_gate(&gate);
        const int reads = reader->reads();
        submit_next();
        // The publisher is at its reader now; nothing has been sent of what needs the block.
        while (reader->reads() == reads) std::this_thread::yield();
        CHECK_FALSE(subscriber.receive(50).has_value());

        MutexLock held_chain(node->chain().chain_lock());
        reader->set_gate(nullptr);
        held_gate.unlock();
        for (const auto& [topic, body] : connect_messages(tip)) {
            const auto message = subscriber.receive(60'000);
            REQUIRE_MESSAGE(message.has_value(), topic, " does not come while the chain lock is held");
            CHECK(message->topic == topic);
            CHECK((message->body == body));
        }
        const std::string name = '"' + tip.hash.display_hex() + '"';
        CHECK(call(node->rpc_port(), cookie, "getblockcount", "[]") ==
              R"({"result":)" + std::to_string(tip.height.value) + R"(,"error":null,"id":1})" + "\n");
        CHECK(call(node->rpc_port(), cookie, "getbestblockhash", "[]") ==
              R"({"result":)" + name + R"(,"error":null,"id":1})" + "\n");
        CHECK(call(node->rpc_port(), cookie, "getblock", "[" + name + ",0]") ==
              R"({"result":")" + encode_hex(tip.raw.bytes()) + R"(","error":null,"id":1})" + "\n");
        CHECK(call(node->rpc_port(), cookie, "getblockheader", "[" + name + ",false]") ==
              R"({"result":")" + encode_hex(tip.raw.bytes().first(80)) + R"(","error":null,"id":1})" + "\n");
        for (const char* method : {"getblockheader", "getblockhash", "getchaintips", "getblockchaininfo",
                                   "getzmqnotifications", "uptime", "help"}) {
            CAPTURE(method);
            const std::string params = std::string(method) == "getblockheader" ? "[" + name + "]"
                                       : std::string(method) == "getblockhash" ? "[0]"
                                                                               : "[]";
            CHECK(call(node->rpc_port(), cookie, method, params).contains(R"("error":null)"));
        }
        const std::string txid = '"' + coinbase_txid(tip).display_hex() + '"';
        const std::string proof =
            result_of(call(node->rpc_port(), cookie, "gettxoutproof", "[[" + txid + "]," + name + "]"));
        const std::string raw_coinbase = '"' + encode_hex(tip.raw.bytes().subspan(81)) + '"';
        const std::pair<const char*, std::string> kReads[] = {
            {"getblock", "[" + name + ",1]"},
            {"getblock", "[" + name + ",2]"},
            {"getblock", "[" + name + ",3]"},
            {"getblockstats", "[" + name + "]"},
            {"getblockstats", "[1,[\"txs\"]]"},
            {"getchaintxstats", "[1]"},
            {"getdeploymentinfo", "[]"},
            {"getdifficulty", "[]"},
            {"gettxoutproof", "[[" + txid + "]," + name + "]"},
            {"gettxoutproof", "[[" + txid + "]]"},
            {"getrawtransaction", "[" + txid + ",2," + name + "]"},
            {"getrawtransaction", "[" + txid + ",1]"},
            {"gettxout", "[" + txid + ",0]"},
            {"scantxoutset", "[\"start\",[\"raw(51)\"]]"},
            {"scantxoutset", "[\"status\"]"},
            {"verifychain", "[4,2]"},
            {"decoderawtransaction", "[" + raw_coinbase + "]"},
            {"decodescript", "[\"51\"]"},
            {"validateaddress", "[\"x\"]"},
            {"getmininginfo", "[]"},
            {"getnetworkhashps", "[]"},
            {"getprioritisedtransactions", "[]"},
            {"estimatesmartfee", "[6]"},
            {"getnetworkinfo", "[]"},
            {"getconnectioncount", "[]"},
            {"getpeerinfo", "[]"},
            {"listbanned", "[]"},
            {"getaddednodeinfo", "[]"},
            {"ping", "[]"},
            {"getnodeaddresses", "[]"},
            {"getindexinfo", "[]"},
            {"getrpcinfo", "[]"},
            {"getmemoryinfo", "[]"},
            {"logging", "[]"},
            {"waitforblockheight", "[1]"},
            {"waitforblock", "[" + name + "]"},
            {"waitfornewblock", "[1]"},
            {"gettxoutsetinfo", "[\"none\"]"},
            {"verifytxoutproof", "[" + proof + "]"},
            {"getblockpubinfo", "[]"},
            {"getmempoolinfo", "[]"},
            {"getrawmempool", "[]"},
            {"getrawmempool", "[true]"},
            {"getrawmempool", "[false,true]"},
            {"getmempoolentry", "[" + sent_txid + "]"},
            {"getmempoolancestors", "[" + sent_txid + "]"},
            {"getmempooldescendants", "[" + sent_txid + "]"},
            {"gettxspendingprevout", "[[{\"txid\":" + sent_txid + ",\"vout\":0}]]"},
            {"getrawtransaction", "[" + sent_txid + ",1]"},
        };
        for (const auto& [method, params] : kReads) {
            CAPTURE(method);
            CAPTURE(params);
            const std::string answer = call(node->rpc_port(), cookie, method, params);
            CHECK_MESSAGE(answer.contains(R"("error":null)"), answer);
        }
        check_rest(node->rpc_port(), tip);
        CHECK_MESSAGE(peer.hear("inv").has_value(), "the new block is not announced");
        check_peer(peer, tip, sent.txid());
        CHECK(node->publishers().front().read_failures == 0);
        held_chain.unlock();
        submit_next();
        CHECK(node->stop() == ExitStatus::ok);
    }
}

}  // namespace
}  // namespace blockpub::test
