// SPDX-License-Identifier: MIT
#include "store/tx_table.hpp"

#include "base/endian.hpp"
#include "store/disk_space.hpp"
#include "store/records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <system_error>

namespace blockpub {
namespace {

constexpr std::uint32_t kSchema = 1;
constexpr std::string_view kSchemaKey = "schema";
constexpr std::string_view kBestKey = "best";
constexpr const char* kName = "txindex";
/// What a row may cost, its share of half-filled pages included.
constexpr std::uint64_t kRowBytes = 160;

}  // namespace

int TxEnv::open_tables(lmdb::Txn& txn, unsigned flags) {
    if (const int code = txn.open_table("tx", flags, transactions); code != 0) return code;
    return txn.open_table("meta", flags, meta);
}

Result<std::shared_ptr<TxEnv>> TxTable::open_env(unsigned flags) const {
    auto env = lmdb::Env::open({.path = options_.directory,
                                .flags = MDB_NOTLS | MDB_NORDAHEAD | flags,
                                .map_bytes = options_.map_bytes,
                                .max_tables = 2,
                                .max_readers = 1024});
    if (!env) return forward_error(env);
    return std::make_shared<TxEnv>(std::move(*env), nullptr);
}

Result<std::unique_ptr<TxTable>> TxTable::open(const Options& options) {
    std::unique_ptr<TxTable> table(new TxTable(options));
    std::error_code error;
    std::filesystem::create_directories(options.directory, error);
    if (error) return fail(Errc::io, fmt::format("{}: {}", options.directory.string(), error.message()));
    auto env = table->open_env(0);
    if (!env) {
        if (env.error().code == Errc::corrupt)
            env.error().context += "; remove the directory to have it made again";
        return forward_error(env);
    }
    table->writer_ = std::move(*env);
    if (auto cleared = table->writer_->ref().clear_stale_readers(); !cleared) return forward_error(cleared);
    if (auto initialised = table->initialise(); !initialised) return forward_error(initialised);
    auto committer = Committer::open(options.directory / "data.mdb");
    if (!committer) return forward_error(committer);
    table->committer_ = std::move(*committer);
    table->reader_.read_from(table->writer_, kName,
                             [opened = table.get()] { return opened->open_env(MDB_RDONLY | MDB_NOLOCK); });
    return table;
}

Result<void> TxTable::initialise() {
    const std::string name = options_.directory.string();
    auto [code, txn] = lmdb::Txn::begin(writer_->ref(), 0);
    if (code == 0) code = writer_->open_tables(txn, MDB_CREATE);
    ByteSpan schema;
    if (code == 0) code = txn.get(writer_->meta, lmdb::as_bytes(kSchemaKey), schema);
    if (code == 0 && (schema.size() != 4 || read_le<std::uint32_t>(schema.data()) != kSchema)) {
        return fail(Errc::unsupported,
                    name + ": written by another version of blockpub; remove it to have it made again");
    }
    if (code == MDB_NOTFOUND) {
        std::array<std::uint8_t, 4> value;
        write_le(value.data(), kSchema);
        code = txn.put(writer_->meta, lmdb::as_bytes(kSchemaKey), value);
    }
    if (code == 0) code = txn.commit();  // keeps the table handles
    if (code != 0) return std::unexpected(lmdb::make_error(code, name));
    return {};
}

Result<std::optional<BlockHash>> TxTable::find(const Txid& txid) const {
    auto reading = reader_.begin_read();
    if (!reading) return forward_error(reading);
    ByteSpan value;
    const int code = reading->txn.get(reading->env->transactions, txid.wire_bytes(), value);
    Result<std::optional<BlockHash>> found = std::optional<BlockHash>();
    if (code == 0) {
        if (value.size() == BlockHash::kSize) {
            found = BlockHash::from_wire(value);
        } else {
            found = fail(Errc::corrupt, "txindex: a row is damaged");
        }
    } else if (code != MDB_NOTFOUND) {
        found = std::unexpected(lmdb::make_error(code, kName));
    }
    reading->env->end_read(std::move(reading->txn));
    return found;
}

Result<std::optional<Tip>> TxTable::best() const {
    auto reading = reader_.begin_read();
    if (!reading) return forward_error(reading);
    ByteSpan value;
    const int code = reading->txn.get(reading->env->meta, lmdb::as_bytes(kBestKey), value);
    Result<std::optional<Tip>> best = std::optional<Tip>();
    if (code == 0) {
        if (const auto tip = decode_tip(value)) {
            best = *tip;
        } else {
            best = fail(Errc::corrupt, "txindex: its best block is damaged");
        }
    } else if (code != MDB_NOTFOUND) {
        best = std::unexpected(lmdb::make_error(code, kName));
    }
    reading->env->end_read(std::move(reading->txn));
    return best;
}

Result<void> TxTable::write(std::span<std::pair<Txid, BlockHash>> rows, const Tip& best) {
    if (auto room = check_free_disk(options_.directory, rows.size() * kRowBytes, options_.min_free_disk,
                                    options_.faults);
        !room)
        return room;
    // In key order a batch touches each page once. Of a txid that is there twice the later block counts.
    std::ranges::stable_sort(rows, {}, &std::pair<Txid, BlockHash>::first);
    auto [code, txn] = lmdb::Txn::begin(writer_->ref(), 0);
    for (const auto& [txid, block] : rows) {
        if (code != 0) break;
        code = txn.put(writer_->transactions, txid.wire_bytes(), block.wire_bytes());
    }
    if (code == 0) code = txn.put(writer_->meta, lmdb::as_bytes(kBestKey), encode_tip(best));
    if (code != 0) return std::unexpected(lmdb::make_error(code, kName));
    return committer_->commit(
        std::move(txn), writer_->ref(), options_.faults,
        {.commit = StoreFaults::Point::coin_commit, .sync = StoreFaults::Point::coin_sync});
}

}  // namespace blockpub
