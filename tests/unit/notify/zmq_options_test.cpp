// SPDX-License-Identifier: MIT
#include "notify/zmq_options.hpp"

#include "notify/zmq_publishers.hpp"
#include "unit/notify/notify_fixture.hpp"

#include <doctest/doctest.h>

#include <chrono>

using namespace blockpub;
using namespace blockpub::test;

namespace {

std::string line_of(const NotificationRow& row) {
    return row.type + " " + row.address + " " + std::to_string(row.high_water_mark) + " " +
           std::to_string(row.effective_high_water_mark);
}

Lines lines_of(const std::vector<NotificationRow>& rows) {
    Lines lines;
    for (const auto& row : rows) lines.push_back(line_of(row));
    return lines;
}

}  // namespace

TEST_SUITE("notify.zmq_options") {
    TEST_CASE(
        "topics at one endpoint share a publisher, whatever the spelling and the order of the options") {
        const std::vector<ZmqOption> options{{"zmqpubsequence", "tcp://127.0.0.1:1"},
                                             {"zmqpubrawtx", "unix:/p"},
                                             {"-zmqpubhashblock", "tcp://localhost:1"},
                                             {"zmqpubhashtx", "tcp://127.0.0.1:1"},
                                             {"zmqpubrawblock", "ipc:///p"},
                                             {"zmqpubhashtx", "ipc:///q"}};
        const auto plan = plan_publishers(options);
        REQUIRE(plan.has_value());
        REQUIRE(plan->publishers.size() == 3);
        CHECK(plan->publishers[0].endpoint.canonical() == "tcp://127.0.0.1:1");
        CHECK(plan->publishers[0].topics == Lines{"hashtx", "sequence", "hashblock"});
        CHECK(plan->publishers[1].endpoint.canonical() == "ipc:///q");
        CHECK(plan->publishers[1].topics == Lines{"hashtx"});
        CHECK(plan->publishers[2].endpoint.canonical() == "ipc:///p");
        CHECK(plan->publishers[2].topics == Lines{"rawtx", "rawblock"});
    }

    TEST_CASE("rows come by topic and then as given, with their own mark and the endpoint's") {
        const std::vector<ZmqOption> options{{"zmqpubsequence", "tcp://127.0.0.1:1"},
                                             {"zmqpubrawtx", "tcp://127.0.0.1:2"},
                                             {"zmqpubrawtxhwm", "5"},
                                             {"zmqpubrawblock", "tcp://127.0.0.1:3"},
                                             {"zmqpubhashblock", "tcp://127.0.0.1:3"},
                                             {"zmqpubhashblock", "tcp://127.0.0.1:1"},
                                             {"zmqpubhashblockhwm", "7"},
                                             {"zmqpubhashblockhwm", "2000"},
                                             {"zmqpubrawblockhwm", "0"},
                                             {"zmqpubhashtx", "unix:/p"}};
        const auto plan = plan_publishers(options);
        REQUIRE(plan.has_value());
        CHECK(lines_of(plan->rows) ==
              Lines{"pubhashblock tcp://127.0.0.1:3 2000 0", "pubhashblock tcp://127.0.0.1:1 2000 2000",
                    "pubhashtx ipc:///p 1000 1000", "pubrawblock tcp://127.0.0.1:3 0 0",
                    "pubrawtx tcp://127.0.0.1:2 5 5", "pubsequence tcp://127.0.0.1:1 1000 2000"});
    }

    TEST_CASE("a topic given twice for one address is two notifiers") {
        const std::vector<ZmqOption> options{{"zmqpubhashblock", "tcp://127.0.0.1:1"},
                                             {"zmqpubhashblock", "tcp://127.0.0.1:1"}};
        const auto plan = plan_publishers(options);
        REQUIRE(plan.has_value());
        REQUIRE(plan->publishers.size() == 1);
        CHECK(plan->publishers[0].topics == Lines{"hashblock", "hashblock"});
        CHECK(plan->rows.size() == 2);
    }

    TEST_CASE("a wrong option is named in one line") {
        struct Case {
            const char* name;
            ZmqOption option;
            const char* part;
        };
        const Case cases[] = {
            {"a misspelt topic",
             {"zmqpuawtx", "tcp://127.0.0.1:1"},
             "-zmqpuawtx=tcp://127.0.0.1:1: there is no such option"},
            {"an unknown topic",
             {"-zmqpubfoo", "tcp://127.0.0.1:1"},
             "-zmqpubfoo=tcp://127.0.0.1:1: there is no such option"},
            {"an unknown topic's mark", {"zmqpubfoohwm", "1"}, "there is no such option"},
            {"a malformed endpoint",
             {"zmqpubrawtx", "127.0.0.1"},
             "-zmqpubrawtx=127.0.0.1: endpoint '127.0.0.1': "},
            {"a negative mark", {"zmqpubrawtxhwm", "-1"}, "not a number from 0 to"},
            {"a mark too large", {"zmqpubrawtxhwm", "99999999999"}, "not a number from 0 to"},
            {"a mark in words", {"zmqpubrawtxhwm", "10k"}, "not a number from 0 to"},
            {"an empty mark", {"zmqpubrawtxhwm", ""}, "not a number from 0 to"},
        };
        for (const Case& c : cases) {
            CAPTURE(c.name);
            const auto plan = plan_publishers(std::span(&c.option, 1));
            REQUIRE_FALSE(plan.has_value());
            CHECK(plan.error().code == Errc::invalid_argument);
            CHECK_MESSAGE(plan.error().context.find(c.part) != std::string::npos, plan.error().context);
        }
    }
}

