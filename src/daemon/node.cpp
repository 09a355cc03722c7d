// SPDX-License-Identifier: MIT
#include "daemon/node.hpp"

#include "base/log.hpp"
#include "chain/chain_start.hpp"
#include "chain/coins_ledger.hpp"
#include "chain/tx_index.hpp"
#include "daemon/ban_file.hpp"
#include "daemon/mempool_parts.hpp"
#include "daemon/start_work.hpp"
#include "daemon/task.hpp"
#include "notify/command_hooks.hpp"
#include "notify/zmq_publishers.hpp"
#include "query/block_material.hpp"
#include "query/rpc_server.hpp"
#include "source/miner.hpp"
#include "source/p2p_all_control.hpp"
#include "source/p2p_all_peers.hpp"
#include "source/p2p_server.hpp"
#include "source/p2p_source.hpp"
#include "store/cached_reader.hpp"
#include "store/coin_store.hpp"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <random>

namespace blockpub {
namespace {

using std::chrono::milliseconds;

// The end of the sockets, five seconds after the wish at the latest: what each part of it may take, counted
// from there.
constexpr milliseconds kCommandsAlone{1000};  // -shutdownnotify may still ask the RPC something
constexpr milliseconds kRepliesAlone{2000};   // calls under way find the chain running
constexpr milliseconds kChainAlone{3500};     // what the chain finishes is still announced
constexpr milliseconds kLinger{500};          // for what subscribers have not read

/// An Error of a start, with the remedy where the store is what is wrong.
Error with_remedy(Error error, const std::filesystem::path& directory) {
    const bool has_one = error.context.find("remove the directory") != std::string::npos;
    if (error.code != Errc::corrupt || has_one) return error;
    error.context += fmt::format(
        ". The store in {} is damaged: move it away, start with an empty directory, and import the blocks "
        "again "
        "(-importblocks=<dir>).",
        directory.string());
    return error;
}

/// The block cache's share of -opensegments: it holds segments open that the store would close.
std::size_t segments_of_cache(std::size_t open_segments) {
    return open_segments / 4;
}

std::uint64_t random_nonce() {
    std::random_device random;
    return std::uint64_t{random()} << 32 | random();
}

constexpr std::string_view kWaysToGiveBlocks =
    "-connect=<node>, -importblocks=<bitcoind's blocks directory>, -loadblock=<file>, or the RPC submitblock";

class RunningNode final : public Node {
 public:
    RunningNode(NodeOptions options, Logger& logger, StopRequest& stop_request, NodeHooks hooks)
        : options_(std::move(options)),
          node_hooks_(std::move(hooks)),
          logger_(logger),
          log_(&logger, LogCategory::general),
          stop_request_(stop_request) {}
    ~RunningNode() override { (void)stop(); }

    /// The parts in the order in which they start; the first failure ends the start.
    Result<void> start_parts() {
        using Step = Result<void> (RunningNode::*)();
        for (const Step step : {&RunningNode::listen, &RunningNode::open_store, &RunningNode::open_coins,
                                &RunningNode::open_bus, &RunningNode::bind_publishers,
                                &RunningNode::start_chain, &RunningNode::serve}) {
            if (auto done = (this->*step)(); !done) return done;
        }
        return {};
    }

    ExitStatus stop() override;
    std::string failure() const override { return failure_; }
    Chain& chain() override { return *chain_; }
    Store& store() override { return *store_; }
    Bus& bus() override { return *bus_; }
    std::uint16_t rpc_port() const override { return rpc_ ? rpc_->port() : std::uint16_t{0}; }
    std::vector<PublisherStatus> publishers() const override { return publishers_->statuses(); }
    StatusFacts status() const override;

 private:
    Result<void> listen();
    Result<void> open_store();
    Result<void> open_coins();
    Result<void> open_bus();
    Result<void> bind_publishers();
    Result<void> start_chain();
    Result<void> serve();
    [[nodiscard]] Result<void> make_follower();
    void make_server();
    void announce_ready() const;
    void end_sockets(std::optional<Task>& chain_end);
    void wait_for_disk(Task& work, const std::function<std::uint64_t()>& bytes_left) const;
    void flush_coins();
    [[nodiscard]] ExitStatus status_of_end() const;

