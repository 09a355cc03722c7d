// SPDX-License-Identifier: MIT
#include "notify/ipc_lock.hpp"

#include "base/check.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace blockpub {
namespace {

constexpr char kLockSuffix[] = ".lock";

/// Whether `descriptor` is still the file at `path`: the holder before us may have removed it while we
/// waited.
bool is_same_file(int descriptor, const std::string& path) {
    struct stat ours{};
    struct stat there{};
    return fstat(descriptor, &ours) == 0 && lstat(path.c_str(), &there) == 0 && ours.st_dev == there.st_dev &&
           ours.st_ino == there.st_ino;
}

/// Whether a process accepts connections at `path`, or would, were its queue not full.
bool is_answered(const std::string& path) {
    const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe < 0) return true;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    BLOCKPUB_CHECK(path.size() < sizeof address.sun_path);
    std::memcpy(address.sun_path, path.data(), path.size());
    const int result = connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    const int error = errno;
    close(probe);
    return result == 0 || error != ECONNREFUSED;
}

Result<void> check_free(const std::string& path) {
    struct stat there{};
    if (lstat(path.c_str(), &there) != 0) {
        if (errno == ENOENT) return {};
        return fail(Errc::io, std::strerror(errno));
    }
    if (!S_ISSOCK(there.st_mode)) return fail(Errc::busy, "there is a file that is no socket");
    if (there.st_uid != geteuid()) return fail(Errc::busy, "the socket there is another user's");
    if (is_answered(path)) return fail(Errc::busy, "another process has it");
    return {};
}

}  // namespace

Result<IpcLock> IpcLock::take(const std::string& path) {
    const std::string lock_path = path + kLockSuffix;
    while (true) {
        const int descriptor = open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (descriptor < 0) {
            return fail(errno == EACCES || errno == ELOOP ? Errc::busy : Errc::io,
                        fmt::format("{}: {}", lock_path, std::strerror(errno)));
        }
        IpcLock lock(path, descriptor);
        if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
            if (errno == EWOULDBLOCK) return fail(Errc::busy, "another process has it");
            return fail(Errc::io, fmt::format("{}: {}", lock_path, std::strerror(errno)));
        }
        if (!is_same_file(descriptor, lock_path)) continue;
        lock.lock_is_ours_ = true;
        if (auto free = check_free(path); !free) return forward_error(free);
        return lock;
    }
}

IpcLock::IpcLock(IpcLock&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      lock_is_ours_(other.lock_is_ours_),
      socket_(other.socket_) {}

void IpcLock::claim_socket() {
    struct stat there{};
    if (lstat(path_.c_str(), &there) == 0 && S_ISSOCK(there.st_mode))
        socket_.emplace(there.st_dev, there.st_ino);
}

IpcLock::~IpcLock() {
    if (descriptor_ < 0) return;
    if (lock_is_ours_) {
        // Both while the lock is held, so that neither can be a successor's.
        struct stat there{};
        const bool is_ours = socket_ && lstat(path_.c_str(), &there) == 0 && there.st_dev == socket_->first &&
                             there.st_ino == socket_->second;
        if (is_ours) unlink(path_.c_str());
        unlink((path_ + kLockSuffix).c_str());
    }
    close(descriptor_);
}

}  // namespace blockpub
