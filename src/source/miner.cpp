// SPDX-License-Identifier: MIT
#include "source/miner.hpp"

#include "base/endian.hpp"
#include "primitives/header.hpp"
#include "primitives/work.hpp"

#include <limits>
#include <utility>

namespace blockpub {

namespace {
constexpr std::size_t kNonceOffset = 76;
/// Another block may become the tip while one is being made; after so many in a row it is the caller's turn.
constexpr int kFreshStarts = 10;
}  // namespace

Result<MinedBlock> Miner::mine(const MineRequest& request) {
    std::uint64_t tries = request.max_tries;
    auto block = valid_template(request);
    // 32 bits may hold no nonce: then another time of the block, and another coinbase, give another chance.
    while (block) {
        const auto found = find_nonce(block->header, tries);
        if (!found) return std::unexpected(found.error());
        if (*found) break;
        block = valid_template(request);
    }
    if (!block) return forward_error(block);
    MinedBlock mined{
        .hash = block->header.hash(), .raw = block->assemble(), .missed_tries = request.max_tries - tries};
    if (!request.submit) return mined;
    auto outcome = chain_.submit_block(mined.raw);
    if (!outcome) return forward_error(outcome);
    if (outcome->kind == BlockOutcome::Kind::rejected ||
        outcome->kind == BlockOutcome::Kind::duplicate_invalid) {
        return fail(Errc::corrupt, "ProcessNewBlock, block not accepted");
    }
    return mined;
}

Result<BlockTemplate> Miner::new_template(const MineRequest& request) const {
    const auto snapshot = store_.snapshot();
    if (!snapshot) return std::unexpected(snapshot.error());
    const auto parent = template_parent(*snapshot);
    if (!parent) return std::unexpected(parent.error());
    const std::uint32_t time = template_time(params_, *parent, clock_.now_seconds());
    const auto bits = template_bits(params_, *snapshot, *parent, time);
    if (!bits) return std::unexpected(bits.error());
    return make_template(params_, *parent, time, *bits, request.coinbase_script, request.transactions,
                         request.fees);
}

Result<BlockTemplate> Miner::valid_template(const MineRequest& request) {
    for (int attempt = 1;; ++attempt) {
        auto block = new_template(request);
        if (!block) return block;
        auto reason = chain_.test_block(block->assemble());
        if (!reason) return forward_error(reason);
        if (reason->empty()) return block;
        if (*reason != "inconclusive-not-best-prevblk" || attempt == kFreshStarts) {
            return fail(Errc::invalid_argument, "TestBlockValidity failed: " + *reason);
        }
    }
}

Result<bool> Miner::find_nonce(BlockHeader& header, std::uint64_t& tries) const {
    auto bytes = header.encode();
    for (std::uint32_t nonce = 0;; ++nonce, --tries) {
        if (tries == 0) return fail(Errc::unavailable, "no nonce found");
        if (nonce == std::numeric_limits<std::uint32_t>::max()) return false;
        if (nonce % 4096 == 0 && stopped_.load(std::memory_order_relaxed))
            return fail(Errc::stopped, "shutting down");
        write_le(&bytes[kNonceOffset], nonce);
        if (meets_proof_of_work(hash_header(bytes), header.bits, params_.pow_limit)) {
            header.nonce = nonce;
            return true;
        }
    }
}

}  // namespace blockpub
