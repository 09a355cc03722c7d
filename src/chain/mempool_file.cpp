// SPDX-License-Identifier: MIT
#include "chain/mempool_file.hpp"

#include "base/endian.hpp"
#include "primitives/compact_size.hpp"
#include "primitives/reader.hpp"

#include <fmt/format.h>

#include <utility>

namespace blockpub {
namespace {

constexpr std::uint64_t kPlainVersion = 1;
constexpr std::uint64_t kKeyedVersion = 2;
constexpr std::size_t kVersionSize = 8;
constexpr std::size_t kHashSize = 32;

template <std::integral T>
void put(std::vector<std::uint8_t>& out, T value) {
    out.resize(out.size() + sizeof value);
    write_le(out.data() + out.size() - sizeof value, value);
}

void put_bytes(std::vector<std::uint8_t>& out, ByteSpan bytes) {
    out.insert(out.end(), bytes.begin(), bytes.end());
}

/// The key is repeated from the start of the file, its head included.
void obfuscate(std::vector<std::uint8_t>& file, std::size_t from, ByteSpan key) {
    for (std::size_t i = from; i < file.size(); ++i) file[i] ^= key[i % key.size()];
}

Result<MempoolFileContents> decode_payload(ByteReader& reader) {
    MempoolFileContents contents;
    const auto count = reader.le<std::uint64_t>();
    // Nothing is allocated by a count: each element costs bytes of the file.
    for (std::uint64_t i = 0; reader.ok() && i < count; ++i) {
        auto view = TransactionView::parse(reader);
        if (!view) return fail(Errc::corrupt, fmt::format("transaction {}: {}", i, view.error().context));
        auto transaction = MempoolTransaction::decode(SharedBytes::copy_of(view->bytes()));
        if (!transaction) return forward_error(transaction);
        const auto time = reader.le<std::int64_t>();
        const auto delta = reader.le<std::int64_t>();
        contents.items.push_back({.transaction = std::move(*transaction), .time = time, .fee_delta = delta});
    }
    const std::uint64_t deltas = reader.compact_size();
    for (std::uint64_t i = 0; reader.ok() && i < deltas; ++i) {
        const ByteSpan txid = reader.take(kHashSize);
        const auto delta = reader.le<std::int64_t>();
        if (reader.ok()) contents.fee_deltas.emplace(Txid::from_wire(txid), delta);
    }
    const std::uint64_t unbroadcast = reader.compact_size();
    for (std::uint64_t i = 0; reader.ok() && i < unbroadcast; ++i) {
        const ByteSpan txid = reader.take(kHashSize);
        if (reader.ok()) contents.unbroadcast.insert(Txid::from_wire(txid));
    }
    if (!reader.ok()) return fail(Errc::corrupt, "the file ends within a field");
    return contents;
}

}  // namespace

std::vector<std::uint8_t> MempoolFile::encode(const MempoolFileContents& contents, const Key& key) {
    std::vector<std::uint8_t> file;
    put(file, kKeyedVersion);
    append_compact_size(file, key.size());
    put_bytes(file, key);
    const std::size_t payload = file.size();
    put(file, std::uint64_t{contents.items.size()});
    for (const MempoolFileContents::Item& item : contents.items) {
        put_bytes(file, item.transaction->raw().bytes());
        put(file, item.time);
        put(file, item.fee_delta);
    }
    append_compact_size(file, contents.fee_deltas.size());
    for (const auto& [txid, delta] : contents.fee_deltas) {
        put_bytes(file, txid.wire_bytes());
        put(file, delta);
    }
    append_compact_size(file, contents.unbroadcast.size());
    for (const Txid& txid : contents.unbroadcast) put_bytes(file, txid.wire_bytes());
    obfuscate(file, payload, key);
    return file;
}

Result<MempoolFileContents> MempoolFile::decode(ByteSpan file) {
    ByteReader head(file);
    const auto version = head.le<std::uint64_t>();
    if (!head.ok()) return fail(Errc::corrupt, "the file ends within its version");
    if (version == kPlainVersion) {
        ByteReader reader(file);
        reader.skip(kVersionSize);
        return decode_payload(reader);
    }
    if (version != kKeyedVersion)
        return fail(Errc::unsupported, fmt::format("version {} is not known", version));
    const ByteSpan key = head.take(head.compact_size());
    if (!head.ok() || key.size() != kKeySize) return fail(Errc::corrupt, "the key is not of 8 bytes");
    std::vector<std::uint8_t> plain(file.begin(), file.end());
    obfuscate(plain, head.position(), key);
    ByteReader reader(plain);
    reader.skip(head.position());
    return decode_payload(reader);
}

}  // namespace blockpub
