// SPDX-License-Identifier: MIT
#include "store/directory_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <cerrno>
#include <cstring>

namespace blockpub {

Result<std::shared_ptr<DirectoryLock>> DirectoryLock::acquire(const std::filesystem::path& directory) {
    const auto path = directory / ".lock";
    FileDescriptor descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!descriptor.is_open())
        return fail(Errc::io, fmt::format("{}: {}", path.native(), std::strerror(errno)));
    if (::flock(descriptor.value(), LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK) {
            return fail(Errc::busy, fmt::format("the directory {} is in use: another blockpub has its lock",
                                                directory.native()));
        }
        return fail(Errc::io, fmt::format("locking {}: {}", path.native(), std::strerror(errno)));
    }
    return std::make_shared<DirectoryLock>(std::move(descriptor));
}

}  // namespace blockpub
