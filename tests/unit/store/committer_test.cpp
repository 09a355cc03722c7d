// SPDX-License-Identifier: MIT
#include "store/committer.hpp"

#include "unit/store/store_fixture.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <optional>
#include <set>

// The failures here are real ones: the kernel refuses the write or the sync. A descriptor of LMDB's is
// replaced by one that cannot do what LMDB asks of it, or the size of files is limited.

using namespace blockpub;
using namespace blockpub::test;

TEST_SUITE_BEGIN("store.committer");

namespace {

constexpr Committer::Points kPoints{StoreFaults::Point::chain_commit, StoreFaults::Point::chain_sync};

std::set<int> descriptors_of(const std::filesystem::path& file) {
    std::set<int> found;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        if (std::filesystem::read_symlink(entry.path(), error) == file)
            found.insert(std::stoi(entry.path().filename()));
    }
    return found;
}

/// Puts another file in a descriptor's place as long as it lives.
class Replaced {
 public:
    Replaced(int descriptor, const char* path, int flags)
        : descriptor_(descriptor), saved_(::dup(descriptor)) {
        const FileDescriptor other(::open(path, flags | O_CLOEXEC));
        REQUIRE(other.is_open());
        REQUIRE(::dup2(other.value(), descriptor) == descriptor);
    }
    ~Replaced() { ::dup2(saved_.value(), descriptor_); }
    Replaced(const Replaced&) = delete;
    Replaced& operator=(const Replaced&) = delete;

 private:
    int descriptor_;
    FileDescriptor saved_;
};

/// No file can grow beyond a size as long as it lives; what tries fails with EFBIG, or is cut short.
class SizeLimit {
 public:
    explicit SizeLimit(std::uint64_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
        ::getrlimit(RLIMIT_FSIZE, &saved_);
        const rlimit limit{bytes, saved_.rlim_max};
        REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
    }
    ~SizeLimit() {
        ::setrlimit(RLIMIT_FSIZE, &saved_);
        std::signal(SIGXFSZ, handler_);
    }
    SizeLimit(const SizeLimit&) = delete;
    SizeLimit& operator=(const SizeLimit&) = delete;

 private:
    rlimit saved_{};
    void (*handler_)(int);
};

/// One environment with one record, its committer, and what is needed to break it.
struct CommitterFixture {
    CommitterFixture() {
        file = std::filesystem::canonical(directory.path()) / "data";
        env = must(lmdb::Env::open({.path = file, .flags = MDB_NOSUBDIR | MDB_NOTLS, .map_bytes = 1 << 24}));
        const auto before = descriptors_of(file);
        committer = must(Committer::open(file));
        for (const int descriptor : descriptors_of(file)) {
            if (!before.contains(descriptor)) witness = descriptor;
        }
        REQUIRE(witness >= 0);
        must(write("one", SharedBytes::copy_of(lmdb::as_bytes("1")), nullptr));
    }

    Result<void> write(std::string_view key, const SharedBytes& value, StoreFaults* faults) {
        auto [code, txn] = lmdb::Txn::begin(env.ref(), 0);
        lmdb::Table table;
        if (code == 0) code = txn.open_table(nullptr, 0, table);
        if (code == 0) code = txn.put(table, lmdb::as_bytes(key), value.bytes());
        if (code != 0) return std::unexpected(lmdb::make_error(code, "put"));
        return committer->commit(std::move(txn), env.ref(), faults, kPoints);
    }

    std::optional<std::size_t> size_of(std::string_view key) {
        auto [code, txn] = lmdb::Txn::begin(env.ref(), MDB_RDONLY);
        lmdb::Table table;
        ByteSpan value;
        if (code == 0) code = txn.open_table(nullptr, 0, table);
        if (code == 0) code = txn.get(table, lmdb::as_bytes(key), value);
        return code == 0 ? std::optional(value.size()) : std::nullopt;
    }

