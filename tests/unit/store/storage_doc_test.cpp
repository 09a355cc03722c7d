// SPDX-License-Identifier: MIT
#include "base/hex.hpp"
#include "store/lmdb.hpp"
#include "store/records.hpp"
#include "unit/store/store_fixture.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>

// docs/storage.md shows each record as bytes. Here they are encoded again, and the document is held to that.

using namespace blockpub;
using namespace blockpub::test;

TEST_SUITE_BEGIN("store.storage_doc");

namespace {

/// Digits of the blocks that begin with "```hex <name>"; what follows a # in a line is a remark.
std::map<std::string, std::string> examples_of(const std::filesystem::path& document) {
    std::ifstream in(document);
    REQUIRE(in.is_open());
    std::map<std::string, std::string> examples;
    std::string* current = nullptr;
    for (std::string line; std::getline(in, line);) {
        constexpr std::string_view kFence = "```hex ";
        if (line.starts_with(kFence)) {
            const auto [place, is_new] = examples.try_emplace(line.substr(kFence.size()));
            CAPTURE(line);
            REQUIRE(is_new);
            current = &place->second;
        } else if (line.starts_with("```")) {
            current = nullptr;
        } else if (current != nullptr) {
            std::istringstream words(line.substr(0, line.find('#')));
            for (std::string word; words >> word;) *current += word;
        }
    }
    return examples;
}

BlockHash block_hash(const char* display_hex) {
    return BlockHash::from_display_hex(display_hex).value();
}

const BlockHash kBlock170 = block_hash("00000000d1145790a8694403d4063f323d499e655c83426834d4ce2f8dd4a2ee");
const BlockHash kBlock169 = block_hash("000000002a22cfee1f2c846adbd12b3e183d4f97683f85dad08a79780a84bd55");
const BlockHash kMainGenesis = block_hash("000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f");

HeaderRecord header_example() {
    HeaderRecord record;
    REQUIRE(decode_hex_to(
        "0100000055bd840a78798ad0da853f68974f3d183e2bd1db6a842c1feecf222a00000000ff104ccb05421ab93e63f8c3"
        "ce5c2c2e9dbb37de2764b3a3175c8166562cac7d51b96a49ffff001d283e9e70",
        record.header));
    record.height = {170};
    // 171 blocks of the work of genesis each.
    REQUIRE(
        decode_hex_to("000000000000000000000000000000000000000000000000000000ab00ab00ab", record.chainwork));
    record.status = HeaderRecord::kConnected | HeaderRecord::kHasChain;
    record.arrival = 171;
    record.tx_count = 2;
    record.chain_tx_count = 172;
    record.block = BlobPlace{0, 340, 490};
    record.undo = BlobPlace{0, 341, 77};
    return record;
}

EventRecord usual_step() {
    EventRecord record;
    record.index = 170;
    record.hash = kBlock170;
    record.previous_hash = kBlock169;
    record.height = {170};
    record.step_end = {kBlock169, {169}, true};
    return record;
}

EventRecord end_of_reorganization() {
    EventRecord record = usual_step();
    record.step_end = {kMainGenesis, {0}, false};
    return record;
}

template <class Bytes>
std::string hex_of(const Bytes& bytes) {
    return encode_hex(bytes);
}

}  // namespace

TEST_CASE("the examples of docs/storage.md are what the store writes") {
    auto examples = examples_of(std::filesystem::path(BLOCKPUB_SOURCE_ROOT) / "docs" / "storage.md");
    EventRecord disconnected = usual_step();
    disconnected.kind = BlockEventKind::disconnected;
    disconnected.step_end.reset();
    EventRecord pruned = disconnected;
    pruned.kind = BlockEventKind::pruned;
    pruned.previous_hash = BlockHash();
    const std::map<std::string, std::string> expected = {
        {"blob-key", hex_of(encode_index_key(340))},
        {"header-key", hex_of(kBlock170.wire_bytes())},
        {"header-record", hex_of(encode_header_record(header_example()))},
        {"active-key", hex_of(encode_height_key({170}))},
        {"active-record", hex_of(kBlock170.wire_bytes())},
        {"tips-key", hex_of(kBlock170.wire_bytes())},
        {"event-key", hex_of(encode_index_key(170))},
        {"event-record", hex_of(encode_event_record(usual_step()))},
        {"event-record-fork", hex_of(encode_event_record(end_of_reorganization()))},
        {"event-record-disconnected", hex_of(encode_event_record(disconnected))},
        {"event-record-pruned", hex_of(encode_event_record(pruned))},
        {"meta-schema-key", hex_of(lmdb::as_bytes(kMetaSchema))},
        {"meta-schema", hex_of(encode_schema(kSchemaVersion))},
        {"meta-network", hex_of(encode_network({0xd9b4bef9, kMainGenesis}))},
        {"meta-tip", hex_of(encode_tip({kBlock170, {170}}))},
        {"meta-blobs", hex_of(encode_blob_end({0, 342}))},
    };
    for (const auto& [name, digits] : expected) {
        CAPTURE(name);
        CHECK(examples[name] == digits);
        examples.erase(name);
    }
    for (const auto& [name, digits] : examples) {
        CAPTURE(name);
        FAIL_CHECK("an example that nothing is known of");
    }
}
