// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <filesystem>
#include <utility>

namespace blockpub {

/// Owns a file descriptor.
/// Thread safety: a resource; one owner.
class FileDescriptor {
 public:
    FileDescriptor() = default;
    explicit FileDescriptor(int value) : value_(value) {}
    FileDescriptor(FileDescriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
    FileDescriptor& operator=(FileDescriptor&& other) noexcept {
        std::swap(value_, other.value_);
        return *this;
    }
    ~FileDescriptor() {
        if (value_ >= 0) ::close(value_);
    }

    [[nodiscard]] int value() const noexcept { return value_; }
    [[nodiscard]] bool is_open() const noexcept { return value_ >= 0; }

 private:
    int value_ = -1;
};

/// Syncs a directory, so that the names of files made in it last. Result: errno, 0 when it is done.
[[nodiscard]] int sync_directory(const std::filesystem::path& directory) noexcept;

}  // namespace blockpub
