// SPDX-License-Identifier: MIT
#include "query/chain_view.hpp"

#include <algorithm>
#include <array>

namespace blockpub {

namespace {
constexpr std::size_t kMedianSpan = 11;
}

Result<bool> is_active(const Snapshot& snapshot, const BlockHash& hash, Height height) {
    auto active = snapshot.active(height);
    if (active) return *active == hash;
    if (active.error().code == Errc::not_found) return false;
    return forward_error(active);
}

Result<ChainPlace> chain_place(const Snapshot& snapshot, const BlockHash& hash, Height height,
                               const Tip& tip) {
    auto active = is_active(snapshot, hash, height);
    if (!active) return forward_error(active);
    ChainPlace place;
    if (!*active) return place;
    place.confirmations = std::int64_t{tip.height.value} - height.value + 1;
    if (height < tip.height) {
        auto next = snapshot.active(height.next());
        if (!next) return forward_error(next);
        place.next = *next;
    }
    return place;
}

Result<std::int64_t> median_time_past(const Snapshot& snapshot, const HeaderRecord& record) {
    std::array<std::int64_t, kMedianSpan> times;
    std::size_t count = 0;
    HeaderRecord ancestor;
    const HeaderRecord* at = &record;
    while (true) {
        const BlockHeader header = BlockHeader::decode(at->header);
        times[count++] = header.time;
        if (count == kMedianSpan || at->height.value == 0) break;
        auto parent = snapshot.header(header.previous);
        if (!parent) return forward_error(parent);
        ancestor = *parent;
        at = &ancestor;
    }
    std::sort(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(count));
    return times[count / 2];
}

Result<HeaderView> header_view(const Snapshot& snapshot, const BlockHash& hash) {
    auto record = snapshot.header(hash);
    if (!record) {
        if (record.error().code == Errc::not_found) return fail(Errc::not_found, "Block not found");
        return forward_error(record);
    }
    HeaderView view{.hash = hash, .record = *record, .place = {}};
    auto tip = snapshot.tip();
    if (!tip) return forward_error(tip);
    auto place = chain_place(snapshot, hash, record->height, *tip);
    if (!place) return forward_error(place);
    view.place = *place;
    auto median = median_time_past(snapshot, *record);
    if (!median) return forward_error(median);
    view.median_time = *median;
    return view;
}

double verification_progress(const ChainParams& params, const HeaderRecord& tip, std::int64_t now) {
    // Transactions of the main chain up to a point, and their rate from there on, as release 28 knows them.
    constexpr std::int64_t kKnownTime = 1723649144;
    constexpr double kKnownCount = 1059312821;
    constexpr double kRate = 6.721086701157182;

    if (params.kind != ChainKind::main) return 1;
    const std::int64_t time = BlockHeader::decode(tip.header).time;
    // A chain that begins at the tip does not know how many there are below it.
    const double guess = std::max(kKnownCount + static_cast<double>(time - kKnownTime) * kRate, 1.0);
    const double count = tip.chain_tx_count == 0 ? guess : static_cast<double>(tip.chain_tx_count);
    const bool before = count <= kKnownCount;
    const std::int64_t since = before ? kKnownTime : time;
    const double all = (before ? kKnownCount : count) + static_cast<double>(now - since) * kRate;
    return std::min(count / all, 1.0);
}

}  // namespace blockpub
