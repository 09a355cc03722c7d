// SPDX-License-Identifier: MIT
#pragma once

#include "store/chain_tables.hpp"
#include "store/overlay.hpp"

#include <blockpub/store.hpp>

#include <functional>
#include <memory>

namespace blockpub {

/// A read transaction and the layers that agree with it.
struct Snapshot::Impl {
    ChainTables::Reading reading;
    std::shared_ptr<const LayerStack> layers;

    Impl(ChainTables::Reading r, std::shared_ptr<const LayerStack> l)
        : reading(std::move(r)), layers(std::move(l)) {}
    ~Impl() {
        if (reading.txn.is_open()) reading.env->end_read(std::move(reading.txn));
    }
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

    /// Joins the newest commit with the layers over it. The transaction is begun first and the cell read
    /// then; the other way round, a commit in between would be missing from both.
    [[nodiscard]] static Result<std::unique_ptr<Impl>> take(ChainTables& tables,
                                                            const SnapshotCell<LayerStack>& cell);

    /// Every header in key order. Errors: those of `visit`, too.
    [[nodiscard]] Result<void> scan_headers(
        const std::function<Result<void>(const BlockHash&, const HeaderRecord&)>& visit) const;
    /// The callers' keys of table `meta` that begin with `prefix`, in order. Errors: those of `visit`, too.
    [[nodiscard]] Result<void> scan_meta(
        std::string_view prefix,
        const std::function<Result<void>(std::string_view, std::string_view)>& visit) const;
};

/// Records [first, end) of table `event`, as committed, and no more than `limit`.
[[nodiscard]] Result<std::vector<EventRecord>> read_event_table(const ChainTables::Reading& reading,
                                                                EventIndex first, EventIndex end,
                                                                std::size_t limit);
/// Index after the last committed record.
[[nodiscard]] Result<EventIndex> next_event_of_table(const ChainTables::Reading& reading);

}  // namespace blockpub