    const NodeOptions options_;
    const NodeHooks node_hooks_;
    Logger& logger_;
    const Log log_;
    StopRequest& stop_request_;
    const std::uint64_t nonce_ = random_nonce();  // tells this node from its peers
    Clock clock_;
    // Each borrows from those above it.
    std::unique_ptr<RpcServer> rpc_;
    std::unique_ptr<Store> store_;
    std::unique_ptr<BlockCache> cache_;
    std::unique_ptr<CachedReader> blocks_;
    std::unique_ptr<CoinStore> coins_;
    std::unique_ptr<CoinsLedger> ledger_;
    std::unique_ptr<BlockMaterialReader> material_;
    std::unique_ptr<Bus> bus_;
    std::unique_ptr<ZmqPublishers> publishers_;
    std::unique_ptr<CommandHooks> hooks_;
    std::unique_ptr<MempoolParts> mempool_;
    std::unique_ptr<Chain> chain_;
    std::unique_ptr<TxIndex> tx_index_;
    std::unique_ptr<Miner> miner_;
    std::unique_ptr<BanList> bans_;
    std::unique_ptr<P2pSource> p2p_;
    std::unique_ptr<PeerListener> listener_;  // until the server has it
    std::unique_ptr<P2pServer> server_;
    std::unique_ptr<AllPeers> peers_;
    std::unique_ptr<AllPeerControl> peer_control_;
    std::unique_ptr<StartWork> work_;
    bool ready_ = false;
    bool stopped_ = false;
    ExitStatus exit_status_ = ExitStatus::ok;
    std::string failure_;
};

Result<void> RunningNode::listen() {
    clock_.set_fixed(options_.mocktime);
    if (auto possible = StartWork::check(options_.sources, *options_.params); !possible) return possible;
    if (!options_.listen.endpoints.empty()) {
        auto listening = PeerListener::listen(options_.listen.endpoints, logger_);
        if (!listening) return forward_error(listening);
        listener_ = std::move(*listening);
    }
    if (!options_.rpc.server) return {};
    RpcServerOptions rpc;
    rpc.port = options_.rpc.port;
    rpc.bind = options_.rpc.bind;
    rpc.allow_ip = options_.rpc.allow_ip;
    rpc.threads = static_cast<unsigned>(options_.rpc.threads);
    rpc.timeout = options_.rpc.timeout;
    rpc.head_timeout = options_.rpc.head_timeout;
    rpc.max_connections = options_.rpc.max_connections;
    rpc.max_request = options_.rpc.max_request;
    rpc.request_buffer = options_.rpc.request_buffer;
    rpc.reply_buffer = options_.rpc.reply_buffer;
    rpc.rest = options_.rpc.rest;
    rpc.whitelist = options_.rpc.whitelist;
    rpc.whitelist_default = options_.rpc.whitelist_default;
    rpc.allow_hosts = options_.rpc.allow_hosts;
    rpc.cors_origins = options_.rpc.cors_origins;
    rpc.upstream = options_.rpc.upstream;
    rpc.upstream_port = static_cast<std::uint16_t>(options_.params->p2p_port - 1);  // as bitcoind's are
    rpc.upstream_cookie = options_.rpc.upstream_cookie;
    rpc.upstream_timeout = options_.rpc.upstream_timeout;
    rpc.user = options_.rpc.user.value_or("");
    rpc.password = options_.rpc.password.value_or("");
    rpc.hashed_passwords = options_.rpc.auth;
    rpc.cookie_path = options_.rpc.cookie_file;
    rpc.cookie_access = *cookie_access_from_name(options_.rpc.cookie_perms);
    auto listening = RpcServer::listen(std::move(rpc), logger_);
    if (!listening) return forward_error(listening);
    rpc_ = std::move(*listening);
    rpc_->set_warmup("Loading block index…");
    for (const std::string& sentence : rpc_->warnings()) log_.warning("{}", sentence);
    return {};
}

Result<void> RunningNode::open_store() {
    StoreOptions store;
    store.directory = options_.chain_dir;
    store.network_magic = options_.params->magic;
    store.genesis_hash = options_.params->genesis_hash;
    store.segment_bytes = options_.segment_bytes;
    store.map_bytes = options_.map_bytes;
    store.min_free_disk = options_.min_free_disk;
    store.open_segments = options_.open_segments - segments_of_cache(options_.open_segments);
    store.logger = &logger_;
    auto opened = Store::open(std::move(store));
    if (!opened) return std::unexpected(with_remedy(std::move(opened.error()), options_.chain_dir));
    store_ = std::move(*opened);
    cache_ = std::make_unique<BlockCache>(BlockCache::Options{
        .capacity_bytes = options_.block_cache_bytes, .segments = segments_of_cache(options_.open_segments)});
    blocks_ = std::make_unique<CachedReader>(store_->block_reader(), *cache_);
    material_ = std::make_unique<BlockMaterialReader>(*store_, *blocks_);
    return {};
}

Result<void> RunningNode::open_coins() {
    CoinStoreOptions coins;
    coins.directory = options_.chain_dir;
    coins.map_bytes = options_.map_bytes;
    coins.budget_bytes = options_.coin_bytes;
    coins.min_free_disk = options_.min_free_disk;
    coins.logger = &logger_;
    coins.faults = node_hooks_.coin_faults;
    auto opened = CoinStore::open(std::move(coins));
    if (!opened) return forward_error(opened);
    coins_ = std::move(*opened);
    ledger_ = std::make_unique<CoinsLedger>(*options_.params, *coins_);
    if (options_.start_at_tip) coins_->withhold(std::string(kNoCoinsAtTip));
    return {};
}

Result<void> RunningNode::open_bus() {
    const auto snapshot = store_->snapshot();
    if (!snapshot) return std::unexpected(snapshot.error());
    const auto next = snapshot->next_event();
    if (!next) return std::unexpected(next.error());
    bus_ = std::make_unique<Bus>(BusOptions{
        .memory_limit = options_.event_memory, .log = store_.get(), .next_index = *next, .logger = &logger_});
    return {};
}

Result<void> RunningNode::bind_publishers() {
    BlockReader& reader =
        node_hooks_.wrap_publisher_reader ? node_hooks_.wrap_publisher_reader(*blocks_) : *blocks_;
    auto bound = ZmqPublishers::bind(options_.zmq, *bus_, reader, logger_, kLinger);
    if (!bound) return forward_error(bound);
    publishers_ = std::move(*bound);
    for (const std::string& address : publishers_->exposed()) {
        log_.warning(
            "{} can be reached from other machines: whoever connects reads all that is published there, and "
            "takes its share of memory and bandwidth.",
            address);
    }
    hooks_ = std::make_unique<CommandHooks>(
        CommandHookOptions{.block_notify = options_.commands.block_notify,
                           .startup_notify = options_.commands.startup_notify,
                           .shutdown_notify = options_.commands.shutdown_notify},
        *bus_, logger_);
    return {};
}

Result<void> RunningNode::start_chain() {
    if (rpc_) rpc_->set_warmup("Replaying blocks…");
    mempool_ = std::make_unique<MempoolParts>(options_, *coins_, clock_, logger_);
    ChainOptions chain;
    chain.params = options_.params;
    chain.store = store_.get();
    chain.bus = bus_.get();
    chain.cache = cache_.get();
    chain.clock = &clock_;
    chain.logger = &logger_;
    chain.coins = options_.start_at_tip ? nullptr : ledger_.get();
    chain.start_at_tip = options_.start_at_tip;
    chain.mempool = &mempool_->follower();
    chain.prune = options_.prune;
    chain.stop_requested = [this] { return stop_request_.requested(); };
    chain.minimum_chainwork = options_.minimum_chainwork;
    chain.max_tip_age = options_.max_tip_age;
    chain.waiting_limit = options_.waiting_limit;
    // A client that hears nothing for so long is cut: it had better hear the reason.
    chain.call_patience = options_.rpc.timeout;
    auto started = Chain::start(chain);
    if (!started) return std::unexpected(with_remedy(std::move(started.error()), options_.chain_dir));
    chain_ = std::move(*started);
    mempool_->open(*chain_);
    if (!options_.tx_index) return {};
    if (const auto pruned = chain_->status().pruned_to) {
        return fail(Errc::invalid_argument,
                    fmt::format("-txindex needs every block, but those up to height {} {}.", pruned->value,
                                chain_->status().filling
                                    ? "are still being fetched: leave it out until they are here"
                                    : "were pruned: leave it out, or give an empty -datadir=<dir> and import "
                                      "again"));
    }
    auto index = TxIndex::start({.directory = options_.chain_dir,
                                 .map_bytes = options_.map_bytes,
                                 .min_free_disk = options_.min_free_disk,
                                 .store = store_.get(),
                                 .bus = bus_.get(),
                                 .logger = &logger_});
    if (!index) return forward_error(index);
    tx_index_ = std::move(*index);
    return {};
}

Result<void> RunningNode::serve() {
    miner_ = std::make_unique<Miner>(*chain_, *store_, *options_.params, clock_);
    if (auto made = make_follower(); !made) return made;
    make_server();
    peers_ = std::make_unique<AllPeers>(&p2p_->peers(), server_.get());
    peer_control_ = std::make_unique<AllPeerControl>(p2p_->control(), server_.get());
    if (rpc_) {
        RpcContext context;
        context.store = store_.get();
        context.blocks = blocks_.get();
        context.stored_blocks = &store_->block_reader();
        context.cache = cache_.get();
        context.coins = coins_.get();
        context.material = material_.get();
        context.chain = chain_.get();
        context.params = options_.params;
        context.prune = options_.prune;
        context.clock = &clock_;
        context.logger = &logger_;
        context.request_stop = [this] { stop_request_.request(); };
        context.version = options_.version;
        context.notifications = publishers_.get();
        context.publishers = publishers_.get();
        context.miner = miner_.get();
        context.mempool = &mempool_->service();
        context.mempool_keeper = &mempool_->keeper();
        context.mempool_coins = &mempool_->board();
        context.tx_index = tx_index_.get();
        context.peers = peers_.get();
        context.peer_control = peer_control_.get();
        context.bans = bans_.get();
        context.ban_time = options_.sources.ban_time;
        context.sender = &p2p_->transactions();
        context.bus = bus_.get();
        context.set_debug = node_hooks_.set_debug;
        context.set_mocktime = [this](std::int64_t seconds) { clock_.set_fixed(seconds); };
        if (options_.log.file) context.log_path = options_.log.file->string();
        rpc_->set_ready(std::move(context));
    }
    work_ = std::make_unique<StartWork>(options_.sources, *chain_, *store_, *options_.params, logger_,
                                        stop_request_, node_hooks_.progress);
    mempool_->load(stop_request_);
    announce_ready();
    p2p_->start();
    if (server_) server_->start();
    ready_ = true;
    hooks_->run_startup();
    return {};
}

Result<void> RunningNode::make_follower() {
    const std::filesystem::path file = options_.chain_dir / "banlist.json";
    auto bans = ban_file::read(file);
    if (!bans) return forward_error(bans);
    bans_ = std::make_unique<BanList>(
        *bans, clock_, [file](const std::vector<BanList::Ban>& now) { return ban_file::write(file, now); });
    FollowerOptions follow;
    follow.peers = options_.sources.connect;
    follow.active = options_.sources.network_active;
    follow.bans = bans_.get();
    follow.connect_timeout = options_.sources.connect_timeout;
    follow.peer_timeout = options_.sources.peer_timeout;
    follow.nonce = nonce_;
    follow.user_agent = fmt::format("/blockpub:{}/", options_.version);
    follow.transaction_patience = std::min<milliseconds>(follow.peer_timeout, follow.transaction_patience);
    // Without coins no transaction can be held to the rules.
    if (!options_.sources.blocks_only && !options_.start_at_tip) follow.mempool = &mempool_->service();
    p2p_ = std::make_unique<P2pSource>(std::move(follow), options_.sources.add_node, *chain_,
                                       *options_.params, clock_, logger_, node_hooks_.progress);
    return {};
}

void RunningNode::make_server() {
    if (!listener_) return;
    PeerServerOptions serve;
    serve.max_peers = options_.listen.max_connections;
    serve.whitelist = options_.listen.whitelist;
    serve.upload_target = options_.listen.upload_target;
    serve.peer_timeout = options_.sources.peer_timeout;
    serve.user_agent = fmt::format("/blockpub:{}/", options_.version);
    serve.nonce = nonce_;
    serve.bans = bans_.get();
    serve.active = options_.sources.network_active;
    serve.prunes = options_.prune.mode != PruneOptions::Mode::off;
    for (const PeerListener::Bound& bound : listener_->addresses())
        log_.info("Serving peers at {}", bound.text());
    server_ = std::make_unique<P2pServer>(std::move(serve), std::move(listener_),
                                          PeerServerParts{.store = *store_,
                                                          .blocks = *blocks_,
                                                          .chain = *chain_,
                                                          .mempool = mempool_->board(),
                                                          .bus = *bus_,
                                                          .params = *options_.params,
                                                          .clock = clock_,
                                                          .logger = logger_});
}

void RunningNode::announce_ready() const {
    const SourceOptions& sources = options_.sources;
    if (!sources.any() && !sources.export_blocks && !sources.follows()) {
        log_.warning("No source of blocks was given: nothing will come by itself. Give {}.",
                     kWaysToGiveBlocks);
    }
    for (const PeerAddress& peer : sources.connect) log_.info("Following {}", peer.text());
    for (const std::string& peer : sources.add_node) log_.info("Following {}", peer);
    for (const NotificationRow& row : publishers_->rows())
        log_.info("Publishing {} at {}", row.type, row.address);
    for (const PublisherStatus& publisher : publishers_->statuses())
        log_.info("Bound {}", publisher.endpoint);
    if (rpc_) {
        log_.info("RPC at {}, {}", fmt::join(rpc_->addresses(), " and "),
                  status().cookie_path.empty() ? "with -rpcpassword" : "cookie " + status().cookie_path);
    }
    const ChainStatus chain = chain_->status();
    log_.info("Ready: chain {}, tip {} at height {}", options_.params->name, chain.tip.hash.display_hex(),
              chain.tip.height.value);
}

StatusFacts RunningNode::status() const {
    StatusFacts facts;
    facts.chain = chain_->status();
    if (const CoinStoreStatus coins = coins_->status(); coins.failing && facts.chain.write_error.empty()) {
        facts.chain.write_error = coins.last_error;
        facts.chain.write_stopped = coins.write_stopped;
    }
    facts.now = clock_.now_seconds();
    const StoreStatus store = store_->status();
    facts.read_failures = store.read_failures;
    facts.last_read_error = store.last_read_error;
    facts.source = work_ ? work_->source() : "submitblock";
    if (p2p_ && options_.sources.follows() && facts.source == "submitblock")
        facts.source = fmt::format("{} peers", p2p_->peers().rows().size());
    for (const PublisherStatus& publisher : publishers_->statuses()) {
        facts.endpoints.push_back(publisher.endpoint);
        if (publisher.failing) facts.failing.push_back(publisher.endpoint);
    }
    if (!rpc_) return facts;
    facts.rpc_addresses = rpc_->addresses();
    if (!options_.rpc.password) facts.cookie_path = options_.rpc.cookie_file.string();
    return facts;
}

void RunningNode::end_sockets(std::optional<Task>& chain_end) {
    const auto began = std::chrono::steady_clock::now();
    std::optional<Task> commands;
    std::optional<Task> replies;
    if (hooks_ && ready_) commands.emplace("shutdownnotify", [this] { hooks_->run_shutdown(); });
    if (work_) work_->request_stop();
    if (server_) server_->stop();
    if (p2p_) p2p_->stop();
    if (miner_) miner_->stop();
    if (commands) (void)commands->wait_until(began + kCommandsAlone);
    if (rpc_) replies.emplace("rpc-stop", [this] { rpc_->stop(); });
    if (replies) (void)replies->wait_until(began + kRepliesAlone);
    if (chain_) chain_end.emplace("chain-stop", [this] { chain_->stop(); });
    if (chain_end) (void)chain_end->wait_until(began + kChainAlone);
    if (publishers_) publishers_->stop();
}

/// Waits for what writes, with a line a second.
void RunningNode::wait_for_disk(Task& work, const std::function<std::uint64_t()>& bytes_left) const {
    const auto began = std::chrono::steady_clock::now();
    for (auto next = began + std::chrono::seconds(1); !work.wait_until(next);
         next += std::chrono::seconds(1)) {
        log_.info("Shutdown: writing to the disk for {} s, {} bytes to go",
                  std::chrono::duration_cast<std::chrono::seconds>(next - began).count(), bytes_left());
    }
}

/// Nothing is lost when it fails: the next start makes the coins again from the stored blocks.
void RunningNode::flush_coins() {
    Result<void> flushed;
    {
        Task flush("coins-flush", [&] { flushed = coins_->flush(); });
        wait_for_disk(flush, [this] { return coins_->status().bytes; });
    }
    coins_->stop();
    if (flushed || coins_->status().write_stopped) return;
    log_.warning("Coins were not written ({}): the next start makes them again from height {} on.",
                 flushed.error().context, coins_->status().flushed.height.value);
}

ExitStatus RunningNode::status_of_end() const {
    if (coins_ && coins_->status().write_stopped) return ExitStatus::write_stopped;
    if (!chain_) return ExitStatus::ok;
    const ChainStatus chain = chain_->status();
    if (chain.write_stopped || !chain.halted.empty()) return ExitStatus::write_stopped;
    if (!chain.write_error.empty()) return ExitStatus::not_written;
    return failure_.empty() ? ExitStatus::ok : ExitStatus::work_unfinished;
}

ExitStatus RunningNode::stop() {
    if (std::exchange(stopped_, true)) return exit_status_;
    if (ready_) log_.info("Shutdown: in progress...");
    {
        std::optional<Task> chain_end;
        end_sockets(chain_end);
        if (chain_end) wait_for_disk(*chain_end, [this] { return store_->pending_bytes(); });
    }
    if (mempool_) mempool_->close();
    if (work_) work_->wait();
    if (work_) failure_ = work_->failure();
    if (bus_) bus_->stop();
    if (coins_) flush_coins();
    exit_status_ = status_of_end();
    work_.reset();
    rpc_.reset();
    peer_control_.reset();
    peers_.reset();
    server_.reset();
    listener_.reset();
    p2p_.reset();
    bans_.reset();
    miner_.reset();
    tx_index_.reset();
    chain_.reset();
    mempool_.reset();
    hooks_.reset();
    publishers_.reset();
    ledger_.reset();
    coins_.reset();
    bus_.reset();
    material_.reset();
    blocks_.reset();
    cache_.reset();
    store_.reset();
    return exit_status_;
}

}  // namespace

Result<std::unique_ptr<Node>> Node::start(NodeOptions options, Logger& logger, StopRequest& stop_request,
                                          NodeHooks hooks) {
    auto node = std::make_unique<RunningNode>(std::move(options), logger, stop_request, std::move(hooks));
    if (auto started = node->start_parts(); !started) return forward_error(started);
    return node;
}

}  // namespace blockpub
