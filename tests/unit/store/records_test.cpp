// SPDX-License-Identifier: MIT
#include "store/records.hpp"

#include "unit/store/store_fixture.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace blockpub;
using namespace blockpub::test;

TEST_SUITE_BEGIN("store.records");

namespace {

HeaderRecord random_header(std::mt19937_64& random) {
    HeaderRecord record;
    for (auto& byte : record.header) byte = static_cast<std::uint8_t>(random());
    for (auto& byte : record.chainwork) byte = static_cast<std::uint8_t>(random());
    record.height.value = static_cast<std::uint32_t>(random());
    record.status = static_cast<std::uint32_t>(random());
    record.arrival = random();
    record.tx_count = static_cast<std::uint32_t>(random());
    record.chain_tx_count = random();
    for (auto* place : {&record.block, &record.undo, &record.facts}) {
        if (random() % 2 == 0)
            *place = BlobPlace{static_cast<std::uint32_t>(random()), random(),
                               static_cast<std::uint32_t>(random())};
    }
    return record;
}

EventRecord random_event(std::mt19937_64& random) {
    EventRecord record;
    record.index = random();
    record.kind = random() % 2 == 0 ? BlockEventKind::connected : BlockEventKind::disconnected;
    record.hash = hash_of(random());
    record.height.value = static_cast<std::uint32_t>(random() % 3);
    if (random() % 8 == 0) {
        record.kind = BlockEventKind::pruned;
        return record;
    }
    if (record.height.value != 0) record.previous_hash = hash_of(random());
    switch (random() % 4) {
        case 0:
            record.step_end = {hash_of(random()), {static_cast<std::uint32_t>(random())}, random() % 2 == 0};
            break;
        case 1:
            record.step_end = {record.previous_hash, {record.height.value - 1}, random() % 2 == 0};
            break;
        case 2:
            record.step_end = {record.previous_hash, {record.height.value}, random() % 2 == 0};
            break;
        default:
            break;
    }
    return record;
}

/// Every cut and every overlong form of an encoding must be refused.
template <class Decode>
void check_lengths(const RecordBytes& bytes, Decode decode) {
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        // A copy of the exact size, so that reading beyond it is seen by the sanitizer.
        const RecordBytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
        const auto decoded = decode(cut);
        CAPTURE(size);
        REQUIRE_FALSE(decoded);
        CHECK(decoded.error().code == Errc::corrupt);
    }
    RecordBytes longer = bytes;
    longer.push_back(0);
    CHECK_FALSE(decode(longer));
}

}  // namespace

TEST_CASE("every header record decodes to what was encoded") {
    const auto seed = std::random_device{}();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    for (int i = 0; i < 500; ++i) {
        const auto record = random_header(random);
        const auto bytes = encode_header_record(record);
        CHECK(bytes.size() ==
              141 + 16 * (record.block.has_value() + record.undo.has_value() + record.facts.has_value()));
        CHECK(must(decode_header_record(bytes)) == record);
    }
    check_lengths(encode_header_record(random_header(random)), decode_header_record);
}

TEST_CASE("every event record decodes to what was encoded, the usual step in 69 bytes") {
    const auto seed = std::random_device{}();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const auto decode = [](ByteSpan bytes) { return decode_event_record(5, bytes); };
    for (int i = 0; i < 500; ++i) {
        const auto record = random_event(random);
        const auto bytes = encode_event_record(record);
        CHECK(must(decode_event_record(record.index, bytes)) == record);
        check_lengths(bytes, decode);
    }
    CHECK(encode_event_record(step(9, 9, {}).events[0]).size() == 69);
}

TEST_CASE("unknown bits are refused, not ignored") {
    RecordBytes header = encode_header_record({});
    header.back() = 8;
    CHECK(decode_header_record(header).error().code == Errc::corrupt);
    const RecordBytes event = encode_event_record({});
    struct Case {
        const char* name;
        std::uint8_t flags;
    };
    for (const Case& c :
         {Case{"unknown flag", 32}, Case{"pruned and disconnected", 16 | 1},
          Case{"pruned, and a step's end", 16 | 2}, Case{"initial download without a step's end", 4},
          Case{"fork without a step's end", 8}, Case{"genesis forks at its previous block", 2 | 8}}) {
        CAPTURE(std::string(c.name));
        RecordBytes changed = event;
        changed[0] = c.flags;
        CHECK(decode_event_record(0, changed).error().code == Errc::corrupt);
    }
}

TEST_CASE("small records decode to what was encoded") {
    const Tip tip{hash_of(3), {77}};
    CHECK(must(decode_tip(encode_tip(tip))) == tip);
    check_lengths(encode_tip(tip), decode_tip);
    const NetworkRecord network{0xd9b4bef9, hash_of(4)};
    CHECK(must(decode_network(encode_network(network))) == network);
    check_lengths(encode_network(network), decode_network);
    const BlobEnd end{3, 1'000'000'000'000};
    CHECK(must(decode_blob_end(encode_blob_end(end))) == end);
    check_lengths(encode_blob_end(end), decode_blob_end);
    CHECK(must(decode_schema(encode_schema(9))) == 9);
    check_lengths(encode_schema(9), decode_schema);
    CHECK(must(decode_hash(hash_of(6).wire_bytes())) == hash_of(6));
    CHECK_FALSE(decode_hash(ByteSpan(hash_of(6).display_bytes()).first(31)));
}

TEST_CASE("keys sort as their numbers") {
    CHECK(encode_height_key({255}) < encode_height_key({256}));
    CHECK(encode_height_key({65535}) < encode_height_key({65536}));
    CHECK(encode_index_key(0xffffffff) < encode_index_key(0x100000000));
    CHECK(must(decode_height_key(encode_height_key({0x01020304}))) == Height{0x01020304});
    CHECK(must(decode_index_key(encode_index_key(0x0102030405060708))) == 0x0102030405060708);
    CHECK_FALSE(decode_height_key(encode_index_key(1)));
    CHECK_FALSE(decode_index_key(encode_height_key({1})));
}
