// SPDX-License-Identifier: MIT
#include "source/file.hpp"

#include "store/file_descriptor.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace blockpub {

namespace {

[[nodiscard]] std::unexpected<Error> io_error(const std::filesystem::path& path, const char* what,
                                              int error) {
    Errc code = Errc::io;
    if (error == ENOENT) code = Errc::not_found;
    if (error == ENOSPC || error == EDQUOT) code = Errc::disk_full;
    return fail(code, path.string() + ": cannot " + what + ": " + errno_text(error));
}

}  // namespace

std::string errno_text(int error) {
    return std::generic_category().message(error);
}

Result<File> File::open_for_reading(const std::filesystem::path& path) {
    // O_NONBLOCK: opening a pipe without a writer must not wait before it is refused.
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return io_error(path, "open", errno);
    File file(path, fd);
    struct stat status{};
    if (::fstat(fd, &status) != 0) return io_error(path, "open", errno);
    if (S_ISDIR(status.st_mode))
        return fail(Errc::invalid_argument, path.string() + " is a directory, not a file");
    if (!S_ISREG(status.st_mode))
        return fail(Errc::invalid_argument, path.string() + " is not a regular file");
    ::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return file;
}

Result<File> File::create(const std::filesystem::path& path) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) return io_error(path, "create", errno);
    return File(path, fd);
}

File::~File() {
    if (fd_ >= 0) ::close(fd_);
}

Result<std::size_t> File::read_at(std::uint64_t offset, std::span<std::uint8_t> out) const {
    std::size_t done = 0;
    while (done < out.size()) {
        const ssize_t got =
            ::pread(fd_, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
        if (got == 0) break;
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return io_error(path_, "read", errno);
        done += static_cast<std::size_t>(got);
    }
    return done;
}

Result<std::uint64_t> File::size() const {
    struct stat status{};
    if (::fstat(fd_, &status) != 0) return io_error(path_, "stat", errno);
    return static_cast<std::uint64_t>(status.st_size);
}

std::optional<std::uint64_t> File::next_data(std::uint64_t offset) const {
    const off_t next = ::lseek(fd_, static_cast<off_t>(offset), SEEK_DATA);
    if (next >= 0) return static_cast<std::uint64_t>(next);
    if (errno == ENXIO) return std::nullopt;
    return offset;
}

Result<void> File::write(ByteSpan bytes) {
    while (!bytes.empty()) {
        const ssize_t put = ::write(fd_, bytes.data(), bytes.size());
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return io_error(path_, "write", errno);
        bytes = bytes.subspan(static_cast<std::size_t>(put));
    }
    return {};
}

Result<void> File::sync() {
    if (::fdatasync(fd_) != 0) return io_error(path_, "sync", errno);
    return {};
}

Result<void> sync_names(const std::filesystem::path& directory) {
    if (const int error = sync_directory(directory); error != 0) return io_error(directory, "sync", error);
    return {};
}

}  // namespace blockpub
