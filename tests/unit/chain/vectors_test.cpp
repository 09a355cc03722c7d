// SPDX-License-Identifier: MIT
#include "base/hex.hpp"
#include "chain/chain.hpp"
#include "recorded_rows.hpp"
#include "support/regtest_chain.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <set>
#include <string>
#include <string_view>

using namespace blockpub;
using namespace blockpub::test;
using nlohmann::json;

namespace {

json manifest() {
    std::ifstream file(kVectors + "manifest.json");
    REQUIRE(file.good());
    return json::parse(file);
}

SharedBytes block_bytes(const json& row) {
    const auto bytes = decode_hex(row.at("hex").get<std::string>());
    return bytes ? SharedBytes::copy_of(*bytes) : SharedBytes();
}

json result_of(const Result<BlockOutcome>& outcome) {
    if (!outcome) return outcome.error().context;
    const std::string text = outcome->bip22();
    return text.empty() ? json(nullptr) : json(text);
}

BlockHash hash_in(const json& hex) {
    return *BlockHash::from_display_hex(hex.get<std::string>());
}

/// The frames of topics sequence (without the mempool's) and hashblock that these events make.
std::vector<std::string> frames_of(const std::vector<Event>& events) {
    std::vector<std::string> frames;
    for (const Event& event : events) {
        if (const auto* connected = std::get_if<BlockConnected>(&event)) {
            frames.push_back(connected->hash.display_hex() + "43");
        } else if (const auto* disconnected = std::get_if<BlockDisconnected>(&event)) {
            frames.push_back(disconnected->hash.display_hex() + "44");
        } else if (const auto* tip = std::get_if<UpdatedBlockTip>(&event)) {
            if (tip->tip_hash != tip->fork_hash) frames.push_back("hashblock " + tip->tip_hash.display_hex());
        }
    }
    return frames;
}

std::vector<std::string> recorded_frames(const std::string& name) {
    std::vector<std::string> frames;
    for (const json& frame : read_rows(name)) {
        const std::string topic = frame.at(0);
        if (topic == "hashblock") frames.push_back("hashblock " + frame.at(2).get<std::string>());
        if (topic == "sequence" && frame.at(2).get<std::string>().size() == 2 * 33)
            frames.push_back(frame.at(2));
    }
    return frames;
}

}  // namespace

TEST_SUITE_BEGIN("chain.vectors");

TEST_CASE("every step of the recorded chain is answered and announced as bitcoind did") {
    RegtestChain node;
    const json wanted = manifest().at("chain-a");
    node.clock().set_fixed(wanted.at("mocktime").get<std::int64_t>());
    static_cast<void>(node.released());  // Genesis was announced before the recording began.
    for (const json& row : read_rows("chain-a.jsonl")) {
        if (row.at("op") == "block") {
            CAPTURE(row.at("hash"));
            CHECK(result_of(node.chain().submit_block(block_bytes(row))) ==
                  row.value("result", json(nullptr)));
            continue;
        }
        const std::string method = row.at("method");
        CAPTURE(method);
        if (method == "invalidateblock") {
            CHECK(node.chain().invalidate_block(hash_in(row.at("params").at(0))).has_value());
        } else if (method == "reconsiderblock") {
            CHECK(node.chain().reconsider_block(hash_in(row.at("params").at(0))).has_value());
        } else if (method == "submitheader") {
            const auto header = decode_hex(row.at("params").at(0).get<std::string>());
            REQUIRE(header);
            CHECK(node.chain().submit_header(*header).has_value());
        }
    }
    CHECK(node.tip() == hash_in(wanted.at("best_hash")));
    CHECK(frames_of(node.released()) == recorded_frames("chain-a-zmq.jsonl"));
}

TEST_CASE("refused and odd blocks are answered as bitcoind answered them") {
    // These answers rest on coins, scripts or locks relative to coins: without coins such blocks are taken,
    // and the chain goes its own way from there. Until then every answer and every tip is the node's.
    const std::set<std::string> need_coins{"coinbase takes one satoshi too much"};
    RegtestChain node;
    node.clock().set_fixed(manifest().at("reject").at("mocktime").get<std::int64_t>());
    std::size_t compared = 0;
    for (const json& row : read_rows("reject.jsonl")) {
        const std::string name = row.at("name");
        CAPTURE(name);
        if (need_coins.contains(name)) break;
        const json response = json::parse(row.at("response").get<std::string>());
        const auto outcome = node.chain().submit_block(block_bytes(row));
        if (response.at("error").is_null()) {
            CHECK(result_of(outcome) == response.at("result"));
        } else {
            CHECK(result_of(outcome) == response.at("error").at("message"));
        }
        CHECK(node.tip() == hash_in(row.at("tip")));
        ++compared;
    }
    CHECK(compared > 120);
}
