// SPDX-License-Identifier: MIT
#include "daemon/mempool_parts.hpp"

namespace blockpub {
namespace {

MempoolOptions mempool_options(const NodeOptions& options, const CoinStore& coins, const Clock& clock,
                               Logger& logger) {
    MempoolOptions mempool;
    mempool.params = options.params;
    mempool.coins = &coins;
    mempool.clock = &clock;
    mempool.logger = &logger;
    mempool.policy = options.mempool.policy;
    mempool.max_bytes = options.mempool.max_bytes;
    mempool.expiry = options.mempool.expiry;
    return mempool;
}

}  // namespace

MempoolParts::MempoolParts(const NodeOptions& options, const CoinStore& coins, const Clock& clock,
                           Logger& logger)
    : options_(mempool_options(options, coins, clock, logger)),
      persist_(options.mempool.persist),
      file_(options.chain_dir / MempoolFile::kName),
      logger_(logger),
      mempool_(options_, board_) {}

void MempoolParts::open(Chain& chain) {
    service_.emplace(chain, mempool_, board_, options_);
    keeper_.emplace(*service_, file_, &logger_);
}

void MempoolParts::load(const StopRequest& stop_request) {
    loading_.emplace("mempool-load", [this, &stop_request] {
        if (persist_) {
            keeper_->load([&stop_request] { return stop_request.requested(); });
        } else {
            keeper_->skip_loading();
        }
    });
}

void MempoolParts::close() {
    loading_.reset();
    if (!persist_ || !keeper_ || !board_.summary().loaded) return;
    if (const auto saved = keeper_->save(); !saved) {
        Log(&logger_, LogCategory::general).warning("The mempool is not kept: {}", saved.error().context);
    }
}

}  // namespace blockpub
