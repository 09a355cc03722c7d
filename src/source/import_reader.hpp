// SPDX-License-Identifier: MIT
#pragma once

#include "base/log.hpp"
#include "primitives/chain_params.hpp"
#include "source/block_file.hpp"
#include "source/import_plan.hpp"
#include "source/parse_pipeline.hpp"

#include <blockpub/hash.hpp>
#include <blockpub/store.hpp>

#include <cstdint>
#include <span>
#include <string>

namespace blockpub {

/// What a reader has passed over.
struct ReadCounters {
    std::uint64_t known = 0;          ///< blocks that the store has already
    std::uint64_t passed_before = 0;  ///< bytes that an earlier import had been through
    std::uint64_t bad_spots = 0;
    std::uint64_t failed_files = 0;  ///< could not be opened, or not be read to their end
};

/// Walks over the files of an import ahead of the chain, and puts what the store does not have into the
/// pipeline.
///
/// Bad spots are warned of one by one, up to a number for each file and for the whole import; then only
/// counted. Thread safety: run() on one thread. Ownership: borrows everything. Blocking: reads the disk;
/// waits for room in the pipeline.
class ImportReader {
 public:
    ImportReader(const ChainParams& params, const Store& store, Log log)
        : params_(params), store_(store), log_(log) {}

    /// Reads files one after the other, and ends early when the pipeline is stopped. A file that fails is
    /// logged, and stops no other. A second run over the same files neither warns nor counts again.
    void run(std::span<const PlannedFile> files, ParsePipeline& pipeline);
    /// Of the first run.
    [[nodiscard]] const ReadCounters& counters() const { return counters_; }

 private:
    struct Walk {
        std::size_t file = 0;
        std::uint64_t clean_end = 0;   // nothing was passed over before it
        std::uint64_t marked_end = 0;  // the last mark's
        std::uint64_t told_end = 0;    // the last item's
        std::uint64_t bad_spots = 0;
    };
    /// Result: false when the pipeline was stopped.
    [[nodiscard]] Result<bool> read_file(const PlannedFile& planned, Walk& walk, ParsePipeline& pipeline);
    [[nodiscard]] Result<bool> put_position(const BlockFile& file, Walk& walk, ParsePipeline& pipeline,
                                            ImportItem::Kind kind);
    [[nodiscard]] Result<std::uint64_t> resume_offset(const File& file) const;
    [[nodiscard]] bool store_has(const BlockHash& hash) const;
    void warn(const PlannedFile& planned, const ScanStep& spot, Walk& walk);

    const ChainParams& params_;
    const Store& store_;
    const Log log_;
    ReadCounters counters_;
    std::uint64_t warned_ = 0;
    bool first_run_ = true;
};

}  // namespace blockpub
