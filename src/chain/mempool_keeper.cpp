// SPDX-License-Identifier: MIT
#include "chain/mempool_keeper.hpp"

#include "store/file_descriptor.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <system_error>
#include <utility>
#include <vector>

namespace blockpub {
namespace {

namespace fs = std::filesystem;

/// More than a mempool of any sensible -maxmempool takes.
constexpr std::uintmax_t kLargestFile = std::uintmax_t{4} << 30;

MempoolFile::Key random_key() {
    std::random_device device;
    MempoolFile::Key key;
    for (std::uint8_t& byte : key) byte = static_cast<std::uint8_t>(device());
    return key;
}

std::unexpected<Error> system_failure(const char* what, const fs::path& file) {
    const int error = errno;
    return fail(error == ENOSPC || error == EDQUOT ? Errc::disk_full : Errc::io,
                fmt::format("{} {}: {}", what, file.string(), std::strerror(error)));
}

Result<std::vector<std::uint8_t>> read_file(const fs::path& file) {
    std::error_code error;
    const std::uintmax_t size = fs::file_size(file, error);
    if (error) return fail(Errc::io, fmt::format("{}: {}", file.string(), error.message()));
    if (size > kLargestFile) return fail(Errc::limit, fmt::format("{} is too large", file.string()));
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size));
    std::ifstream in(file, std::ios::binary);
    in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!in) return fail(Errc::io, fmt::format("{} cannot be read", file.string()));
    return bytes;
}

Result<void> write_synced(const fs::path& file, ByteSpan bytes) {
    const FileDescriptor descriptor(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!descriptor.is_open()) return system_failure("cannot make", file);
    while (!bytes.empty()) {
        const ssize_t written = ::write(descriptor.value(), bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return system_failure("cannot write", file);
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    if (::fsync(descriptor.value()) != 0) return system_failure("cannot sync", file);
    return {};
}

}  // namespace

void MempoolKeeper::load(const std::function<bool()>& stop) {
    std::error_code error;
    if (fs::exists(file_, error)) {
        if (auto loaded = load_file(stop); !loaded) {
            // A stop half-way: the file must stay as it is.
            if (loaded.error().code == Errc::stopped) return;
            log_.warning("The mempool's file is left out: {}", loaded.error().context);
        }
    }
    skip_loading();
}

void MempoolKeeper::skip_loading() {
    const auto told = service_.set_loaded();
    if (!told && told.error().code != Errc::stopped)
        log_.warning("The mempool stays unloaded: {}", told.error().context);
}

Result<void> MempoolKeeper::load_file(const std::function<bool()>& stop) {
    const auto bytes = read_file(file_);
    if (!bytes) return std::unexpected(bytes.error());
    const auto contents = MempoolFile::decode(*bytes);
    if (!contents) {
        return fail(contents.error().code, fmt::format("{}: {}", file_.string(), contents.error().context));
    }
    const auto counts = service_.load(*contents, stop);
    if (!counts) return std::unexpected(counts.error());
    log_.info(
        "Imported mempool transactions from file: {} succeeded, {} failed, {} expired, {} already there, {} "
        "waiting for initial broadcast",
        counts->accepted, counts->refused, counts->expired, counts->already_there, counts->unbroadcast);
    return {};
}

Result<void> MempoolKeeper::save() {
    const MutexLock lock(mutex_);
    const MempoolFileContents contents = service_.contents();
    fs::path fresh = file_;
    fresh += ".new";
    const std::vector<std::uint8_t> bytes = MempoolFile::encode(contents, random_key());
    auto written = write_synced(fresh, bytes);
    if (written && ::rename(fresh.c_str(), file_.c_str()) != 0)
        written = system_failure("cannot put in place", file_);
    if (!written) {
        ::unlink(fresh.c_str());
        return written;
    }
    log_.info("Dumped mempool: {} transactions, {} bytes", contents.items.size(), bytes.size());
    return {};
}

}  // namespace blockpub
