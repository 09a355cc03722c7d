// SPDX-License-Identifier: MIT
#include "store/disk_space.hpp"

#include "store/lmdb.hpp"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstring>

namespace blockpub {

Result<void> check_free_disk(const std::filesystem::path& directory, std::uint64_t needed,
                             std::uint64_t least, StoreFaults* faults) {
    if (faults != nullptr) {
        if (const int code = faults->at(StoreFaults::Point::free_space); code != 0) {
            return std::unexpected(lmdb::make_error(code, directory.native()));
        }
    }
    struct statvfs status{};
    if (::statvfs(directory.c_str(), &status) != 0) {
        return fail(Errc::io, fmt::format("{}: {}", directory.native(), std::strerror(errno)));
    }
    const std::uint64_t free = std::uint64_t{status.f_bavail} * status.f_frsize;
    if (free >= needed + least) return {};
    return fail(Errc::disk_full,
                fmt::format("{}: {} MB are free; writing {} MB must leave {} MB (-minfreedisk)",
                            directory.native(), free >> 20, needed >> 20, least >> 20));
}

}  // namespace blockpub
