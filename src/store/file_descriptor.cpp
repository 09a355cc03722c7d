// SPDX-License-Identifier: MIT
#include "store/file_descriptor.hpp"

#include <fcntl.h>

#include <cerrno>

namespace blockpub {

int sync_directory(const std::filesystem::path& directory) noexcept {
    const FileDescriptor descriptor(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!descriptor.is_open()) return errno;
    return ::fsync(descriptor.value()) == 0 ? 0 : errno;
}

}  // namespace blockpub
