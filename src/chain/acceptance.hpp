// SPDX-License-Identifier: MIT
#pragma once

#include "base/clock.hpp"
#include "chain/block_checks.hpp"
#include "chain/chain_state.hpp"
#include "chain/verdict.hpp"
#include "primitives/chain_params.hpp"

#include <blockpub/result.hpp>
#include <blockpub/store.hpp>

#include <optional>

namespace blockpub {

/// Takes headers and blocks into the tree, once they have passed the rules that need no coins.
///
/// Thread safety: chain thread only.
/// Ownership: borrows all that it is made with.
/// Source: Bitcoin Core v28.1 src/validation.cpp, AcceptBlockHeader and AcceptBlock.
class Acceptance {
 public:
    Acceptance(const ChainParams& params, const Clock& clock, ChainState& state, Store& store)
        : params_(params), clock_(clock), state_(state), store_(store) {}

    struct AcceptedHeader {
        Verdict rejection;
        HeaderNode* node = nullptr;  ///< null when the header is not in the tree
    };
    /// A header known as valid is accepted again; one known as invalid is rejected as "duplicate".
    [[nodiscard]] AcceptedHeader accept_header(const BlockHeader& header, const BlockHash& hash);

    struct AcceptedBlock {
        Verdict rejection;
        HeaderNode* node = nullptr;  ///< null when the header is not in the tree
        bool fresh = false;          ///< stored just now, not known before
    };
    /// A block that breaks a rule of its own is marked with all its descendants; one that was only mutated is
    /// not. `stored`: where the block lies already; absent: it is appended to the store. Errors: those of
    /// Store::append_blob; nothing has changed but the header then.
    [[nodiscard]] Result<AcceptedBlock> accept_block(const CheckedBlock& checked,
                                                     const std::optional<BlobPlace>& stored = std::nullopt);

    /// Every rule but proof of work on top of the tip, without accepting anything. `checked`: without its
    /// proof of work. Requires: it extends the tip.
    [[nodiscard]] Verdict test_block(const CheckedBlock& checked) const;

 private:
    const ChainParams& params_;
    const Clock& clock_;
    ChainState& state_;
    Store& store_;
};

}  // namespace blockpub