    int synchronous_descriptor() {
        for (const int descriptor : descriptors_of(file)) {
            if ((::fcntl(descriptor, F_GETFL) & O_DSYNC) != 0) return descriptor;
        }
        FAIL("LMDB has no synchronous descriptor");
        return -1;
    }

    TemporaryDirectory directory;
    std::filesystem::path file;
    lmdb::Env env;
    std::optional<Committer> committer;
    int witness = -1;
};

}  // namespace

TEST_CASE("pages that cannot be written are no harm: the next commit takes them") {
    CommitterFixture fixture;
    const auto value = blob_of(1, 500'000);
    {
        const SizeLimit limit(65'536);
        for (int attempt = 0; attempt < 3; ++attempt) {
            const auto error = error_of(fixture.write("two", value, nullptr));
            // A write that is cut short is EIO to LMDB.
            CHECK((error.code == Errc::disk_full || error.code == Errc::io));
            CHECK(fixture.size_of("one") == 1);
            CHECK_FALSE(fixture.size_of("two"));
        }
    }
    must(fixture.write("two", value, nullptr));
    CHECK(fixture.size_of("two") == 500'000);
}

TEST_CASE("a meta page that cannot be written leaves the outcome unknown") {
    CommitterFixture fixture;
    const Replaced replaced(fixture.synchronous_descriptor(), "/dev/null", O_RDONLY);
    CHECK(error_of(fixture.write("two", blob_of(1, 100), nullptr)).code == Errc::outcome_unknown);
    CHECK(lmdb::Txn::begin(fixture.env.ref(), MDB_RDONLY).first == MDB_PANIC);
}

TEST_CASE("a sync that fails leaves the outcome unknown") {
    CommitterFixture fixture;
    // Takes every write, and no sync.
    const Replaced replaced(fixture.env.ref().descriptor(), "/dev/null", O_RDWR);
    CHECK(error_of(fixture.write("two", blob_of(1, 100), nullptr)).code == Errc::outcome_unknown);
    CHECK(fixture.size_of("one") == 1);
}

TEST_CASE("an error that a write could have given is an unknown outcome where the witness cannot be synced") {
    CommitterFixture fixture;
    const Replaced replaced(fixture.witness, "/dev/null", O_RDWR);
    const SizeLimit limit(65'536);
    CHECK(error_of(fixture.write("two", blob_of(1, 500'000), nullptr)).code == Errc::outcome_unknown);
}

TEST_CASE("a transaction too large for the map changes nothing") {
    CommitterFixture fixture;
    CHECK(error_of(fixture.write("two", blob_of(1, 1 << 24), nullptr)).code == Errc::disk_full);
    must(fixture.write("two", blob_of(1, 1 << 20), nullptr));
}

TEST_CASE("injected faults give what real ones give") {
    CommitterFixture fixture;
    PlannedFaults faults;
    struct Case {
        const char* name;
        StoreFaults::Point point;
        int code;
        Errc expected;
    };
    constexpr Case kCases[] = {
        {"no space", kPoints.commit, ENOSPC, Errc::disk_full},
        {"quota", kPoints.commit, EDQUOT, Errc::disk_full},
        {"EIO", kPoints.commit, EIO, Errc::io},
        {"map full", kPoints.commit, MDB_MAP_FULL, Errc::disk_full},
        {"sync", kPoints.sync, EIO, Errc::outcome_unknown},
    };
    for (const Case& c : kCases) {
        CAPTURE(std::string(c.name));
        faults.fail(c.point, c.code);
        const auto error = error_of(fixture.write("two", blob_of(1, 100), &faults));
        CHECK(error.code == c.expected);
        CHECK(error.context.find(fixture.file.native()) != std::string::npos);
        CHECK_FALSE(fixture.size_of("two"));
    }
    faults.heal();
    must(fixture.write("two", blob_of(1, 100), &faults));
}
