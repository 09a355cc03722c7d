// SPDX-License-Identifier: MIT
#pragma once

#include "store/file_descriptor.hpp"

#include <blockpub/result.hpp>

#include <filesystem>
#include <memory>

namespace blockpub {

/// Holds a directory for one store: `<directory>/.lock`, locked with flock.
///
/// flock belongs to the open file, not to the process as fcntl's locks do: a second store on the same
/// directory is refused in this process too, by whatever path it comes. Every environment that is open for
/// writing shares the lock, so that it lasts until the last view of one has gone.
class DirectoryLock {
 public:
    /// Errors: busy, io.
    [[nodiscard]] static Result<std::shared_ptr<DirectoryLock>> acquire(
        const std::filesystem::path& directory);
    explicit DirectoryLock(FileDescriptor descriptor) : descriptor_(std::move(descriptor)) {}

 private:
    FileDescriptor descriptor_;
};

}  // namespace blockpub
