// SPDX-License-Identifier: MIT
#include "chain/acceptance.hpp"

#include "base/check.hpp"
#include "chain/checkpoints.hpp"
#include "chain/header_checks.hpp"

#include <utility>

namespace blockpub {

Acceptance::AcceptedHeader Acceptance::accept_header(const BlockHeader& header, const BlockHash& hash) {
    if (HeaderNode* const known = state_.tree().find(hash)) {
        if (known->failed()) return {reject("duplicate", {}, Rejection::Kind::cached_invalid), known};
        return {{}, known};
    }
    if (hash == params_.genesis_hash) return {{}, &state_.add_header(header, hash, nullptr)};
    if (Verdict broken = check_header_alone(header, hash, params_)) return {std::move(broken), nullptr};
    HeaderNode* const parent = state_.tree().find(header.previous);
    if (parent == nullptr)
        return {reject("prev-blk-not-found", {}, Rejection::Kind::missing_previous), nullptr};
    if (parent->failed()) return {reject("bad-prevblk", {}, Rejection::Kind::invalid_previous), nullptr};
    if (Verdict broken = check_header_in_context(header, *parent, params_, clock_.now_seconds(),
                                                 last_checkpoint(state_.tree(), params_.kind))) {
        return {std::move(broken), nullptr};
    }
    return {{}, &state_.add_header(header, hash, parent)};
}

Result<Acceptance::AcceptedBlock> Acceptance::accept_block(const CheckedBlock& checked,
                                                           const std::optional<BlobPlace>& stored) {
    const ParsedBlock& block = checked.block;
    // The header of a block that fails here stays untouched, known or not: these bytes need not be the
    // block's own.
    if (checked.context_free) return AcceptedBlock{checked.context_free, nullptr, false};
    auto [rejection, node] = accept_header(block.header(), block.hash());
    if (rejection) return AcceptedBlock{std::move(rejection), node, false};
    if (node->block.present()) return AcceptedBlock{{}, node, false};
    if (node->previous != nullptr) {
        if (Verdict broken = check_block_in_context(checked, *node->previous, params_)) {
            if (broken->kind != Rejection::Kind::mutated) state_.mark_failed(*node);
            return AcceptedBlock{std::move(broken), node, false};
        }
    }
    std::optional<BlobPlace> place = stored;
    if (!place) {
        auto appended = store_.append_blob(block.raw());
        if (!appended) return forward_error(appended);
        place = *appended;
    }
    state_.receive_block(*node, *place, static_cast<std::uint32_t>(block.transactions().size()));
    return AcceptedBlock{{}, node, true};
}

Verdict Acceptance::test_block(const CheckedBlock& checked) const {
    const BlockHeader& header = checked.block.header();
    const HeaderNode& tip = *state_.active().tip();
    BLOCKPUB_CHECK(header.previous == tip.hash);
    if (Verdict broken = check_header_in_context(header, tip, params_, clock_.now_seconds())) return broken;
    if (checked.context_free) return checked.context_free;
    return check_block_in_context(checked, tip, params_);
}

}  // namespace blockpub
