// SPDX-License-Identifier: MIT
#include "store/records.hpp"

#include "base/endian.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string>

namespace blockpub {
namespace {

class Writer {
 public:
    explicit Writer(std::size_t expected) { out_.reserve(expected); }
    template <std::integral T>
    void number(T value) {
        std::uint8_t bytes[sizeof(T)];
        write_le(bytes, value);
        out_.insert(out_.end(), bytes, bytes + sizeof(T));
    }
    void bytes(ByteSpan source) { out_.insert(out_.end(), source.begin(), source.end()); }
    template <class Tag>
    void hash(const Hash256<Tag>& value) {
        bytes(value.wire_bytes());
    }
    void place(const BlobPlace& value) {
        number(value.segment);
        number(value.number);
        number(value.size);
    }
    [[nodiscard]] RecordBytes take() { return std::move(out_); }

 private:
    RecordBytes out_;
};

/// Reads on until the bytes end; from then on gives zeros and remembers.
class Reader {
 public:
    explicit Reader(ByteSpan source) : rest_(source) {}
    template <std::integral T>
    [[nodiscard]] T number() {
        const ByteSpan bytes = take(sizeof(T));
        return bytes.empty() ? T{} : read_le<T>(bytes.data());
    }
    [[nodiscard]] BlockHash hash() {
        const ByteSpan bytes = take(BlockHash::kSize);
        return bytes.empty() ? BlockHash{} : BlockHash::from_wire(bytes);
    }
    template <std::size_t N>
    void copy_to(std::array<std::uint8_t, N>& out) {
        const ByteSpan bytes = take(N);
        if (!bytes.empty()) std::ranges::copy(bytes, out.begin());
    }
    [[nodiscard]] BlobPlace place() {
        BlobPlace value;
        value.segment = number<std::uint32_t>();
        value.number = number<std::uint64_t>();
        value.size = number<std::uint32_t>();
        return value;
    }
    /// Whether the bytes sufficed, and none is left.
    [[nodiscard]] bool ended_well() const { return !short_ && rest_.empty(); }

 private:
    ByteSpan take(std::size_t size) {
        if (short_ || rest_.size() < size) {
            short_ = true;
            return {};
        }
        const ByteSpan bytes = rest_.first(size);
        rest_ = rest_.subspan(size);
        return bytes;
    }

