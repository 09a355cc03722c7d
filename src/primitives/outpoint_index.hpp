// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/coin.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace blockpub {

/// Numbers by outpoint, in one open table that holds a part of each hash: a look-up touches one line of it,
/// and an outpoint only where it is the right one. The outpoints themselves are the caller's, who gives
/// `at(number)`, the outpoint kept under a number.
///
/// Thread safety: as a container of the standard library.
class OutpointIndex {
 public:
    static constexpr std::uint32_t kNone = 0xffffffff;

    /// Makes room for so many outpoints at once.
    void reserve(std::size_t count) {
        const std::size_t slots = std::max(kFewestSlots, std::bit_ceil(2 * count));
        if (slots > slots_.size()) resize(slots);
    }

    [[nodiscard]] std::size_t bytes() const { return slots_.size() * sizeof(Slot); }

    /// The number of the outpoint, or kNone.
    template <class At>
    [[nodiscard]] std::uint32_t find(const Outpoint& outpoint, const At& at) const {
        return slots_.empty() ? kNone : slots_[probe(outpoint, at)].number;
    }

    /// The number of the outpoint; where it had none, it gets `number`. Requires: as put.
    template <class At>
    std::uint32_t find_or_put(const Outpoint& outpoint, std::uint32_t number, const At& at) {
        reserve(count_ + 1);
        Slot& slot = slots_[probe(outpoint, at)];
        if (slot.number != kNone) return slot.number;
        ++count_;
        slot = {.tag = tag_of(outpoint), .number = number};
        return number;
    }

    /// Keeps the outpoint under `number`, whatever it was before. Requires: at(number) is not yet asked for.
    template <class At>
    void put(const Outpoint& outpoint, std::uint32_t number, const At& at) {
        reserve(count_ + 1);
        Slot& slot = slots_[probe(outpoint, at)];
        if (slot.number == kNone) ++count_;
        slot = {.tag = tag_of(outpoint), .number = number};
    }

 private:
    static constexpr std::size_t kFewestSlots = 16;

    struct Slot {
        std::uint32_t tag = 0;
        std::uint32_t number = kNone;
    };

    [[nodiscard]] static std::uint32_t tag_of(const Outpoint& outpoint) {
        const std::uint64_t hash = std::hash<Outpoint>{}(outpoint);
        return static_cast<std::uint32_t>(hash ^ (hash >> 32));
    }

    template <class At>
    [[nodiscard]] std::size_t probe(const Outpoint& outpoint, const At& at) const {
        const std::uint32_t tag = tag_of(outpoint);
        const std::size_t mask = slots_.size() - 1;
        std::size_t place = tag & mask;
        while (slots_[place].number != kNone &&
               (slots_[place].tag != tag || at(slots_[place].number) != outpoint)) {
            place = (place + 1) & mask;
        }
        return place;
    }

    void resize(std::size_t slots) {
        const auto before = std::exchange(slots_, std::vector<Slot>(slots));
        const std::size_t mask = slots - 1;
        for (const Slot& slot : before) {
            if (slot.number == kNone) continue;
            std::size_t place = slot.tag & mask;
            while (slots_[place].number != kNone) place = (place + 1) & mask;
            slots_[place] = slot;
        }
    }

    std::vector<Slot> slots_;  // a power of two, at most half of them taken
    std::size_t count_ = 0;
};

}  // namespace blockpub
