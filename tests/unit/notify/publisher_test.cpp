// SPDX-License-Identifier: MIT
#include "notify/publisher_thread.hpp"
#include "unit/notify/notify_fixture.hpp"

#include <doctest/doctest.h>

#include <latch>

using namespace blockpub;
using namespace blockpub::test;

namespace {

std::uint64_t messages_of(const PublisherStatus& status, const std::string& topic) {
    for (const auto& row : status.topics) {
        if (row.topic == topic) return row.messages;
    }
    return 0;
}

}  // namespace

TEST_SUITE("notify.publisher") {
    TEST_CASE("block 170 gives Core's frames of every topic, in Core's order") {
        Scene scene;
        const auto publisher = scene.publish();
        Subscriber subscriber(publisher->status().endpoint);
        scene.join(subscriber);
        const SharedBytes block = block170();
        const EventRecord record = scene.connect(block);
        scene.disconnect(record);
        const auto messages = scene.messages(subscriber);
        REQUIRE(outline(messages) == Lines{"hashtx 0", "rawtx 0", "hashtx 1", "rawtx 1", "sequence 0",
                                           "hashblock 0", "rawblock 0", "hashtx 2", "rawtx 2", "hashtx 3",
                                           "rawtx 3", "sequence 1"});
        CHECK(hex_of(messages[0].body) == kBlock170Coinbase);
        CHECK(hex_of(messages[2].body) == kBlock170Payment);
        CHECK(hex_of(messages[1].body) + hex_of(messages[3].body) == hex_of(block.bytes().subspan(81)));
        CHECK(hex_of(messages[4].body) == std::string(kBlock170Hash) + "43");
        CHECK(hex_of(messages[5].body) == kBlock170Hash);
        CHECK(hex_of(messages[6].body) == hex_of(block.bytes()));
        CHECK(hex_of(messages[7].body) == kBlock170Coinbase);
        CHECK(hex_of(messages[11].body) == std::string(kBlock170Hash) + "44");
    }

    TEST_CASE("a hashblock body is the reversed double SHA-256 of the first 80 bytes of rawblock") {
        Scene scene;
        const auto publisher =
            scene.publish(publisher_options("tcp://127.0.0.1:*", {"hashblock", "rawblock"}));
        Subscriber subscriber(publisher->status().endpoint);
        scene.join(subscriber);
        scene.connect(block170());
        const auto messages = scene.messages(subscriber);
        REQUIRE(messages.size() == 2);
        const BlockHash hash = hash_header(ByteSpan(messages[1].body).first(80));
        CHECK(hex_of(messages[0].body) == hash.display_hex());
        CHECK(hex_of(messages[0].body) != hex_of(hash.wire_bytes()));
    }

    TEST_CASE("mempool events give hashtx, rawtx and sequence A, and sequence R alone") {
        Scene scene;
        const auto publisher = scene.publish();
        Subscriber subscriber(publisher->status().endpoint);
        scene.join(subscriber);
        const SharedBytes raw = block170().slice(81, 134);
        const Txid txid = *Txid::from_display_hex(kBlock170Coinbase);
        scene.bus.release_mempool(TransactionAddedToMempool{txid, MempoolSequence{0x0102030405060708}, raw});
        scene.bus.release_mempool(TransactionRemovedFromMempool{txid, MempoolSequence{7}});
        const auto messages = scene.messages(subscriber);
        REQUIRE(outline(messages) == Lines{"hashtx 0", "rawtx 0", "sequence 0", "sequence 1"});
        CHECK(hex_of(messages[0].body) == kBlock170Coinbase);
        CHECK(hex_of(messages[1].body) == hex_of(raw.bytes()));
        CHECK(hex_of(messages[2].body) == std::string(kBlock170Coinbase) + "41" + "0807060504030201");
        CHECK(hex_of(messages[3].body) == std::string(kBlock170Coinbase) + "52" + "0700000000000000");
    }

    TEST_CASE("in initial download hashblock and rawblock are silent, the others are not") {
        Scene scene;
        const auto publisher = scene.publish();
        Subscriber subscriber(publisher->status().endpoint);
        scene.join(subscriber);
        scene.connect(made_block(1, {10}), true);
        scene.connect(made_block(2, {10}), false);
        CHECK(outline(scene.messages(subscriber)) == Lines{"hashtx 0", "rawtx 0", "sequence 0", "hashtx 1",
                                                           "rawtx 1", "sequence 1", "hashblock 0",
                                                           "rawblock 0"});
    }

    TEST_CASE("a reorganization tells each block on sequence and only the new tip on hashblock") {
        Scene scene;
        const SharedBytes a1 = made_block(1, {10});
        const SharedBytes b1 = made_block(2, {10});
        const SharedBytes b2 = made_block(3, {10});
        for (const auto& block : {a1, b1, b2}) scene.reader.put(block);
        const auto publisher =
            scene.publish(publisher_options("tcp://127.0.0.1:*", {"sequence", "hashblock"}));
        Subscriber subscriber(publisher->status().endpoint);
        scene.join(subscriber);
        const BlockHash root = hash_of_block(made_block(9, {}));
        const EventRecord::StepEnd end{root, Height{7}, false};
        const auto record = [](EventIndex index, BlockEventKind kind, const SharedBytes& block,
                               std::uint32_t height) {
            return EventRecord{index, kind, hash_of_block(block), {}, Height{height}, std::nullopt};
        };
        std::vector<EventRecord> records{record(0, BlockEventKind::disconnected, a1, 8),
                                         record(1, BlockEventKind::connected, b1, 8),
                                         record(2, BlockEventKind::connected, b2, 9)};
        records[2].step_end = end;
        scene.bus.release_blocks(records);
        const auto messages = scene.messages(subscriber);
        REQUIRE(outline(messages) == Lines{"sequence 0", "sequence 1", "sequence 2", "hashblock 0"});
        CHECK(hex_of(messages[0].body) == hash_of_block(a1).display_hex() + "44");
        CHECK(hex_of(messages[1].body) == hash_of_block(b1).display_hex() + "43");
        CHECK(hex_of(messages[2].body) == hash_of_block(b2).display_hex() + "43");
        CHECK(hex_of(messages[3].body) == hash_of_block(b2).display_hex());
    }

    TEST_CASE("a topic given twice is sent twice, each with a counter of its own") {
        Scene scene;
        const auto publisher = scene.publish(
            publisher_options("tcp://127.0.0.1:*", {"hashtx", "hashtx", "hashblock", "hashblock"}));
        Subscriber subscriber(publisher->status().endpoint);
        scene.join(subscriber);
        scene.connect(made_block(1, {10, 10}));
        CHECK(outline(scene.messages(subscriber)) ==
              Lines{"hashtx 0", "hashtx 0", "hashtx 1", "hashtx 1", "hashblock 0", "hashblock 0"});
    }

    TEST_CASE("a block is read once for all topics, and not at all where only hashes of blocks are sent") {
        Scene scene;
        SUBCASE("all topics") {
            const auto publisher = scene.publish();
            scene.connect(block170());
            REQUIRE(scene.bus.wait_until_drained(20'000));
            CHECK(messages_of(publisher->status(), "rawblock") == 1);
            CHECK(scene.reader.reads() == 1);
        }
        SUBCASE("hashblock and sequence") {
            const auto publisher =
                scene.publish(publisher_options("tcp://127.0.0.1:*", {"sequence", "hashblock"}));
            const EventRecord record = scene.connect(block170());
            scene.disconnect(record);
            REQUIRE(scene.bus.wait_until_drained(20'000));
            CHECK(messages_of(publisher->status(), "sequence") == 2);
            CHECK(scene.reader.reads() == 0);
        }
    }

    TEST_CASE("the bytes of a block are given back once it is sent") {
        Scene scene;
        const SharedBytes block = made_block(1, std::vector<std::size_t>(3, 100'000));
        const long before = block.use_count();
        auto publisher = scene.publish();
        Subscriber subscriber(publisher->status().endpoint);
        scene.join(subscriber);
        scene.connect(block);
        CHECK(scene.messages(subscriber).size() == 9);
        scene.reader.erase(hash_of_block(block));
        publisher.reset();
        CHECK(block.use_count() == before);
    }

    TEST_CASE("counters wrap from 0xffffffff to 0") {
        Scene scene;
        auto endpoint = parse_endpoint("tcp://127.0.0.1:*");
        auto socket = make_pub_socket({.endpoint = *endpoint});
        REQUIRE(socket.has_value());
        auto publisher =
            PublisherThread::start(publisher_options("tcp://127.0.0.1:*", {"hashblock"}), scene.bus,
                                   scene.reader, scene.logger, std::move(*socket), 0xffffffff);
        REQUIRE(publisher.has_value());
        Subscriber subscriber((*publisher)->status().endpoint);
        scene.join(subscriber);
        for (std::uint32_t i = 0; i < 3; ++i) scene.connect(made_block(i, {}));
        CHECK(outline(scene.messages(subscriber)) ==
              Lines{"hashblock 4294967295", "hashblock 0", "hashblock 1"});
    }

    TEST_CASE("counters begin again at 0 with a new publisher") {
        Scene scene;
        for (int run = 0; run < 2; ++run) {
            const auto publisher = scene.publish(publisher_options("tcp://127.0.0.1:*", {"hashblock"}));
            Subscriber subscriber(publisher->status().endpoint);
            scene.join(subscriber);
            scene.connect(made_block(static_cast<std::uint32_t>(run), {}));
            CHECK(outline(scene.messages(subscriber)) == Lines{"hashblock 0"});
        }
    }

    TEST_CASE("a publisher far behind goes on from the log and tells every block and every tip") {
        class Log final : public EventLog {
         public:
            std::vector<EventRecord> records;
            Result<std::vector<EventRecord>> read_events(EventIndex first, std::size_t limit) override {
                const auto begin = records.begin() +
                                   static_cast<std::ptrdiff_t>(std::min<std::size_t>(first, records.size()));
                const auto count =
                    std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(limit), records.end() - begin);
                return std::vector<EventRecord>(begin, begin + count);
            }
        } log;
        Scene scene(BusOptions{.memory_limit = 1, .log = &log});
        std::vector<SharedBytes> blocks;
        for (std::uint32_t i = 0; i < 40; ++i) blocks.push_back(made_block(i, {20}));
        BlockHash previous;
        for (std::uint32_t i = 0; i < 40; ++i) {
            scene.reader.put(blocks[i]);
            log.records.push_back(EventRecord{i, BlockEventKind::connected, hash_of_block(blocks[i]),
                                              previous, Height{i},
                                              EventRecord::StepEnd{previous, Height{0}, false}});
            previous = hash_of_block(blocks[i]);
        }
        std::latch go(1);
        scene.reader.before_read([&] { go.wait(); });
        PublisherOptions options = publisher_options();
        options.notifiers.pop_back();  // with so little memory no probe would ever arrive
        const auto publisher = scene.publish(std::move(options));
        for (const EventRecord& record : log.records) scene.bus.release_blocks(std::span(&record, 1));
        CHECK(scene.bus.memory_used() == 0);
        go.count_down();
        REQUIRE(scene.bus.wait_until_drained(20'000));
        for (const char* topic : {"hashtx", "rawtx", "sequence", "hashblock", "rawblock"}) {
            CHECK(messages_of(publisher->status(), topic) == 40);
        }
        CHECK(publisher->status().next_index == 40);
    }

    TEST_CASE("the status tells what was sent") {
        Scene scene;
        const auto publisher = scene.publish();
        Subscriber subscriber(publisher->status().endpoint);
        scene.join(subscriber);
        scene.connect(block170());
        static_cast<void>(scene.messages(subscriber));
        const PublisherStatus status = publisher->status();
        CHECK(status.endpoint.starts_with("tcp://127.0.0.1:"));
        CHECK(status.next_index == 1);
        CHECK(status.connections == 1);
        CHECK_FALSE(status.failing);
        CHECK(status.last_error.empty());
        CHECK(status.read_failures + status.send_failures + status.notifier_failures +
                  status.blocks_given_up ==
              0);
        REQUIRE(status.topics.size() == 6);
        CHECK(status.topics[0].topic == "hashtx");
        CHECK(status.topics[0].messages == 2);
        CHECK(status.topics[0].bytes == 64);
        CHECK(status.topics[1].bytes == 409);
        CHECK(status.topics[4].topic == "rawblock");
        CHECK(status.topics[4].bytes == 490);
    }

    TEST_CASE("stop sends what was released before it") {
        Scene scene;
        PublisherOptions options = publisher_options();
        options.linger = std::chrono::seconds(10);
        const auto publisher = scene.publish(std::move(options));
        Subscriber subscriber(publisher->status().endpoint);
        scene.join(subscriber);
        for (std::uint32_t i = 0; i < 50; ++i) scene.connect(made_block(i, {1000, 1000}));
        const std::uint64_t last = scene.probe++;
        scene.bus.release_mempool(TransactionRemovedFromMempool{probe_txid(), MempoolSequence{last}});
        publisher->stop();
        CHECK(subscriber.until_probe(last).size() == 50 * 7);
    }

    TEST_CASE("stop is quick when nothing can be sent or read") {
        Scene scene;
        PublisherOptions options = publisher_options();
        options.linger = std::chrono::milliseconds(100);
        const auto publisher = scene.publish(std::move(options));
        const SharedBytes block = block170();
        scene.reader.put(block);
        scene.reader.fail_always(hash_of_block(block), Errc::io);
        scene.announce(block);
        const auto begin = std::chrono::steady_clock::now();
        publisher->stop();
        publisher->stop();
        CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
    }

    TEST_CASE("a malformed endpoint or mark is refused before anything is bound") {
        Scene scene;
        for (const char* endpoint :
             {"tcp://127.0.0.1::28332", "127.0.0.1", "tcp:127.0.0.1:28332", "foo:///p"}) {
            auto publisher =
                Publisher::bind(publisher_options(endpoint), scene.bus, scene.reader, scene.logger);
            REQUIRE_FALSE(publisher.has_value());
            CHECK(publisher.error().code == Errc::invalid_argument);
            CHECK(publisher.error().context.find(endpoint) != std::string::npos);
        }
        PublisherOptions options = publisher_options();
        options.high_water_mark = -1;
        CHECK(Publisher::bind(std::move(options), scene.bus, scene.reader, scene.logger).error().code ==
              Errc::invalid_argument);
        CHECK(make_core_notifier("chain").error().code == Errc::not_found);
    }
}
