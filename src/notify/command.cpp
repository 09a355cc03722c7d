// SPDX-License-Identifier: MIT
#include "notify/command.hpp"

#include "base/check.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

extern char** environ;

namespace blockpub {
namespace {

/// What posix_spawn is told, with its clean-up.
class SpawnSettings {
 public:
    SpawnSettings() {
        BLOCKPUB_CHECK(posix_spawn_file_actions_init(&actions_) == 0);
        BLOCKPUB_CHECK(posix_spawnattr_init(&attributes_) == 0);
        sigset_t none;
        sigset_t all;
        sigemptyset(&none);
        sigfillset(&all);
        constexpr short kFlags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
        posix_spawnattr_setflags(&attributes_, kFlags);
        posix_spawnattr_setpgroup(&attributes_, 0);
        posix_spawnattr_setsigmask(&attributes_, &none);
        posix_spawnattr_setsigdefault(&attributes_, &all);
        posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        // Libraries open sockets without CLOEXEC; none of them is the command's business.
        posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
    }
    ~SpawnSettings() {
        posix_spawn_file_actions_destroy(&actions_);
        posix_spawnattr_destroy(&attributes_);
    }
    SpawnSettings(const SpawnSettings&) = delete;
    SpawnSettings& operator=(const SpawnSettings&) = delete;

    [[nodiscard]] int spawn(pid_t& process, const std::string& line) const {
        std::string shell = "sh";
        std::string option = "-c";
        std::string copy = line;
        const std::array<char*, 4> arguments{shell.data(), option.data(), copy.data(), nullptr};
        return posix_spawn(&process, "/bin/sh", &actions_, &attributes_, arguments.data(), environ);
    }

 private:
    posix_spawn_file_actions_t actions_{};
    posix_spawnattr_t attributes_{};
};

std::string describe(int status) {
    if (WIFEXITED(status)) {
        return WEXITSTATUS(status) == 0 ? "" : fmt::format("exit status {}", WEXITSTATUS(status));
    }
    return fmt::format("signal {}", WTERMSIG(status));
}

}  // namespace

Result<Command> Command::start(const std::string& line) {
    pid_t process = 0;
    if (const int error = SpawnSettings().spawn(process, line); error != 0) {
        return fail(Errc::io, fmt::format("cannot be started: {}", std::strerror(error)));
    }
    // Older C libraries have no function for it.
    const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
    if (descriptor < 0) {
        const int error = errno;
        ::kill(-process, SIGKILL);
        waitpid(process, nullptr, 0);
        return fail(Errc::io, fmt::format("cannot be watched: {}", std::strerror(error)));
    }
    return Command(process, descriptor);
}

Command::Command(Command&& other) noexcept
    : process_(std::exchange(other.process_, 0)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      failure_(std::move(other.failure_)) {}

Command::~Command() {
    if (descriptor_ >= 0) close(descriptor_);
}

Command::Wait Command::wait(std::chrono::milliseconds longest, int cancel_descriptor) {
    const auto deadline = std::chrono::steady_clock::now() + longest;
    while (true) {
        std::array<pollfd, 2> items{{{descriptor_, POLLIN, 0}, {cancel_descriptor, POLLIN, 0}}};
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
        const int ready = poll(
            items.data(), items.size(),
            static_cast<int>(std::clamp<std::chrono::milliseconds::rep>(left.count(), 0, 1'000'000'000)));
        if (ready < 0 && errno == EINTR) continue;
        if (items[0].revents != 0) {
            int status = 0;
            while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
            }
            process_ = 0;
            failure_ = describe(status);
            return Wait::ended;
        }
        if (items[1].revents != 0) return Wait::cancelled;
        if (ready <= 0) return Wait::timed_out;
    }
}

void Command::kill_group(int signal) const {
    BLOCKPUB_CHECK(process_ > 0);
    ::kill(-process_, signal);
}

}  // namespace blockpub
