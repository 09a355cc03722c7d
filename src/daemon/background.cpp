// SPDX-License-Identifier: MIT
#include "daemon/background.hpp"

#include "daemon/exit_status.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace blockpub {
namespace {

constexpr char kReady = 'r';

void to_null(int descriptor) {
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0) return;
    dup2(null, descriptor);
    close(null);
}

[[noreturn]] void end_foreground(int pipe, bool wait) {
    char word = kReady;
    if (wait) {
        ssize_t got = 0;
        do got = read(pipe, &word, 1);
        while (got < 0 && errno == EINTR);
        if (got != 1) word = 0;
    } else {
        std::puts("blockpubd starting");
        std::fflush(stdout);
    }
    _exit(static_cast<int>(word == kReady ? ExitStatus::ok : ExitStatus::start_failed));
}

}  // namespace

Result<BackgroundReport> go_to_background(bool wait) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return fail(Errc::io, fmt::format("-daemon failed: {}.", std::generic_category().message(errno)));
    }
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child < 0) {
        const std::string reason = std::generic_category().message(errno);
        close(ends[0]);
        close(ends[1]);
        return fail(Errc::io, fmt::format("-daemon failed: {}.", reason));
    }
    if (child > 0) {
        close(ends[1]);
        end_foreground(ends[0], wait);
    }
    close(ends[0]);
    setsid();
    to_null(STDIN_FILENO);
    to_null(STDOUT_FILENO);
    return BackgroundReport(ends[1]);
}

BackgroundReport::~BackgroundReport() {
    if (pipe_ >= 0) close(pipe_);
}

void BackgroundReport::ready() {
    if (pipe_ < 0) return;
    [[maybe_unused]] const auto written = write(pipe_, &kReady, 1);
    close(std::exchange(pipe_, -1));
    to_null(STDERR_FILENO);
}

}  // namespace blockpub
