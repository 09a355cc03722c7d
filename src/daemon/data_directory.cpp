// SPDX-License-Identifier: MIT
#include "daemon/data_directory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <system_error>

namespace blockpub {
namespace {

namespace fs = std::filesystem;

std::string errno_text() {
    return std::generic_category().message(errno);
}

Result<void> refuse_bitcoind_directory(const fs::path& directory) {
    const std::string found = find_bitcoind_file(directory);
    if (found.empty()) return {};
    return fail(Errc::invalid_argument,
                fmt::format("{} is a bitcoind data directory (it has {}): give blockpub one of its own with "
                            "-datadir=<dir>, and take the node's blocks with -importblocks={}.",
                            directory.string(), found, (directory / "blocks").string()));
}

Result<void> make_directory(const fs::path& directory) {
    std::error_code error;
    fs::create_directories(directory, error);
    if (!error && fs::is_directory(directory, error)) return {};
    return fail(Errc::io, fmt::format("Cannot make the directory {}: {}.", directory.string(),
                                      error ? error.message() : "something else has that name"));
}

}  // namespace

std::string find_bitcoind_file(const fs::path& directory) {
    std::error_code error;
    for (const char* name : {"chainstate", "blocks/index", "blocks/xor.dat", "bitcoind.pid", "peers.dat",
                             "settings.json", "fee_estimates.dat", "wallet.dat"}) {
        if (fs::exists(directory / name, error)) return name;
    }
    fs::directory_iterator entries(directory / "blocks", error);
    for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
        const std::string name = entries->path().filename().string();
        if ((name.starts_with("blk") || name.starts_with("rev")) && name.ends_with(".dat"))
            return "blocks/" + name;
    }
    return {};
}

Result<DataDirectory> DataDirectory::claim(const NodeOptions& options) {
    std::error_code error;
    if (options.datadir_given && !fs::is_directory(options.datadir, error)) {
        const char* what = fs::exists(options.datadir, error) ? "is not a directory" : "does not exist";
        return fail(Errc::not_found,
                    fmt::format("Specified data directory \"{}\" {}.", options.datadir.string(), what));
    }
    for (const fs::path& directory : {options.datadir, options.chain_dir}) {
        if (auto ours = refuse_bitcoind_directory(directory); !ours) return forward_error(ours);
    }
    if (auto made = make_directory(options.chain_dir); !made) return forward_error(made);
    const fs::path path = options.chain_dir / "blockpubd.lock";
    const int lock = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock < 0) {
        return fail(Errc::io, fmt::format("Cannot write to the data directory {}: {}.",
                                          options.chain_dir.string(), errno_text()));
    }
    if (::flock(lock, LOCK_EX | LOCK_NB) == 0) return DataDirectory(lock);
    const bool taken = errno == EWOULDBLOCK;
    const std::string reason = errno_text();
    ::close(lock);
    if (!taken) return fail(Errc::io, fmt::format("Cannot lock {}: {}.", path.string(), reason));
    return fail(Errc::busy,
                fmt::format("Cannot obtain a lock on directory {}. blockpub is probably already running; "
                            "stop it, or give another -datadir=<dir>.",
                            options.chain_dir.string()));
}

DataDirectory::~DataDirectory() {
    if (lock_ >= 0) ::close(lock_);
}

Result<PidFile> PidFile::write(const fs::path& path) {
    std::ofstream out(path, std::ios::trunc);
    out << ::getpid() << '\n';
    if (!out.flush()) {
        return fail(Errc::io,
                    fmt::format("Unable to create the PID file '{}': {}", path.string(), errno_text()));
    }
    return PidFile(path);
}

PidFile::~PidFile() {
    std::error_code error;
    if (!path_.empty()) fs::remove(path_, error);
}

}  // namespace blockpub
