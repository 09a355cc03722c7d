// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/bytes.hpp>
#include <blockpub/events.hpp>
#include <blockpub/hash.hpp>
#include <blockpub/result.hpp>
#include <blockpub/store.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

// How the chain tables' keys and values are written. Source: docs/storage.md, whose examples a test holds to
// this. Decoders take bytes from the disk: they check every length, and answer corrupt.

namespace blockpub {

/// Bytes of a record on their way into a table.
using RecordBytes = std::vector<std::uint8_t>;

/// Keys whose byte order is their numeric order.
[[nodiscard]] std::array<std::uint8_t, 4> encode_height_key(Height height);
[[nodiscard]] std::array<std::uint8_t, 8> encode_index_key(std::uint64_t number);
[[nodiscard]] Result<Height> decode_height_key(ByteSpan bytes);
[[nodiscard]] Result<std::uint64_t> decode_index_key(ByteSpan bytes);

[[nodiscard]] Result<BlockHash> decode_hash(ByteSpan bytes);

[[nodiscard]] RecordBytes encode_header_record(const HeaderRecord& record);
[[nodiscard]] Result<HeaderRecord> decode_header_record(ByteSpan bytes);

/// The index is the key, and not in the value.
[[nodiscard]] RecordBytes encode_event_record(const EventRecord& record);
[[nodiscard]] Result<EventRecord> decode_event_record(EventIndex index, ByteSpan bytes);

[[nodiscard]] RecordBytes encode_tip(const Tip& tip);
[[nodiscard]] Result<Tip> decode_tip(ByteSpan bytes);

/// Which chain a store belongs to.
struct NetworkRecord {
    std::uint32_t magic = 0;
    BlockHash genesis;
    friend bool operator==(const NetworkRecord&, const NetworkRecord&) = default;
};
[[nodiscard]] RecordBytes encode_network(const NetworkRecord& record);
[[nodiscard]] Result<NetworkRecord> decode_network(ByteSpan bytes);

/// Where the blob that comes next would go: every place that the chain tables name lies before it.
struct BlobEnd {
    std::uint32_t segment = 0;
    std::uint64_t number = 0;
    friend auto operator<=>(const BlobEnd&, const BlobEnd&) = default;
};
[[nodiscard]] RecordBytes encode_blob_end(const BlobEnd& end);
[[nodiscard]] Result<BlobEnd> decode_blob_end(ByteSpan bytes);

[[nodiscard]] RecordBytes encode_schema(std::uint32_t version);
[[nodiscard]] Result<std::uint32_t> decode_schema(ByteSpan bytes);

/// The version of all that this file writes. Raised by every change that an older build would misread.
inline constexpr std::uint32_t kSchemaVersion = 1;

/// Keys of table `meta` that are the store's own begin with a full stop; all others are the callers'.
inline constexpr char kMetaSchema[] = ".schema";
inline constexpr char kMetaNetwork[] = ".network";
inline constexpr char kMetaTip[] = ".tip";
inline constexpr char kMetaBlobEnd[] = ".blobs";

}  // namespace blockpub
