// SPDX-License-Identifier: MIT
#include "daemon/start_work.hpp"

#include "base/thread.hpp"
#include "source/exporter.hpp"

#include <fmt/format.h>

#include <chrono>
#include <utility>

namespace blockpub {
namespace {

/// The line that is written anew says it each second: the same on the console would only scroll.
constexpr std::chrono::seconds kLogEveryBesideTerminal{30};

}  // namespace

Result<void> StartWork::check(const SourceOptions& options, const ChainParams& params) {
    return check_import_plan({options.import_blocks, options.load_block}, params);
}

StartWork::StartWork(const SourceOptions& options, Chain& chain, Store& store, const ChainParams& params,
                     Logger& logger, StopRequest& stop_request, ProgressSink* progress)
    : options_(options),
      store_(store),
      params_(params),
      logger_(logger),
      log_(&logger, LogCategory::general),
      stop_request_(stop_request),
      progress_(progress) {
    if (options_.any()) {
        ImportOptions importing;
        if (progress_ != nullptr) importing.progress_every = kLogEveryBesideTerminal;
        importer_ = std::make_unique<Importer>(ImportPlan{options_.import_blocks, options_.load_block}, chain,
                                               store, params, logger, progress_, importing);
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

std::string StartWork::failure() const {
    MutexLock lock(mutex_);
    return failure_;
}

void StartWork::run(const std::stop_token& stop) {
    std::string failure = importer_ ? run_import() : std::string();
    if (options_.export_blocks) {
        if (stop.stop_requested())
            failure = "the export was not begun: the daemon was asked to stop";
        else if (std::string exporting = run_export(stop); !exporting.empty())
            failure = std::move(exporting);
    } else if (!options_.stop_after_import) {
        return;
    }
    {
        MutexLock lock(mutex_);
        failure_ = std::move(failure);
    }
    log_.info("{}: ending as asked", options_.export_blocks ? "Export" : "Import");
    stop_request_.request();
}

std::string StartWork::run_import() {
    const ImportResult result = importer_->wait();
    if (!result.errors.empty()) return "the import was not done whole: " + result.errors.front();
    if (result.stopped) return "the import was stopped before its end; the same start goes on with it";
    if (result.failed_files == 0) return {};
    return fmt::format(
        "the import was not done whole: {} of {} files could not be read to their end, see the log",
        result.failed_files, result.files);
}

std::string StartWork::run_export(const std::stop_token& stop) {
    ExportOptions exporting{.directory = *options_.export_blocks, .key = options_.export_key};
    if (progress_ != nullptr) exporting.progress_every = kLogEveryBesideTerminal;
    const auto summary = export_blocks(exporting, store_, params_, logger_, progress_, stop);
    if (summary) return {};
    std::string failure =
        fmt::format("export to {}: {}", options_.export_blocks->string(), summary.error().context);
    log_.error("{}", failure);
    return failure;
}

}  // namespace blockpub
