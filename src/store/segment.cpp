// SPDX-License-Identifier: MIT
#include "store/segment.hpp"

#include "store/records.hpp"
#include "store/segment_fill.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

namespace blockpub {
namespace {

constexpr unsigned kMaxReaders = 1024;

}  // namespace

Result<std::shared_ptr<Segment>> Segment::open(const std::filesystem::path& path, unsigned flags,
                                               std::uint64_t map_bytes,
                                               const std::shared_ptr<Janitor>& janitor) {
    auto env = lmdb::Env::open({.path = path,
                                .flags = flags | MDB_NOSUBDIR | MDB_NOTLS,
                                .map_bytes = map_bytes,
                                .max_tables = 0,
                                .max_readers = kMaxReaders});
    if (!env) return forward_error(env);
    auto segment = std::shared_ptr<Segment>(new Segment, [janitor](Segment* last) {
        janitor->dispose(std::unique_ptr<Janitor::Disposable>(last));
    });
    segment->path_ = path;
    segment->env_ = std::move(*env);
    segment->page_size_ = segment->env().page_size();
    if (auto checked = segment->check_length(); !checked) return forward_error(checked);
    // Gives the environment the unnamed table's handle, once for all transactions.
    auto [code, txn] = lmdb::Txn::begin(segment->env(), MDB_RDONLY);
    if (code == 0) code = txn.open_table(nullptr, 0, segment->table_);
    if (code == 0) code = txn.commit();
    if (code != 0) return std::unexpected(lmdb::make_error(code, path.native()));
    return segment;
}

Result<std::shared_ptr<Segment>> Segment::open_sealed(const std::filesystem::path& path,
                                                      const std::shared_ptr<Janitor>& janitor) {
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0 && errno == ENOENT) {
        return fail(Errc::unavailable, fmt::format("{} is not there any more", path.native()));
    }
    return open(path, MDB_RDONLY | MDB_NOLOCK, 0, janitor);
}

Result<std::shared_ptr<Segment>> Segment::open_writer(const std::filesystem::path& path,
                                                      std::uint64_t map_bytes,
                                                      std::shared_ptr<DirectoryLock> lock,
                                                      const std::shared_ptr<Janitor>& janitor) {
    auto segment = open(path, 0, map_bytes, janitor);
    if (!segment) return segment;
    (*segment)->lock_ = std::move(lock);
    if (auto cleared = (*segment)->env().clear_stale_readers(); !cleared) return forward_error(cleared);
    return segment;
}

Result<void> Segment::check_length() const {
    struct stat status{};
    if (::fstat(env().descriptor(), &status) != 0) {
        return fail(Errc::io, fmt::format("{}: {}", path_.native(), std::strerror(errno)));
    }
    const std::uint64_t needed = (env().last_page() + 1) * page_size_;
    if (static_cast<std::uint64_t>(status.st_size) < needed) {
        return fail(Errc::corrupt, fmt::format("{} is cut short: it has {} bytes, its last commit needs {}",
                                               path_.native(), status.st_size, needed));
    }
    return {};
}

Result<std::uint64_t> Segment::next_number() const {
    auto [code, txn] = lmdb::Txn::begin(env(), MDB_RDONLY);
    if (code == 0) {
        auto [cursor_code, cursor] = lmdb::Cursor::open(txn, table_);
        code = cursor_code;
        ByteSpan key;
        ByteSpan value;
        if (code == 0) code = cursor.move(MDB_LAST, key, value);
        if (code == MDB_NOTFOUND) return 0;
        if (code == 0) {
            auto last = decode_index_key(key);
            if (!last)
                return fail(Errc::corrupt, fmt::format("{}: {}", path_.native(), last.error().context));
            return *last + 1;
        }
    }
    return std::unexpected(lmdb::make_error(code, path_.native()));
}

Result<ByteSpan> Segment::find(const lmdb::Txn& txn, const BlobPlace& place) const {
    ByteSpan value;
    const int code = txn.get(table_, encode_index_key(place.number), value);
    if (code == MDB_NOTFOUND) {
        return fail(Errc::corrupt, fmt::format("{} has no blob {}", path_.native(), place.number));
    }
    if (code != 0) return std::unexpected(lmdb::make_error(code, path_.native()));
    if (value.size() != place.size) {
        return fail(Errc::corrupt, fmt::format("blob {} of {} has {} bytes, its place says {}", place.number,
                                               path_.native(), value.size(), place.size));
    }
    return value;
}

Result<SharedBytes> Segment::read(const std::shared_ptr<Segment>& segment, const BlobPlace& place) {
    auto [code, txn] = lmdb::Txn::begin(segment->env(), MDB_RDONLY);
    if (code != 0) return std::unexpected(lmdb::make_error(code, segment->path_.native()));
    auto value = segment->find(txn, place);
    if (!value) return forward_error(value);
    return SharedBytes::copy_of(*value);
}

Result<MappedBytes> Segment::map(const std::shared_ptr<Segment>& segment, const BlobPlace& place) {
    auto [code, txn] = lmdb::Txn::begin(segment->env(), MDB_RDONLY);
    if (code != 0) return std::unexpected(lmdb::make_error(code, segment->path_.native()));
    auto value = segment->find(txn, place);
    if (!value) return forward_error(value);
    if (SegmentFill::in_own_pages(value->size(), segment->page_size_)) return MappedBytes(*value, segment);
    // Its leaf is recycled by the next commits: copied while the transaction holds it.
    auto copy = std::make_shared<const SharedBytes>(SharedBytes::copy_of(*value));
    const ByteSpan bytes = copy->bytes();
    return MappedBytes(bytes, std::move(copy));
}

}  // namespace blockpub
