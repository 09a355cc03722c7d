// SPDX-License-Identifier: MIT
#include "chain/undo.hpp"

#include "base/endian.hpp"
#include "primitives/sha256.hpp"

namespace blockpub {
namespace {

/// Bytes of the checksum at the end: the first of the sha256d of all before it.
constexpr std::size_t kUndoChecksumSize = 4;
constexpr std::size_t kCountSize = 4;
/// Bytes that the coins of a transaction with one or two inputs take.
constexpr std::size_t kUsualTransaction = 64;

void append_count(std::vector<std::uint8_t>& out, std::size_t count) {
    out.resize(out.size() + kCountSize);
    write_le<std::uint32_t>(out.data() + out.size() - kCountSize, static_cast<std::uint32_t>(count));
}

/// All but the checksum, which must be right.
Result<ByteSpan> checked_body(ByteSpan bytes) {
    if (bytes.size() < kCountSize + kUndoChecksumSize) return fail(Errc::corrupt, "undo data is cut off");
    const ByteSpan body = bytes.first(bytes.size() - kUndoChecksumSize);
    const Digest256 digest = sha256d(body);
    if (!std::equal(bytes.end() - kUndoChecksumSize, bytes.end(), digest.begin())) {
        return fail(Errc::corrupt, "undo data does not match its checksum");
    }
    return body;
}

}  // namespace

SharedBytes encode_undo(const BlockUndo& undo) {
    std::vector<std::uint8_t> out;
    out.reserve(undo.size() * kUsualTransaction);
    append_count(out, undo.size());
    for (std::size_t i = 0; i < undo.size(); ++i) {
        append_count(out, undo[i].size());
        for (const Coin& coin : undo[i]) encode_coin(coin, out);
    }
    const Digest256 digest = sha256d(out);
    out.insert(out.end(), digest.begin(), digest.begin() + kUndoChecksumSize);
    return SharedBytes::copy_of(out);
}

UndoReader::UndoReader(ByteSpan body) : reader_(body) {
    transactions_ = reader_.le<std::uint32_t>();
}

Result<UndoReader> UndoReader::open(ByteSpan bytes) {
    const auto body = checked_body(bytes);
    if (!body) return std::unexpected(body.error());
    return UndoReader(*body);
}

UndoReader UndoReader::of_checked(ByteSpan bytes) {
    return UndoReader(bytes.first(bytes.size() - kUndoChecksumSize));
}

std::size_t UndoReader::next_transaction() {
    return reader_.le<std::uint32_t>();
}

const Coin& UndoReader::next_coin() {
    decode_coin(reader_, coin_);
    return coin_;
}

Result<BlockUndo> decode_undo(ByteSpan bytes) {
    auto body = checked_body(bytes);
    if (!body) return forward_error(body);
    ByteReader reader(*body);
    BlockUndo undo;
    const auto transactions = reader.le<std::uint32_t>();
    for (std::uint32_t i = 0; i < transactions && reader.ok(); ++i) {
        const auto count = reader.le<std::uint32_t>();
        if (count > reader.remaining()) reader.fail();
        undo.begin_transaction();
        for (std::uint32_t k = 0; k < count && reader.ok(); ++k) undo.add(decode_coin(reader));
    }
    if (!reader.ok() || reader.remaining() != 0) return fail(Errc::corrupt, "undo data does not decode");
    return undo;
}

}  // namespace blockpub
