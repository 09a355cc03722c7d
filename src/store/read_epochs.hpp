// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace blockpub {

/// Lets readers walk over shared nodes without a lock, while a writer takes nodes out of sight and frees them
/// once no reader can hold them any more.
///
/// A reader writes to a place of the processor that it runs on and to nothing that others write to.
/// Thread safety: every method from any thread. Blocking: never; a writer that finds readers within comes
/// back.
class ReadEpochs {
 public:
    static constexpr std::uint64_t kNobody = std::numeric_limits<std::uint64_t>::max();

    /// `processors`: as many as run at a time.
    explicit ReadEpochs(unsigned processors);

 private:
    struct alignas(64) Slot {
        std::atomic<std::uint64_t> epoch{0};  ///< in which its reader came; 0: free
        std::atomic<std::uint64_t> hits{0};   ///< written by the slot's reader alone
    };

 public:
    /// A reader's stay: what it sees during it is not freed. Short, and never over a wait.
    class Stay {
     public:
        explicit Stay(ReadEpochs& epochs);
        ~Stay() { slot_->epoch.store(0, std::memory_order_release); }
        Stay(const Stay&) = delete;
        Stay& operator=(const Stay&) = delete;
        /// Where the thread ran at the beginning: which of several copies to write to.
        [[nodiscard]] std::size_t processor() const { return processor_; }
        void count_hit() {
            slot_->hits.store(slot_->hits.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        }

     private:
        Slot* slot_ = nullptr;
        std::size_t processor_ = 0;
    };

    /// Writer: what was taken out of sight before may be freed once oldest() is greater than the result.
    [[nodiscard]] std::uint64_t advance() { return epoch_.fetch_add(1); }
    /// The epoch of the reader that has been within for longest; kNobody without one.
    [[nodiscard]] std::uint64_t oldest() const;
    /// What all stays have counted.
    [[nodiscard]] std::uint64_t hits() const;

 private:
    std::vector<Slot> slots_;  // a power of two of them
    alignas(64) std::atomic<std::uint64_t> epoch_{1};
};

}  // namespace blockpub
