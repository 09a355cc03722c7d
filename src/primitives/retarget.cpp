// SPDX-License-Identifier: MIT
#include "primitives/retarget.hpp"

#include "base/check.hpp"

#include <algorithm>

namespace blockpub {
namespace {

std::uint32_t retarget(const ChainParams& params, std::uint32_t old_bits, std::int64_t timespan) {
    timespan = std::clamp(timespan, params.target_timespan / 4, params.target_timespan * 4);
    const auto old_target = decode_compact(old_bits);
    BLOCKPUB_CHECK(old_target.has_value(), "bits {:08x} in the chain", old_bits);
    const Uint256 target = *old_target * static_cast<std::uint32_t>(timespan) /
                           Uint256(static_cast<std::uint64_t>(params.target_timespan));
    return encode_compact(std::min(target, params.pow_limit));
}

// Between retargets testnet's blocks of the lowest difficulty do not count: the last other one does.
std::uint32_t last_real_bits(const ChainParams& params, const AncestorAccess& parent, std::uint32_t lowest) {
    const auto interval = static_cast<std::uint32_t>(params.retarget_interval());
    Height height = parent.tip_height();
    std::uint32_t bits = parent.ancestor(height).bits;
    while (height.value % interval != 0 && bits == lowest) {
        height = height.previous();
        bits = parent.ancestor(height).bits;
    }
    return bits;
}

}  // namespace

std::uint32_t next_work_required(const ChainParams& params, const AncestorAccess& parent,
                                 std::uint32_t new_time) {
    const auto interval = static_cast<std::uint32_t>(params.retarget_interval());
    const Height tip = parent.tip_height();
    const AncestorAccess::Ancestor last = parent.ancestor(tip);
    if (tip.next().value % interval != 0) {
        if (!params.allow_min_difficulty) return last.bits;
        const std::uint32_t lowest = encode_compact(params.pow_limit);
        if (std::int64_t{new_time} > std::int64_t{last.time} + 2 * params.target_spacing) return lowest;
        return last_real_bits(params, parent, lowest);
    }
    if (params.no_retargeting) return last.bits;
    // 2015 blocks back, not 2016: the first retarget's off-by-one is a rule.
    const AncestorAccess::Ancestor first = parent.ancestor({tip.value - (interval - 1)});
    // BIP 94 takes the interval's first block, which no 20-minute rule made easy.
    const std::uint32_t old_bits = params.enforce_bip94 ? first.bits : last.bits;
    return retarget(params, old_bits, std::int64_t{last.time} - std::int64_t{first.time});
}

}  // namespace blockpub
