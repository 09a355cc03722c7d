// SPDX-License-Identifier: MIT
#include "notify/publisher_thread.hpp"
#include "support/eventually.hpp"
#include "unit/notify/notify_fixture.hpp"

#include <doctest/doctest.h>

#include <latch>
#include <set>

using namespace blockpub;
using namespace blockpub::test;

namespace {

/// A PUB socket that refuses the frames of which the numbers are given, counted from 0 over all that are
/// tried.
class FaultySocket final : public PubSocket {
 public:
    FaultySocket(std::unique_ptr<PubSocket> inner, std::set<std::uint64_t> refused,
                 unsigned failing_opens = 0)
        : inner_(std::move(inner)), refused_(std::move(refused)), failing_opens_(failing_opens) {}
    [[nodiscard]] Result<void> open() override {
        if (opened_ && failing_opens_ > 0) {
            --failing_opens_;
            return fail(Errc::busy, "injected");
        }
        opened_ = true;
        return inner_->open();
    }
    void close(std::chrono::milliseconds linger) noexcept override { inner_->close(linger); }
    [[nodiscard]] bool is_open() const noexcept override { return inner_->is_open(); }
    [[nodiscard]] std::string bound_endpoint() const override { return inner_->bound_endpoint(); }
    [[nodiscard]] Result<void> send_frame(ByteSpan frame, bool more) override {
        return refused_.contains(tried_++) ? fail(Errc::io, "injected") : inner_->send_frame(frame, more);
    }
    [[nodiscard]] Result<void> send_frame(const SharedBytes& frame, bool more) override {
        return refused_.contains(tried_++) ? fail(Errc::io, "injected") : inner_->send_frame(frame, more);
    }
    [[nodiscard]] std::uint64_t connections() const noexcept override { return inner_->connections(); }
    void wait(std::chrono::milliseconds longest) override { inner_->wait(longest); }
    void wake() noexcept override { inner_->wake(); }

 private:
    std::unique_ptr<PubSocket> inner_;
    const std::set<std::uint64_t> refused_;
    unsigned failing_opens_;
    bool opened_ = false;
    std::uint64_t tried_ = 0;
};

std::unique_ptr<Publisher> publish_faulty(Scene& scene, PublisherOptions options,
                                          std::set<std::uint64_t> refused, unsigned failing_opens = 0) {
    auto socket = make_pub_socket({.endpoint = *parse_endpoint(options.endpoint), .high_water_mark = 0});
    REQUIRE(socket.has_value());
    auto publisher = PublisherThread::start(
        std::move(options), scene.bus, scene.reader, scene.logger,
        std::make_unique<FaultySocket>(std::move(*socket), std::move(refused), failing_opens));
    REQUIRE(publisher.has_value());
    return std::move(*publisher);
}

/// Sends several messages for each transaction, and fails or throws once behind the second of the third.
class Unsteady final : public Notifier {
 public:
    explicit Unsteady(bool throws) : throws_(throws) {}
    [[nodiscard]] std::string_view topic() const override { return "unsteady"; }
    [[nodiscard]] bool wants_block_transactions() const override { return true; }
    [[nodiscard]] Result<void> block_transaction(MessageSink& sink, EventBlock&,
                                                 std::size_t position) override {
        for (std::uint8_t part = 0; part < 4; ++part) {
            if (position == 2 && part == 2 && failures_ < 3) {
                ++failures_;
                if (throws_) throw std::runtime_error("thrown");
                return fail(Errc::io, "failed");
            }
            const std::array<std::uint8_t, 2> body{static_cast<std::uint8_t>(position), part};
            if (auto sent = sink.send(topic(), body); !sent) return sent;
        }
        return {};
    }

 private:
    const bool throws_;
    int failures_ = 0;
};

}  // namespace

