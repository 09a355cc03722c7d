// SPDX-License-Identifier: MIT
#include "notify/command_hooks.hpp"

#include "base/thread.hpp"
#include "notify/command.hpp"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace blockpub {
namespace {

constexpr std::chrono::milliseconds kBeforeKill{2'000};  // between SIGTERM and SIGKILL

std::string with_hash(std::string line, const std::string& hash) {
    // A hash is made of hexadecimal digits only: it cannot say anything to a shell.
    for (std::size_t at = line.find("%s"); at != std::string::npos; at = line.find("%s", at + hash.size())) {
        line.replace(at, 2, hash);
    }
    return line;
}

}  // namespace

CommandHooks::CommandHooks(CommandHookOptions options, Bus& bus, Logger& logger)
    : options_(std::move(options)),
      log_(&logger, LogCategory::general),
      cancel_descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!options_.block_notify.empty()) subscription_.emplace(bus.subscribe("blocknotify", *this));
}

CommandHooks::~CommandHooks() {
    std::list<Run> runs;
    {
        MutexLock lock(mutex_);
        ending_ = true;
        ended_.notify_all();
    }
    const std::uint64_t one = 1;
    static_cast<void>(!write(cancel_descriptor_, &one, sizeof one));
    subscription_.reset();  // from here on nobody starts a run
    {
        MutexLock lock(mutex_);
        while (!std::ranges::all_of(runs_, &Run::ended)) ended_.wait(mutex_);
        runs.swap(runs_);
    }
    runs.clear();
    if (cancel_descriptor_ >= 0) close(cancel_descriptor_);
}

void CommandHooks::on_event(const Event& event) {
    const auto* tip = std::get_if<UpdatedBlockTip>(&event);
    if (tip == nullptr || tip->initial_download) return;
    start("-blocknotify", with_hash(options_.block_notify, tip->tip_hash.display_hex()),
          std::max<std::size_t>(options_.most_running, 1));
}

void CommandHooks::run_startup() {
    if (options_.startup_notify.empty()) return;
    start("-startupnotify", options_.startup_notify, std::numeric_limits<std::size_t>::max());
}

void CommandHooks::run_shutdown() {
    if (options_.shutdown_notify.empty()) return;
    auto command = Command::start(options_.shutdown_notify);
    if (!command) {
        log_.error("-shutdownnotify {}", command.error().context);
        return;
    }
    switch (command->wait(options_.longest_shutdown_run, -1)) {
        case Command::Wait::ended:
            if (!command->failure().empty()) log_.error("-shutdownnotify ended with {}", command->failure());
            return;
        case Command::Wait::timed_out:
        case Command::Wait::cancelled:
            log_.warning("-shutdownnotify is still running after {} ms, not waiting for it",
                         options_.longest_shutdown_run.count());
    }
}

void CommandHooks::start(std::string option, std::string line, std::size_t most_running) {
    std::list<Run> finished;  // joined where no lock is held
    MutexLock lock(mutex_);
    const auto collect = [&]() BLOCKPUB_REQUIRES(mutex_) {
        for (auto run = runs_.begin(); run != runs_.end();) {
            const auto next = std::next(run);
            if (run->ended) finished.splice(finished.end(), runs_, run);
            run = next;
        }
    };
    collect();
    while (!ending_ && runs_.size() >= most_running) {
        ended_.wait(mutex_);
        collect();
    }
    if (!ending_) {
        Run& run = runs_.emplace_back();
        run.thread = start_thread(option.substr(1),
                                  [this, &run, option, line = std::move(line)](const std::stop_token&) {
                                      watch(option, line);
                                      MutexLock ended(mutex_);
                                      run.ended = true;
                                      ended_.notify_all();
                                  });
    }
    lock.unlock();
    finished.clear();
}

void CommandHooks::watch(const std::string& option, const std::string& line) const {
    auto command = Command::start(line);
    if (!command) {
        log_.error("{} {}", option, command.error().context);
        return;
    }
    switch (command->wait(options_.longest_run, cancel_descriptor_)) {
        case Command::Wait::ended:
            if (!command->failure().empty()) log_.error("{} ended with {}", option, command->failure());
            return;
        case Command::Wait::timed_out:
            end_overdue(option, *command);
            return;
        case Command::Wait::cancelled:
            return;
    }
}

void CommandHooks::end_overdue(const std::string& option, Command& command) const {
    log_.error("{} has been running for {} ms, ending it", option, options_.longest_run.count());
    command.kill_group(SIGTERM);
    if (command.wait(kBeforeKill, cancel_descriptor_) == Command::Wait::ended) return;
    command.kill_group(SIGKILL);
    static_cast<void>(command.wait(kBeforeKill, -1));
}

}  // namespace blockpub
