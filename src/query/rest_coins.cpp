// SPDX-License-Identifier: MIT
#include "base/hex.hpp"
#include "base/text_appender.hpp"
#include "primitives/reader.hpp"
#include "primitives/wire_writer.hpp"
#include "query/rest_handlers.hpp"
#include "query/script_json.hpp"
#include "store/coin_store.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

// /rest/getutxos: BIP 64 over HTTP.

namespace blockpub {

namespace {

constexpr std::size_t kMaxOutpoints = 15;
constexpr Height kMempoolHeight{0x7fffffff};  // what Core calls the height of a coin of the mempool

struct WantedCoins {
    bool check_mempool = false;
    std::vector<Outpoint> outpoints;
};

std::unexpected<HttpResponse> bad(std::string text) {
    return std::unexpected(rest_error(400, std::move(text)));
}

/// `<txid>-<position>`
std::optional<Outpoint> parse_outpoint(std::string_view text) {
    const std::size_t dash = text.find('-');
    if (dash == std::string_view::npos) return std::nullopt;
    const auto txid = Txid::from_display_hex(text.substr(0, dash));
    const auto position = to_integer<std::uint32_t>(text.substr(dash + 1));
    if (!txid || !position) return std::nullopt;
    return Outpoint{*txid, *position};
}

RestResult<WantedCoins> wanted_by_path(std::vector<std::string_view> parts) {
    WantedCoins wanted;
    wanted.check_mempool = parts.front() == "checkmempool";
    for (std::size_t i = wanted.check_mempool ? 1 : 0; i < parts.size(); ++i) {
        const auto outpoint = parse_outpoint(parts[i]);
        if (!outpoint) return bad("Parse error");
        wanted.outpoints.push_back(*outpoint);
    }
    if (wanted.outpoints.empty()) return bad("Error: empty request");
    return wanted;
}

/// A flag, then a list of outpoints. What follows them is passed over, as Core does.
RestResult<WantedCoins> wanted_by_body(ByteSpan body) {
    ByteReader reader(body);
    WantedCoins wanted;
    wanted.check_mempool = reader.le<std::uint8_t>() != 0;
    const std::uint64_t count = reader.compact_size();
    for (std::uint64_t i = 0; i < count && reader.ok(); ++i) {
        const ByteSpan txid = reader.take(32);
        const auto position = reader.le<std::uint32_t>();
        if (reader.ok()) wanted.outpoints.push_back({Txid::from_wire(txid), position});
    }
    if (!reader.ok()) return bad("Parse error");
    return wanted;
}

RestResult<WantedCoins> wanted_coins(const RestCall& call) {
    const std::string& body = call.request.body;
    const std::string_view parameter = call.target.parameter;
    if (parameter.size() <= 1 && body.empty()) return bad("Error: empty request");
    std::optional<WantedCoins> by_path;
    if (parameter.size() > 1) {
        auto parsed = wanted_by_path(RestTarget{.parameter = parameter.substr(1)}.parts());
        if (!parsed) return parsed;
        by_path = std::move(*parsed);
    }
    if (call.target.format == RestFormat::none) return std::unexpected(rest_no_format());
    if (call.target.format == RestFormat::json) {
        if (!by_path) return bad("Error: empty request");
        return std::move(*by_path);
    }
    std::vector<std::uint8_t> decoded;
    ByteSpan bytes(reinterpret_cast<const std::uint8_t*>(body.data()), body.size());
    if (call.target.format == RestFormat::hex)
        bytes = decoded = decode_hex(body).value_or(std::vector<std::uint8_t>());
    if (by_path) {
        if (!bytes.empty()) return bad("Combination of URI scheme inputs and raw post data is not allowed");
        return std::move(*by_path);
    }
    if (bytes.empty()) return WantedCoins{};
    return wanted_by_body(bytes);
}

struct FoundCoins {
    Tip tip;
    std::vector<bool> hits;
    std::vector<Coin> coins;  ///< of the hits
};

Result<FoundCoins> find_coins(const RestCall& call, const WantedCoins& wanted) {
    // The pool first: a transaction that a block takes out of it meanwhile has its coins in the snapshot.
    const MempoolCoinView* pool = wanted.check_mempool ? call.context.mempool_coins : nullptr;
    std::vector<MempoolCoin> of_pool(wanted.outpoints.size());
    for (std::size_t i = 0; pool != nullptr && i < of_pool.size(); ++i)
        of_pool[i] = pool->look_up(wanted.outpoints[i]);
    auto coins = call.context.coins->snapshot();
    if (!coins) return forward_error(coins);
    FoundCoins found{.tip = coins->tip(), .hits = {}, .coins = {}};
    for (std::size_t i = 0; i < of_pool.size(); ++i) {
        const Outpoint& outpoint = wanted.outpoints[i];
        MempoolCoin& pooled = of_pool[i];
        if (pooled.made) pooled.made->height = kMempoolHeight;
        if (!pooled.spent && !pooled.made) {
            auto coin = coins->find(outpoint);
            if (!coin && coin.error().code != Errc::not_found) return forward_error(coin);
            if (coin) pooled.made = std::move(*coin);
        }
        const bool hit = !pooled.spent && pooled.made;
        found.hits.push_back(hit);
        if (hit) found.coins.push_back(std::move(*pooled.made));
    }
    return found;
}

std::vector<std::uint8_t> coins_bytes(const FoundCoins& found) {
    std::vector<std::uint8_t> bytes;
    WireWriter out(bytes);
    out.le(found.tip.height.value);
    out.bytes(found.tip.hash.wire_bytes());
    std::vector<std::uint8_t> bitmap((found.hits.size() + 7) / 8);
    for (std::size_t i = 0; i < found.hits.size(); ++i)
        bitmap[i / 8] = static_cast<std::uint8_t>(bitmap[i / 8] | (found.hits[i] ? 1u << (i % 8) : 0u));
    out.compact_size(bitmap.size());
    out.bytes(bitmap);
    out.compact_size(found.coins.size());
    for (const Coin& coin : found.coins) {
        out.le(std::uint32_t{0});  // a version that nothing fills in
        out.le(coin.height.value);
        out.output(coin.amount, coin.script);
    }
    return bytes;
}

void append_coins(std::string& text, const FoundCoins& found, const ChainParams& params) {
    TextAppender out(text);
    OutputScriptWriter scripts(out, params);
    bool first = true;
    for (const Coin& coin : found.coins) {
        out.text(std::exchange(first, false) ? "{\"height\":" : ",{\"height\":");
        out.unsigned_integer(coin.height.value);
        out.text(",\"value\":");
        out.amount(coin.amount);
        out.text(",\"scriptPubKey\":");
        scripts.append(coin.script);
        out.character('}');
    }
}

std::string coins_json(const FoundCoins& found, const ChainParams& params) {
    std::string text = fmt::format("{{\"chainHeight\":{},\"chaintipHash\":\"{}\",\"bitmap\":\"",
                                   found.tip.height.value, found.tip.hash.display_hex());
    for (const bool hit : found.hits) text += hit ? '1' : '0';
    text += "\",\"utxos\":[";
    append_coins(text, found, params);
    text += "]}";
    return text;
}

}  // namespace

HttpResponse rest_coins(const RestCall& call) {
    auto wanted = wanted_coins(call);
    if (!wanted) return std::move(wanted.error());
    if (wanted->outpoints.size() > kMaxOutpoints) {
        return rest_error(400, fmt::format("Error: max outpoints exceeded (max: {}, tried: {})",
                                           kMaxOutpoints, wanted->outpoints.size()));
    }
    const auto found = find_coins(call, *wanted);
    if (!found && found.error().code == Errc::unavailable) return rest_error(404, found.error().context);
    if (!found) return rest_failure(call, found.error());
    if (call.target.format == RestFormat::json) return rest_json(coins_json(*found, *call.context.params));
    return rest_bytes(call.target.format, coins_bytes(*found));
}

}  // namespace blockpub
