// SPDX-License-Identifier: MIT
#pragma once

#include "base/clock.hpp"
#include "chain/chain.hpp"
#include "chain/services.hpp"
#include "primitives/chain_params.hpp"
#include "source/block_template.hpp"

#include <blockpub/store.hpp>

#include <atomic>

namespace blockpub {

/// Makes blocks on top of the tip, as Core's generate calls do. Meant for regtest; on other chains the tries
/// run out.
///
/// Thread safety: every method from any thread.
/// Ownership: borrows all, which must outlive it.
/// Blocking: see BlockMiner; stop() never.
class Miner final : public BlockMiner {
 public:
    Miner(Chain& chain, const Store& store, const ChainParams& params, const Clock& clock)
        : chain_(chain), store_(store), params_(params), clock_(clock) {}

    [[nodiscard]] Result<MinedBlock> mine(const MineRequest& request) override;
    /// Ends what is under way, and all later calls, with Errc::stopped.
    void stop() noexcept { stopped_.store(true); }

 private:
    [[nodiscard]] Result<BlockTemplate> new_template(const MineRequest& request) const;
    /// A template that passed every rule but proof of work.
    [[nodiscard]] Result<BlockTemplate> valid_template(const MineRequest& request);
    /// Takes the nonces that miss from `tries`. Result: false, when none of all is good.
    [[nodiscard]] Result<bool> find_nonce(BlockHeader& header, std::uint64_t& tries) const;

    Chain& chain_;
    const Store& store_;
    const ChainParams& params_;
    const Clock& clock_;
    std::atomic<bool> stopped_{false};
};

}  // namespace blockpub
