// SPDX-License-Identifier: MIT
#pragma once

#include "chain/chain.hpp"
#include "chain/coins_ledger.hpp"
#include "primitives/chain_params.hpp"
#include "source/importer.hpp"
#include "store/block_cache.hpp"
#include "store/coin_store.hpp"
#include "support/temporary_directory.hpp"

#include <blockpub/bus.hpp>
#include <blockpub/store.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace blockpub::bench {

using SteadyClock = std::chrono::steady_clock;

/// Clock of vectors/big, from its manifest.
inline constexpr std::int64_t kBigVectorsTime = 1'700'082'800;

inline double seconds_since(SteadyClock::time_point begin) {
    return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

inline double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

[[noreturn]] inline void give_up(const std::string& why) {
    fmt::print(stderr, "{}\n", why);
    std::exit(1);
}

template <class T>
T must(Result<T> result) {
    if (!result) give_up(result.error().context);
    if constexpr (!std::is_void_v<T>) return std::move(*result);
}

/// The file of blocks given as the first argument, or that of $BLOCKPUB_SHARED.
inline std::filesystem::path big_vectors(int argc, char** argv) {
    if (argc > 1) return argv[1];
    if (const char* shared = std::getenv("BLOCKPUB_SHARED")) {
        return std::filesystem::path(shared) / "vectors" / "big" / "bootstrap.dat";
    }
    give_up("give a file of regtest blocks, or set BLOCKPUB_SHARED to the directory that holds vectors/big");
}

struct NodeOptions {
    std::size_t cache_bytes = std::size_t{64} << 20;
    std::uint64_t coin_bytes = std::uint64_t{450} << 20;
    /// Puts an engine in front of the ledger; may be empty.
    std::function<std::unique_ptr<CoinsEngine>(CoinsEngine&, CoinStore&)> wrap;
};

/// Store, coins, bus and chain in a directory of their own, with the options that the daemon has.
struct Node {
    explicit Node(const NodeOptions& node_options = {}) {
        clock.set_fixed(kBigVectorsTime);
        StoreOptions options;
        options.directory = directory.path();
        options.network_magic = params.magic;
        options.genesis_hash = params.genesis_hash;
        store = must(Store::open(std::move(options)));
        CoinStoreOptions coin_options;
        coin_options.directory = directory.path();
        coin_options.budget_bytes = node_options.coin_bytes;
        coins = must(CoinStore::open(coin_options));
        ledger = std::make_unique<CoinsLedger>(params, *coins);
        if (node_options.wrap) wrapper = node_options.wrap(*ledger, *coins);
        cache.emplace(BlockCache::Options{.capacity_bytes = node_options.cache_bytes});
        bus.emplace(BusOptions{.log = store.get()});
        ChainOptions chain_options;
        chain_options.params = &params;
        chain_options.store = store.get();
        chain_options.bus = &*bus;
        chain_options.cache = &*cache;
        chain_options.clock = &clock;
        chain_options.logger = &logger;
        chain_options.coins = wrapper ? wrapper.get() : ledger.get();
        chain = must(Chain::start(chain_options));
    }
    ~Node() { chain->stop(); }
    ImportResult import(const std::filesystem::path& file) {
        Importer importer({.blocks_directory = {}, .load_files = {file}}, *chain, *store, params, logger,
                          nullptr);
        importer.start();
        auto result = importer.wait();
        for (const std::string& error : result.errors) give_up(error);
        return result;
    }

    const ChainParams& params = chain_params(ChainKind::regtest);
    test::TemporaryDirectory directory;
    NullLogger logger;
    Clock clock;
    std::unique_ptr<Store> store;
    std::unique_ptr<CoinStore> coins;
    std::unique_ptr<CoinsLedger> ledger;
    std::unique_ptr<CoinsEngine> wrapper;
    std::optional<BlockCache> cache;
    std::optional<Bus> bus;
    std::unique_ptr<Chain> chain;
};

}  // namespace blockpub::bench
