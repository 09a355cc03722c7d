// SPDX-License-Identifier: MIT
#include "store/block_lookup.hpp"

#include "base/mapped_read.hpp"
#include "primitives/header.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace blockpub {
namespace {

// Core's texts; clients compare them.
constexpr char kNotFound[] = "Block not found";
constexpr char kNotOnDisk[] = "Block not found on disk";
constexpr char kPrunedText[] = "Block not available (pruned data)";

template <class T>
Result<T> name_pruned(Result<T> bytes) {
    if (!bytes) return std::unexpected(name_pruned(std::move(bytes.error())));
    return bytes;
}

std::unexpected<Error> not_the_block(const BlobPlace& place, const BlockHash& hash) {
    return fail(Errc::corrupt, fmt::format("blob {} of segment {:05} is not block {}", place.number,
                                           place.segment, hash.display_hex()));
}

Result<void> check_header(const MappedBytes& bytes, const BlobPlace& place, const BlockHash& hash) {
    if (bytes.size() < BlockHeader::kSize) return not_the_block(place, hash);
    std::array<std::uint8_t, BlockHeader::kSize> header;
    if (auto read = read_mapped(bytes, 0, header); !read) return read;
    if (hash_header(header) != hash) return not_the_block(place, hash);
    return {};
}

}  // namespace

std::optional<Error> missing_block(const HeaderRecord& record) {
    if ((record.status & HeaderRecord::kPruned) != 0) return Error{Errc::unavailable, kPrunedText};
    if (!record.block) return Error{Errc::unavailable, kNotOnDisk};
    return std::nullopt;
}

Error name_pruned(Error error) {
    return error.code == Errc::unavailable ? Error{Errc::unavailable, kPrunedText} : std::move(error);
}

Result<HeaderRecord> BlockLookup::find(const BlockHash& hash) const {
    auto snapshot = store_.snapshot();
    if (!snapshot) return forward_error(snapshot);
    auto record = snapshot->header(hash);
    if (!record && record.error().code == Errc::not_found) return fail(Errc::not_found, kNotFound);
    if (!record) return record;
    if (auto missing = missing_block(*record)) return std::unexpected(*std::move(missing));
    return record;
}

Result<SharedBytes> BlockLookup::read(const BlockHash& hash) const {
    const auto record = find(hash);
    if (!record) return std::unexpected(record.error());
    auto bytes = name_pruned(store_.read_blob(*record->block));
    if (bytes && (bytes->size() < BlockHeader::kSize || hash_header(bytes->bytes()) != hash))
        return not_the_block(*record->block, hash);
    return bytes;
}

Result<SharedBytes> BlockLookup::read_block(const BlockHash& hash) {
    auto bytes = read(hash);
    if (!bytes) note_failure(hash, bytes.error());
    return bytes;
}

Result<MappedBytes> BlockLookup::map_block(const BlockHash& hash) {
    const auto record = find(hash);
    auto bytes = record ? name_pruned(store_.map_blob(*record->block))
                        : Result<MappedBytes>(std::unexpected(record.error()));
    if (bytes) {
        if (auto checked = check_header(*bytes, *record->block, hash); !checked)
            bytes = forward_error(checked);
    }
    if (!bytes) note_failure(hash, bytes.error());
    return bytes;
}

void BlockLookup::note_failure(const BlockHash& hash, const Error& error) {
    // That a block is not here is an answer.
    if (error.code == Errc::not_found || error.code == Errc::unavailable) return;
    const MutexLock lock(mutex_);
    ++failures_;
    last_error_ = fmt::format("block {}: {}", hash.display_hex(), error.context);
}

void BlockLookup::add_failures(StoreStatus& status) const {
    const MutexLock lock(mutex_);
    status.read_failures = failures_;
    status.last_read_error = last_error_;
}

}  // namespace blockpub
