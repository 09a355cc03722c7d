// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <blockpub/block_reader.hpp>
#include <blockpub/bus.hpp>
#include <blockpub/bytes.hpp>
#include <blockpub/events.hpp>
#include <blockpub/export.hpp>
#include <blockpub/hash.hpp>
#include <blockpub/logger.hpp>
#include <blockpub/result.hpp>

namespace blockpub {

/// Where a blob (a raw block, undo data, facts) lies: segment file, number within it, length.
struct BlobPlace {
    std::uint32_t segment = 0;
    std::uint64_t number = 0;
    std::uint32_t size = 0;
    friend bool operator==(const BlobPlace&, const BlobPlace&) = default;
};

/// What the store keeps of one header; the value of table `header`.
struct HeaderRecord {
    /// Bits of `status`.
    enum Status : std::uint32_t {
        kFailed = 1,        ///< this block broke a rule, or was invalidated by hand
        kFailedChild = 2,   ///< descends from a failed block
        kConnected = 4,     ///< has been part of the active chain once (Core's BLOCK_VALID_SCRIPTS)
        kHasChain = 8,      ///< this block and all its ancestors have been received (Core's HaveNumChainTxs)
        kPruned = 16,       ///< its block was here and has been given up, or is not to be fetched
    };
    std::array<std::uint8_t, 80> header{};
    Height height;
    std::array<std::uint8_t, 32> chainwork{};  ///< big-endian
    std::uint32_t status = 0;
    std::uint64_t arrival = 0;        ///< order in which blocks' bytes arrived; 0: not yet. First seen wins a tie.
    std::uint32_t tx_count = 0;       ///< 0: block not received yet
    std::uint64_t chain_tx_count = 0; ///< transactions from genesis to here; 0: an ancestor is missing
    std::optional<BlobPlace> block;
    std::optional<BlobPlace> undo;
    std::optional<BlobPlace> facts;
    friend bool operator==(const HeaderRecord&, const HeaderRecord&) = default;
};

struct Tip {
    BlockHash hash;
    Height height;
    friend bool operator==(const Tip&, const Tip&) = default;
};

/// A set of changes that readers see whole or not at all: one step of the chain, or some newly known headers.
struct StoreChanges {
    std::vector<std::pair<BlockHash, HeaderRecord>> headers;                ///< put
    std::vector<std::pair<Height, std::optional<BlockHash>>> active;        ///< put, or erase when empty
    std::vector<std::pair<BlockHash, bool>> tips;                           ///< add (true) or erase (false) a leaf
    std::vector<EventRecord> events;                                        ///< appended, indexes without a gap
    std::optional<Tip> tip;
    std::vector<std::pair<std::string, std::optional<std::string>>> meta;   ///< put, or erase when empty
};

/// One state of the chain tables that once was current, never half a step.
///
/// Thread safety: distinct objects are safe; one object on one thread at a time.
/// Ownership: must not outlive the Store. Holds an LMDB read transaction: keep it short, and never over a wait, a
/// callback or a send.
/// Errors: not_found for an absent key; corrupt, io.
class BLOCKPUB_API Snapshot {
   public:
    struct Impl;
    explicit Snapshot(std::unique_ptr<Impl>);
    Snapshot(Snapshot&&) noexcept;
    Snapshot& operator=(Snapshot&&) noexcept;
    ~Snapshot();

    [[nodiscard]] Result<HeaderRecord> header(const BlockHash& hash) const;
    /// Hash of the active chain's block at `height`.
    [[nodiscard]] Result<BlockHash> active(Height height) const;
    /// The active tip; not_found in a store that has no genesis yet.
    [[nodiscard]] Result<Tip> tip() const;
    /// Leaves of the header tree, in key order.
    [[nodiscard]] Result<std::vector<BlockHash>> tips() const;
    /// Up to `limit` records from `first` on.
    [[nodiscard]] Result<std::vector<EventRecord>> events(EventIndex first, std::size_t limit) const;
    /// Index after the last record.
    [[nodiscard]] Result<EventIndex> next_event() const;
    [[nodiscard]] Result<std::string> meta(std::string_view key) const;

