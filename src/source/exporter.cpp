// SPDX-License-Identifier: MIT
#include "source/exporter.hpp"

#include "base/endian.hpp"
#include "base/log.hpp"
#include "source/block_scanner.hpp"
#include "source/file.hpp"
#include "source/import_plan.hpp"

#include <fmt/format.h>

#include <array>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace blockpub {

namespace fs = std::filesystem;

namespace {

/// Written to under another name, which a node or a tool does not take for a block file.
constexpr const char* kUnfinished = ".part";
constexpr std::size_t kWriteBytes = std::size_t{4} << 20;

/// Gives a file its name once it is whole and on the disk.
Result<void> finish_file(File& file, const fs::path& name) {
    if (auto synced = file.sync(); !synced) return synced;
    std::error_code error;
    fs::rename(file.path(), name, error);
    if (error) return fail(Errc::io, name.string() + ": cannot rename: " + error.message());
    return sync_names(name.parent_path());
}

/// Puts records one behind the other into files of a bounded size.
class BlockFileWriter {
 public:
    BlockFileWriter(const ExportOptions& options, std::uint32_t magic)
        : directory_(options.directory),
          key_(options.key.value_or(XorKey{})),
          limit_(options.file_bytes),
          magic_(magic) {}
    ~BlockFileWriter() {
        if (!file_) return;
        std::error_code ignored;
        fs::remove(file_->path(), ignored);
    }
    BlockFileWriter(const BlockFileWriter&) = delete;
    BlockFileWriter& operator=(const BlockFileWriter&) = delete;

    [[nodiscard]] Result<void> put(ByteSpan block) {
        if (file_ && position_ + kRecordPrefix + block.size() > limit_) {
            if (auto finished = finish(); !finished) return finished;
        }
        if (!file_) {
            auto file = File::create(path().concat(kUnfinished));
            if (!file) return forward_error(file);
            file_.emplace(std::move(*file));
        }
        std::array<std::uint8_t, kRecordPrefix> prefix{};
        write_le(prefix.data(), magic_);
        write_le(&prefix[4], static_cast<std::uint32_t>(block.size()));
        buffer_.insert(buffer_.end(), prefix.begin(), prefix.end());
        buffer_.insert(buffer_.end(), block.begin(), block.end());
        position_ += prefix.size() + block.size();
        bytes_ += prefix.size() + block.size();
        return buffer_.size() < kWriteBytes ? Result<void>{} : flush();
    }
    /// Ends the file under way, if there is one.
    [[nodiscard]] Result<void> finish() {
        if (!file_) return {};
        if (auto flushed = flush(); !flushed) return flushed;
        if (auto finished = finish_file(*file_, path()); !finished) return finished;
        file_.reset();
        position_ = 0;
        ++files_;
        return {};
    }
    [[nodiscard]] std::uint64_t files() const { return files_; }
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
    [[nodiscard]] fs::path path() const { return directory_ / fmt::format("blk{:05}.dat", files_); }
    [[nodiscard]] Result<void> flush() {
        key_.apply(buffer_, position_ - buffer_.size());
        auto written = file_->write(buffer_);
        buffer_.clear();
        return written;
    }

