// SPDX-License-Identifier: MIT
#include "source/importer.hpp"

#include "base/thread.hpp"
#include "source/parse_pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace blockpub {

namespace {

using SteadyClock = std::chrono::steady_clock;

unsigned parser_threads(const ImportOptions& options) {
    if (options.parser_threads != 0) return options.parser_threads;
    return std::clamp(std::thread::hardware_concurrency(), 2U, 9U) - 1;
}

std::uint64_t difference(std::uint64_t now, std::uint64_t before) {
    return now > before ? now - before : 0;
}

}  // namespace

Importer::Importer(ImportPlan plan, Chain& chain, Store& store, const ChainParams& params, Logger& logger,
                   ProgressSink* sink, ImportOptions options)
    : plan_(std::move(plan)),
      chain_(chain),
      params_(params),
      log_(&logger, LogCategory::import),
      sink_(sink),
      options_(options),
      reader_(params, store, log_) {}

Importer::~Importer() {
    stop();
}

void Importer::start() {
    chain_.begin_import();
    thread_ = start_thread("import", [this](const std::stop_token& stop) { run(stop); });
}

void Importer::stop() {
    thread_.request_stop();
}

ImportResult Importer::wait() {
    MutexLock lock(mutex_);
    while (!finished_) ended_.wait(mutex_);
    return final_;
}

bool Importer::finished() const {
    MutexLock lock(mutex_);
    return finished_;
}

void Importer::run(const std::stop_token& stop) {
    make_file_list();
    before_ = chain_.import_counters();
    auto result = run_passes(stop);
    auto ended = chain_.end_import();
    if (result) result = std::move(ended);
    const bool stopped = stop.stop_requested() || (!result && result.error().code == Errc::stopped);
    if (!result && !stopped) add_error(result.error().context);
    result_.stopped = stopped;
    summarize();

    MutexLock lock(mutex_);
    final_ = result_;
    finished_ = true;
    ended_.notify_all();
}

void Importer::make_file_list() {
    if (plan_.blocks_directory) {
        auto files = list_block_files(*plan_.blocks_directory);
        if (files) files_ = std::move(*files);
        if (!files) add_error(files.error().context);
    }
    for (const auto& path : plan_.load_files) {
        auto file = plan_load_file(path, params_);
        if (file) files_.push_back(std::move(*file));
        if (!file) add_error(file.error().context);
    }
    result_.files = files_.size();
}

Result<void> Importer::run_passes(const std::stop_token& stop) {
    while (true) {
        const ImportCounters before = chain_.import_counters();
        auto result = run_pass(stop);
        auto settled = settle();
        if (!result) return result;
        if (!settled || stop.stop_requested()) return settled;
        const ImportCounters after = chain_.import_counters();
        if (after.turned_away == before.turned_away || after.accepted == before.accepted) return {};
        log_.info("Import: {} blocks found no room to wait for their parent: going through the files again",
                  after.turned_away - before.turned_away);
    }
}

Result<void> Importer::run_pass(const std::stop_token& stop) {
    std::uint64_t total = 0;
    for (const auto& file : files_) total += file.size;
    const auto now = SteadyClock::now();
    Pass pass{.meter = ProgressMeter(total, now),
              .pace = ProgressPace(options_.progress_every, sink_ != nullptr, now),
              .losses_at_file = losses()};

    ParsePipeline pipeline(parser_threads(options_), options_.read_ahead_bytes);
    const std::stop_callback on_stop(stop, [&] { pipeline.stop(); });
    const std::jthread reader =
        start_thread("import-read", [&](const std::stop_token&) { reader_.run(files_, pipeline); });
    auto result = feed(pipeline, pass);
    pipeline.stop();
    return result;
}

Result<void> Importer::feed(ParsePipeline& pipeline, Pass& pass) {
    while (true) {
        auto taken = pipeline.take(pass.pace.next());
        if (taken.kind == ParsePipeline::Taken::Kind::end) return {};
        if (taken.kind == ParsePipeline::Taken::Kind::item) {
            if (auto handled = handle(std::move(taken), pass); !handled) return handled;
        }
        if (SteadyClock::now() >= pass.pace.next()) show_progress(pass);
    }
}

