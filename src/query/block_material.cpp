// SPDX-License-Identifier: MIT
#include "query/block_material.hpp"

#include "store/block_lookup.hpp"

#include <utility>

namespace blockpub {

Result<SharedBytes> BlockMaterialReader::raw(const BlockHash& hash, const HeaderRecord& record) const {
    if (auto missing = missing_block(record)) return std::unexpected(*std::move(missing));
    return blocks_.read_block(hash);
}

Result<std::shared_ptr<const StoredFacts>> BlockMaterialReader::facts(const HeaderRecord& record) const {
    if (!record.facts) return std::shared_ptr<const StoredFacts>();
    auto facts = cache_.get(store_, *record.facts);
    if (!facts) return std::unexpected(name_pruned(std::move(facts.error())));
    return facts;
}

Result<std::optional<SharedBytes>> BlockMaterialReader::undo(const HeaderRecord& record) const {
    if (!record.undo) return std::optional<SharedBytes>();
    auto bytes = store_.read_blob(*record.undo);
    if (!bytes) return std::unexpected(name_pruned(std::move(bytes.error())));
    return std::optional(*std::move(bytes));
}

}  // namespace blockpub
