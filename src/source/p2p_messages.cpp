// SPDX-License-Identifier: MIT
#include "source/p2p_messages.hpp"

#include "base/check.hpp"
#include "primitives/reader.hpp"
#include "primitives/wire_writer.hpp"

#include <fmt/format.h>

namespace blockpub {
namespace {

constexpr std::size_t kAddressSize = 26;  // services, 16 bytes of address, port
constexpr std::size_t kInventorySize = 36;

std::unexpected<Error> too_short(std::string_view what) {
    return fail(Errc::corrupt, fmt::format("{} that ends too early", what));
}

std::unexpected<Error> too_many(std::string_view what, std::uint64_t count, std::size_t limit) {
    return fail(Errc::corrupt, fmt::format("{} of {} entries, {} are allowed", what, count, limit));
}

BlockHash read_hash(ByteReader& reader) {
    const ByteSpan bytes = reader.take(BlockHash::kSize);
    return bytes.empty() ? BlockHash() : BlockHash::from_wire(bytes);
}

}  // namespace

std::vector<std::uint8_t> encode_version(const PeerVersion& version) {
    BLOCKPUB_CHECK(version.user_agent.size() <= kMaxUserAgent);
    std::vector<std::uint8_t> out;
    WireWriter writer(out);
    writer.le(version.protocol);
    writer.le(version.services);
    writer.le(version.time);
    // Of the addresses none is told: nobody is to connect here.
    out.resize(out.size() + 2 * kAddressSize);
    writer.le(version.nonce);
    writer.compact_size(version.user_agent.size());
    writer.bytes(
        {reinterpret_cast<const std::uint8_t*>(version.user_agent.data()), version.user_agent.size()});
    writer.le(version.start_height);
    writer.le(std::uint8_t{version.relay});
    return out;
}

Result<PeerVersion> decode_version(ByteSpan payload) {
    ByteReader reader(payload);
    PeerVersion version;
    version.protocol = reader.le<std::uint32_t>();
    version.services = reader.le<std::uint64_t>();
    version.time = reader.le<std::int64_t>();
    reader.skip(2 * kAddressSize);
    version.nonce = reader.le<std::uint64_t>();
    const std::uint64_t length = reader.compact_size();
    if (reader.ok() && length > kMaxUserAgent) return too_many("version with a name", length, kMaxUserAgent);
    const ByteSpan name = reader.take(length);
    version.user_agent.assign(name.begin(), name.end());
    version.start_height = reader.le<std::int32_t>();
    if (!reader.ok()) return too_short("version");
    if (reader.remaining() != 0) version.relay = reader.le<std::uint8_t>() != 0;
    return version;
}

std::vector<std::uint8_t> encode_nonce(std::uint64_t nonce) {
    std::vector<std::uint8_t> out;
    WireWriter(out).le(nonce);
    return out;
}

Result<std::uint64_t> decode_nonce(ByteSpan payload) {
    ByteReader reader(payload);
    const auto nonce = reader.le<std::uint64_t>();
    if (!reader.ok()) return too_short("ping or pong");
    return nonce;
}

std::vector<std::uint8_t> encode_fee_filter(std::int64_t fee_rate) {
    std::vector<std::uint8_t> out;
    WireWriter(out).le(fee_rate);
    return out;
}

Result<std::int64_t> decode_fee_filter(ByteSpan payload) {
    ByteReader reader(payload);
    const auto fee_rate = reader.le<std::int64_t>();
    if (!reader.ok()) return too_short("feefilter");
    return fee_rate;
}

std::vector<std::uint8_t> encode_send_compact(const SendCompact& message) {
    std::vector<std::uint8_t> out;
    WireWriter writer(out);
    writer.le(std::uint8_t{message.announce});
    writer.le(message.version);
    return out;
}

Result<SendCompact> decode_send_compact(ByteSpan payload) {
    ByteReader reader(payload);
    const auto announce = reader.le<std::uint8_t>();
    const auto version = reader.le<std::uint64_t>();
    if (!reader.ok()) return too_short("sendcmpct");
    if (announce > 1) return fail(Errc::corrupt, "sendcmpct that says neither yes nor no");
    return SendCompact{.announce = announce == 1, .version = version};
}

std::vector<std::uint8_t> encode_get_headers(const GetHeaders& message) {
    BLOCKPUB_CHECK(message.locator.size() <= kMaxLocator);
    std::vector<std::uint8_t> out;
    WireWriter writer(out);
    writer.le(kPeerProtocolVersion);
    writer.compact_size(message.locator.size());
    for (const BlockHash& hash : message.locator) writer.bytes(hash.wire_bytes());
    writer.bytes(message.stop.wire_bytes());
    return out;
}

Result<GetHeaders> decode_get_headers(ByteSpan payload) {
    ByteReader reader(payload);
    reader.skip(sizeof kPeerProtocolVersion);
    const std::uint64_t count = reader.compact_size();
    if (count > kMaxLocator) return too_many("getheaders", count, kMaxLocator);
    GetHeaders message;
    for (std::uint64_t i = 0; reader.ok() && i < count; ++i) message.locator.push_back(read_hash(reader));
    message.stop = read_hash(reader);
    if (!reader.ok()) return too_short("getheaders");
    return message;
}

std::vector<std::uint8_t> encode_headers(const std::vector<BlockHeader>& headers) {
    BLOCKPUB_CHECK(headers.size() <= kMaxHeaders);
    std::vector<std::uint8_t> out;
    WireWriter writer(out);
    writer.compact_size(headers.size());
    for (const BlockHeader& header : headers) {
        writer.bytes(header.encode());
        writer.compact_size(0);  // as if a block without transactions followed
    }
    return out;
}

Result<std::vector<BlockHeader>> decode_headers(ByteSpan payload) {
    ByteReader reader(payload);
    const std::uint64_t count = reader.compact_size();
    if (count > kMaxHeaders) return too_many("headers", count, kMaxHeaders);
    std::vector<BlockHeader> headers;
    for (std::uint64_t i = 0; reader.ok() && i < count; ++i) {
        const ByteSpan bytes = reader.take(BlockHeader::kSize);
        static_cast<void>(reader.compact_size());
        if (reader.ok()) headers.push_back(BlockHeader::decode(bytes));
    }
    if (!reader.ok()) return too_short("headers");
    return headers;
}

std::vector<std::uint8_t> encode_inventory(const std::vector<InventoryItem>& items) {
    BLOCKPUB_CHECK(items.size() <= kMaxInventory);
    std::vector<std::uint8_t> out;
    out.reserve(3 + items.size() * kInventorySize);
    WireWriter writer(out);
    writer.compact_size(items.size());
    for (const InventoryItem& item : items) {
        writer.le(item.type);
        writer.bytes(item.hash.wire_bytes());
    }
    return out;
}

Result<std::vector<InventoryItem>> decode_inventory(ByteSpan payload) {
    ByteReader reader(payload);
    const std::uint64_t count = reader.compact_size();
    if (count > kMaxInventory) return too_many("inventory", count, kMaxInventory);
    if (!reader.ok() || reader.remaining() < count * kInventorySize) return too_short("inventory");
    std::vector<InventoryItem> items;
    items.reserve(static_cast<std::size_t>(count));
    for (std::uint64_t i = 0; i < count; ++i) {
        const auto type = reader.le<std::uint32_t>();
        items.push_back({type, Hash256<InventoryTag>::from_wire(reader.take(BlockHash::kSize))});
    }
    return items;
}

InventoryItem wanted_block(const BlockHash& hash) {
    return {InventoryItem::block | InventoryItem::witness_flag, Hash256<InventoryTag>(hash.wire_bytes())};
}

}  // namespace blockpub