Result<void> Importer::handle(ParsePipeline::Taken taken, Pass& pass) {
    const ImportItem& item = taken.item;
    if (pass.file != item.file) {
        pass.file = item.file;
        pass.losses_at_file = losses();
    }
    pass.file_offset = item.end_offset;
    if (taken.parsed && !*taken.parsed) {
        log_.warning("{}: the block that ends at byte {} does not decode: {}",
                     files_[item.file].path.string(), item.end_offset, taken.parsed->error().context);
        ++result_.invalid;
    } else if (taken.parsed) {
        handed_bytes_ += item.raw.size();
        ++pass.blocks;
        ++result_.blocks;
        if (auto handed = chain_.import_block(std::move(**taken.parsed)); !handed) return handed;
    }
    if (item.mark) marks_.push_back({*item.mark, handed_bytes_, pass.losses_at_file});
    if (item.kind == ImportItem::Kind::file_end) {
        pass.done_bytes += files_[item.file].size;
        pass.file_offset = 0;
    }
    return store_marks(false);
}

Result<void> Importer::store_marks(bool all) {
    while (!marks_.empty()) {
        PendingMark& pending = marks_.front();
        const std::uint64_t behind = handed_bytes_ - pending.handed_bytes;
        if (!all && behind < options_.chain_queue_bytes + kMaxBlockSize) return {};
        // A block that was turned away, or refused, has to be read again another time.
        if (losses() == pending.losses) {
            auto stored = chain_.mark_import(std::move(pending.mark.key), std::move(pending.mark.value));
            if (!stored) return stored;
        }
        marks_.pop_front();
    }
    return {};
}

Result<void> Importer::settle() {
    // The inner end waits for the chain thread; the outer one keeps initial download until all passes are
    // done.
    chain_.begin_import();
    if (auto ended = chain_.end_import(); !ended) return ended;
    return store_marks(true);
}

std::uint64_t Importer::losses() const {
    const ImportCounters counters = chain_.import_counters();
    return counters.turned_away + counters.invalid + result_.invalid;
}

void Importer::show_progress(Pass& pass) {
    const auto now = SteadyClock::now();
    const ProgressPace::Due due = pass.pace.take(now);
    const auto rates = pass.meter.update({pass.blocks, pass.done_bytes + pass.file_offset}, now);
    const std::string line =
        "Import: " + format_progress(chain_.status().tip.height.value, rates, pass.meter.total_bytes());
    if (due.log) log_.info("{}", line);
    if (sink_ != nullptr) sink_->show(line);
}

void Importer::add_error(std::string text) {
    log_.error("Import: {}", text);
    result_.errors.push_back(std::move(text));
}

void Importer::summarize() {
    const ImportCounters now = chain_.import_counters();
    const ReadCounters& read = reader_.counters();
    result_.imported = difference(now.accepted, before_.accepted);
    result_.known = read.known + difference(now.known, before_.known);
    result_.waiting = now.waiting;
    result_.turned_away = difference(now.turned_away, before_.turned_away);
    result_.invalid += difference(now.invalid, before_.invalid);
    result_.bad_spots = read.bad_spots;
    const bool found_any = result_.blocks + result_.known + read.passed_before + result_.invalid != 0;
    if (!result_.stopped && result_.errors.empty() && read.bad_spots != 0 && !found_any) {
        add_error(fmt::format("there is no block of chain {} in {}", params_.name,
                              files_.size() == 1 ? files_.front().path.string()
                                                 : fmt::format("any of {} files", files_.size())));
    }
    result_.failed_files = read.failed_files;
    log_.info(
        "Import {}: height {}, {} files, {} blocks imported, {} known before, {} waiting for their parent, "
        "{} turned away, {} invalid, {} places passed over, {} files failed",
        result_.stopped ? "stopped" : "finished", chain_.status().tip.height.value, result_.files,
        result_.imported, result_.known, result_.waiting, result_.turned_away, result_.invalid,
        result_.bad_spots, result_.failed_files + result_.errors.size());
    if (sink_ != nullptr) sink_->show("");
}

}  // namespace blockpub
