// SPDX-License-Identifier: MIT
#include "primitives/partial_merkle_tree.hpp"

#include "base/endian.hpp"
#include "primitives/compact_size.hpp"

#include <algorithm>
#include <array>

namespace blockpub {
namespace {

/// As many transactions as a block can hold: its weight by that of the smallest, 240.
constexpr std::uint32_t kMaxLeaves = 4'000'000 / 240;

class Prover {
 public:
    Prover(const MerkleTree& tree, const std::vector<bool>& wanted) : tree_(tree) {
        proof_.leaf_count = static_cast<std::uint32_t>(tree.leaf_count());
        below_.push_back(wanted);
        while (below_.back().size() > 1) {
            const std::vector<bool>& level = below_.back();
            std::vector<bool> above((level.size() + 1) / 2);
            for (std::size_t i = 0; i < level.size(); ++i) {
                if (level[i]) above[i / 2] = true;
            }
            below_.push_back(std::move(above));
        }
    }

    [[nodiscard]] PartialMerkleTree prove() {
        visit(tree_.height(), 0);
        return std::move(proof_);
    }

 private:
    void visit(std::size_t level, std::size_t position) {
        const bool leads_to_wanted = below_[level][position];
        push_flag(leads_to_wanted);
        if (level == 0 || !leads_to_wanted) {
            proof_.hashes.push_back(tree_.node(level, position));
            return;
        }
        visit(level - 1, 2 * position);
        if (2 * position + 1 < below_[level - 1].size()) visit(level - 1, 2 * position + 1);
    }
    void push_flag(bool flag) {
        if (flags_ % 8 == 0) proof_.flags.push_back(0);
        if (flag) proof_.flags.back() |= static_cast<std::uint8_t>(1 << flags_ % 8);
        ++flags_;
    }

    const MerkleTree& tree_;
    std::vector<std::vector<bool>> below_;  // of each node: whether a wanted leaf is at or below it
    PartialMerkleTree proof_;
    std::size_t flags_ = 0;
};

class Checker {
 public:
    explicit Checker(const PartialMerkleTree& proof) : proof_(proof) {}

    [[nodiscard]] ProvenLeaves check() {
        const std::size_t bits = proof_.flags.size() * 8;
        if (proof_.leaf_count == 0 || proof_.leaf_count > kMaxLeaves ||
            proof_.hashes.size() > proof_.leaf_count || bits < proof_.hashes.size()) {
            return {};
        }
        unsigned height = 0;
        while (width(height) > 1) ++height;
        proven_.root = visit(height, 0);
        const bool all_used = (flag_ + 7) / 8 == proof_.flags.size() && hash_ == proof_.hashes.size();
        if (bad_ || !all_used) return {};
        return std::move(proven_);
    }

 private:
    [[nodiscard]] std::uint32_t width(unsigned level) const {
        return (proof_.leaf_count + (1u << level) - 1) >> level;
    }
    [[nodiscard]] bool take_flag() {
        if (flag_ >= proof_.flags.size() * 8) {
            bad_ = true;
            return false;
        }
        const bool flag = (proof_.flags[flag_ / 8] >> flag_ % 8 & 1) != 0;
        ++flag_;
        return flag;
    }
    [[nodiscard]] Digest256 take_hash() {
        if (hash_ >= proof_.hashes.size()) {
            bad_ = true;
            return {};
        }
        return proof_.hashes[hash_++];
    }
    // A tree is at most fifteen levels high.
    [[nodiscard]] Digest256 visit(unsigned level, std::uint32_t position) {
        const bool leads_to_wanted = take_flag();
        if (bad_) return {};
        if (level == 0 || !leads_to_wanted) {
            const Digest256 hash = take_hash();
            if (level == 0 && leads_to_wanted && !bad_) proven_.leaves.push_back(hash);
            return hash;
        }
        const Digest256 left = visit(level - 1, 2 * position);
        if (bad_ || 2 * position + 1 >= width(level - 1)) return sha256d_pair(left, left);
        const Digest256 right = visit(level - 1, 2 * position + 1);
        // Two transactions are never the same: equal neighbours are a forgery (CVE-2012-2459).
        if (left == right) bad_ = true;
        return sha256d_pair(left, right);
    }

    const PartialMerkleTree& proof_;
    ProvenLeaves proven_;
    std::size_t flag_ = 0;
    std::size_t hash_ = 0;
    bool bad_ = false;
};

}  // namespace

PartialMerkleTree prove_leaves(const MerkleTree& tree, const std::vector<bool>& wanted) {
    return Prover(tree, wanted).prove();
}

ProvenLeaves check_proof(const PartialMerkleTree& tree) {
    return Checker(tree).check();
}

void encode_partial_merkle_tree(const PartialMerkleTree& tree, std::vector<std::uint8_t>& out) {
    std::array<std::uint8_t, 4> count;
    write_le(count.data(), tree.leaf_count);
    out.insert(out.end(), count.begin(), count.end());
    append_compact_size(out, tree.hashes.size());
    for (const Digest256& hash : tree.hashes) out.insert(out.end(), hash.begin(), hash.end());
    append_compact_size(out, tree.flags.size());
    out.insert(out.end(), tree.flags.begin(), tree.flags.end());
}

PartialMerkleTree decode_partial_merkle_tree(ByteReader& reader) {
    PartialMerkleTree tree;
    tree.leaf_count = reader.le<std::uint32_t>();
    const std::uint64_t hashes = reader.compact_size();
    if (hashes > reader.remaining() / 32) reader.fail();
    for (std::uint64_t i = 0; reader.ok() && i < hashes; ++i)
        std::ranges::copy(reader.take(32), tree.hashes.emplace_back().begin());
    const ByteSpan flags = reader.take(reader.compact_size());
    tree.flags.assign(flags.begin(), flags.end());
    return tree;
}

}  // namespace blockpub
