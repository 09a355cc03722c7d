// SPDX-License-Identifier: MIT
#include "store/chain_tables.hpp"

#include "base/check.hpp"
#include "store/file_descriptor.hpp"

#include <fmt/format.h>

namespace blockpub {
namespace {

constexpr char kDataFile[] = "data.mdb";
constexpr unsigned kMaxTables = 16;
// One slot for each snapshot held at a time, all threads together; a slot is 64 bytes.
constexpr unsigned kMaxReaders = 4096;

}  // namespace

Result<std::shared_ptr<ChainEnv>> ChainEnv::open(const ChainTablesOptions& options, bool writable) {
    auto env = lmdb::Env::open({.path = options.directory,
                                .flags = MDB_NOTLS | (writable ? 0U : unsigned{MDB_RDONLY | MDB_NOLOCK}),
                                .map_bytes = options.map_bytes,
                                .max_tables = kMaxTables,
                                .max_readers = kMaxReaders});
    if (!env) return forward_error(env);
    return std::make_shared<ChainEnv>(std::move(*env), options.lock);
}

int ChainEnv::open_tables(lmdb::Txn& txn, unsigned flags) {
    const std::pair<const char*, lmdb::Table*> tables[] = {
        {"header", &header}, {"active", &active}, {"tips", &tips}, {"event", &event}, {"meta", &meta}};
    for (const auto& [name, table] : tables) {
        if (const int code = txn.open_table(name, flags, *table); code != 0) return code;
    }
    return 0;
}

Result<std::unique_ptr<ChainTables>> ChainTables::open(ChainTablesOptions options) {
    std::unique_ptr<ChainTables> tables(new ChainTables(std::move(options)));
    const auto& directory = tables->options_.directory;
    std::error_code error;
    std::filesystem::create_directories(directory, error);
    if (error) return fail(Errc::io, fmt::format("{}: {}", directory.native(), error.message()));
    if (auto opened = tables->open_writer(); !opened) return forward_error(opened);
    if (auto initialised = tables->initialise(); !initialised) return forward_error(initialised);
    auto committer = Committer::open(directory / kDataFile);
    if (!committer) return forward_error(committer);
    tables->committer_ = std::move(*committer);
    auto [code, probe] = lmdb::Txn::begin(tables->writer_->ref(), MDB_RDONLY);
    if (code != 0) return std::unexpected(lmdb::make_error(code, directory.native()));
    probe.park();
    tables->probe_ = std::move(probe);
    tables->reader_.read_from(tables->writer_, directory.native(),
                              [&options = tables->options_] { return ChainEnv::open(options, false); });
    return tables;
}

Result<void> ChainTables::open_writer() {
    auto env = ChainEnv::open(options_, true);
    if (!env && env.error().code == Errc::corrupt && options_.fresh) {
        // The machine stopped while the store was being made, before its first commit had reached the disk.
        std::error_code ignored;
        std::filesystem::remove(options_.directory / kDataFile, ignored);
        env = ChainEnv::open(options_, true);
    }
    if (!env) return forward_error(env);
    writer_ = std::move(*env);
    if (auto cleared = writer_->ref().clear_stale_readers(); !cleared) return forward_error(cleared);
    return {};
}

Result<void> ChainTables::initialise() {
    const auto failed = [&](int code) {
        return std::unexpected(lmdb::make_error(code, options_.directory.native()));
    };
    // Look before anything is written: another chain's store, or a newer one, must stay as it is.
    {
        auto [code, txn] = lmdb::Txn::begin(writer_->ref(), MDB_RDONLY);
        if (code == 0) code = writer_->open_tables(txn, 0);
        if (code == 0) {
            if (auto checked = check_identity(txn); !checked) return checked;
            code = txn.commit();
        }
        if (code == 0) return {};
        if (code != MDB_NOTFOUND) return failed(code);
    }
    // The tables are made before the first blob is: they have been here, and are lost.
    if (!options_.fresh) {
        return fail(
            Errc::corrupt,
            fmt::format(
                "{} holds no chain, but the blocks directory beside it holds blocks: restore it from a "
                "backup, or remove both and import again",
                options_.directory.native()));
    }
    auto [code, txn] = lmdb::Txn::begin(writer_->ref(), 0);
    if (code == 0) code = writer_->open_tables(txn, MDB_CREATE);
    if (code == 0) code = txn.put(writer_->meta, lmdb::as_bytes(kMetaSchema), encode_schema(kSchemaVersion));
    if (code == 0)
        code = txn.put(writer_->meta, lmdb::as_bytes(kMetaNetwork), encode_network(options_.network));
    if (code == 0) code = txn.commit();
    // The names of the file, and of the directory that it is in.
    if (code == 0) code = sync_directory(options_.directory);
    if (code == 0) code = sync_directory(options_.directory.parent_path());
    if (code != 0) return failed(code);
    return {};
}

Result<void> ChainTables::check_identity(const lmdb::Txn& txn) {
    const auto& directory = options_.directory;
    ByteSpan value;
    int code = txn.get(writer_->meta, lmdb::as_bytes(kMetaSchema), value);
    if (code == MDB_NOTFOUND)
        return fail(Errc::corrupt, fmt::format("{} has no schema version", directory.native()));
    if (code != 0) return std::unexpected(lmdb::make_error(code, directory.native()));
    const auto schema = decode_schema(value);
    if (!schema)
        return fail(Errc::corrupt, fmt::format("{}: {}", directory.native(), schema.error().context));
    if (*schema > kSchemaVersion) {
        return fail(
            Errc::unsupported,
            fmt::format(
                "{} was written by a newer blockpub (schema {}, this one knows up to {}): run that one, or "
                "give another data directory",
                directory.native(), *schema, kSchemaVersion));
    }
    code = txn.get(writer_->meta, lmdb::as_bytes(kMetaNetwork), value);
    if (code != 0) return std::unexpected(lmdb::make_error(code, directory.native()));
    const auto network = decode_network(value);
    if (!network)
        return fail(Errc::corrupt, fmt::format("{}: {}", directory.native(), network.error().context));
    if (*network != options_.network) {
        return fail(
            Errc::invalid_argument,
            fmt::format("{} holds another chain (genesis {}, expected {}): give another data directory",
                        directory.native(), network->genesis.display_hex(),
                        options_.network.genesis.display_hex()));
    }
    return {};
}

Result<std::uint64_t> ChainTables::write(const Layer& layer, const BlobEnd& blob_end) {
    const auto failed = [&](int code) {
        return std::unexpected(lmdb::make_error(code, options_.directory.native()));
    };
    auto [code, txn] = lmdb::Txn::begin(writer_->ref(), 0);
    if (code == 0) code = put_layer(txn, layer);
    if (code == 0) code = put(txn, writer_->meta, lmdb::as_bytes(kMetaBlobEnd), encode_blob_end(blob_end));
    if (code != 0) return failed(code);
    auto committed = committer_->commit(std::move(txn), writer_->ref(), options_.faults,
                                        {StoreFaults::Point::chain_commit, StoreFaults::Point::chain_sync});
    if (!committed) return forward_error(committed);
    // Asked of a reader: a commit that changes nothing does not raise the number.
    code = probe_.renew();
    BLOCKPUB_CHECK(code == 0, "{} after a commit that succeeded", code);
    const std::uint64_t number = probe_.id();
    probe_.park();
    return number;
}

int ChainTables::put(lmdb::Txn& txn, lmdb::Table table, ByteSpan key, ByteSpan value, unsigned flags) const {
    if (const int code = fault(StoreFaults::Point::chain_put); code != 0) return code;
    return txn.put(table, key, value, flags);
}

int ChainTables::erase(lmdb::Txn& txn, lmdb::Table table, ByteSpan key) const {
    if (const int code = fault(StoreFaults::Point::chain_put); code != 0) return code;
    return txn.erase(table, key);
}

int ChainTables::fault(StoreFaults::Point point) const noexcept {
    return options_.faults != nullptr ? options_.faults->at(point) : 0;
}

int ChainTables::put_layer(lmdb::Txn& txn, const Layer& layer) const {
    int code = 0;
    for (const auto& [hash, record] : layer.headers.entries()) {
        if (code == 0) code = put(txn, writer_->header, hash.wire_bytes(), encode_header_record(record));
    }
    for (const auto& [height, hash] : layer.active.entries()) {
        if (code != 0) break;
        const auto key = encode_height_key(height);
        code = hash ? put(txn, writer_->active, key, hash->wire_bytes()) : erase(txn, writer_->active, key);
    }
    for (const auto& [hash, present] : layer.tips.entries()) {
        if (code != 0) break;
        const auto& key = hash.wire_bytes();
        code = present ? put(txn, writer_->tips, key, {}) : erase(txn, writer_->tips, key);
    }
    for (const EventRecord& event : layer.events) {
        if (code != 0) break;
        code =
            put(txn, writer_->event, encode_index_key(event.index), encode_event_record(event), MDB_APPEND);
    }
    for (const auto& [key, value] : layer.meta.entries()) {
        if (code != 0) break;
        code = value ? put(txn, writer_->meta, lmdb::as_bytes(key), lmdb::as_bytes(*value))
                     : erase(txn, writer_->meta, lmdb::as_bytes(key));
    }
    if (code == 0 && layer.tip)
        code = put(txn, writer_->meta, lmdb::as_bytes(kMetaTip), encode_tip(*layer.tip));
    return code;
}

Result<BlobEnd> ChainTables::blob_end() {
    auto reading = begin_read();
    if (!reading) return forward_error(reading);
    ByteSpan value;
    const int code = reading->txn.get(reading->env->meta, lmdb::as_bytes(kMetaBlobEnd), value);
    Result<BlobEnd> end = BlobEnd{};
    if (code == 0) end = decode_blob_end(value);
    if (!end)
        end = fail(Errc::corrupt, fmt::format("{}: {}", options_.directory.native(), end.error().context));
    if (code != 0 && code != MDB_NOTFOUND)
        end = std::unexpected(lmdb::make_error(code, options_.directory.native()));
    reading->env->end_read(std::move(reading->txn));
    return end;
}

}  // namespace blockpub
