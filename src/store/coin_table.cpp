// SPDX-License-Identifier: MIT
#include "store/coin_table.hpp"

#include "base/endian.hpp"
#include "store/disk_space.hpp"
#include "store/records.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <system_error>
#include <utility>

namespace blockpub {
namespace {

constexpr std::uint32_t kCoinSchema = 1;
constexpr std::string_view kTipKey = "coins_tip";
constexpr std::string_view kCoinSchemaKey = "schema";
constexpr char kCoinDataFile[] = "data.mdb";

}  // namespace

Result<std::shared_ptr<CoinEnv>> CoinEnv::open(const std::filesystem::path& directory,
                                               std::uint64_t map_bytes, unsigned flags) {
    auto env = lmdb::Env::open({.path = directory,
                                .flags = MDB_NOTLS | MDB_NORDAHEAD | flags,
                                .map_bytes = map_bytes,
                                .max_tables = 2,
                                .max_readers = 1024});
    if (!env) return forward_error(env);
    return std::make_shared<CoinEnv>(std::move(*env), nullptr);
}

int CoinEnv::open_tables(lmdb::Txn& txn, unsigned flags) {
    if (const int code = txn.open_table("coin", flags, coins); code != 0) return code;
    return txn.open_table("meta", flags, meta);
}

Result<std::unique_ptr<CoinTable>> CoinTable::open(const Options& options) {
    std::unique_ptr<CoinTable> table(new CoinTable);
    table->options_ = options;
    std::error_code error;
    std::filesystem::create_directories(options.directory, error);
    if (error) return fail(Errc::io, fmt::format("{}: {}", options.directory.string(), error.message()));
    if (auto opened = table->open_writer(); !opened) {
        if (opened.error().code == Errc::corrupt)
            opened.error().context += "; remove the directory to have all coins made again";
        return forward_error(opened);
    }
    auto committer = Committer::open(options.directory / kCoinDataFile);
    if (!committer) return forward_error(committer);
    table->committer_ = std::move(*committer);
    table->reader_.read_from(table->writer_, options.directory.string(), [&opened = table->options_] {
        return CoinEnv::open(opened.directory, opened.map_bytes, MDB_RDONLY | MDB_NOLOCK);
    });
    return table;
}

Result<void> CoinTable::open_writer() {
    auto env = CoinEnv::open(options_.directory, options_.map_bytes, 0);
    if (!env) return forward_error(env);
    writer_ = std::move(*env);
    if (auto cleared = writer_->ref().clear_stale_readers(); !cleared) return forward_error(cleared);
    return initialise();
}

Result<void> CoinTable::initialise() {
    const std::string name = options_.directory.string();
    auto [code, txn] = lmdb::Txn::begin(writer_->ref(), 0);
    if (code == 0) code = writer_->open_tables(txn, MDB_CREATE);
    ByteSpan schema;
    if (code == 0) code = txn.get(writer_->meta, lmdb::as_bytes(kCoinSchemaKey), schema);
    if (code == MDB_NOTFOUND) {
        std::array<std::uint8_t, 4> value;
        write_le(value.data(), kCoinSchema);
        code = txn.put(writer_->meta, lmdb::as_bytes(kCoinSchemaKey), value);
        if (code == 0) code = txn.commit();
    } else if (code == 0) {
        if (schema.size() != 4) return fail(Errc::corrupt, name + ": the schema number is damaged");
        if (const auto found = read_le<std::uint32_t>(schema.data()); found != kCoinSchema) {
            return fail(Errc::unsupported,
                        fmt::format("{}: written by a newer blockpub (schema {}, this one knows {})", name,
                                    found, kCoinSchema));
        }
        code = txn.commit();  // keeps the table handles
    }
    if (code != 0) return std::unexpected(lmdb::make_error(code, name));
    return {};
}

Result<Coin> CoinTable::find(const Reading& reading, const Outpoint& outpoint) const {
    ByteSpan value;
    const int code = reading.txn.get(reading.env->coins, coin_key(outpoint), value);
    if (code == MDB_NOTFOUND) return fail(Errc::not_found, "no such coin");
    if (code != 0) return std::unexpected(lmdb::make_error(code, options_.directory.string()));
    ByteReader reader(value);
    Coin coin = decode_coin(reader);
    if (!reader.ok() || reader.remaining() != 0) {
        return fail(Errc::corrupt, fmt::format("{}: the coin {}:{} is damaged", options_.directory.string(),
                                               outpoint.txid.display_hex(), outpoint.position));
    }
    return coin;
}

Result<std::optional<Tip>> CoinTable::tip(const Reading& reading) const {
    ByteSpan value;
    const int code = reading.txn.get(reading.env->meta, lmdb::as_bytes(kTipKey), value);
    if (code == MDB_NOTFOUND) return std::optional<Tip>{};
    if (code != 0) return std::unexpected(lmdb::make_error(code, options_.directory.string()));
    const auto tip = decode_tip(value);
    if (!tip) return fail(Errc::corrupt, options_.directory.string() + ": coins_tip is damaged");
    return *tip;
}

std::uint64_t CoinTable::disk_bytes() const noexcept {
    std::error_code error;
    const auto bytes = std::filesystem::file_size(options_.directory / kCoinDataFile, error);
    return error ? 0 : bytes;
}

Result<void> CoinTable::put(lmdb::Txn& txn, const CoinMemtable::Row& row) const {
    int code = options_.faults != nullptr ? options_.faults->at(StoreFaults::Point::coin_put) : 0;
    if (code == 0 && row.encoded.empty()) {
        // What nothing below knows need not be erased.
        if (!row.fresh) code = txn.erase(writer_->coins, row.key);
    } else if (code == 0) {
        code = txn.put(writer_->coins, row.key, row.encoded);
    }
    if (code != 0) return std::unexpected(lmdb::make_error(code, options_.directory.string()));
    return {};
}

Result<void> CoinTable::write_rows(lmdb::Txn& txn, const CoinMemtable& generation) const {
    for (std::size_t shard = 0; shard < CoinMemtable::kShards; ++shard) {
        for (const CoinMemtable::Row& row :
             generation.sorted_shard(shard, std::numeric_limits<StepNumber>::max())) {
            if (auto done = put(txn, row); !done) return done;
        }
    }
    return {};
}

/// Whether so many bytes can be written and leave what must stay free.
Result<std::uint64_t> CoinTable::write(const CoinMemtable& generation, const Tip& tip) {
    if (auto room =
            check_free_disk(options_.directory, generation.bytes(), options_.min_free_disk, options_.faults);
        !room)
        return forward_error(room);
    auto [code, txn] = lmdb::Txn::begin(writer_->ref(), 0);
    if (code != 0) return std::unexpected(lmdb::make_error(code, options_.directory.string()));
    if (auto rows = write_rows(txn, generation); !rows) return forward_error(rows);
    if (code = txn.put(writer_->meta, lmdb::as_bytes(kTipKey), encode_tip(tip)); code != 0) {
        return std::unexpected(lmdb::make_error(code, options_.directory.string()));
    }
    const std::uint64_t number = txn.id();
    if (auto committed = committer_->commit(
            std::move(txn), writer_->ref(), options_.faults,
            {.commit = StoreFaults::Point::coin_commit, .sync = StoreFaults::Point::coin_sync});
        !committed) {
        return forward_error(committed);
    }
    return number;
}

}  // namespace blockpub
