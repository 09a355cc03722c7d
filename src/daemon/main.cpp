// SPDX-License-Identifier: MIT
#include "base/log.hpp"
#include "daemon/background.hpp"
#include "daemon/data_directory.hpp"
#include "daemon/descriptors.hpp"
#include "daemon/log_file.hpp"
#include "daemon/node.hpp"
#include "daemon/option_table.hpp"
#include "daemon/options.hpp"
#include "daemon/printable.hpp"
#include "daemon/signals.hpp"
#include "daemon/terminal.hpp"

#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>

namespace blockpub {
namespace {

ExitStatus refuse(const Error& error) {
    fmt::print(stderr, "Error: {}\n", printable(error.context));
    return ExitStatus::start_failed;
}

void log_start(const Log& log, const NodeOptions& options, const DescriptorBudget& descriptors) {
    log.info("blockpub version {}", BLOCKPUB_VERSION);
    log.info("Using data directory {}", options.chain_dir.string());
    if (!options.config_file.empty()) log.info("Using config file {}", options.config_file);
    for (const std::string& line : options.given) log.info("{}", line);
    for (const std::string& line : options.warnings) log.warning("{}", line);
    log.info("{}", descriptors.text());
}

/// Runs until somebody asks for the end. On a terminal a line a minute says how things are.
void wait_for_end(StopRequest& stop_request, const Node& node, Terminal* terminal) {
    constexpr std::chrono::minutes kBetweenLines{1};
    auto next_line = std::chrono::steady_clock::now();
    for (;;) {
        if (terminal != nullptr) terminal->write(printable(format_status(node.status())) + '\n');
        next_line += kBetweenLines;
        if (stop_request.wait_until(next_line)) return;
    }
}

ExitStatus run_node(NodeOptions options, BackgroundReport background) {
    block_signals();
    std::optional<Terminal> terminal;
    if (options.log.console && isatty(STDOUT_FILENO) != 0)
        options.log.terminal = &terminal.emplace(STDOUT_FILENO);
    NodeHooks hooks;
    hooks.progress = options.log.terminal;
    auto descriptors =
        share_descriptors(raise_descriptor_limit(), options.open_segments,
                          options.listen.endpoints.empty() ? 0 : options.listen.max_connections);
    if (!descriptors) return refuse(descriptors.error());
    auto log_file = LogFile::open(options.log);
    if (!log_file) return refuse(log_file.error());
    const Log log(log_file->get(), LogCategory::general);
    const auto refuse_and_log = [&](const Error& error) {
        log.error("{}", error.context);
        return refuse(error);
    };
    log_start(log, options, *descriptors);
    options.rpc.max_connections = std::min(options.rpc.max_connections, descriptors->http);
    options.listen.max_connections = std::min(options.listen.max_connections, descriptors->peers);
    options.version = BLOCKPUB_VERSION;

    const auto pid_file = PidFile::write(options.pid_file);
    if (!pid_file) return refuse_and_log(pid_file.error());
    StopRequest stop_request;
    const auto signals = SignalWatcher::start({
        .stop = [&](int) { stop_request.request(); },
        .stop_at_once = [] { _exit(static_cast<int>(ExitStatus::forced)); },
        .hang_up =
            [&] {
                if (auto opened = (*log_file)->reopen(); !opened) log.error("{}", opened.error().context);
            },
    });
    if (!signals) return refuse_and_log(signals.error());

    hooks.set_debug = [&](std::string_view category, bool on) {
        return (*log_file)->set_debug(category, on);
    };
    auto node = Node::start(std::move(options), **log_file, stop_request, hooks);
    if (!node && node.error().code == Errc::stopped && stop_request.requested()) {
        log.info("Shutdown: {}, exit status 0", node.error().context);
        return ExitStatus::ok;
    }
    if (!node) return refuse_and_log(node.error());
    background.ready();
    wait_for_end(stop_request, **node, hooks.progress != nullptr ? &*terminal : nullptr);
    const ExitStatus status = (*node)->stop();
    if (status == ExitStatus::work_unfinished)
        fmt::print(stderr, "Error: {}\n", printable((*node)->failure()));
    log.info("Shutdown: done, exit status {}", static_cast<int>(status));
    return status;
}

/// Replies of megabytes come and go. By its own rules the C library maps each anew, and the kernel clears
/// every page again: it takes longer than to write the reply.
void keep_freed_memory() {
    constexpr int kMiB = 1 << 20;
    mallopt(M_MMAP_THRESHOLD, 32 * kMiB);
    mallopt(M_TRIM_THRESHOLD, 24 * kMiB);  // what is kept, at most, of each thread's
}

ExitStatus run(std::span<const char* const> arguments) {
    keep_freed_memory();
    const auto command_line = Settings::from_command_line(arguments);
    if (!command_line) return refuse(command_line.error());
    if (command_line->flag("help", false)) {
        fmt::print("{}", help_text());
        return ExitStatus::ok;
    }
    if (command_line->flag("version", false)) {
        fmt::print("blockpub version {}\n", BLOCKPUB_VERSION);
        return ExitStatus::ok;
    }
    auto options = read_options(*command_line);
    if (!options) return refuse(options.error());
    const auto directory = DataDirectory::claim(*options);
    if (!directory) return refuse(directory.error());
    if (!options->daemonize) return run_node(std::move(*options), BackgroundReport());
    auto background = go_to_background(options->daemon_wait);
    if (!background) return refuse(background.error());
    return run_node(std::move(*options), std::move(*background));
}

}  // namespace
}  // namespace blockpub

int main(int argc, char** argv) {
    const std::span<const char* const> words(argv, static_cast<std::size_t>(argc));
    return static_cast<int>(blockpub::run(words.empty() ? words : words.subspan(1)));
}
