// SPDX-License-Identifier: MIT
#include "chain/stored_parts.hpp"

#include <algorithm>
#include <vector>

namespace blockpub {

Result<std::shared_ptr<const StoredFacts>> StoredFacts::open(SharedBytes bytes) {
    auto view = FactsView::open(bytes.bytes());
    if (!view) return forward_error(view);
    return std::make_shared<const StoredFacts>(std::move(bytes), *view);
}

std::shared_ptr<const StoredFacts> StoredFacts::of_encoded(SharedBytes bytes) {
    const FactsView view = FactsView::of_encoded(bytes.bytes());
    return std::make_shared<const StoredFacts>(std::move(bytes), view);
}

const MerkleTree& StoredFacts::tree() const& {
    std::call_once(tree_made_, [this] {
        std::vector<Digest256> leaves(view_.count());
        for (std::size_t i = 0; i < leaves.size(); ++i) std::ranges::copy(view_.txid(i), leaves[i].begin());
        tree_ = MerkleTree(std::move(leaves));
    });
    return tree_;
}

Result<std::shared_ptr<const StoredUndo>> StoredUndo::open(SharedBytes bytes) {
    if (const auto checked = UndoReader::open(bytes.bytes()); !checked)
        return std::unexpected(checked.error());
    return std::make_shared<const StoredUndo>(std::move(bytes));
}

std::shared_ptr<const StoredUndo> StoredUndo::of_encoded(SharedBytes bytes) {
    return std::make_shared<const StoredUndo>(std::move(bytes));
}

}  // namespace blockpub
