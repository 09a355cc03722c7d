// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/bytes.hpp>
#include <blockpub/result.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace blockpub {

/// What the system says about an error number.
[[nodiscard]] std::string errno_text(int error);

/// An open file. Reads by position and never through a map: a file that is cut short meanwhile ends a read
/// early, where it would end the process under a map.
///
/// Thread safety: reads at positions from any thread; writes from one.
/// Ownership: owns the descriptor.
/// Blocking: the disk.
/// Errors: not_found, io, disk_full; the context names the path.
class File {
 public:
    /// Opens a regular file. Errors: also invalid_argument for a directory, pipe or device.
    [[nodiscard]] static Result<File> open_for_reading(const std::filesystem::path& path);
    /// Makes or empties a file.
    [[nodiscard]] static Result<File> create(const std::filesystem::path& path);
    File(File&& other) noexcept : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}
    File& operator=(File&& other) noexcept {
        std::swap(fd_, other.fd_);
        std::swap(path_, other.path_);
        return *this;
    }
    ~File();

    /// Reads until `out` is full or the file ends. Result: bytes read.
    [[nodiscard]] Result<std::size_t> read_at(std::uint64_t offset, std::span<std::uint8_t> out) const;
    [[nodiscard]] Result<std::uint64_t> size() const;
    /// The first offset at or behind `offset` where the file system keeps data, nothing when only a hole
    /// follows. `offset` itself where the file system cannot tell.
    [[nodiscard]] std::optional<std::uint64_t> next_data(std::uint64_t offset) const;
    /// Appends all of `bytes` at the file position.
    [[nodiscard]] Result<void> write(ByteSpan bytes);
    /// Waits until what was written is on the disk.
    [[nodiscard]] Result<void> sync();
    [[nodiscard]] const std::filesystem::path& path() const& noexcept { return path_; }

 private:
    File(std::filesystem::path path, int fd) : path_(std::move(path)), fd_(fd) {}

    std::filesystem::path path_;
    int fd_ = -1;
};

/// Makes renames and new names in `directory` durable.
[[nodiscard]] Result<void> sync_names(const std::filesystem::path& directory);

}  // namespace blockpub
