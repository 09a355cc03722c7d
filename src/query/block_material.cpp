// SPDX-License-Identifier: MIT
#include "query/block_material.hpp"

#include "primitives/header.hpp"
#include "store/block_lookup.hpp"

#include <utility>

namespace blockpub {

Result<SharedBytes> BlockMaterialReader::raw(const BlockHash& hash, const HeaderRecord& record,
                                             Batch& batch) const {
    if (auto missing = missing_block(record)) return std::unexpected(*std::move(missing));
    return blocks_.read_block(hash, batch);
}

template <class Part>
Result<std::shared_ptr<const Part>> BlockMaterialReader::part(const HeaderRecord& record,
                                                              const std::optional<BlobPlace>& place,
                                                              Batch& batch) const {
    if (!place) return std::shared_ptr<const Part>();
    const auto load = [&]() -> Result<std::shared_ptr<const Part>> {
        auto bytes = store_.read_blob(*place);
        if (!bytes) return std::unexpected(name_pruned(std::move(bytes.error())));
        return Part::open(*std::move(bytes));
    };
    return blocks_.cache().get<Part>(hash_header(record.header), load, batch);
}

Result<std::shared_ptr<const StoredFacts>> BlockMaterialReader::facts(const HeaderRecord& record,
                                                                      Batch& batch) const {
    return part<StoredFacts>(record, record.facts, batch);
}

Result<std::shared_ptr<const StoredUndo>> BlockMaterialReader::undo(const HeaderRecord& record,
                                                                    Batch& batch) const {
    auto stored = part<StoredUndo>(record, record.undo, batch);
    if (!stored && stored.error().code == Errc::unavailable) return fail(Errc::unavailable, kUndoUnreadable);
    return stored;
}

Result<SharedBytes> BlockMaterialReader::raw(const BlockHash& hash, const HeaderRecord& record) const {
    Batch alone(blocks_.cache());
    return raw(hash, record, alone);
}

Result<std::shared_ptr<const StoredFacts>> BlockMaterialReader::facts(const HeaderRecord& record) const {
    Batch alone(blocks_.cache());
    return facts(record, alone);
}

Result<std::shared_ptr<const StoredUndo>> BlockMaterialReader::undo(const HeaderRecord& record) const {
    Batch alone(blocks_.cache());
    return undo(record, alone);
}

}  // namespace blockpub
