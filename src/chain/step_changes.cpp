// SPDX-License-Identifier: MIT
#include "chain/step_changes.hpp"

#include "base/check.hpp"

#include <iterator>
#include <utility>

namespace blockpub {

void StepChanges::touch(HeaderNode& node) {
    if (node.changed) return;
    node.changed = true;
    touched_.push_back(&node);
}

void StepChanges::add_event(BlockEventKind kind, const HeaderNode& node) {
    EventRecord record;
    record.index = next_event_++;
    record.kind = kind;
    record.hash = node.hash;
    if (node.previous != nullptr && kind != BlockEventKind::pruned)
        record.previous_hash = node.previous->hash;
    record.height = node.height;
    releases_.emplace_back(record);
}

void StepChanges::insert_mempool_events(std::size_t place, std::vector<MempoolEvent> events) {
    std::vector<PendingRelease> inserted;
    for (MempoolEvent& event : events) {
        std::visit([&](auto& one) { inserted.emplace_back(std::move(one)); }, event);
    }
    releases_.insert(releases_.begin() + static_cast<std::ptrdiff_t>(place),
                     std::make_move_iterator(inserted.begin()), std::make_move_iterator(inserted.end()));
}

void StepChanges::end_step(const EventRecord::StepEnd& end) {
    for (auto release = releases_.rbegin(); release != releases_.rend(); ++release) {
        if (auto* record = std::get_if<EventRecord>(&*release)) {
            record->step_end = end;
            return;
        }
    }
    BLOCKPUB_CHECK(false, "a step without an event");
}

bool StepChanges::empty() const {
    return touched_.empty() && tips_.empty() && active_.empty() && meta_.empty() && !tip_ &&
           releases_.empty();
}

StepChanges::Taken StepChanges::take() {
    Taken taken;
    taken.store.headers.reserve(touched_.size());
    for (HeaderNode* node : touched_) {
        node->changed = false;
        taken.store.headers.emplace_back(node->hash, node->record());
    }
    touched_.clear();
    taken.store.tips.assign(tips_.begin(), tips_.end());
    tips_.clear();
    taken.store.active.assign(active_.begin(), active_.end());
    active_.clear();
    taken.store.meta.assign(meta_.begin(), meta_.end());
    meta_.clear();
    taken.store.tip = std::exchange(tip_, std::nullopt);
    taken.releases = std::exchange(releases_, {});
    taken.cached = std::exchange(cached_, {});
    for (const PendingRelease& release : taken.releases) {
        if (const auto* record = std::get_if<EventRecord>(&release)) taken.store.events.push_back(*record);
    }
    return taken;
}

}  // namespace blockpub
