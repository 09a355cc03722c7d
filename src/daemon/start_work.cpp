// SPDX-License-Identifier: MIT
#include "daemon/start_work.hpp"

#include "base/thread.hpp"
#include "source/exporter.hpp"

namespace blockpub {

Result<void> StartWork::check(const SourceOptions& options, const ChainParams& params) {
    return check_import_plan({options.import_blocks, options.load_block}, params);
}

StartWork::StartWork(const SourceOptions& options, Chain& chain, Store& store, const ChainParams& params,
                     Logger& logger, StopRequest& stop_request)
    : options_(options),
      store_(store),
      params_(params),
      logger_(logger),
      log_(&logger, LogCategory::general),
      stop_request_(stop_request) {
    if (options_.any()) {
        importer_ = std::make_unique<Importer>(ImportPlan{options_.import_blocks, options_.load_block}, chain,
                                               store, params, logger, nullptr);
        importer_->start();
    }
    if (!options_.any() && !options_.export_blocks && !options_.stop_after_import) return;
    thread_ = start_thread("start-work", [this](const std::stop_token& stop) { run(stop); });
}

StartWork::~StartWork() {
    request_stop();
}

void StartWork::request_stop() {
    thread_.request_stop();
    if (importer_) importer_->stop();
}

std::string StartWork::source() const {
    if (!importer_ || importer_->finished()) return "submitblock";
    if (options_.import_blocks) return "import of " + options_.import_blocks->string();
    return "import of " + options_.load_block.front().string();
}

bool StartWork::unfinished() const {
    MutexLock lock(mutex_);
    return unfinished_;
}

void StartWork::set_unfinished() {
    MutexLock lock(mutex_);
    unfinished_ = true;
}

void StartWork::run(const std::stop_token& stop) {
    bool whole = true;
    if (importer_) {
        const ImportResult result = importer_->wait();
        whole = !result.stopped && result.errors.empty() && result.failed_files == 0;
    }
    if (stop.stop_requested()) whole = false;
    if (options_.export_blocks && !stop.stop_requested()) whole = run_export(stop) && whole;
    if (!options_.export_blocks && !options_.stop_after_import) return;
    if (!whole) set_unfinished();
    log_.info("{}: ending as asked", options_.export_blocks ? "Export" : "Import");
    stop_request_.request();
}

bool StartWork::run_export(const std::stop_token& stop) {
    const ExportOptions exporting{.directory = *options_.export_blocks, .key = options_.export_key};
    const auto summary = export_blocks(exporting, store_, params_, logger_, nullptr, stop);
    if (!summary) {
        log_.error("Export to {}: {}", options_.export_blocks->string(), summary.error().context);
        return false;
    }
    log_.info("Export finished: {} blocks up to height {} in {} files, {} bytes", summary->blocks,
              summary->tip.height.value, summary->files, summary->bytes);
    return true;
}

}  // namespace blockpub
