// SPDX-License-Identifier: MIT
#include "daemon/signals.hpp"

#include "base/thread.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <system_error>
#include <utility>

namespace blockpub {
namespace {

sigset_t watched() {
    sigset_t set;
    sigemptyset(&set);
    for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, number);
    return set;
}

void watch(int signals, int wake, const SignalWatcher::Callbacks& callbacks) {
    bool stopping = false;
    for (;;) {
        pollfd waited[2] = {{signals, POLLIN, 0}, {wake, POLLIN, 0}};
        if (poll(waited, 2, -1) < 0 && errno != EINTR) return;
        if (waited[1].revents != 0) return;
        signalfd_siginfo received{};
        if (read(signals, &received, sizeof received) != sizeof received) continue;
        const int number = static_cast<int>(received.ssi_signo);
        if (number == SIGHUP)
            callbacks.hang_up();
        else if (std::exchange(stopping, true))
            callbacks.stop_at_once();
        else
            callbacks.stop(number);
    }
}

}  // namespace

void block_signals() {
    const sigset_t set = watched();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
}

Result<SignalWatcher> SignalWatcher::start(Callbacks callbacks) {
    const sigset_t set = watched();
    const int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    const int wake = eventfd(0, EFD_CLOEXEC);
    if (signals < 0 || wake < 0) {
        const std::string reason = std::generic_category().message(errno);
        if (signals >= 0) close(signals);
        if (wake >= 0) close(wake);
        return fail(Errc::io, fmt::format("Cannot wait for signals: {}.", reason));
    }
    return SignalWatcher(signals, wake, std::move(callbacks));
}

SignalWatcher::SignalWatcher(int signals, int wake, Callbacks callbacks)
    : signals_(signals),
      wake_(wake),
      thread_(start_thread("signals", [signals, wake, callbacks = std::move(callbacks)](
                                          const std::stop_token&) { watch(signals, wake, callbacks); })) {}

SignalWatcher::SignalWatcher(SignalWatcher&& other) noexcept
    : signals_(std::exchange(other.signals_, -1)),
      wake_(std::exchange(other.wake_, -1)),
      thread_(std::move(other.thread_)) {}

SignalWatcher::~SignalWatcher() {
    if (wake_ < 0) return;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = write(wake_, &one, sizeof one);
    thread_.join();
    close(signals_);
    close(wake_);
}

}  // namespace blockpub
