// SPDX-License-Identifier: MIT
#include "primitives/block.hpp"
#include "primitives/chain_params.hpp"
#include "primitives/sha256.hpp"
#include "unit/notify/notify_fixture.hpp"

#include <doctest/doctest.h>

#include <sstream>
#include <unordered_map>

using namespace blockpub;
using namespace blockpub::test;

namespace {

/// A message as the recorded frames condense it: long bodies are given by size and hash.
std::string condensed(const Message& message) {
    std::ostringstream line;
    line << "[\"" << message.topic << "\"," << message.counter << ",";
    if (message.body.size() <= 41) {
        line << "\"" << hex_of(message.body) << "\"]";
    } else {
        line << message.body.size() << ",\"" << hex_of(sha256(message.body)) << "\"]";
    }
    return line.str();
}

Lines lines_of_file(const std::string& path) {
    std::istringstream text(read_project_file(path));
    Lines lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
}

std::string text_of(const std::string& line, const std::string& key) {
    const std::string mark = "\"" + key + "\":\"";
    const std::size_t begin = line.find(mark);
    if (begin == std::string::npos) return {};
    return line.substr(begin + mark.size(), line.find('"', begin + mark.size()) - begin - mark.size());
}

/// The events behind recorded frames: a record for each C and D of `sequence`, closed by a step end where a
/// hashblock follows; a mempool event for each A and R.
struct Script {
    std::vector<std::variant<EventRecord, TransactionAddedToMempool, TransactionRemovedFromMempool>> events;

    void add(const std::string& line, const std::unordered_map<Txid, SharedBytes>& transactions) {
        if (line.starts_with("[\"hashblock\"")) {
            auto* record = std::get_if<EventRecord>(&events.back());
            REQUIRE(record != nullptr);
            record->step_end = EventRecord::StepEnd{BlockHash{}, Height{0}, false};
            return;
        }
        if (!line.starts_with("[\"sequence\"")) return;
        const std::string body = line.substr(line.rfind(",\"") + 2, line.size() - line.rfind(",\"") - 4);
        const auto hash = BlockHash::from_display_hex(body.substr(0, 64));
        REQUIRE(hash.has_value());
        const std::string letter = body.substr(64, 2);
        if (letter == "43" || letter == "44") {
            const auto kind = letter == "43" ? BlockEventKind::connected : BlockEventKind::disconnected;
            events.emplace_back(EventRecord{index++, kind, *hash, {}, Height{1}, std::nullopt});
            return;
        }
        const auto number = decode_hex(body.substr(66));
        REQUIRE((number && number->size() == 8));
        const MempoolSequence sequence{read_le<std::uint64_t>(number->data())};
        const Txid txid(hash->wire_bytes());
        if (letter == "41") {
            REQUIRE(transactions.contains(txid));
            events.emplace_back(TransactionAddedToMempool{txid, sequence, transactions.at(txid)});
        } else {
            REQUIRE(letter == "52");
            events.emplace_back(TransactionRemovedFromMempool{txid, sequence});
        }
    }

    EventIndex index = 0;
};

/// Feeds the events behind a recording to a publisher and compares all frames with it.
void replay(const std::string& blocks_file, const std::string& frames_file) {
    Scene scene;
    std::unordered_map<Txid, SharedBytes> transactions;
    const ChainParams& params = chain_params(ChainKind::regtest);
    const SharedBytes genesis = SharedBytes::copy_of(params.genesis);
    std::vector<SharedBytes> blocks{genesis};
    for (const std::string& line : lines_of_file(blocks_file)) {
        // Among refused blocks there is one that is not even hexadecimal.
        const auto bytes = decode_hex(text_of(line, "hex"));
        if (bytes && bytes->size() > BlockHeader::kSize) blocks.push_back(SharedBytes::copy_of(*bytes));
    }
    for (const SharedBytes& block : blocks) {
        scene.reader.put(block);
        const auto parsed = ParsedBlock::parse(block);
        if (!parsed) continue;  // a recording may hold blocks that no node decodes
        for (std::size_t i = 0; i < parsed->transactions().size(); ++i) {
            transactions[parsed->transactions()[i].txid] = parsed->raw_transaction(i);
        }
    }
    Script script;
    script.events.emplace_back(EventRecord{script.index++,
                                           BlockEventKind::connected,
                                           hash_of_block(genesis),
                                           {},
                                           Height{0},
                                           EventRecord::StepEnd{{}, Height{0}, true}});
    const Lines frames = lines_of_file(frames_file);
    for (const std::string& line : frames) script.add(line, transactions);

    PublisherOptions options = publisher_options();
    options.high_water_mark = 0;
    const auto publisher = scene.publish(std::move(options));
    Subscriber subscriber(publisher->status().endpoint);
    scene.join(subscriber);
    struct Release {
        Bus& bus;
        void operator()(const EventRecord& record) const { bus.release_blocks(std::span(&record, 1)); }
        void operator()(const TransactionAddedToMempool& event) const { bus.release_mempool(event); }
        void operator()(const TransactionRemovedFromMempool& event) const { bus.release_mempool(event); }
    };
    for (const auto& event : script.events) std::visit(Release{scene.bus}, event);

    const auto messages = scene.messages(subscriber);
    // Genesis was told before the recording began.
    REQUIRE(messages.size() == frames.size() + 3);
    for (std::size_t i = 0; i < frames.size(); ++i) {
        CAPTURE(i);
        CHECK(condensed(messages[i + 3]) == frames[i]);
    }
}

}  // namespace

TEST_SUITE("notify.vectors") {
    TEST_CASE("the events of a recorded regtest chain give every frame that bitcoind sent") {
        replay("tests/vectors/chain-a.jsonl", "tests/vectors/chain-a-zmq.jsonl");
    }

    TEST_CASE("the events of a chain with refused blocks give every frame that bitcoind sent") {
        replay("tests/vectors/reject.jsonl", "tests/vectors/reject-zmq.jsonl");
    }
}
