// SPDX-License-Identifier: MIT
#include "source/block_scanner.hpp"

#include "base/check.hpp"
#include "base/endian.hpp"
#include "primitives/block.hpp"
#include "primitives/header.hpp"
#include "primitives/merkle.hpp"
#include "primitives/reader.hpp"
#include "primitives/sha256.hpp"
#include "primitives/transaction.hpp"
#include "primitives/work.hpp"

#include <algorithm>
#include <cstring>

namespace blockpub {

namespace {

constexpr std::size_t kRecordMagicSize = 4;
/// A header and the number of transactions: nothing shorter is a block.
constexpr std::uint32_t kMinBlockSize = BlockHeader::kSize + 1;
static_assert(kMaxWanted == kRecordPrefix + kMaxBlockSize + kRecordMagicSize);

/// Size of the block that `bytes` begin with; 0 when its transactions do not end within them. Judges their
/// form alone, and hashes nothing.
std::size_t measure_block(ByteSpan bytes) {
    ByteReader reader(bytes);
    reader.skip(BlockHeader::kSize);
    const std::uint64_t count = reader.compact_size();
    for (std::uint64_t i = 0; reader.ok() && i < count; ++i) {
        if (!TransactionView::parse(reader)) return 0;
    }
    return reader.ok() ? reader.position() : 0;
}

/// Whether header and coinbase commit to all of the block's bytes.
bool is_committed_to(ByteSpan bytes) {
    const auto block = ParsedBlock::parse(SharedBytes::copy_of(bytes));
    if (!block || block->transactions().empty()) return false;
    if (MerkleRoot(block_merkle_root(*block).root) != block->header().merkle_root) return false;

    // Without a witness the txids cover every byte.
    if (std::ranges::none_of(block->transactions(), &ParsedBlock::Entry::has_witness)) return true;
    const TransactionView coinbase = block->transaction(0);
    const auto position = witness_commitment_output(coinbase);
    if (!position) return false;
    bool matches = false;
    coinbase.for_each_witness_item([&](std::size_t, std::size_t, ByteSpan reserved_value) {
        const Digest256 root = block_witness_merkle_root(*block);
        const Digest256 commitment = sha256d(std::array{ByteSpan(root), reserved_value});
        coinbase.for_each_output([&](std::size_t output_position, const TxOutput& output) {
            if (output_position != *position) return true;
            matches = std::ranges::equal(output.script.subspan(6, commitment.size()), commitment);
            return false;
        });
        return false;
    });
    return matches;
}

const ChainParams* params_of_magic(std::uint32_t magic) {
    for (const auto kind :
         {ChainKind::main, ChainKind::testnet3, ChainKind::testnet4, ChainKind::signet, ChainKind::regtest}) {
        if (chain_params(kind).magic == magic) return &chain_params(kind);
    }
    return nullptr;
}

}  // namespace

std::string_view describe(BadSpotKind kind) {
    switch (kind) {
        case BadSpotKind::junk:
            return "bytes that are no record";
        case BadSpotKind::empty:
            return "zeros between records";
        case BadSpotKind::torn:
            return "a record cut short by the end of the file";
        case BadSpotKind::bad_length:
            return "a record with an impossible length";
        case BadSpotKind::no_work:
            return "a record whose header does not meet proof of work";
        case BadSpotKind::undecodable:
            return "a record that does not hold a whole block";
        case BadSpotKind::other_network:
            return "a record of another network";
    }
    return "";
}

ScanStep BlockScanner::next(ByteSpan bytes, std::uint64_t window_offset, bool reaches_end) {
    const Window window{bytes, window_offset, reaches_end};
    BLOCKPUB_CHECK(window_offset <= position_ && position_ <= window.end());
    if (!spot_) {
        const Verdict verdict = judge(window);
        const std::uint64_t begin = position_;
        switch (verdict.kind) {
            case Verdict::Kind::need_more:
                return {.kind = ScanStep::Kind::need_more};
            case Verdict::Kind::end:
                return {.kind = ScanStep::Kind::end, .begin = position_};
            case Verdict::Kind::block:
                position_ += kRecordPrefix + verdict.size;
                return {ScanStep::Kind::block, {}, begin + kRecordPrefix, verdict.size, verdict.hash};
            case Verdict::Kind::other_network:
                position_ += kRecordPrefix + verdict.size;
                return {ScanStep::Kind::bad_spot, BadSpotKind::other_network, begin, position_ - begin, {}};
            case Verdict::Kind::bad:
                spot_ = verdict.bad;
                spot_begin_ = position_;
                // Right behind the magic, or the next byte where there was none: what stands there may be
                // whole.
                if (verdict.bad != BadSpotKind::empty) position_ += verdict.size;
                break;
        }
    }
    if (!(*spot_ == BadSpotKind::empty ? pass_zeros(window) : find_magic(window))) {
        return {.kind = ScanStep::Kind::need_more};
    }
    const BadSpotKind kind = *spot_;
    spot_.reset();
    const std::uint64_t size = position_ - spot_begin_;
    if (kind == BadSpotKind::empty && window.reaches_end && position_ == window.end()) {
        return {ScanStep::Kind::end, {}, spot_begin_, size, {}};
    }
    return {ScanStep::Kind::bad_spot, kind, spot_begin_, size, {}};
}

BlockScanner::Verdict BlockScanner::judge(const Window& window) {
    const ByteSpan bytes = window.from(position_);
    if (bytes.size() < kRecordPrefix && !window.reaches_end)
        return short_of(window, position_ + kRecordPrefix, {});
    if (bytes.empty()) return {.kind = Verdict::Kind::end};

    // Zeros first: under a key that contains the magic they would look like an endless row of records. A few
    // may also be the beginning of a record, under a key that shares bytes with the magic.
    const std::size_t zeros = count_raw_zeros(bytes.first(std::min(bytes.size(), kRecordPrefix)), position_);
    const bool has_magic =
        bytes.size() >= kRecordMagicSize && read_le<std::uint32_t>(bytes.data()) == params_.magic;
    if (zeros == kRecordPrefix || (zeros != 0 && !has_magic)) {
        return {.kind = Verdict::Kind::bad, .bad = BadSpotKind::empty};
    }
    if (has_magic) return judge_record(window, params_);
    if (bytes.size() < kRecordMagicSize) return short_of(window, 0, BadSpotKind::junk);

    const ChainParams* other = params_of_magic(read_le<std::uint32_t>(bytes.data()));
    if (other == nullptr) return {.kind = Verdict::Kind::bad, .bad = BadSpotKind::junk, .size = 1};
    Verdict verdict = judge_record(window, *other);
    if (verdict.kind == Verdict::Kind::block) verdict.kind = Verdict::Kind::other_network;
    return verdict;
}

BlockScanner::Verdict BlockScanner::judge_record(const Window& window, const ChainParams& params) {
    const ByteSpan bytes = window.from(position_);
    const auto bad = [](BadSpotKind kind) {
        return Verdict{.kind = Verdict::Kind::bad, .bad = kind, .size = kRecordMagicSize};
    };
    if (bytes.size() < kRecordPrefix) return short_of(window, position_ + kRecordPrefix, BadSpotKind::torn);
    const auto length = read_le<std::uint32_t>(&bytes[kRecordMagicSize]);
    if (length < kMinBlockSize || length > kMaxBlockSize) return bad(BadSpotKind::bad_length);

    constexpr std::size_t header_end = kRecordPrefix + BlockHeader::kSize;
    if (bytes.size() < header_end) return short_of(window, position_ + header_end, BadSpotKind::torn);
    const ByteSpan header_bytes = bytes.subspan(kRecordPrefix, BlockHeader::kSize);
    const BlockHash hash = hash_header(header_bytes);
    if (!meets_proof_of_work(hash, BlockHeader::decode(header_bytes).bits, params.pow_limit)) {
        return bad(BadSpotKind::no_work);
    }

    const std::size_t end = kRecordPrefix + length;
    if (bytes.size() < end) return short_of(window, position_ + end + kRecordMagicSize, BadSpotKind::torn);
    if (bytes.size() < end + kRecordMagicSize && !window.reaches_end) {
        return short_of(window, position_ + end + kRecordMagicSize, BadSpotKind::torn);
    }
    const std::size_t size = measure_block(bytes.subspan(kRecordPrefix, length));
    if (size == 0) return bad(BadSpotKind::undecodable);
    // A record that lost its last bytes to the next one may still look whole. What follows tells; only where
    // it is not what should follow are the transactions hashed.
    const bool followed = size == length && bytes.size() >= end + kRecordMagicSize &&
                          read_le<std::uint32_t>(&bytes[end]) == params.magic;
    if (!followed && !is_committed_to(bytes.subspan(kRecordPrefix, size)))
        return bad(BadSpotKind::undecodable);
    return {.kind = Verdict::Kind::block, .size = size, .hash = hash};
}

BlockScanner::Verdict BlockScanner::short_of(const Window& window, std::uint64_t wanted_end,
                                             BadSpotKind if_last) {
    if (window.reaches_end) {
        return {.kind = Verdict::Kind::bad,
                .bad = if_last,
                .size = std::min(kRecordMagicSize, window.from(position_).size())};
    }
    wanted_end_ = wanted_end;
    return {.kind = Verdict::Kind::need_more};
}

bool BlockScanner::pass_zeros(const Window& window) {
    constexpr std::size_t overlap = kRecordPrefix - 1;
    std::uint64_t end = position_ + count_raw_zeros(window.from(position_), position_);
    if (!window.reaches_end && window.end() - end < overlap) {
        position_ = std::max(position_, end - std::min<std::uint64_t>(end, overlap));
        wanted_end_ = end + kRecordPrefix;
        return false;
    }
    // The last of them may already belong to a record, under a key that shares bytes with the magic.
    for (std::size_t back = overlap; back > 0 && end < window.end(); --back) {
        if (end < position_ + back || window.end() - (end - back) < kRecordMagicSize) continue;
        if (read_le<std::uint32_t>(window.from(end - back).data()) == params_.magic) {
            end -= back;
            break;
        }
    }
    position_ = end;
    return true;
}

bool BlockScanner::find_magic(const Window& window) {
    std::array<std::uint8_t, kRecordMagicSize> magic{};
    write_le(magic.data(), params_.magic);
    std::size_t keep = kRecordMagicSize - 1;  // the window's last bytes may be the beginning of a magic
    while (true) {
        const ByteSpan bytes = window.from(position_);
        const void* found = ::memmem(bytes.data(), bytes.size(), magic.data(), magic.size());
        if (found == nullptr) break;
        position_ += static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - bytes.data());
        const std::size_t zeros = count_raw_zeros(window.from(position_), position_);
        const bool to_the_end = position_ + zeros == window.end();
        if (zeros < kRecordPrefix && !to_the_end) return true;
        // Preallocated space under a key that contains the magic. Its last bytes may belong to a record, too.
        if (to_the_end) {
            keep = kRecordPrefix - 1;
            break;
        }
        position_ += zeros - (kRecordPrefix - 1);
    }
    if (window.reaches_end) keep = 0;
    const std::uint64_t left = window.end() - position_;
    position_ += left - std::min<std::uint64_t>(left, keep);
    wanted_end_ = window.end() + kRecordPrefix;
    return window.reaches_end;
}

std::size_t BlockScanner::count_raw_zeros(ByteSpan bytes, std::uint64_t offset) const {
    std::array<std::uint8_t, XorKey::kSize> pattern{};
    for (std::size_t i = 0; i < pattern.size(); ++i) pattern[i] = key_.at(offset + i);
    const auto word = read_le<std::uint64_t>(pattern.data());
    std::size_t i = 0;
    while (i + pattern.size() <= bytes.size() && read_le<std::uint64_t>(&bytes[i]) == word)
        i += pattern.size();
    while (i < bytes.size() && bytes[i] == pattern[i % pattern.size()]) ++i;
    return i;
}

}  // namespace blockpub
