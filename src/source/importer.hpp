// SPDX-License-Identifier: MIT
#pragma once

#include "base/log.hpp"
#include "base/mutex.hpp"
#include "chain/chain.hpp"
#include "primitives/chain_params.hpp"
#include "source/import_plan.hpp"
#include "source/import_reader.hpp"
#include "source/progress.hpp"

#include <blockpub/logger.hpp>
#include <blockpub/store.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace blockpub {

struct ImportOptions {
    /// Threads that parse ahead of the chain thread; 0: as many as there are processors beyond the first.
    unsigned parser_threads = 0;
    /// Bytes of blocks read ahead. More only helps where the disk is slow and jumpy.
    std::size_t read_ahead_bytes = std::size_t{32} << 20;
    /// ChainOptions::import_queue_bytes: what may lie between the importer and a block's place in the store.
    std::size_t chain_queue_bytes = std::size_t{32} << 20;
    /// Time between two lines of progress in the log; in the sink a line comes each second, if there is one.
    std::chrono::milliseconds progress_every{5000};
};

/// What an import came to.
struct ImportResult {
    std::uint64_t files = 0;
    std::uint64_t blocks = 0;       ///< handed to the chain
    std::uint64_t imported = 0;     ///< of them new, and with their parent
    std::uint64_t known = 0;        ///< passed over: in the store already
    std::uint64_t waiting = 0;      ///< stored, parent unknown as yet
    std::uint64_t turned_away = 0;  ///< parent unknown, and no room to wait
    std::uint64_t invalid = 0;
    std::uint64_t bad_spots = 0;  ///< places in the files that hold no block of this chain
    std::uint64_t failed_files = 0;
    bool stopped = false;             ///< before its end
    std::vector<std::string> errors;  ///< one sentence each, all logged
};

/// Brings the blocks of files into the chain.
///
/// Reads and parses ahead on threads of its own; blocks may stand in any order. What is in the store is not
/// parsed again, and a file's imported part not even read again, in this import or a later one. As long as
/// blocks had to be turned away for lack of room, and others came in, the files are gone through once more.
///
/// Thread safety: every method from any thread; start() once.
/// Ownership: borrows chain, store, parameters, logger and sink, which must outlive it.
/// Blocking: stop() never; wait() and the destructor until the import has ended: after stop() within a
/// second, unless the chain thread waits for disk space; Chain::stop() ends that wait. Errors: those of files
/// are logged as they come, and are in the result; one that concerns the chain ends the import.
class Importer {
 public:
    Importer(ImportPlan plan, Chain& chain, Store& store, const ChainParams& params, Logger& logger,
             ProgressSink* sink, ImportOptions options = {});
    ~Importer();
    Importer(const Importer&) = delete;
    Importer& operator=(const Importer&) = delete;

    /// Begins the import: when this returns the chain knows that it is importing.
    void start();
    void stop();
    /// Requires: start() was called.
    ImportResult wait() BLOCKPUB_EXCLUDES(mutex_);
    /// Whether the import has ended, of itself or because of stop().
    [[nodiscard]] bool finished() const BLOCKPUB_EXCLUDES(mutex_);

 private:
    /// A mark that may be stored once the chain thread has dealt with all blocks before it.
    struct PendingMark {
        ImportMark mark;
        std::uint64_t handed_bytes;  // to the chain, when the mark was due
        std::uint64_t losses;        // turned away or invalid until its file was begun
    };
    /// How far one walk over the files has come.
    struct Pass {
        ProgressMeter meter;
        ProgressPace pace;
        std::uint64_t blocks = 0;
        std::uint64_t done_bytes = 0;  // of the files before the current one
        std::size_t file = 0;
        std::uint64_t file_offset = 0;
        std::uint64_t losses_at_file = 0;
    };

    void run(const std::stop_token& stop) BLOCKPUB_EXCLUDES(mutex_);
    void make_file_list();
    [[nodiscard]] Result<void> run_passes(const std::stop_token& stop);
    [[nodiscard]] Result<void> run_pass(const std::stop_token& stop);
    [[nodiscard]] Result<void> feed(ParsePipeline& pipeline, Pass& pass);
    [[nodiscard]] Result<void> handle(ParsePipeline::Taken taken, Pass& pass);
    /// Waits until all that was handed over is in the store, and stores the marks that are left.
    [[nodiscard]] Result<void> settle();
    /// Stores the marks that are due; all of them when nothing lies between us and the store.
    [[nodiscard]] Result<void> store_marks(bool all);
    [[nodiscard]] std::uint64_t losses() const;
    void show_progress(Pass& pass);
    void add_error(std::string text);
    void summarize();

    const ImportPlan plan_;
    Chain& chain_;
    const ChainParams& params_;
    const Log log_;
    ProgressSink* const sink_;
    const ImportOptions options_;

    // Only on the import thread.
    ImportReader reader_;
    std::vector<PlannedFile> files_;
    std::deque<PendingMark> marks_;
    std::uint64_t handed_bytes_ = 0;
    ImportCounters before_;
    ImportResult result_;

    mutable Mutex mutex_;
    CondVar ended_;
    bool finished_ BLOCKPUB_GUARDED_BY(mutex_) = false;
    ImportResult final_ BLOCKPUB_GUARDED_BY(mutex_);
    std::jthread thread_;
};

}  // namespace blockpub
