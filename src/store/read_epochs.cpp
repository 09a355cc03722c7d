// SPDX-License-Identifier: MIT
#include "store/read_epochs.hpp"

#include <sched.h>

#include <algorithm>
#include <bit>
#include <thread>

namespace blockpub {
namespace {

/// For the threads of one processor that were interrupted in the middle of a stay.
constexpr std::size_t kSlotsEach = 4;

}  // namespace

ReadEpochs::ReadEpochs(unsigned processors) : slots_(std::bit_ceil(std::max(processors, 4U)) * kSlotsEach) {}

ReadEpochs::Stay::Stay(ReadEpochs& epochs) {
    const int processor = ::sched_getcpu();
    processor_ = processor < 0 ? 0 : static_cast<std::size_t>(processor);
    const std::size_t mask = epochs.slots_.size() - 1;
    for (std::size_t tries = 0;; ++tries) {
        // Each processor's free slot is found at the first try but for interrupted stays.
        Slot& slot = epochs.slots_[(processor_ * kSlotsEach + tries) & mask];
        std::uint64_t free = 0;
        // In one order with the writer's steps: either it sees this reader, or this reader does not see what
        // it took out.
        if (slot.epoch.load(std::memory_order_relaxed) == 0 &&
            slot.epoch.compare_exchange_strong(free, epochs.epoch_.load())) {
            slot_ = &slot;
            return;
        }
        if (tries > mask) std::this_thread::yield();
    }
}

std::uint64_t ReadEpochs::oldest() const {
    std::uint64_t oldest = kNobody;
    for (const Slot& slot : slots_) {
        if (const std::uint64_t epoch = slot.epoch.load(); epoch != 0) oldest = std::min(oldest, epoch);
    }
    return oldest;
}

std::uint64_t ReadEpochs::hits() const {
    std::uint64_t sum = 0;
    for (const Slot& slot : slots_) sum += slot.hits.load(std::memory_order_relaxed);
    return sum;
}

}  // namespace blockpub
