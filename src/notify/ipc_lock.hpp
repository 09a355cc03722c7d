// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/result.hpp>

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>

namespace blockpub {

/// Holds the path of an ipc endpoint against other processes, by a lock on `<path>.lock`.
///
/// libzmq unlinks whatever stands at the path before it binds, so the right to the path is settled here
/// first: a live holder is respected, whether it uses such locks or not; a socket left behind by a process
/// that ended is taken over; a file that is not ours or no socket is not touched. Thread safety: a resource
/// of one thread. Ownership: the lock file is removed at the end; the system drops the lock however the
/// process ends. Errors: busy (a live holder, or a file that is not ours to remove), io.
class IpcLock {
 public:
    [[nodiscard]] static Result<IpcLock> take(const std::string& path);
    IpcLock(IpcLock&& other) noexcept;
    IpcLock& operator=(IpcLock&&) = delete;
    ~IpcLock();

    /// Notes that what is at the path now is the holder's own socket. libzmq leaves it there at its end.
    void claim_socket();

 private:
    IpcLock(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

    std::string path_;
    int descriptor_;
    bool lock_is_ours_ = false;
    std::optional<std::pair<dev_t, ino_t>> socket_;
};

}  // namespace blockpub
