// SPDX-License-Identifier: MIT
#include "source/block_template.hpp"

#include "base/check.hpp"
#include "base/endian.hpp"
#include "primitives/compact_size.hpp"
#include "primitives/merkle.hpp"
#include "primitives/opcodes.hpp"
#include "primitives/retarget.hpp"
#include "primitives/script.hpp"
#include "primitives/sha256.hpp"
#include "primitives/subsidy.hpp"
#include "primitives/transaction.hpp"

#include <algorithm>
#include <array>
#include <concepts>
#include <optional>
#include <utility>

namespace blockpub {

namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::int32_t kBlockVersion = 0x20000000;  // version bits, none of them set
constexpr std::size_t kMedianTimeSpan = 11;
/// OP_RETURN, a push of 36 bytes, and BIP 141's mark.
constexpr std::array<std::uint8_t, 6> kCommitmentPrefix{0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed};
constexpr std::array<std::uint8_t, 32> kReservedValue{};

void append(Bytes& out, ByteSpan bytes) {
    out.insert(out.end(), bytes.begin(), bytes.end());
}

template <std::integral T>
void append_le(Bytes& out, T value) {
    out.resize(out.size() + sizeof value);
    write_le(&out[out.size() - sizeof value], value);
}

void append_output(Bytes& out, Amount amount, ByteSpan script) {
    append_le(out, amount);
    append_compact_size(out, script.size());
    append(out, script);
}

struct CoinbaseSpec {
    Script input_script;
    Amount amount = 0;
    ByteSpan output_script;
    std::optional<Digest256> witness_root;  ///< none: no witness, and no commitment to one
};

Bytes serialize_coinbase(const CoinbaseSpec& spec, bool with_witness) {
    Bytes out;
    append_le<std::int32_t>(out, 2);
    if (with_witness) append(out, std::array<std::uint8_t, 2>{0, 1});
    append_compact_size(out, 1);
    append(out, std::array<std::uint8_t, 32>{});
    append_le<std::uint32_t>(out, 0xffffffff);
    append_compact_size(out, spec.input_script.size());
    append(out, spec.input_script);
    append_le<std::uint32_t>(out, 0xffffffff);

    append_compact_size(out, spec.witness_root ? 2 : 1);
    append_output(out, spec.amount, spec.output_script);
    if (spec.witness_root) {
        Bytes script(kCommitmentPrefix.begin(), kCommitmentPrefix.end());
        append(script, sha256d_pair(*spec.witness_root, kReservedValue));
        append_output(out, 0, script);
    }
    if (with_witness) {
        append_compact_size(out, 1);
        append_compact_size(out, kReservedValue.size());
        append(out, kReservedValue);
    }
    append_le<std::uint32_t>(out, 0);
    return out;
}

/// The active chain of a snapshot. Errors are kept, since the interface has none.
class SnapshotAncestors final : public AncestorAccess {
 public:
    SnapshotAncestors(const Snapshot& snapshot, Height tip) : snapshot_(snapshot), tip_(tip) {}
    [[nodiscard]] Height tip_height() const override { return tip_; }
    [[nodiscard]] Ancestor ancestor(Height height) const override {
        const auto header = read(height);
        if (header) return {.bits = header->bits, .time = header->time};
        error_ = header.error();
        // Of no use but well-formed: the error is asked for before the answer is used.
        return {.bits = 0x1d00ffff, .time = 0};
    }
    [[nodiscard]] Result<BlockHeader> read(Height height) const {
        const auto hash = snapshot_.active(height);
        if (!hash) return std::unexpected(hash.error());
        const auto record = snapshot_.header(*hash);
        if (!record) return std::unexpected(record.error());
        return BlockHeader::decode(record->header);
    }
    [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
    const Snapshot& snapshot_;
    Height tip_;
    mutable std::optional<Error> error_;
};

}  // namespace

SharedBytes BlockTemplate::assemble() const {
    return SharedBytes::build(BlockHeader::kSize + body.size(), [&](std::span<std::uint8_t> out) {
        std::ranges::copy(header.encode(), out.begin());
        std::ranges::copy(body, out.begin() + BlockHeader::kSize);
    });
}

Result<TemplateParent> template_parent(const Snapshot& snapshot) {
    const auto tip = snapshot.tip();
    if (!tip) return std::unexpected(tip.error());
    const SnapshotAncestors chain(snapshot, tip->height);
    TemplateParent parent{.hash = tip->hash, .height = tip->height};
    std::vector<std::uint32_t> times;
    for (Height height = tip->height;; height = height.previous()) {
        const auto header = chain.read(height);
        if (!header) return std::unexpected(header.error());
        times.push_back(header->time);
        if (height.value == 0 || times.size() == kMedianTimeSpan) break;
    }
    parent.time = times.front();
    std::ranges::sort(times);
    parent.median_time_past = times[times.size() / 2];
    return parent;
}

std::uint32_t template_time(const ChainParams& params, const TemplateParent& parent, std::int64_t now) {
    std::int64_t time = std::max<std::int64_t>(std::int64_t{parent.median_time_past} + 1, now);
    if (params.enforce_bip94 && parent.height.next().value % params.retarget_interval() == 0) {
        time = std::max(time, std::int64_t{parent.time} - kMaxTimewarp);
    }
    return static_cast<std::uint32_t>(time);
}

Result<std::uint32_t> template_bits(const ChainParams& params, const Snapshot& snapshot,
                                    const TemplateParent& parent, std::uint32_t time) {
    const SnapshotAncestors chain(snapshot, parent.height);
    const std::uint32_t bits = next_work_required(params, chain, time);
    if (chain.error()) return std::unexpected(*chain.error());
    return bits;
}

Result<BlockTemplate> make_template(const ChainParams& params, const TemplateParent& parent,
                                    std::uint32_t time, std::uint32_t bits, const Script& coinbase_script,
                                    std::span<const SharedBytes> transactions, Amount fees) {
    std::vector<Digest256> txids(1);
    std::vector<Digest256> wtxids(1);
    for (const SharedBytes& raw : transactions) {
        const auto view = TransactionView::parse_whole(raw.bytes());
        if (!view) return fail(Errc::invalid_argument, view.error().context);
        txids.push_back(view->txid().wire_bytes());
        wtxids.push_back(view->wtxid().wire_bytes());
    }
    CoinbaseSpec coinbase;
    const Height height = parent.height.next();
    push_number(coinbase.input_script, height.value);
    coinbase.input_script.push_back(kOp0);
    coinbase.amount = block_subsidy(height, params) + fees;
    coinbase.output_script = coinbase_script;
    const bool segwit = height >= params.segwit_height;
    if (segwit) coinbase.witness_root = merkle_root(std::move(wtxids)).root;
    txids.front() = sha256d(serialize_coinbase(coinbase, false));

    BlockTemplate block;
    block.header.version = kBlockVersion;
    block.header.previous = parent.hash;
    block.header.merkle_root = MerkleRoot(merkle_root(std::move(txids)).root);
    block.header.time = time;
    block.header.bits = bits;
    append_compact_size(block.body, transactions.size() + 1);
    append(block.body, serialize_coinbase(coinbase, segwit));
    for (const SharedBytes& raw : transactions) append(block.body, raw.bytes());
    return block;
}

}  // namespace blockpub
