// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/header.hpp"

#include <blockpub/bytes.hpp>
#include <blockpub/hash.hpp>
#include <blockpub/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// The payloads of the messages between nodes, without the head that p2p_framing puts in front. Every decoder
// takes a whole payload, and answers corrupt for one that is too short, too long for its limits or not in
// canonical form. Bytes behind the end are passed over, as Bitcoin Core does: later versions may append.
// Source: BIP 31 (ping), 130 (sendheaders), 133 (feefilter), 144 (witness), 152 (sendcmpct), 155
// (sendaddrv2), 339 (wtxidrelay).

namespace blockpub {

inline constexpr std::uint32_t kPeerProtocolVersion = 70016;
inline constexpr std::size_t kMaxHeaders = 2000;  ///< in one message
inline constexpr std::size_t kMaxInventory = 50'000;
inline constexpr std::size_t kMaxLocator = 101;
inline constexpr std::size_t kMaxUserAgent = 256;

/// Bits of a version's services.
enum PeerServices : std::uint64_t {
    kServiceNetwork = 1,        ///< all blocks
    kServiceBloom = 1 << 2,     ///< answers `mempool`, too
    kServiceWitness = 1 << 3,   ///< with their witnesses
    kServiceLimited = 1 << 10,  ///< the newest 288 blocks at least
};

struct PeerVersion {
    std::uint32_t protocol = kPeerProtocolVersion;
    std::uint64_t services = 0;
    std::int64_t time = 0;  ///< seconds since 1970
    std::uint64_t nonce = 0;
    std::string user_agent;
    std::int32_t start_height = 0;
    bool relay = true;
};
[[nodiscard]] std::vector<std::uint8_t> encode_version(const PeerVersion& version);
[[nodiscard]] Result<PeerVersion> decode_version(ByteSpan payload);

/// ping and pong.
[[nodiscard]] std::vector<std::uint8_t> encode_nonce(std::uint64_t nonce);
[[nodiscard]] Result<std::uint64_t> decode_nonce(ByteSpan payload);

/// feefilter: satoshi for 1000 virtual bytes.
[[nodiscard]] std::vector<std::uint8_t> encode_fee_filter(std::int64_t fee_rate);
[[nodiscard]] Result<std::int64_t> decode_fee_filter(ByteSpan payload);

struct SendCompact {
    bool announce = false;  ///< wants cmpctblock unasked (high bandwidth)
    std::uint64_t version = 0;
};
[[nodiscard]] std::vector<std::uint8_t> encode_send_compact(const SendCompact& message);
[[nodiscard]] Result<SendCompact> decode_send_compact(ByteSpan payload);

/// getheaders and getblocks.
struct GetHeaders {
    std::vector<BlockHash> locator;  ///< newest first
    BlockHash stop;                  ///< null: as many as there are
};
[[nodiscard]] std::vector<std::uint8_t> encode_get_headers(const GetHeaders& message);
[[nodiscard]] Result<GetHeaders> decode_get_headers(ByteSpan payload);

/// Requires: at most kMaxHeaders.
[[nodiscard]] std::vector<std::uint8_t> encode_headers(const std::vector<BlockHeader>& headers);
[[nodiscard]] Result<std::vector<BlockHeader>> decode_headers(ByteSpan payload);

/// What an inv, getdata or notfound names.
struct InventoryItem {
    enum Type : std::uint32_t {
        transaction = 1,
        block = 2,
        compact_block = 4,
        witness_transaction = 5,  ///< by wtxid
        witness_flag = 1U << 30,  ///< with witness, in getdata
    };
    std::uint32_t type = 0;
    Hash256<struct InventoryTag> hash;
    friend bool operator==(const InventoryItem&, const InventoryItem&) = default;
    [[nodiscard]] bool is_transaction() const {
        return (type & ~std::uint32_t{witness_flag}) == transaction || type == witness_transaction;
    }
    /// Whether it names a block, with its witnesses or without.
    [[nodiscard]] bool is_block() const { return (type & ~std::uint32_t{witness_flag}) == block; }
    [[nodiscard]] BlockHash block_hash() const { return BlockHash(hash.wire_bytes()); }
};
/// Requires: at most kMaxInventory.
[[nodiscard]] std::vector<std::uint8_t> encode_inventory(const std::vector<InventoryItem>& items);
[[nodiscard]] Result<std::vector<InventoryItem>> decode_inventory(ByteSpan payload);
/// A request for a block with its witnesses.
[[nodiscard]] InventoryItem wanted_block(const BlockHash& hash);

}  // namespace blockpub
