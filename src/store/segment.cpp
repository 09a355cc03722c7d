// SPDX-License-Identifier: MIT
#include "store/segment.hpp"

#include "base/endian.hpp"
#include "store/records.hpp"
#include "store/segment_fill.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace blockpub {
namespace {

constexpr unsigned kMaxSegmentReaders = 1024;

/// Where a value lies in the file. LMDB does not tell where its map begins, but a committed key lies in a
/// leaf page of the map, whose first eight bytes are the page's number.
std::uint64_t offset_in_file(ByteSpan key, ByteSpan value, std::size_t page_size) {
    const auto at = reinterpret_cast<std::uintptr_t>(key.data());
    const auto* page = reinterpret_cast<const std::uint8_t*>(at - at % page_size);
    const std::uint64_t page_number = read_le<std::uint64_t>(page);
    return page_number * page_size + static_cast<std::uint64_t>(value.data() - page);
}

}  // namespace

Result<std::shared_ptr<Segment>> Segment::open(const std::filesystem::path& path, unsigned flags,
                                               std::uint64_t map_bytes,
                                               const std::shared_ptr<Janitor>& janitor) {
    auto env = lmdb::Env::open({.path = path,
                                .flags = flags | MDB_NOSUBDIR | MDB_NOTLS,
                                .map_bytes = map_bytes,
                                .max_tables = 0,
                                .max_readers = kMaxSegmentReaders});
    if (!env) return forward_error(env);
    auto segment = std::shared_ptr<Segment>(new Segment, [janitor](Segment* last) {
        janitor->dispose(std::unique_ptr<Janitor::Disposable>(last));
    });
    segment->path_ = path;
    segment->env_ = std::move(*env);
    segment->page_size_ = segment->env().page_size();
    // A file from a machine with larger pages: its pages do not begin at multiples of their size in the map.
    segment->file_offsets_known_ = segment->page_size_ <= static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
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
    auto segment = open(path, MDB_RDONLY | MDB_NOLOCK, 0, janitor);
    // Unlinked between the two looks at it.
    if (!segment && ::stat(path.c_str(), &status) != 0 && errno == ENOENT) {
        return fail(Errc::unavailable, fmt::format("{} is not there any more", path.native()));
    }
    return segment;
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

Result<Segment::Found> Segment::find(const lmdb::Txn& txn, const BlobPlace& place) const {
    auto [code, cursor] = lmdb::Cursor::open(txn, table_);
    const auto number = encode_index_key(place.number);
    ByteSpan key = number;
    ByteSpan value;
    if (code == 0) code = cursor.move(MDB_SET_KEY, key, value);
    if (code == MDB_NOTFOUND) {
        return fail(Errc::corrupt, fmt::format("{} has no blob {}", path_.native(), place.number));
    }
    if (code != 0) return std::unexpected(lmdb::make_error(code, path_.native()));
    if (value.size() != place.size) {
        return fail(Errc::corrupt, fmt::format("blob {} of {} has {} bytes, its place says {}", place.number,
                                               path_.native(), value.size(), place.size));
    }
    return Found{value, offset_in_file(key, value, page_size_)};
}

Result<SharedBytes> Segment::read_file(std::uint64_t offset, std::size_t size) const {
    int code = 0;
    auto bytes = SharedBytes::build(size, [&](std::span<std::uint8_t> out) {
        while (!out.empty() && code == 0) {
            const auto got = ::pread(env().descriptor(), out.data(), out.size(), static_cast<off_t>(offset));
            if (got > 0) {
                out = out.subspan(static_cast<std::size_t>(got));
                offset += static_cast<std::uint64_t>(got);
            } else if (got == 0) {
                code = ENODATA;
            } else if (errno != EINTR) {
                code = errno;
            }
        }
    });
    if (code == ENODATA)
        return fail(Errc::corrupt, fmt::format("{} is cut short at {}", path_.native(), offset));
    if (code != 0) return fail(Errc::io, fmt::format("reading {}: {}", path_.native(), std::strerror(code)));
    return bytes;
}

Result<SharedBytes> Segment::read(const std::shared_ptr<Segment>& segment, const BlobPlace& place) {
    auto [code, txn] = lmdb::Txn::begin(segment->env(), MDB_RDONLY);
    if (code != 0) return std::unexpected(lmdb::make_error(code, segment->path_.native()));
    auto found = segment->find(txn, place);
    if (!found) return forward_error(found);
    if (!SegmentFill::in_own_pages(found->value.size(), segment->page_size_))
        return SharedBytes::copy_of(found->value);
    txn.abort();
    return segment->read_file(found->offset, place.size);
}

Result<MappedBytes> Segment::map(const std::shared_ptr<Segment>& segment, const BlobPlace& place) {
    auto [code, txn] = lmdb::Txn::begin(segment->env(), MDB_RDONLY);
    if (code != 0) return std::unexpected(lmdb::make_error(code, segment->path_.native()));
    auto found = segment->find(txn, place);
    if (!found) return forward_error(found);
    if (SegmentFill::in_own_pages(found->value.size(), segment->page_size_))
        return MappedBytes(found->value, segment);
    // Its leaf is recycled by the next commits: copied while the transaction holds it.
    auto copy = std::make_shared<const SharedBytes>(SharedBytes::copy_of(found->value));
    const ByteSpan bytes = copy->bytes();
    return MappedBytes(bytes, std::move(copy), MappedBytes::Place::heap);
}

}  // namespace blockpub
