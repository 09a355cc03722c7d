// SPDX-License-Identifier: MIT
#pragma once

#include "chain/services.hpp"

#include <utility>
#include <vector>

namespace blockpub {

/// The peers that were called, and then those that came, as one list.
/// Thread safety: as the lists. Ownership: borrows them.
class AllPeers final : public PeerList {
 public:
    /// Null: there are none of the kind.
    AllPeers(const PeerList* called, const PeerList* came) : called_(called), came_(came) {}

    [[nodiscard]] std::vector<PeerRow> rows() const override {
        std::vector<PeerRow> rows = called_ == nullptr ? std::vector<PeerRow>() : called_->rows();
        if (came_ == nullptr) return rows;
        for (PeerRow& row : came_->rows()) rows.push_back(std::move(row));
        return rows;
    }
    [[nodiscard]] Totals totals() const override {
        Totals totals = called_ == nullptr ? Totals() : called_->totals();
        if (came_ == nullptr) return totals;
        const Totals of_came = came_->totals();
        totals.bytes_sent += of_came.bytes_sent;
        totals.bytes_received += of_came.bytes_received;
        return totals;
    }
    [[nodiscard]] Lag lag() const override { return called_ == nullptr ? Lag() : called_->lag(); }
    [[nodiscard]] Counters counters() const override {
        return called_ == nullptr ? Counters() : called_->counters();
    }
    [[nodiscard]] Upload upload() const override { return came_ == nullptr ? Upload() : came_->upload(); }
    [[nodiscard]] std::vector<Listening> listening() const override {
        return came_ == nullptr ? std::vector<Listening>() : came_->listening();
    }

 private:
    const PeerList* const called_;
    const PeerList* const came_;
};

}  // namespace blockpub
