// SPDX-License-Identifier: MIT
#pragma once

#include "base/endian.hpp"
#include "store/file_descriptor.hpp"

#include <blockpub/store.hpp>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>

namespace blockpub::test {

/// A directory that goes with the object.
class TemporaryDirectory {
 public:
    TemporaryDirectory() {
        std::string name = (std::filesystem::temp_directory_path() / "blockpub-store-XXXXXX").native();
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        path_ = name;
    }
    ~TemporaryDirectory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
    std::filesystem::path path_;
};

/// Makes the descriptor that LMDB writes the meta pages of a file through one that cannot be written: the
/// next commit leaves that environment in MDB_PANIC.
inline void refuse_meta_pages(const std::filesystem::path& file) {
    const auto path = std::filesystem::canonical(file);
    int found = -1;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        const int descriptor = std::stoi(entry.path().filename());
        if (std::filesystem::read_symlink(entry.path(), error) != path) continue;
        if ((::fcntl(descriptor, F_GETFL) & O_DSYNC) != 0) found = descriptor;
    }
    REQUIRE(found >= 0);
    const FileDescriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    REQUIRE(::dup2(nothing.value(), found) == found);
}

/// A hash that is easy to make and spreads over the key space.
inline BlockHash hash_of(std::uint64_t number) {
    std::array<std::uint8_t, 32> wire{};
    std::mt19937_64 random(number + 1);
    for (std::size_t i = 0; i < 32; i += 8) write_le(wire.data() + i, random());
    return BlockHash(wire);
}

/// Bytes that nothing else would contain.
inline SharedBytes blob_of(std::uint64_t seed, std::size_t size) {
    return SharedBytes::build(size, [&](std::span<std::uint8_t> out) {
        std::uint64_t state = seed * 0x9e3779b97f4a7c15 + 1;
        for (; !out.empty(); out = out.subspan(std::min<std::size_t>(out.size(), 8))) {
            state = state * 6364136223846793005 + 1442695040888963407;
            std::memcpy(out.data(), &state, std::min<std::size_t>(out.size(), 8));
        }
    });
}

/// Compares the contents of SharedBytes and MappedBytes.
template <class Left, class Right>
bool same_bytes(const Left& left, const Right& right) {
    return std::ranges::equal(left.bytes(), right.bytes());
}

inline StoreOptions options_for(const std::filesystem::path& directory) {
    StoreOptions options;
    options.directory = directory;
    options.network_magic = 0xdab5bffa;
    options.genesis_hash = hash_of(0);
    options.segment_bytes = std::uint64_t{16} << 20;
    options.map_bytes = std::uint64_t{1} << 30;
    options.min_free_disk = 0;
    return options;
}

inline std::unique_ptr<Store> open_store(const StoreOptions& options) {
    auto store = Store::open(options);
    if (!store) FAIL(store.error().context);
    return std::move(*store);
}

/// Fails the test with the error's sentence.
template <class T>
T must(Result<T> result) {
    if (!result) FAIL(result.error().context);
    return *std::move(result);
}
inline void must(const Result<void>& result) {
    if (!result) FAIL(result.error().context);
}

/// Fails the test where there is none.
template <class T>
Error error_of(const Result<T>& result) {
    if (result) FAIL("no error");
    return result.error();
}

/// Fails one call of the store when told to.
/// Thread safety: every method from any thread.
class PlannedFaults final : public StoreFaults {
 public:
    /// The call number `skip` (from 0) of that point, and all after it, fail with `code`; 0 ends that.
    void fail(Point point, int code, int skip = 0) {
        skip_ = skip;
        point_ = point;
        code_ = code;
    }
    void heal() { code_ = 0; }

    int at(Point point) noexcept override {
        if (point != point_ || code_ == 0) return 0;
        return skip_-- > 0 ? 0 : code_.load();
    }

 private:
    std::atomic<Point> point_ = Point::segment_put;
    std::atomic<int> code_ = 0;
    std::atomic<int> skip_ = 0;
};

/// One step: block `height` becomes the tip, and event `index` tells so.
inline StoreChanges step(std::uint32_t height, EventIndex index, const BlobPlace& block) {
    StoreChanges changes;
    HeaderRecord record;
    record.height = {height};
    record.status = HeaderRecord::kConnected | HeaderRecord::kHasChain;
    record.arrival = index + 1;
    record.block = block;
    changes.headers.emplace_back(hash_of(height), record);
    changes.active.emplace_back(Height{height}, hash_of(height));
    changes.tips.emplace_back(hash_of(height), true);
    EventRecord event;
    event.index = index;
    event.hash = hash_of(height);
    event.height = {height};
    if (height > 0) {
        changes.tips.emplace_back(hash_of(height - 1), false);
        event.previous_hash = hash_of(height - 1);
        event.step_end = {event.previous_hash, Height{height - 1}, false};
    }
    changes.events.push_back(event);
    changes.tip = Tip{hash_of(height), {height}};
    return changes;
}

}  // namespace blockpub::test