    ByteSpan rest_;
    bool short_ = false;
};

std::unexpected<Error> wrong(const char* what, ByteSpan bytes) {
    return fail(Errc::corrupt, fmt::format("{}: {} bytes do not decode", what, bytes.size()));
}

// Header record: which places follow.
constexpr std::uint8_t kPlaceBlock = 1;
constexpr std::uint8_t kPlaceUndo = 2;
constexpr std::uint8_t kPlaceFacts = 4;

// Event record: the first byte.
constexpr std::uint8_t kEventDisconnected = 1;
constexpr std::uint8_t kEventStepEnd = 2;
constexpr std::uint8_t kEventInitialDownload = 4;
constexpr std::uint8_t kEventForkIsPrevious = 8;
constexpr std::uint8_t kEventPruned = 16;

}  // namespace

std::array<std::uint8_t, 4> encode_height_key(Height height) {
    std::array<std::uint8_t, 4> key;
    write_be(key.data(), height.value);
    return key;
}

std::array<std::uint8_t, 8> encode_index_key(std::uint64_t number) {
    std::array<std::uint8_t, 8> key;
    write_be(key.data(), number);
    return key;
}

Result<Height> decode_height_key(ByteSpan bytes) {
    if (bytes.size() != 4) return wrong("height key", bytes);
    return Height{read_be<std::uint32_t>(bytes.data())};
}

Result<std::uint64_t> decode_index_key(ByteSpan bytes) {
    if (bytes.size() != 8) return wrong("index key", bytes);
    return read_be<std::uint64_t>(bytes.data());
}

Result<BlockHash> decode_hash(ByteSpan bytes) {
    if (bytes.size() != BlockHash::kSize) return wrong("block hash", bytes);
    return BlockHash::from_wire(bytes);
}

RecordBytes encode_header_record(const HeaderRecord& record) {
    Writer out(189);
    out.bytes(record.header);
    out.number(record.height.value);
    out.bytes(record.chainwork);
    out.number(record.status);
    out.number(record.arrival);
    out.number(record.tx_count);
    out.number(record.chain_tx_count);
    out.number(static_cast<std::uint8_t>((record.block ? kPlaceBlock : 0) | (record.undo ? kPlaceUndo : 0) |
                                         (record.facts ? kPlaceFacts : 0)));
    for (const auto* place : {&record.block, &record.undo, &record.facts}) {
        if (*place) out.place(**place);
    }
    return out.take();
}

Result<HeaderRecord> decode_header_record(ByteSpan bytes) {
    Reader in(bytes);
    HeaderRecord record;
    in.copy_to(record.header);
    record.height.value = in.number<std::uint32_t>();
    in.copy_to(record.chainwork);
    record.status = in.number<std::uint32_t>();
    record.arrival = in.number<std::uint64_t>();
    record.tx_count = in.number<std::uint32_t>();
    record.chain_tx_count = in.number<std::uint64_t>();
    const auto places = in.number<std::uint8_t>();
    if ((places & ~(kPlaceBlock | kPlaceUndo | kPlaceFacts)) != 0) return wrong("header record", bytes);
    if ((places & kPlaceBlock) != 0) record.block = in.place();
    if ((places & kPlaceUndo) != 0) record.undo = in.place();
    if ((places & kPlaceFacts) != 0) record.facts = in.place();
    if (!in.ended_well()) return wrong("header record", bytes);
    return record;
}

RecordBytes encode_event_record(const EventRecord& record) {
    const auto& end = record.step_end;
    // The ordinary step, one block more or one less, forks at the block before.
    const bool fork_is_previous = end && record.height.value > 0 && end->fork_hash == record.previous_hash &&
                                  end->fork_height == record.height.previous();
    std::uint8_t flags = 0;
    if (record.kind == BlockEventKind::disconnected) flags = kEventDisconnected;
    if (record.kind == BlockEventKind::pruned) flags = kEventPruned;
    if (end) flags |= kEventStepEnd;
    if (end && end->initial_download) flags |= kEventInitialDownload;
    if (fork_is_previous) flags |= kEventForkIsPrevious;
    Writer out(105);
    out.number(flags);
    out.number(record.height.value);
    out.hash(record.hash);
    out.hash(record.previous_hash);
    if (end && !fork_is_previous) {
        out.hash(end->fork_hash);
        out.number(end->fork_height.value);
    }
    return out.take();
}

Result<EventRecord> decode_event_record(EventIndex index, ByteSpan bytes) {
    Reader in(bytes);
    EventRecord record;
    record.index = index;
    const auto flags = in.number<std::uint8_t>();
    constexpr std::uint8_t kOfStepEnd = kEventInitialDownload | kEventForkIsPrevious;
    if ((flags & ~(kEventDisconnected | kEventStepEnd | kOfStepEnd | kEventPruned)) != 0 ||
        ((flags & kOfStepEnd) != 0 && (flags & kEventStepEnd) == 0) ||
        ((flags & kEventPruned) != 0 && flags != kEventPruned)) {
        return wrong("event record", bytes);
    }
    if ((flags & kEventDisconnected) != 0) record.kind = BlockEventKind::disconnected;
    if ((flags & kEventPruned) != 0) record.kind = BlockEventKind::pruned;
    record.height.value = in.number<std::uint32_t>();
    record.hash = in.hash();
    record.previous_hash = in.hash();
    if ((flags & kEventStepEnd) != 0) {
        EventRecord::StepEnd end;
        end.initial_download = (flags & kEventInitialDownload) != 0;
        if ((flags & kEventForkIsPrevious) != 0) {
            if (record.height.value == 0) return wrong("event record", bytes);
            end.fork_hash = record.previous_hash;
            end.fork_height = record.height.previous();
        } else {
            end.fork_hash = in.hash();
            end.fork_height.value = in.number<std::uint32_t>();
        }
        record.step_end = end;
    }
    if (!in.ended_well()) return wrong("event record", bytes);
    return record;
}

RecordBytes encode_tip(const Tip& tip) {
    Writer out(36);
    out.hash(tip.hash);
    out.number(tip.height.value);
    return out.take();
}

Result<Tip> decode_tip(ByteSpan bytes) {
    Reader in(bytes);
    Tip tip;
    tip.hash = in.hash();
    tip.height.value = in.number<std::uint32_t>();
    if (!in.ended_well()) return wrong("tip", bytes);
    return tip;
}

RecordBytes encode_network(const NetworkRecord& record) {
    Writer out(36);
    out.number(record.magic);
    out.hash(record.genesis);
    return out.take();
}

Result<NetworkRecord> decode_network(ByteSpan bytes) {
    Reader in(bytes);
    NetworkRecord record;
    record.magic = in.number<std::uint32_t>();
    record.genesis = in.hash();
    if (!in.ended_well()) return wrong("network record", bytes);
    return record;
}

RecordBytes encode_blob_end(const BlobEnd& end) {
    Writer out(12);
    out.number(end.segment);
    out.number(end.number);
    return out.take();
}

Result<BlobEnd> decode_blob_end(ByteSpan bytes) {
    Reader in(bytes);
    BlobEnd end;
    end.segment = in.number<std::uint32_t>();
    end.number = in.number<std::uint64_t>();
    if (!in.ended_well()) return wrong("end of blobs", bytes);
    return end;
}

RecordBytes encode_schema(std::uint32_t version) {
    Writer out(4);
    out.number(version);
    return out.take();
}

Result<std::uint32_t> decode_schema(ByteSpan bytes) {
    Reader in(bytes);
    const auto version = in.number<std::uint32_t>();
    if (!in.ended_well()) return wrong("schema version", bytes);
    return version;
}

}  // namespace blockpub
