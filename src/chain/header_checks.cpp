// SPDX-License-Identifier: MIT
#include "chain/header_checks.hpp"

#include "primitives/retarget.hpp"

#include <fmt/format.h>

namespace blockpub {
namespace {

/// The branch that ends in one node, as the retarget rules read it.
class BranchAccess final : public AncestorAccess {
 public:
    explicit BranchAccess(const HeaderNode& tip) : tip_(tip) {}
    [[nodiscard]] Height tip_height() const override { return tip_.height; }
    [[nodiscard]] Ancestor ancestor(Height height) const override {
        const HeaderNode* const node = tip_.ancestor(height);
        return {.bits = node->bits, .time = node->time};
    }

 private:
    const HeaderNode& tip_;
};

bool is_outdated(std::int32_t version, Height height, const ChainParams& params) {
    return (version < 2 && height >= params.bip34_height) || (version < 3 && height >= params.bip66_height) ||
           (version < 4 && height >= params.bip65_height);
}

}  // namespace

Verdict check_header_alone(const BlockHeader& header, const BlockHash& hash, const ChainParams& params) {
    if (!meets_proof_of_work(hash, header.bits, params.pow_limit))
        return reject("high-hash", "proof of work failed");
    return {};
}

Verdict check_header_in_context(const BlockHeader& header, const HeaderNode& parent,
                                const ChainParams& params, std::int64_t now, Height checkpoint) {
    const Height height = parent.height.next();
    if (header.bits != next_work_required(params, BranchAccess(parent), header.time))
        return reject("bad-diffbits", "incorrect proof of work");
    if (height < checkpoint) return reject("bad-fork-prior-to-checkpoint");
    if (std::int64_t{header.time} <= parent.median_time_past())
        return reject("time-too-old", "block's timestamp is too early");
    if (params.enforce_bip94 && height.value % params.retarget_interval() == 0 &&
        std::int64_t{header.time} < std::int64_t{parent.time} - kMaxTimewarp) {
        return reject("time-timewarp-attack", "block's timestamp is too early on diff adjustment block");
    }
    if (std::int64_t{header.time} > now + kMaxFutureBlockTime) {
        return reject("time-too-new", "block timestamp too far in the future", Rejection::Kind::time_future);
    }
    if (is_outdated(header.version, height, params)) {
        const auto version = static_cast<std::uint32_t>(header.version);
        return reject(fmt::format("bad-version(0x{:08x})", version),
                      fmt::format("rejected nVersion=0x{:08x} block", version));
    }
    return {};
}

}  // namespace blockpub