TEST_SUITE("notify.zmq_publishers") {
    TEST_CASE("what the options ask for is bound, listed and published") {
        Scene scene;
        const std::vector<ZmqOption> options{{"zmqpubhashblock", "tcp://127.0.0.1:*"},
                                             {"zmqpubrawblock", "ipc://*"}};
        auto all = ZmqPublishers::bind(options, scene.bus, scene.reader, scene.logger);
        REQUIRE_MESSAGE(all.has_value(), all.error().context);
        CHECK((*all)->rows().size() == 2);
        const auto statuses = (*all)->statuses();
        REQUIRE(statuses.size() == 2);
        CHECK(statuses[0].endpoint.starts_with("tcp://127.0.0.1:"));
        CHECK(statuses[0].endpoint.find('*') == std::string::npos);
        CHECK((*all)->exposed().empty());
        scene.connect(block170());
        CHECK(scene.bus.wait_until_drained(20'000));
        CHECK((*all)->statuses()[0].topics.at(0).messages == 1);
        CHECK((*all)->statuses()[1].topics.at(0).bytes == 490);
    }

    TEST_CASE("an endpoint that others reach is listed as exposed") {
        Scene scene;
        const std::vector<ZmqOption> options{{"zmqpubhashblock", "tcp://*:*"},
                                             {"zmqpubhashtx", "tcp://127.0.0.1:*"}};
        auto all = ZmqPublishers::bind(options, scene.bus, scene.reader, scene.logger);
        REQUIRE(all.has_value());
        REQUIRE((*all)->exposed().size() == 1);
        CHECK((*all)->exposed()[0].starts_with("tcp://0.0.0.0:"));
    }

    TEST_CASE("a busy port fails the start as a whole, in one line with option, endpoint and reason") {
        Scene scene;
        const auto holder = scene.publish();
        const std::string taken = holder->status().endpoint;
        const TempDirectory directory;
        const std::string path = "ipc://" + directory.file("s");
        const std::vector<ZmqOption> options{{"zmqpubhashblock", path}, {"zmqpubrawtx", taken}};
        auto all = ZmqPublishers::bind(options, scene.bus, scene.reader, scene.logger);
        REQUIRE_FALSE(all.has_value());
        CHECK(all.error().code == Errc::busy);
        CHECK_MESSAGE(
            all.error().context == "-zmqpubrawtx=" + taken + ": " + taken +
                                       ": Address already in use; is bitcoind, or another blockpub, using it? give "
                                       "another endpoint",
            all.error().context);
        // The first endpoint was let go.
        const std::vector<ZmqOption> again{{"zmqpubhashblock", path}};
        CHECK(ZmqPublishers::bind(again, scene.bus, scene.reader, scene.logger).has_value());
    }

    TEST_CASE("an address that is not this machine's fails the start") {
        Scene scene;
        const std::vector<ZmqOption> options{{"zmqpubhashblock", "tcp://192.0.2.1:28332"}};
        auto all = ZmqPublishers::bind(options, scene.bus, scene.reader, scene.logger);
        REQUIRE_FALSE(all.has_value());
        CHECK(all.error().code == Errc::invalid_argument);
        CHECK(all.error().context.find("-zmqpubhashblock=tcp://192.0.2.1:28332") != std::string::npos);
    }

    TEST_CASE("without options there is nothing to bind") {
        Scene scene;
        auto all = ZmqPublishers::bind({}, scene.bus, scene.reader, scene.logger);
        REQUIRE(all.has_value());
        CHECK((*all)->rows().empty());
        CHECK((*all)->statuses().empty());
    }

    TEST_CASE("several publishers end together, within one linger") {
        Scene scene;
        std::vector<ZmqOption> options(6, ZmqOption{"zmqpubrawblock", ""});
        for (auto& option : options)
            option.value = "ipc://@blockpub-test-" + std::to_string(&option - options.data()) + "-" +
                           std::to_string(getpid());
        auto all =
            ZmqPublishers::bind(options, scene.bus, scene.reader, scene.logger, std::chrono::seconds(2));
        REQUIRE_MESSAGE(all.has_value(), all.error().context);
        // Each has a subscriber that stopped reading, so that each uses its linger up.
        std::vector<std::unique_ptr<Subscriber>> stopped;
        for (const auto& status : (*all)->statuses())
            stopped.push_back(std::make_unique<Subscriber>(status.endpoint, Lines{"rawblock"}, 1));
        const auto everyone_is_there = [&] {
            for (const auto& status : (*all)->statuses()) {
                if (status.connections != 1) return false;
            }
            return true;
        };
        const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (!everyone_is_there() && std::chrono::steady_clock::now() < patience) std::this_thread::yield();
        for (std::uint32_t i = 0; i < 8; ++i) scene.connect(made_block(i, {2'000'000}));
        CHECK(scene.bus.wait_until_drained(20'000));
        const auto begin = std::chrono::steady_clock::now();
        all->reset();
        CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(6));
    }
}