    const fs::path directory_;
    const XorKey key_;
    const std::uint64_t limit_;
    const std::uint32_t magic_;
    std::optional<File> file_;
    std::vector<std::uint8_t> buffer_;  // the end of the file, not yet written
    std::uint64_t position_ = 0;        // size of the file, the buffer included
    std::uint64_t files_ = 0;           // whole ones
    std::uint64_t bytes_ = 0;           // of all files
};

Result<void> prepare_directory(const ExportOptions& options) {
    const fs::path& directory = options.directory;
    std::error_code error;
    fs::create_directories(directory, error);
    if (error) return fail(Errc::io, directory.string() + ": cannot make the directory: " + error.message());
    for (const auto& entry : fs::directory_iterator(directory, error)) {
        const std::string name = entry.path().filename().string();
        const bool ours_unfinished =
            name.starts_with("blk") && name.ends_with(std::string(".dat") + kUnfinished);
        if (ours_unfinished) {
            std::error_code ignored;
            fs::remove(entry.path(), ignored);
        } else if (name == XorKey::kFileName || block_file_number(name)) {
            return fail(Errc::invalid_argument,
                        directory.string() + " holds " + name + " already: export to an empty directory");
        }
    }
    if (error) return fail(Errc::io, directory.string() + ": cannot list: " + error.message());
    if (!options.key) return {};
    const fs::path name = directory / XorKey::kFileName;
    auto file = File::create(fs::path(name).concat(kUnfinished));
    if (!file) return forward_error(file);
    if (auto written = file->write(options.key->bytes()); !written) return written;
    return finish_file(*file, name);
}

/// The active chain from genesis to the tip, of one moment.
struct ChainToExport {
    std::vector<BlockHash> hashes;
    std::uint64_t bytes = 0;  // of its blocks
};

Result<ChainToExport> read_active_chain(const Store& store) {
    const auto snapshot = store.snapshot();
    if (!snapshot) return std::unexpected(snapshot.error());
    const auto tip = snapshot->tip();
    if (!tip) return std::unexpected(tip.error());
    ChainToExport chain;
    chain.hashes.reserve(tip->height.value + std::size_t{1});
    for (Height height{0}; height <= tip->height; height = height.next()) {
        const auto hash = snapshot->active(height);
        if (!hash) return std::unexpected(hash.error());
        const auto header = snapshot->header(*hash);
        if (!header) return std::unexpected(header.error());
        if (!header->block) {
            return fail(
                Errc::unavailable,
                fmt::format("block {} of the chain is not in the store (pruned): a chain is exported whole "
                            "or not at all",
                            height.value));
        }
        chain.hashes.push_back(*hash);
        chain.bytes += header->block->size + kRecordPrefix;
    }
    return chain;
}

}  // namespace

Result<XorKey> parse_export_key(std::string_view text) {
    if (text == "random") return XorKey::random();
    const auto key = XorKey::from_hex(text);
    if (!key) return fail(Errc::invalid_argument, "a key is 16 hexadecimal digits, or the word random");
    return *key;
}

Result<ExportSummary> export_blocks(const ExportOptions& options, Store& store, const ChainParams& params,
                                    Logger& logger, ProgressSink* sink, const std::stop_token& stop) {
    const Log log(&logger, LogCategory::import);
    auto chain = read_active_chain(store);
    if (!chain) return forward_error(chain);
    if (auto prepared = prepare_directory(options); !prepared) return forward_error(prepared);

    const auto begin = std::chrono::steady_clock::now();
    ProgressPace pace(options.progress_every, sink != nullptr, begin);
    ProgressMeter meter(chain->bytes, begin);
    BlockFileWriter writer(options, params.magic);
    for (std::size_t height = 0; height < chain->hashes.size(); ++height) {
        if (stop.stop_requested()) return fail(Errc::stopped, "the export was stopped");
        auto block = store.block_reader().read_block(chain->hashes[height]);
        if (!block) return forward_error(block);
        if (auto put = writer.put(block->bytes()); !put) return forward_error(put);
        if (const auto now = std::chrono::steady_clock::now(); now >= pace.next()) {
            const ProgressPace::Due due = pace.take(now);
            const auto rates = meter.update({height + 1, writer.bytes()}, now);
            const auto line =
                "Export: " + format_progress(static_cast<std::uint32_t>(height), rates, chain->bytes);
            if (due.log) log.info("{}", line);
            if (sink != nullptr) sink->show(line);
        }
    }
    if (auto finished = writer.finish(); !finished) return forward_error(finished);
    const Height tip{static_cast<std::uint32_t>(chain->hashes.size() - 1)};
    log.info("Export finished: {} blocks, {} files, {} in {}", chain->hashes.size(), writer.files(),
             format_bytes(writer.bytes()), options.directory.string());
    if (sink != nullptr) sink->show("");
    return ExportSummary{chain->hashes.size(), writer.files(), writer.bytes(), {chain->hashes.back(), tip}};
}

}  // namespace blockpub
