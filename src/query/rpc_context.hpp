// SPDX-License-Identifier: MIT
#pragma once

#include "base/ban_list.hpp"
#include "base/clock.hpp"
#include "chain/chain.hpp"
#include "chain/peer_control.hpp"
#include "chain/services.hpp"
#include "primitives/chain_params.hpp"
#include "query/block_material.hpp"
#include "query/http_server.hpp"
#include "query/rpc_method.hpp"
#include "store/coin_store.hpp"

#include <blockpub/block_reader.hpp>
#include <blockpub/bus.hpp>
#include <blockpub/bytes.hpp>
#include <blockpub/logger.hpp>
#include <blockpub/store.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace blockpub {

class MempoolKeeper;
class MempoolService;
class ActiveCalls;
class TipWaiter;
class UnreadableBlocks;

/// What the methods work on.
/// Ownership: borrows everything; all of it must outlive the server.
struct RpcContext {
    // Always there.
    Store* store = nullptr;
    BlockReader* blocks = nullptr;                  ///< the one with the block cache in front
    BlockReader* stored_blocks = nullptr;           ///< the store's own: for questions about the disk
    const BlockMaterialReader* material = nullptr;  ///< blocks with facts and undo data
    Chain* chain = nullptr;
    const CoinStore* coins = nullptr;
    const ChainParams* params = nullptr;
    PruneOptions prune;  ///< as the chain has them
    const Clock* clock = nullptr;
    Logger* logger = nullptr;
    std::function<void()> request_stop;  ///< must not wait
    std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
    std::string version;
    std::chrono::seconds ban_time{86400};  ///< of a ban that names no end

    // May be null: the methods that need them say so.
    const NotificationList* notifications = nullptr;
    const PublisherStatusList* publishers = nullptr;
    BlockMiner* miner = nullptr;
    const TransactionIndex* tx_index = nullptr;
    const BlockCache* cache = nullptr;
    const PeerList* peers = nullptr;
    PeerControl* peer_control = nullptr;
    BanList* bans = nullptr;
    Bus* bus = nullptr;
    /// Turns debug lines of a category on or off; false for an unknown one.
    std::function<bool(std::string_view category, bool on)> set_debug;
    std::function<void(std::int64_t seconds)> set_mocktime;  ///< 0 lets the clock run
    std::string log_path;

    MempoolService* mempool = nullptr;
    TransactionSender* sender = nullptr;  ///< null: sendrawtransaction's enter the mempool at once
    MempoolKeeper* mempool_keeper = nullptr;
    const MempoolCoinView* mempool_coins = nullptr;
    std::function<HttpServerStatus()> http_status;  ///< filled in by the server
    const ActiveCalls* active_calls = nullptr;      ///< likewise
    TipWaiter* tip_waiter = nullptr;                ///< likewise, where there is a bus
    UnreadableBlocks* unreadable = nullptr;         ///< likewise
    std::function<bool()> stopping;                 ///< likewise: long work ends where it is
};

// Each adds the methods of one section. The context is borrowed by their handlers.
void add_block_stats_methods(std::vector<RpcMethod>& methods, const RpcContext& context);
void add_ban_methods(std::vector<RpcMethod>& methods, const RpcContext& context);
void add_block_methods(std::vector<RpcMethod>& methods, const RpcContext& context);
void add_chain_methods(std::vector<RpcMethod>& methods, const RpcContext& context);
void add_coin_methods(std::vector<RpcMethod>& methods, const RpcContext& context);
void add_chain_stats_methods(std::vector<RpcMethod>& methods, const RpcContext& context);
void add_control_methods(std::vector<RpcMethod>& methods, const RpcContext& context);
void add_decoding_methods(std::vector<RpcMethod>& methods, const RpcContext& context);
void add_deployment_methods(std::vector<RpcMethod>& methods, const RpcContext& context);
void add_mining_methods(std::vector<RpcMethod>& methods, const RpcContext& context);
void add_network_methods(std::vector<RpcMethod>& methods, const RpcContext& context);
void add_peer_control_methods(std::vector<RpcMethod>& methods, const RpcContext& context);
void add_peer_methods(std::vector<RpcMethod>& methods, const RpcContext& context);
void add_process_methods(std::vector<RpcMethod>& methods, const RpcContext& context);
void add_proof_methods(std::vector<RpcMethod>& methods, const RpcContext& context);
void add_pruning_methods(std::vector<RpcMethod>& methods, const RpcContext& context);
void add_raw_transaction_methods(std::vector<RpcMethod>& methods, const RpcContext& context);
void add_waiting_methods(std::vector<RpcMethod>& methods, const RpcContext& context);
void add_generating_methods(std::vector<RpcMethod>& methods, const RpcContext& context);
void add_mempool_methods(std::vector<RpcMethod>& methods, const RpcContext& context);
void add_scanning_methods(std::vector<RpcMethod>& methods, const RpcContext& context);
void add_prioritising_methods(std::vector<RpcMethod>& methods, const RpcContext& context);
void add_sending_methods(std::vector<RpcMethod>& methods, const RpcContext& context);
void add_status_methods(std::vector<RpcMethod>& methods, const RpcContext& context);
void add_submitting_methods(std::vector<RpcMethod>& methods, const RpcContext& context);

}  // namespace blockpub
