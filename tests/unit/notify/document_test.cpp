// SPDX-License-Identifier: MIT
#include "unit/notify/notify_fixture.hpp"

#include <doctest/doctest.h>

#include <map>
#include <sstream>

using namespace blockpub;
using namespace blockpub::test;

namespace {

/// The blocks of docs/zmq.md that begin with ```hex NAME: name, and one line for each frame.
std::map<std::string, Lines> examples_of(const std::string& path) {
    std::map<std::string, Lines> examples;
    std::istringstream text(read_project_file(path));
    std::string name;
    for (std::string line; std::getline(text, line);) {
        const std::string mark = "```hex ";
        if (line.starts_with(mark)) {
            name = line.substr(mark.size());
            CHECK_MESSAGE(!examples.contains(name), name);
            examples[name];
        } else if (line == "```") {
            name.clear();
        } else if (!name.empty()) {
            examples[name].push_back(line);
        }
    }
    return examples;
}

/// Whether `shown` is `hex`, where an ellipsis stands for any bytes left out.
bool shows(const std::string& shown, const std::string& hex) {
    const std::string ellipsis = "…";
    const std::size_t at = shown.find(ellipsis);
    if (at == std::string::npos) return shown == hex;
    const std::string end = shown.substr(at + ellipsis.size());
    return at > 0 && !end.empty() && hex.size() > at + end.size() && hex.starts_with(shown.substr(0, at)) &&
           hex.ends_with(end);
}

Lines frames_of(const Message& message) {
    std::array<std::uint8_t, 4> counter;
    write_le(counter.data(), message.counter);
    return {hex_of({reinterpret_cast<const std::uint8_t*>(message.topic.data()), message.topic.size()}),
            hex_of(message.body), hex_of(counter)};
}

}  // namespace

TEST_SUITE("notify.document") {
    TEST_CASE("the examples of docs/zmq.md are what the notifiers send") {
        Scene scene;
        const auto publisher = scene.publish();
        Subscriber subscriber(publisher->status().endpoint);
        scene.join(subscriber);
        const SharedBytes block = block170();
        const Txid payment = *Txid::from_display_hex(kBlock170Payment);
        scene.bus.release_mempool(
            TransactionAddedToMempool{payment, MempoolSequence{1}, block.slice(215, 275)});
        scene.bus.release_mempool(TransactionRemovedFromMempool{payment, MempoolSequence{2}});
        scene.disconnect(scene.connect(block));
        const auto messages = scene.messages(subscriber);
        REQUIRE(outline(messages) == Lines{"hashtx 0", "rawtx 0", "sequence 0", "sequence 1", "hashtx 1",
                                           "rawtx 1", "hashtx 2", "rawtx 2", "sequence 2", "hashblock 0",
                                           "rawblock 0", "hashtx 3", "rawtx 3", "hashtx 4", "rawtx 4",
                                           "sequence 3"});
        const std::map<std::string, Lines> made{
            {"hashtx", frames_of(messages[0])},     {"rawtx", frames_of(messages[1])},
            {"sequence-A", frames_of(messages[2])}, {"sequence-R", frames_of(messages[3])},
            {"sequence-C", frames_of(messages[8])}, {"sequence-D", frames_of(messages[15])},
            {"hashblock", frames_of(messages[9])},  {"rawblock", frames_of(messages[10])},
        };
        const auto shown = examples_of("docs/zmq.md");
        CHECK(shown.size() == made.size());
        for (const auto& [name, frames] : made) {
            CAPTURE(name);
            REQUIRE(shown.contains(name));
            REQUIRE(shown.at(name).size() == 3);
            for (std::size_t i = 0; i < 3; ++i) CHECK_MESSAGE(shows(shown.at(name)[i], frames[i]), frames[i]);
        }
    }

    TEST_CASE("what was on disk before the start is not announced") {
        class Log final : public EventLog {
         public:
            Result<std::vector<EventRecord>> read_events(EventIndex first, std::size_t) override {
                if (first >= 7) return std::vector<EventRecord>{};
                return std::vector<EventRecord>{{first, BlockEventKind::connected, {}, {}, Height{1}, {}}};
            }
        } log;
        Scene scene(BusOptions{.log = &log, .next_index = 7});
        const auto publisher = scene.publish();
        CHECK(publisher->status().next_index == 7);
        Subscriber subscriber(publisher->status().endpoint);
        scene.join(subscriber);
        CHECK(scene.messages(subscriber).empty());
        scene.connect(block170());
        CHECK(scene.messages(subscriber).size() == 7);
        CHECK(publisher->status().next_index == 8);
    }
}
