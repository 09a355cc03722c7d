// SPDX-License-Identifier: MIT
#include "source/p2p_presync.hpp"

#include "primitives/retarget.hpp"

#include <algorithm>
#include <utility>

namespace blockpub {
namespace {

constexpr std::uint32_t kBetweenHashes = 2000;
constexpr std::int64_t kHeadersPerSecond = 6;  // the median of eleven times must rise: more cannot be
constexpr std::uint32_t kMostFactor = 4;       // that a retarget may move a target by

std::size_t most_hashes(const ChainParams& params, std::int64_t now) {
    const std::int64_t genesis = BlockHeader::decode(params.genesis).time;
    const std::int64_t age = std::max<std::int64_t>(now - genesis, 0) + kMaxFutureBlockTime;
    return static_cast<std::size_t>(age * kHeadersPerSecond / kBetweenHashes + 1);
}

/// Whether a block of `height` may have `bits` on top of one with `parent`. What only the chain can tell, it
/// tells. Source: Bitcoin Core v28.1 src/pow.cpp, PermittedDifficultyTransition.
bool may_follow(const ChainParams& params, Height height, std::uint32_t parent, std::uint32_t bits) {
    if (params.allow_min_difficulty) return true;
    if (height.value % params.retarget_interval() != 0) return bits == parent;
    const auto before = decode_compact(parent);
    const auto after = decode_compact(bits);
    if (!before || !after) return false;
    // Both ends pass through the compact form, which cuts digits off.
    const auto rounded = [](const Uint256& target) { return *decode_compact(encode_compact(target)); };
    const Uint256 most = rounded(std::min(*before * kMostFactor, params.pow_limit));
    const Uint256 least = rounded(std::min(*before / Uint256(kMostFactor), params.pow_limit));
    return *after <= most && *after >= least;
}

}  // namespace

HeaderPresync::HeaderPresync(const ChainParams& params, const HeaderDesk::Point& start,
                             const Uint256& least_work, std::int64_t now, const SipHashKey& key)
    : params_(params),
      start_(start),
      least_work_(least_work),
      key_(key),
      most_hashes_(most_hashes(params, now)),
      last_(start.hash),
      height_(start.height),
      bits_(start.bits),
      work_(start.chainwork) {}

void HeaderPresync::begin_second_look() {
    second_ = true;
    first_end_ = height_;
    first_end_hash_ = siphash(key_, last_.wire_bytes());
    last_ = start_.hash;
    height_ = start_.height;
    bits_ = start_.bits;
}

Result<void> HeaderPresync::follow(const BlockHeader& header, const BlockHash& hash) {
    if (header.previous != last_) return fail(Errc::corrupt, "it sent headers that do not connect");
    if (!meets_proof_of_work(hash, header.bits, params_.pow_limit))
        return fail(Errc::corrupt, "it sent a header without proof of work (high-hash)");
    if (!may_follow(params_, height_.next(), bits_, header.bits))
        return fail(Errc::corrupt, "it sent a header whose difficulty cannot be (bad-diffbits)");
    last_ = hash;
    height_ = height_.next();
    bits_ = header.bits;
    return {};
}

/// Remembers, or compares, what stands for the headers up to here.
Result<void> HeaderPresync::check_hash(const BlockHash& hash) {
    const std::uint64_t keyed = siphash(key_, hash.wire_bytes());
    const std::uint32_t index = (height_.value - start_.height.value) / kBetweenHashes - 1;
    if (second_) {
        if (hashes_[index] == keyed) return {};
        return fail(Errc::corrupt, "it sent other headers than before");
    }
    if (hashes_.size() == most_hashes_)
        return fail(Errc::corrupt, "it sent more headers than a chain can have");
    hashes_.push_back(keyed);
    return {};
}

Result<HeaderPresync::Step> HeaderPresync::take(std::span<const BlockHeader> headers, bool more) {
    Step step;
    const auto release = [&] {
        step.release.insert(step.release.end(), waiting_.begin(), waiting_.end());
        waiting_.clear();
    };
    for (std::size_t i = 0; i < headers.size(); ++i) {
        const BlockHash hash = headers[i].hash();
        if (auto followed = follow(headers[i], hash); !followed) return forward_error(followed);
        const bool at_hash = (height_.value - start_.height.value) % kBetweenHashes == 0;
        if (at_hash) {
            if (auto checked = check_hash(hash); !checked) return forward_error(checked);
        }
        if (!second_) {
            work_ = work_ + block_work(headers[i].bits);
            if (work_ < least_work_) continue;
            begin_second_look();
            step.ask_from = start_.hash;
            return step;
        }
        waiting_.push_back(headers[i]);
        if (height_ == first_end_) {
            if (siphash(key_, hash.wire_bytes()) != first_end_hash_)
                return fail(Errc::corrupt, "it sent other headers than before");
            release();
            step.release.insert(step.release.end(), headers.begin() + static_cast<std::ptrdiff_t>(i + 1),
                                headers.end());
            return step;
        }
        if (at_hash) release();
    }
    if (more) {
        step.ask_from = last_;
    } else if (second_) {
        return fail(Errc::corrupt, "it sent fewer headers than before");
    } else {
        step.too_little_work = true;
    }
    return step;
}

}  // namespace blockpub
