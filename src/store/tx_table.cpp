// SPDX-License-Identifier: MIT
#include "store/tx_table.hpp"

#include "base/endian.hpp"

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
constexpr std::size_t kBestSize = 36;  // hash, height
constexpr const char* kName = "txindex";

}  // namespace

Result<std::unique_ptr<TxTable>> TxTable::open(const Options& options) {
    std::unique_ptr<TxTable> table(new TxTable);
    const std::string name = options.directory.string();
    std::error_code error;
    std::filesystem::create_directories(options.directory, error);
    if (error) return fail(Errc::io, fmt::format("{}: {}", name, error.message()));
    auto env = lmdb::Env::open({.path = options.directory,
                                .flags = MDB_NOTLS | MDB_NORDAHEAD,
                                .map_bytes = options.map_bytes,
                                .max_tables = 2,
                                .max_readers = 1024});
    if (!env) {
        if (env.error().code == Errc::corrupt)
            env.error().context += "; remove the directory to have it made again";
        return forward_error(env);
    }
    table->env_ = std::move(*env);
    if (auto cleared = table->env_.ref().clear_stale_readers(); !cleared) return forward_error(cleared);

    auto [code, txn] = lmdb::Txn::begin(table->env_.ref(), 0);
    if (code == 0) code = txn.open_table("tx", MDB_CREATE, table->transactions_);
    if (code == 0) code = txn.open_table("meta", MDB_CREATE, table->meta_);
    ByteSpan schema;
    if (code == 0) code = txn.get(table->meta_, lmdb::as_bytes(kSchemaKey), schema);
    if (code == 0 && (schema.size() != 4 || read_le<std::uint32_t>(schema.data()) != kSchema)) {
        return fail(Errc::unsupported,
                    name +
                        ": written by another version of blockpub; remove it to have it made "
                        "again");
    }
    if (code == MDB_NOTFOUND) {
        std::array<std::uint8_t, 4> value;
        write_le(value.data(), kSchema);
        code = txn.put(table->meta_, lmdb::as_bytes(kSchemaKey), value);
    }
    if (code == 0) code = txn.commit();  // keeps the table handles
    if (code != 0) return std::unexpected(lmdb::make_error(code, name));
    auto committer = Committer::open(options.directory / "data.mdb");
    if (!committer) return forward_error(committer);
    table->committer_ = std::move(*committer);
    return table;
}

Result<std::optional<BlockHash>> TxTable::find(const Txid& txid) const {
    auto [code, txn] = lmdb::Txn::begin(env_.ref(), MDB_RDONLY);
    if (code != 0) return std::unexpected(lmdb::make_error(code, kName));
    ByteSpan value;
    code = txn.get(transactions_, txid.wire_bytes(), value);
    if (code == MDB_NOTFOUND) return std::optional<BlockHash>();
    if (code != 0) return std::unexpected(lmdb::make_error(code, kName));
    if (value.size() != BlockHash::kSize) return fail(Errc::corrupt, "txindex: a row is damaged");
    return std::optional(BlockHash::from_wire(value));
}

Result<std::optional<Tip>> TxTable::best() const {
    auto [code, txn] = lmdb::Txn::begin(env_.ref(), MDB_RDONLY);
    if (code != 0) return std::unexpected(lmdb::make_error(code, kName));
    ByteSpan value;
    code = txn.get(meta_, lmdb::as_bytes(kBestKey), value);
    if (code == MDB_NOTFOUND) return std::optional<Tip>();
    if (code != 0) return std::unexpected(lmdb::make_error(code, kName));
    if (value.size() != kBestSize) return fail(Errc::corrupt, "txindex: its best block is damaged");
    return std::optional(Tip{.hash = BlockHash::from_wire(value.first(32)),
                             .height = {read_le<std::uint32_t>(value.data() + 32)}});
}

Result<void> TxTable::write(std::span<std::pair<Txid, BlockHash>> rows, const Tip& best) {
    // In key order a batch touches each page once. Of a txid that is there twice the later block counts.
    std::ranges::stable_sort(rows, {}, &std::pair<Txid, BlockHash>::first);
    auto [code, txn] = lmdb::Txn::begin(env_.ref(), 0);
    for (const auto& [txid, block] : rows) {
        if (code != 0) break;
        code = txn.put(transactions_, txid.wire_bytes(), block.wire_bytes());
    }
    if (code == 0) {
        std::array<std::uint8_t, kBestSize> value;
        std::ranges::copy(best.hash.wire_bytes(), value.begin());
        write_le<std::uint32_t>(value.data() + 32, best.height.value);
        code = txn.put(meta_, lmdb::as_bytes(kBestKey), value);
    }
    if (code != 0) return std::unexpected(lmdb::make_error(code, kName));
    return committer_->commit(
        std::move(txn), env_.ref(), nullptr,
        {.commit = StoreFaults::Point::coin_commit, .sync = StoreFaults::Point::coin_sync});
}

}  // namespace blockpub
