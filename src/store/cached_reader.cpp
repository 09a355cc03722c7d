// SPDX-License-Identifier: MIT
#include "store/cached_reader.hpp"

namespace blockpub {
namespace {

template <class Part, class Bytes>
Result<std::shared_ptr<const Part>> part_of(Result<Bytes> bytes) {
    if (!bytes) return std::unexpected(bytes.error());
    return std::make_shared<const Part>(Part{*std::move(bytes)});
}

}  // namespace

Result<SharedBytes> CachedReader::read_block(const BlockHash& hash) {
    BlockCache::Batch batch(cache_);
    return read_block(hash, batch);
}

Result<SharedBytes> CachedReader::read_block(const BlockHash& hash, BlockCache::Batch& batch) {
    const auto block =
        cache_.get<RawBlock>(hash, [&] { return part_of<RawBlock>(behind_.read_block(hash)); }, batch);
    if (!block) return std::unexpected(block.error());
    return SharedBytes::kept_by(*block, (*block)->bytes.bytes());
}

Result<MappedBytes> CachedReader::map_block(const BlockHash& hash) {
    // A block that has just arrived: the same bytes, and no segment is asked for them.
    if (const auto raw = cache_.find<RawBlock>(hash))
        return MappedBytes(raw->bytes.bytes(), raw, MappedBytes::Place::heap);
    const auto block =
        cache_.get<MappedBlock>(hash, [&] { return part_of<MappedBlock>(behind_.map_block(hash)); });
    if (!block) return std::unexpected(block.error());
    return MappedBytes((*block)->bytes.bytes(), *block, (*block)->bytes.place());
}

}  // namespace blockpub
