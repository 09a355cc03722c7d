// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "primitives/block.hpp"
#include "source/import_mark.hpp"

#include <blockpub/bytes.hpp>
#include <blockpub/result.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace blockpub {

/// What the reader of an import found, in the order of the files.
struct ImportItem {
    enum class Kind : std::uint8_t {
        block,     ///< raw is set
        position,  ///< nothing new up to here
        file_end,  ///< the last of its file
    };
    Kind kind = Kind::position;
    std::size_t file = 0;          ///< place in the list of files
    std::uint64_t end_offset = 0;  ///< of the file, behind what this item is about
    SharedBytes raw;
    std::optional<ImportMark> mark;  ///< may be stored once all blocks up to here are
};

/// Blocks on their way from a file to the chain: parsed (which hashes every transaction) by several threads,
/// and handed out in the order they were put in.
///
/// Thread safety: put() and close() from one thread, take() from one, stop() from any.
/// Ownership: owns its threads, which end in the destructor.
/// Blocking: put() waits while `limit_bytes` are inside; take() until its deadline.
class ParsePipeline {
 public:
    struct Taken {
        enum class Kind : std::uint8_t { item, timeout, end } kind = Kind::end;
        ImportItem item;
        std::optional<Result<ParsedBlock>> parsed;  ///< of a block
    };

    ParsePipeline(unsigned threads, std::size_t limit_bytes);
    ~ParsePipeline();
    ParsePipeline(const ParsePipeline&) = delete;
    ParsePipeline& operator=(const ParsePipeline&) = delete;

    /// Result: false when the pipeline was stopped; the item is gone then.
    [[nodiscard]] bool put(ImportItem item) BLOCKPUB_EXCLUDES(mutex_);
    /// No item will follow.
    void close() BLOCKPUB_EXCLUDES(mutex_);
    /// Wakes everyone; what is inside is dropped.
    void stop() BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] Taken take(std::chrono::steady_clock::time_point deadline) BLOCKPUB_EXCLUDES(mutex_);

 private:
    struct Slot {
        ImportItem item;
        std::optional<Result<ParsedBlock>> parsed;
        bool ready = false;
    };
    void parse_loop() BLOCKPUB_EXCLUDES(mutex_);

    const std::size_t limit_;
    Mutex mutex_;
    CondVar changed_;  // room, work, a ready front, or the end
    // Pointers: a parser works on its slot without the lock, while slots come and go around it.
    std::deque<std::unique_ptr<Slot>> slots_ BLOCKPUB_GUARDED_BY(mutex_);
    std::size_t unparsed_ BLOCKPUB_GUARDED_BY(mutex_) =
        0;  // place in slots_ of the first that no parser has taken
    std::size_t bytes_ BLOCKPUB_GUARDED_BY(mutex_) = 0;
    bool closed_ BLOCKPUB_GUARDED_BY(mutex_) = false;
    bool stopped_ BLOCKPUB_GUARDED_BY(mutex_) = false;
    std::vector<std::jthread> threads_;  // last: they use all of the above
};

}  // namespace blockpub