TEST_SUITE("notify.publisher_failure") {
    TEST_CASE("a read that fails is tried again from the same place, for every topic, logged and counted") {
        for (const char* topic : {"hashtx", "rawtx", "rawblock"}) {
            for (const Errc code : {Errc::io, Errc::corrupt, Errc::limit}) {
                CAPTURE(topic);
                Scene scene;
                const auto publisher =
                    scene.publish(publisher_options("tcp://127.0.0.1:*", {topic, "sequence"}));
                Subscriber subscriber(publisher->status().endpoint);
                scene.join(subscriber);
                scene.reader.fail_next(code, 3);
                scene.connect(block170());
                scene.connect(made_block(1, {10}));
                std::vector<std::string> own;
                std::uint32_t sequences = 0;
                for (const Message& message : scene.messages(subscriber)) {
                    if (message.topic == topic) {
                        CHECK(message.counter == own.size());
                        own.push_back(hex_of(message.body));
                    } else {
                        CHECK(message.counter == sequences++);
                    }
                }
                CHECK(sequences == 2);
                CHECK(own.size() == (topic == std::string("rawblock") ? 2 : 3));
                CHECK(publisher->status().read_failures == 3);
                CHECK_FALSE(publisher->status().failing);
                CHECK(publisher->status().blocks_given_up == 0);
                CHECK(publisher->status().last_error.find("injected") != std::string::npos);
                CHECK(scene.logger.count("a block cannot be read, trying again") == 1);
                CHECK(scene.logger.count("going on after a failure") == 1);
            }
        }
    }

    TEST_CASE("the failure shows in the status while it lasts") {
        Scene scene;
        const auto publisher = scene.publish();
        const SharedBytes block = block170();
        scene.reader.fail_next(Errc::io, 50);
        scene.connect(block);
        CHECK(eventually([&] { return publisher->status().failing; }));
        CHECK(scene.bus.wait_until_drained(20'000));
        CHECK_FALSE(publisher->status().failing);
        CHECK(publisher->status().topics.size() == 5);
    }

    TEST_CASE(
        "a block that is gone for good is left out, with a gap of one in each counter, and the next one "
        "follows") {
        struct Case {
            const char* name;
            Errc code;
            std::uint64_t tries;
        };
        constexpr Case kCases[] = {{"pruned", Errc::unavailable, 2},
                                   {"unknown", Errc::not_found, 2},
                                   {"damaged", Errc::corrupt, 11},
                                   {"unreadable", Errc::io, 101}};
        for (const Case& c : kCases) {
            CAPTURE(c.name);
            Scene scene;
            const auto publisher = scene.publish();
            Subscriber subscriber(publisher->status().endpoint);
            scene.join(subscriber);
            const SharedBytes gone = made_block(1, {10, 10, 10});
            scene.reader.fail_always(hash_of_block(gone), c.code);
            scene.connect(gone);
            scene.connect(made_block(2, {10}));
            CHECK(outline(scene.messages(subscriber)) == Lines{"sequence 0", "hashblock 0", "hashtx 1",
                                                               "rawtx 1", "sequence 1", "hashblock 1",
                                                               "rawblock 1"});
            CHECK(publisher->status().blocks_given_up == 1);
            CHECK(publisher->status().read_failures == c.tries);
            CHECK_FALSE(publisher->status().failing);
            CHECK(scene.logger.count("its messages are left out") == 1);
        }
    }

    TEST_CASE("bytes that do not decode count as damage, and rawblock is not sent for them") {
        Scene scene;
        const auto publisher = scene.publish();
        Subscriber subscriber(publisher->status().endpoint);
        scene.join(subscriber);
        scene.connect(block170().slice(0, 400));
        scene.connect(made_block(2, {10}));
        CHECK(outline(scene.messages(subscriber)) == Lines{"sequence 0", "hashblock 0", "hashtx 1", "rawtx 1",
                                                           "sequence 1", "hashblock 1", "rawblock 1"});
        CHECK(publisher->status().blocks_given_up == 1);
    }

    TEST_CASE("a long run of blocks that are gone is two lines in the log") {
        Scene scene;
        std::latch all_announced(1);
        scene.reader.before_read([&] { all_announced.wait(); });
        const auto publisher = scene.publish();
        for (std::uint32_t i = 0; i < 100; ++i) scene.announce(made_block(i, {10}));
        scene.connect(block170());
        all_announced.count_down();
        CHECK(scene.bus.wait_until_drained(20'000));
        CHECK(publisher->status().blocks_given_up == 100);
        CHECK(scene.logger.count("error") == 2);
        CHECK(scene.logger.count("100 blocks in a row") == 1);
    }

    TEST_CASE("a reader that throws is a failed read") {
        Scene scene;
        int throws = 2;
        scene.reader.before_read([&] {
            if (throws-- > 0) throw std::bad_alloc();
        });
        const auto publisher = scene.publish();
        scene.connect(block170());
        CHECK(scene.bus.wait_until_drained(20'000));
        CHECK(publisher->status().read_failures == 2);
        CHECK(publisher->status().blocks_given_up == 0);
    }

    TEST_CASE("a notifier that fails goes on where it failed, and what it had sent is not sent again") {
        for (const bool throws : {false, true}) {
            CAPTURE(throws);
            Scene scene;
            PublisherOptions options = publisher_options("tcp://127.0.0.1:*", {"hashtx"});
            options.notifiers.insert(options.notifiers.begin() + 1, std::make_unique<Unsteady>(throws));
            const auto publisher = scene.publish(std::move(options));
            Subscriber subscriber(publisher->status().endpoint);
            scene.join(subscriber);
            scene.connect(made_block(1, {10, 10, 10, 10}));
            Lines expected;
            for (int tx = 0; tx < 4; ++tx) {
                expected.push_back("hashtx " + std::to_string(tx));
                for (int part = 0; part < 4; ++part)
                    expected.push_back("unsteady " + std::to_string(4 * tx + part));
            }
            const auto messages = scene.messages(subscriber);
            CHECK(outline(messages) == expected);
            for (const Message& message : messages) {
                if (message.topic == "unsteady")
                    CHECK(message.body[0] * 4u + message.body[1] == message.counter);
            }
            CHECK(publisher->status().notifier_failures == 3);
            CHECK(publisher->status().last_error.find("unsteady") != std::string::npos);
        }
    }

    TEST_CASE("a notifier that always fails loses its message and stops nobody") {
        class Hopeless final : public Notifier {
         public:
            [[nodiscard]] std::string_view topic() const override { return "hopeless"; }
            [[nodiscard]] Result<void> block_connected(MessageSink&, const BlockConnected&,
                                                       EventBlock&) override {
                throw 42;
            }
        };
        Scene scene;
        PublisherOptions options = publisher_options();
        options.notifiers.insert(options.notifiers.begin(), std::make_unique<Hopeless>());
        const auto publisher = scene.publish(std::move(options));
        Subscriber subscriber(publisher->status().endpoint);
        scene.join(subscriber);
        scene.connect(block170());
        CHECK(scene.messages(subscriber).size() == 7);
        CHECK(publisher->status().notifier_failures == 10);
    }

    TEST_CASE("a first frame that is refused is sent later, exactly once and in order") {
        // Probes come first and use three frames each; every third frame from there on is a topic.
        for (std::uint64_t nth = 0; nth < 7; ++nth) {
            CAPTURE(nth);
            Scene scene;
            PublisherOptions options = publisher_options();
            options.notifiers.pop_back();
            const auto publisher =
                publish_faulty(scene, std::move(options), {3 * nth, 3 * nth + 1, 3 * nth + 2});
            Subscriber subscriber(publisher->status().endpoint);
            CHECK(eventually([&] { return publisher->status().connections == 1; }));
            scene.connect(block170());
            REQUIRE(scene.bus.wait_until_drained(20'000));
            const PublisherStatus status = publisher->status();
            CHECK(status.send_failures == 3);
            std::vector<std::uint64_t> sent;
            for (const auto& topic : status.topics) sent.push_back(topic.messages);
            CHECK(sent == std::vector<std::uint64_t>{2, 2, 1, 1, 1});
            CHECK(scene.logger.count("a message cannot be sent") == 1);
            CHECK(scene.logger.count("replacing the socket") == 0);
        }
    }

    TEST_CASE(
        "a message of which a frame is refused never arrives in part: the socket is replaced at its "
        "address") {
        Scene scene;
        PublisherOptions options = publisher_options("tcp://127.0.0.1:*", {"hashblock"});
        // The body of the first probe, of a later one, and a counter. Reopening fails twice.
        const auto publisher = publish_faulty(scene, std::move(options), {1, 60, 93}, 2);
        const std::string endpoint = publisher->status().endpoint;
        Subscriber subscriber(endpoint);
        // `receive` requires three frames of every message that arrives.
        std::uint32_t expected = 0;
        bool counted = true;
        for (int i = 0; i < 60; ++i) {
            scene.bus.release_mempool(
                TransactionRemovedFromMempool{probe_txid(), MempoolSequence{scene.probe++}});
            while (const auto message = subscriber.receive(std::chrono::milliseconds(5))) {
                if (message->topic != "probe") continue;
                counted = counted && message->counter >= expected;
                expected = message->counter + 1;
            }
        }
        CHECK(counted);
        scene.join(subscriber);
        scene.connect(block170());
        CHECK(outline(scene.messages(subscriber)) == Lines{"hashblock 0"});
        CHECK(publisher->status().endpoint == endpoint);
        CHECK(publisher->status().send_failures == 3);
        CHECK(scene.logger.count("replacing the socket") == 3);
        CHECK_FALSE(publisher->status().failing);
    }
}
