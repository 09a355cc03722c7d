// SPDX-License-Identifier: MIT
#pragma once

#include "daemon/options.hpp"

#include <blockpub/result.hpp>

#include <filesystem>
#include <string>
#include <utility>

namespace blockpub {

/// The chain's directory, made where it was missing, and held so that no second daemon uses it.
///
/// Thread safety: distinct objects safe.
/// Ownership: owns the lock (`blockpubd.lock` in the directory), which the system lets go with the process at
/// last.
class DataDirectory {
 public:
    /// Refuses a directory of bitcoind's before anything is written in it.
    /// Errors: not_found (-datadir= that is not there), invalid_argument (bitcoind's own), busy (another
    /// daemon), io. One sentence with the remedy.
    [[nodiscard]] static Result<DataDirectory> claim(const NodeOptions& options);
    DataDirectory(DataDirectory&& other) noexcept : lock_(std::exchange(other.lock_, -1)) {}
    DataDirectory& operator=(DataDirectory&&) = delete;
    ~DataDirectory();

 private:
    explicit DataDirectory(int lock) : lock_(lock) {}
    int lock_;
};

/// The name of a file or directory in `directory` that only bitcoind makes; empty when there is none.
[[nodiscard]] std::string find_bitcoind_file(const std::filesystem::path& directory);

/// The process id in a file, for as long as the object lives.
class PidFile {
 public:
    /// Errors: io, naming the file.
    [[nodiscard]] static Result<PidFile> write(const std::filesystem::path& path);
    PidFile(PidFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}
    PidFile& operator=(PidFile&&) = delete;
    ~PidFile();

 private:
    explicit PidFile(std::filesystem::path path) : path_(std::move(path)) {}
    std::filesystem::path path_;
};

}  // namespace blockpub
