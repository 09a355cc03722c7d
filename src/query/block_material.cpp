// SPDX-License-Identifier: MIT
#include "query/block_material.hpp"

namespace blockpub {

namespace {

constexpr char kPrunedText[] = "Block not available (pruned data)";

/// What has gone since the header was looked up was pruned.
Error name_pruned(const Error& error) {
    return error.code == Errc::unavailable ? Error{Errc::unavailable, kPrunedText} : error;
}

}  // namespace

std::optional<Error> missing_block(const HeaderRecord& record) {
    if ((record.status & HeaderRecord::kPruned) != 0) return Error{Errc::unavailable, kPrunedText};
    if (!record.block) return Error{Errc::unavailable, "Block not found on disk"};
    return std::nullopt;
}

Result<SharedBytes> BlockMaterialReader::raw(const BlockHash& hash, const HeaderRecord& record) const {
    if (auto missing = missing_block(record)) return std::unexpected(*std::move(missing));
    return blocks_.read_block(hash);
}

Result<std::shared_ptr<const StoredFacts>> BlockMaterialReader::facts(const HeaderRecord& record) const {
    if (!record.facts) return std::shared_ptr<const StoredFacts>();
    auto facts = cache_.get(store_, *record.facts);
    if (!facts) return std::unexpected(name_pruned(facts.error()));
    return facts;
}

Result<std::optional<SharedBytes>> BlockMaterialReader::undo(const HeaderRecord& record) const {
    if (!record.undo) return std::optional<SharedBytes>();
    auto bytes = store_.read_blob(*record.undo);
    if (!bytes) return std::unexpected(name_pruned(bytes.error()));
    return std::optional(*std::move(bytes));
}

}  // namespace blockpub
