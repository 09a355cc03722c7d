// SPDX-License-Identifier: MIT
#pragma once

#include "chain/coins_ledger.hpp"
#include "query/rpc_context.hpp"
#include "query/rpc_dispatch.hpp"
#include "query/rpc_warnings.hpp"
#include "query/tip_waiter.hpp"
#include "store/coin_store.hpp"
#include "support/coin_options.hpp"
#include "support/regtest_chain.hpp"
#include "unit/query/reply_body.hpp"

#include <fmt/format.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace blockpub::test {

/// Answers from a list, and keeps what it was asked for.
class ScriptedMiner final : public BlockMiner {
 public:
    Result<MinedBlock> mine(const MineRequest& request) override {
        requests.push_back(request);
        if (answers.empty()) return fail(Errc::unavailable, "no nonce found");
        Result<MinedBlock> answer = std::move(answers.front());
        answers.pop_front();
        return answer;
    }
    std::vector<MineRequest> requests;
    std::deque<Result<MinedBlock>> answers;
};

struct FixedNotifications final : NotificationList {
    std::vector<NotificationRow> rows() const override { return list; }
    std::vector<NotificationRow> list;
};

struct FixedPublishers final : PublisherStatusList {
    std::vector<PublisherStatus> statuses() const override { return list; }
    std::vector<PublisherStatus> list;
};

/// A reader in front of the store's that fails when told to.
class FailingReader final : public BlockReader {
 public:
    explicit FailingReader(Store& store) : store_(store) {}
    Result<SharedBytes> read_block(const BlockHash& hash) override {
        if (failure) return std::unexpected(*failure);
        return store_.block_reader().read_block(hash);
    }
    Result<MappedBytes> map_block(const BlockHash& hash) override {
        if (failure) return std::unexpected(*failure);
        return store_.block_reader().map_block(hash);
    }
    std::optional<Error> failure;

 private:
    Store& store_;
};

/// All methods over a real regtest chain, called without a socket.
struct RpcFixture {
    explicit RpcFixture(const PruneOptions& prune = {})
        : coins(must(CoinStore::open(coin_options(coin_directory.path())))),
          ledger(chain_params(ChainKind::regtest), *coins),
          node(chain_options(prune)),
          reader(node.store()),
          blocks(reader, cache),
          material(node.store(), blocks),
          tip_waiter(node.store(), node.bus()) {
        context.store = &node.store();
        context.blocks = &reader;
        context.stored_blocks = &reader;
        context.material = &material;
        context.cache = &node.cache();
        context.chain = &node.chain();
        context.params = &chain_params(ChainKind::regtest);
        context.prune = prune;
        context.clock = &node.clock();
        context.logger = &logger;
        context.request_stop = [this] { ++stops; };
        context.version = "0.1.0";
        context.notifications = &notifications;
        context.publishers = &publishers;
        context.miner = &miner;
        context.coins = coins.get();
        context.bus = &node.bus();
        context.tip_waiter = &tip_waiter;
        context.unreadable = &unreadable;
        context.active_calls = &dispatcher.active_calls();
        context.set_mocktime = [this](std::int64_t seconds) { node.clock().set_fixed(seconds); };
        context.set_debug = [this](std::string_view category, bool on) {
            switched.emplace_back(category, on);
            return category != "nosuch";
        };
        context.log_path = "/somewhere/debug.log";
        std::vector<RpcMethod> methods;
        add_block_methods(methods, context);
        add_block_stats_methods(methods, context);
        add_chain_methods(methods, context);
        add_chain_stats_methods(methods, context);
        add_control_methods(methods, context);
        add_coin_methods(methods, context);
        add_decoding_methods(methods, context);
        add_deployment_methods(methods, context);
        add_generating_methods(methods, context);
        add_mining_methods(methods, context);
        add_network_methods(methods, context);
        add_process_methods(methods, context);
        add_proof_methods(methods, context);
        add_pruning_methods(methods, context);
        add_raw_transaction_methods(methods, context);
        add_scanning_methods(methods, context);
        add_status_methods(methods, context);
        add_submitting_methods(methods, context);
        add_waiting_methods(methods, context);
        dispatcher.set_ready(std::make_unique<const RpcMethods>(std::move(methods)));
    }

    HttpResponse post(std::string body) {
        HttpRequest request;
        request.departed = departed;
        request.body = std::move(body);
        HttpAnswer answer = dispatcher.answer(request);
        auto* done = std::get_if<HttpResponse>(&answer);
        HttpResponse response = done != nullptr ? std::move(*done) : std::get<HttpJob>(answer).run();
        response.text = body_of(response);
        response.pieces.clear();
        return response;
    }
    /// The raw body of the answer to a call as the recordings have them.
    std::string call(const std::string& method, const std::string& params = "[]") {
        return post(fmt::format(R"({{"jsonrpc":"1.0","id":1,"method":"{}","params":{}}})", method, params))
            .text;
    }
    static std::string result(const std::string& json) {
        return fmt::format("{{\"result\":{},\"error\":null,\"id\":1}}\n", json);
    }
    static std::string error(int code, const std::string& message) {
        return fmt::format("{{\"result\":null,\"error\":{{\"code\":{},\"message\":\"{}\"}},\"id\":1}}\n",
                           code, message);
    }

    [[nodiscard]] RegtestChain::Options chain_options(const PruneOptions& prune) {
        RegtestChain::Options options = RegtestChain::default_options();
        options.chain.coins = &ledger;
        options.chain.prune = prune;
        return options;
    }

    NullLogger logger;
    TemporaryDirectory coin_directory;
    std::unique_ptr<CoinStore> coins;
    CoinsLedger ledger;
    RegtestChain node;
    FailingReader reader;
    BlockCache cache{BlockCache::Options{}};  ///< keeps nothing: every read comes to `reader`
    CachedReader blocks;
    BlockMaterialReader material;
    TipWaiter tip_waiter;
    UnreadableBlocks unreadable;
    std::vector<std::pair<std::string, bool>> switched;  // categories of debug lines
    FixedNotifications notifications;
    FixedPublishers publishers;
    ScriptedMiner miner;
    RpcContext context;
    std::function<bool()> departed;  ///< what requests are given
    int stops = 0;
    RpcDispatcher dispatcher{logger};
};

}  // namespace blockpub::test
