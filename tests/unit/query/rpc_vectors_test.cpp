// SPDX-License-Identifier: MIT
#include "base/hex.hpp"
#include "primitives/sha256.hpp"
#include "unit/query/rpc_fixture.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <string>
#include <vector>

using namespace blockpub;
using namespace blockpub::test;
using nlohmann::json;

namespace {

std::vector<json> read_vector_rows(const std::string& name) {
    std::ifstream file(std::string(BLOCKPUB_SOURCE_ROOT "/tests/vectors/") + name);
    REQUIRE(file.good());
    std::vector<json> rows;
    for (std::string line; std::getline(file, line);) rows.push_back(json::parse(line));
    return rows;
}

/// A response as the recordings keep it: long ones as size and digest.
bool is_recorded(const json& row, const std::string& got) {
    if (row.contains("response")) return row.at("response") == got;
    const ByteSpan bytes(reinterpret_cast<const std::uint8_t*>(got.data()), got.size());
    return row.at("size") == got.size() && row.at("sha256") == encode_hex(sha256(bytes));
}

int recorded_status(const json& row) {
    if (!row.contains("response")) return 200;
    const json error = json::parse(row.at("response").get<std::string>()).at("error");
    if (error.is_null()) return 200;
    if (error.at("code") == -32601) return 404;
    return error.at("code") == -32600 ? 400 : 500;
}

/// Sets what may differ between two nodes to one value.
std::string less_disk_size(std::string text) {
    for (const std::string name : {"\"size_on_disk\":", "\"disk_size\":"}) {
        const std::size_t at = text.find(name);
        if (at != std::string::npos) text.replace(at, text.find_first_of(",}", at) - at, name + "0");
    }
    return text;
}

}  // namespace

TEST_SUITE_BEGIN("query.rpc_vectors");

TEST_CASE("every recorded call is answered to the byte, during the steps and after them") {
    RpcFixture fixture;
    std::ifstream file(BLOCKPUB_SOURCE_ROOT "/tests/vectors/manifest.json");
    fixture.node.clock().set_fixed(json::parse(file).at("chain-a").at("mocktime").get<std::int64_t>());
    for (const json& row : read_vector_rows("chain-a.jsonl")) {
        if (row.at("op") == "block") {
            const json result = row.value("result", json(nullptr));
            CAPTURE(row.at("hash"));
            REQUIRE(fixture.call("submitblock", json::array({row.at("hex")}).dump()) ==
                    RpcFixture::result(result.dump()));
        } else {
            const std::string method = row.at("method");
            CAPTURE(method);
            CHECK(fixture.call(method, row.at("params").dump()) == row.at("response").get<std::string>());
        }
    }
    std::size_t compared = 0;
    for (json row : read_vector_rows("chain-a-rpc.jsonl")) {
        const std::string method = row.at("method");
        const std::string params = row.at("params").dump();
        CAPTURE(method);
        CAPTURE(params);
        const HttpResponse response = fixture.post(
            json{{"jsonrpc", "1.0"}, {"id", 1}, {"method", method}, {"params", row.at("params")}}.dump());
        if (method == "getblock" && row.at("params").empty()) {
            // The node's help page is in its own words.
            CHECK(json::parse(response.text).at("error").at("code") == -1);
            continue;
        }
        CHECK(response.status == recorded_status(row));
        if (method == "getblockchaininfo" || method == "gettxoutsetinfo") {
            CHECK(less_disk_size(response.text) == less_disk_size(row.at("response")));
            continue;
        }
        CHECK(is_recorded(row, response.text));
        ++compared;
    }
    CHECK(compared > 1960);
}

TEST_SUITE_END();
