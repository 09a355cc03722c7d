// SPDX-License-Identifier: MIT
#include "notify/pub_socket.hpp"
#include "support/eventually.hpp"
#include "unit/notify/notify_fixture.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

using namespace blockpub;
using namespace blockpub::test;

namespace {

std::uint16_t port_of(const std::string& endpoint) {
    return static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1)));
}

/// A TCP connection without ZeroMQ.
class PlainPeer {
 public:
    explicit PlainPeer(std::uint16_t port) : descriptor_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        connected_ = connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    }
    ~PlainPeer() { close(descriptor_); }
    PlainPeer(const PlainPeer&) = delete;
    PlainPeer& operator=(const PlainPeer&) = delete;
    [[nodiscard]] bool connected() const { return connected_; }
    void say(const std::string& text) {
        static_cast<void>(!send(descriptor_, text.data(), text.size(), MSG_NOSIGNAL));
    }
    [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
    int descriptor_;
    bool connected_ = false;
};

std::size_t open_descriptors() {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
    return count;
}

}  // namespace

TEST_SUITE("notify.publisher_peers") {
    TEST_CASE(
        "a subscriber that does not read changes nothing for one that does, and finds gaps that its counter "
        "shows") {
        Scene scene;
        PublisherOptions options = publisher_options("tcp://127.0.0.1:*", {"rawblock"});
        // Enough that what is on its way to the healthy one never reaches it: libzmq learns only now and then
        // what a peer has taken.
        options.high_water_mark = 10;
        const auto publisher = scene.publish(std::move(options));
        Subscriber healthy(publisher->status().endpoint);
        Subscriber stopped(publisher->status().endpoint, {"rawblock"}, 1);
        scene.join(healthy);
        scene.join(stopped);
        static_cast<void>(scene.messages(healthy));
        constexpr std::uint32_t kBlocks = 60;
        std::vector<BlockHash> hashes;
        for (std::uint32_t i = 0; i < kBlocks; ++i) {
            const SharedBytes block = made_block(i, {1'000'000});
            hashes.push_back(hash_of_block(block));
            scene.connect(block);
            const auto messages = scene.messages(healthy);
            REQUIRE(messages.size() == 1);
            CHECK(messages[0].counter == i);
            CHECK(hash_header(messages[0].body) == hashes.back());
        }
        // The stopped one reads now: whole messages, in order, and fewer than were sent.
        std::uint32_t received = 0;
        std::uint32_t skipped = 0;
        std::uint32_t next = 0;
        while (const auto message = stopped.receive(std::chrono::milliseconds(500))) {
            if (message->topic == "probe") continue;
            REQUIRE(message->counter >= next);
            skipped += message->counter - next;
            next = message->counter + 1;
            ++received;
            CHECK(message->body.size() == made_block(0, {1'000'000}).size());
            CHECK(hash_header(message->body) == hashes[message->counter]);
        }
        CHECK(received >= 3);
        CHECK(received < kBlocks);
        CHECK(received + skipped == next);
        CHECK(publisher->status().send_failures == 0);
    }

    TEST_CASE("without a high water mark nothing is dropped on our side") {
        Scene scene;
        PublisherOptions options = publisher_options("tcp://127.0.0.1:*", {"hashtx"});
        options.high_water_mark = 0;
        const auto publisher = scene.publish(std::move(options));
        Subscriber subscriber(publisher->status().endpoint);
        scene.join(subscriber);
        for (std::uint32_t i = 0; i < 4; ++i) scene.connect(made_block(i, std::vector<std::size_t>(5000, 5)));
        std::uint32_t next = 0;
        for (const Message& message : scene.messages(subscriber)) CHECK(message.counter == next++);
        CHECK(next == 20'000);
    }

    TEST_CASE(
        "a block of 4 MB waits whole for a stopped subscriber, and its bytes come back when that one is "
        "gone") {
        Scene scene;
        const SharedBytes block = made_block(1, std::vector<std::size_t>(4, 995'000));
        const auto publisher = scene.publish(publisher_options("tcp://127.0.0.1:*", {"rawtx", "rawblock"}));
        SUBCASE("it reads in the end") {
            Subscriber stopped(publisher->status().endpoint, {""}, 1);
            scene.join(stopped);
            scene.connect(block);
            CHECK(scene.bus.wait_until_drained(20'000));
            scene.reader.erase(hash_of_block(block));
            CHECK(block.use_count() > 1);
            std::vector<Message> messages;
            while (messages.size() < 5) {
                auto message = stopped.receive(std::chrono::seconds(20));
                REQUIRE(message.has_value());
                if (message->topic != "probe") messages.push_back(std::move(*message));
            }
            REQUIRE(messages[4].topic == "rawblock");
            CHECK(ByteSpan(messages[4].body).size() == block.size());
            CHECK(std::ranges::equal(messages[4].body, block.bytes()));
        }
        SUBCASE("it goes without reading") {
            Subscriber stopped(publisher->status().endpoint, {""}, 1);
            scene.join(stopped);
            scene.connect(block);
            CHECK(scene.bus.wait_until_drained(20'000));
            scene.reader.erase(hash_of_block(block));
            CHECK(block.use_count() > 1);
        }
        CHECK(eventually([&] { return block.use_count() == 1; }));
        CHECK(publisher->status().send_failures == 0);
    }

    TEST_CASE("thousands of peers that say nothing or nonsense leave neither descriptors nor a trace") {
        Scene scene;
        const auto publisher = scene.publish(publisher_options("tcp://127.0.0.1:*", {"hashblock"}));
        const std::uint16_t port = port_of(publisher->status().endpoint);
        Subscriber subscriber(publisher->status().endpoint);
        scene.join(subscriber);
        const std::size_t before = open_descriptors();
        std::string greeting("\xff\0\0\0\0\0\0\0\1\x7f\3\0BOGUS", 17);
        greeting.resize(64);
        const std::array<std::string, 5> words{"", "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
                                               greeting.substr(0, 11), greeting,
                                               std::string(100'000, '\xff')};
        for (int i = 0; i < 1500; ++i) {
            PlainPeer peer(port);
            REQUIRE(peer.connected());
            peer.say(words[static_cast<std::size_t>(i) % words.size()]);
        }
        CHECK(eventually([&] { return publisher->status().connections == 1; }));
        CHECK(eventually([&] { return open_descriptors() <= before; }));
        scene.connect(block170());
        CHECK(outline(scene.messages(subscriber)) == Lines{"hashblock 0"});
    }

    TEST_CASE("subscribers that come and go are counted and disturb nobody") {
        Scene scene;
        const auto publisher = scene.publish(publisher_options("tcp://127.0.0.1:*", {"hashblock"}));
        const std::string endpoint = publisher->status().endpoint;
        Subscriber subscriber(endpoint);
        scene.join(subscriber);
        std::atomic<bool> done{false};
        std::vector<std::jthread> churn;
        for (int t = 0; t < 3; ++t) {
            churn.emplace_back([&, t] {
                for (int i = 0; i < 40; ++i) {
                    zmq::context_t context;
                    // Among them sockets that a publisher does not serve.
                    zmq::socket_t socket(context, i % 4 == t ? zmq::socket_type::req : zmq::socket_type::sub);
                    socket.set(zmq::sockopt::linger, 0);
                    if (i % 4 != t) socket.set(zmq::sockopt::subscribe, "hash");
                    socket.connect(endpoint);
                }
                done.store(true);
            });
        }
        std::uint32_t sent = 0;
        while (!done.load()) {
            scene.connect(made_block(sent, {}));
            REQUIRE(outline(scene.messages(subscriber)) == Lines{"hashblock " + std::to_string(sent)});
            ++sent;
        }
        churn.clear();
        CHECK(eventually([&] { return publisher->status().connections == 1; }));
    }

    TEST_CASE("a peer that sends more than a subscription needs is cut, and large messages still go out") {
        Scene scene;
        const auto publisher = scene.publish(publisher_options("tcp://127.0.0.1:*", {"rawblock"}));
        Subscriber healthy(publisher->status().endpoint);
        scene.join(healthy);
        {
            Subscriber greedy(publisher->status().endpoint,
                              {std::string(static_cast<std::size_t>(kLargestPeerMessage) + 1, 'x')});
            // It is cut, comes again, and is cut again: it never gets as far as its second subscription.
            for (int i = 0; i < 20; ++i) {
                scene.bus.release_mempool(
                    TransactionRemovedFromMempool{probe_txid(), MempoolSequence{scene.probe++}});
                CHECK_FALSE(greedy.receive(std::chrono::milliseconds(5)).has_value());
            }
        }
        scene.connect(made_block(1, {3'900'000}));
        const auto messages = scene.messages(healthy);
        REQUIRE(messages.size() == 1);
        CHECK(messages[0].body.size() > 3'900'000);
    }

    TEST_CASE("IPv6 endpoints and interfaces are bound") {
        for (const char* endpoint : {"tcp://[::1]:*", "tcp://lo:*", "tcp://localhost:*"}) {
            CAPTURE(endpoint);
            Scene scene;
            auto publisher =
                Publisher::bind(publisher_options(endpoint), scene.bus, scene.reader, scene.logger);
            if (!publisher && std::string(endpoint).find('[') != std::string::npos) {
                MESSAGE("no IPv6 here: " << publisher.error().context);
                continue;
            }
            REQUIRE(publisher.has_value());
            Subscriber subscriber((*publisher)->status().endpoint);
            scene.join(subscriber);
            scene.connect(block170());
            CHECK(scene.messages(subscriber).size() == 7);
        }
    }

    TEST_CASE("publishers, subscribers, states and releases go together") {
        Scene scene;
        std::vector<std::unique_ptr<Publisher>> publishers;
        for (int i = 0; i < 3; ++i) {
            PublisherOptions options = publisher_options();
            options.high_water_mark = 0;
            publishers.push_back(scene.publish(std::move(options)));
        }
        std::atomic<bool> done{false};
        std::vector<std::jthread> readers;
        for (int i = 0; i < 2; ++i) {
            readers.emplace_back([&] {
                while (!done.load()) {
                    for (const auto& publisher : publishers) static_cast<void>(publisher->status());
                }
            });
        }
        std::vector<std::unique_ptr<Subscriber>> subscribers;
        for (const auto& publisher : publishers) {
            subscribers.push_back(std::make_unique<Subscriber>(publisher->status().endpoint));
            scene.join(*subscribers.back());
        }
        for (auto& subscriber : subscribers) static_cast<void>(scene.messages(*subscriber));
        constexpr std::size_t kBlocks = 30;
        for (std::uint32_t i = 0; i < kBlocks; ++i) {
            scene.connect(made_block(i, {30, 20'000, 300}));
            scene.bus.release_mempool(TransactionAddedToMempool{
                Txid(hash_of_block(block170()).wire_bytes()), MempoolSequence{i}, block170().slice(81, 134)});
        }
        const std::uint64_t last = scene.probe++;
        scene.bus.release_mempool(TransactionRemovedFromMempool{probe_txid(), MempoolSequence{last}});
        Lines first;
        for (auto& subscriber : subscribers) {
            const Lines lines = outline(subscriber->until_probe(last));
            CHECK(lines.size() == kBlocks * (3 * 2 + 3 + 3));
            if (first.empty()) first = lines;
            CHECK(lines == first);
        }
        done.store(true);
        readers.clear();
        publishers.clear();
    }
}
