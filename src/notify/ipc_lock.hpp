// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/result.hpp>

#include <string>

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

 private:
    IpcLock(std::string lock_path, int descriptor)
        : lock_path_(std::move(lock_path)), descriptor_(descriptor) {}

    std::string lock_path_;
    int descriptor_;
};

}  // namespace blockpub
