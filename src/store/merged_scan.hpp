// SPDX-License-Identifier: MIT
#pragma once

#include "store/lmdb.hpp"
#include "store/overlay.hpp"

#include <blockpub/result.hpp>

#include <utility>

namespace blockpub {

/// Walks a table and the layer over it as one sorted row, beginning at the first key not below `first`
/// (empty: at the beginning). Where both have a key, only the layer is asked.
///
/// `decode_key(bytes)` gives Result<Key>; its order must be the table's byte order. `below(key, bytes)` and
/// `above(key, value)` see an entry of the table and of the layer (an erasure, too), and give Result<bool>:
/// false ends the walk. Errors: those of the three, and LMDB's under the name `what`.
template <class Key, class Value, class DecodeKey, class Below, class Above>
[[nodiscard]] Result<void> merged_scan(const lmdb::Txn& txn, lmdb::Table table, const char* what,
                                       ByteSpan first,
                                       std::span<const typename FlatTable<Key, Value>::Entry> layer,
                                       DecodeKey decode_key, Below below, Above above) {
    auto from = layer.begin();
    auto [code, cursor] = lmdb::Cursor::open(txn, table);
    ByteSpan bytes = first;
    ByteSpan value;
    if (code == 0) code = cursor.move(first.empty() ? MDB_FIRST : MDB_SET_RANGE, bytes, value);
    for (; code == 0; code = cursor.move(MDB_NEXT, bytes, value)) {
        auto key = decode_key(bytes);
        if (!key) return forward_error(key);
        for (; from != layer.end() && from->key < *key; ++from) {
            Result<bool> go_on = above(from->key, from->value);
            if (!go_on) return forward_error(go_on);
            if (!*go_on) return {};
        }
        if (from != layer.end() && from->key == *key) continue;  // comes in the next turn, from the layer
        Result<bool> go_on = below(*key, value);
        if (!go_on) return forward_error(go_on);
        if (!*go_on) return {};
    }
    if (code != MDB_NOTFOUND) return std::unexpected(lmdb::make_error(code, what));
    for (; from != layer.end(); ++from) {
        Result<bool> go_on = above(from->key, from->value);
        if (!go_on) return forward_error(go_on);
        if (!*go_on) return {};
    }
    return {};
}

}  // namespace blockpub