   private:
    std::unique_ptr<Impl> impl_;
};

/// Where a test makes a system call of the store fail. Asked before each; an error answer is what the call returns.
class BLOCKPUB_API StoreFaults {
   public:
    enum class Point : std::uint8_t { segment_put, segment_commit, segment_sync, chain_put, chain_commit, chain_sync, free_space,
        coin_put, coin_commit, coin_sync };
    virtual ~StoreFaults() = default;
    /// errno or LMDB code to fail with; 0 to go on.
    [[nodiscard]] virtual int at(Point) noexcept = 0;
};

struct StoreOptions {
    std::filesystem::path directory;         ///< `<datadir>/<chain>`; `blocks/` and `chain/` are made in it
    std::uint32_t network_magic = 0;         ///< a store of another chain is refused
    BlockHash genesis_hash;                  ///< likewise
    std::uint64_t segment_bytes = std::uint64_t{128} << 20;  ///< 16 MiB to 4 GiB
    std::uint64_t map_bytes = std::uint64_t{1} << 40;        ///< address space of the chain tables, reserved once
    std::uint64_t min_free_disk = std::uint64_t{50} << 20;   ///< a write that would leave less is refused as disk_full
    std::size_t open_segments = 128;         ///< sealed segments kept open
    Logger* logger = nullptr;                ///< may be null
    StoreFaults* faults = nullptr;           ///< tests only
};

struct StoreStatus {
    std::uint64_t commits = 0;
    std::uint64_t failed_commits = 0;        ///< tried again later, nothing lost
    bool write_stopped = false;              ///< a sync failed; see Errc::outcome_unknown
    std::string last_error;
    std::uint64_t read_failures = 0;         ///< reads of a stored block that the disk refused, or that gave other bytes
    std::string last_read_error;
    std::uint64_t pending_bytes = 0;         ///< published to readers, not yet committed
    std::uint64_t segments = 0;
    std::uint64_t open_segments = 0;
    std::uint64_t blob_bytes_on_disk = 0;
};

/// The blob segments (`blocks/NNNNN.mdb`) and the chain tables (`chain/`), and the layers over them.
///
/// Thread safety: methods under "writer" from one thread at a time; all others from any thread, concurrently.
/// Blocking: `commit` syncs the disk; readers never wait for it.
/// Source: docs/storage.md.
class BLOCKPUB_API Store : public EventLog {
   public:
    /// Opens or makes the store and takes its directory lock.
    /// Errors: busy (another process has it), unsupported (a newer schema), invalid_argument (another chain's
    /// store), corrupt (a damaged file is named), disk_full, io.
    [[nodiscard]] static Result<std::unique_ptr<Store>> open(StoreOptions options);

    // Readers.

    /// A snapshot of what was applied last. Errors: io, when the store cannot begin a read transaction.
    [[nodiscard]] virtual Result<Snapshot> snapshot() const = 0;
    /// A blob on the heap. Errors: unavailable (its segment has been pruned), corrupt, io.
    [[nodiscard]] virtual Result<SharedBytes> read_blob(const BlobPlace& place) const = 0;
    /// A blob in its segment's map, or on the heap where it is not in a map (small or not yet committed).
    [[nodiscard]] virtual Result<MappedBytes> map_blob(const BlobPlace& place) const = 0;
    /// Reads blocks through the header table; see BlockReader. Lives as long as the store.
    [[nodiscard]] virtual BlockReader& block_reader() = 0;
    [[nodiscard]] virtual StoreStatus status() const = 0;
    /// EventLog: durable records only.
    [[nodiscard]] Result<std::vector<EventRecord>> read_events(EventIndex first, std::size_t limit) override = 0;

    // Writer.

    /// Gives the blob a place. The bytes are written with the next commit; until then they are held, and readers get
    /// them from memory. Errors: limit (larger than a segment), outcome_unknown.
    [[nodiscard]] virtual Result<BlobPlace> append_blob(SharedBytes bytes) = 0;
    /// As append_blob, for what can be made again from a block and the coins: `commit_step` may leave it to the next
    /// commit.
    [[nodiscard]] virtual Result<BlobPlace> append_derived(SharedBytes bytes) = 0;
    /// Begins to write what was appended on another thread, where there is enough for that to pay, so that the next
    /// commit takes less time. It alone says what became of it.
    virtual void write_ahead() = 0;
    /// Shows `changes` to all later snapshots, as a layer. Written with the next commit.
    virtual void apply(StoreChanges changes) = 0;
    /// Writes and syncs all that was appended and applied: segments first, then the chain tables in one transaction.
    /// On disk_full and io nothing is lost, everything stays visible, and the call may be repeated; after
    /// outcome_unknown every later commit fails with it at once, and reading goes on.
    [[nodiscard]] virtual Result<void> commit() = 0;
    /// As commit, in less time after `write_ahead`: what was appended by append_derived since then stays in memory, and
    /// records are written without its places. The next commit writes both. Readers see no difference, and a crash
    /// before it leaves records that lack them.
    [[nodiscard]] virtual Result<void> commit_step() = 0;
    /// A segment file that nothing is appended to any more.
    struct SealedSegment {
        std::uint32_t number = 0;
        std::uint64_t bytes = 0;  ///< of the file
    };
    /// By rising number.
    [[nodiscard]] virtual std::vector<SealedSegment> sealed_segments() const = 0;
    /// Removes sealed segment files, for good, and syncs the directory. Reads and views that have begun keep their
    /// bytes, later ones answer unavailable. Files that are not there any more count as removed. Requires: the header
    /// records of the last commit name no place in them, so that nobody looks for what is gone.
    /// Errors: io, naming the first file that could not be removed; the others are gone. May be repeated.
    [[nodiscard]] virtual Result<void> remove_segments(std::span<const std::uint32_t> numbers) = 0;
    /// Bytes appended and applied since the last successful commit.
    [[nodiscard]] virtual std::uint64_t pending_bytes() const = 0;
    /// Every record of table `header`, in key order, for the start. Errors: those of `visit` end the scan.
    [[nodiscard]] virtual Result<void> scan_headers(
        const std::function<Result<void>(const BlockHash&, const HeaderRecord&)>& visit) const = 0;
    /// Every record of table `meta` whose key begins with `prefix`, in key order, for the start. Errors: as scan_headers.
    [[nodiscard]] virtual Result<void> scan_meta(
        std::string_view prefix,
        const std::function<Result<void>(std::string_view key, std::string_view value)>& visit) const = 0;
};

}  // namespace blockpub
