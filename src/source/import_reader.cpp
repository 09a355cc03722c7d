// SPDX-License-Identifier: MIT
#include "source/import_reader.hpp"

#include <utility>

namespace blockpub {

namespace {

constexpr std::uint64_t kWarningsPerFile = 10;
constexpr std::uint64_t kWarningsPerImport = 200;
/// Distance of the marks within a file: what a stopped import may have to read again.
constexpr std::uint64_t kMarkEvery = std::uint64_t{32} << 20;
/// Distance of signs of life where nothing is new.
constexpr std::uint64_t kTellEvery = std::uint64_t{4} << 20;

}  // namespace

void ImportReader::run(std::span<const PlannedFile> files, ParsePipeline& pipeline) {
    for (std::size_t i = 0; i < files.size(); ++i) {
        Walk walk{.file = i};
        const auto result = read_file(files[i], walk, pipeline);
        if (first_run_ && walk.bad_spots > kWarningsPerFile && warned_ < kWarningsPerImport) {
            ++warned_;
            log_.warning("{}: {} more places passed over", files[i].path.string(),
                         walk.bad_spots - kWarningsPerFile);
        }
        if (result && !*result) return;
        if (!result) {
            if (first_run_) {
                ++counters_.failed_files;
                log_.error("Import: {}", result.error().context);
            }
            if (!pipeline.put({.kind = ImportItem::Kind::file_end, .file = i, .end_offset = files[i].size}))
                return;
        }
    }
    first_run_ = false;
    pipeline.close();
}

Result<bool> ImportReader::read_file(const PlannedFile& planned, Walk& walk, ParsePipeline& pipeline) {
    auto opened = File::open_for_reading(planned.path);
    if (!opened) return forward_error(opened);
    const auto start = resume_offset(*opened);
    if (!start) return fail(start.error().code, start.error().context);
    walk.clean_end = walk.marked_end = walk.told_end = *start;
    if (first_run_) counters_.passed_before += *start;
    BlockFile file(std::move(*opened), params_, planned.key, *start);
    if (*start != 0) log_.debug("{}: going on at byte {}", planned.path.string(), *start);

    while (true) {
        const auto step = file.next();
        if (!step) return fail(step.error().code, step.error().context);
        if (step->kind == ScanStep::Kind::end) {
            if (step->size != 0) {
                log_.debug("{}: {} preallocated bytes at the end", planned.path.string(), step->size);
            }
            return put_position(file, walk, pipeline, ImportItem::Kind::file_end);
        }
        if (step->kind == ScanStep::Kind::bad_spot) {
            warn(planned, *step, walk);
        } else if (store_has(step->hash)) {
            if (first_run_) ++counters_.known;
        } else {
            walk.told_end = file.position();
            if (!pipeline.put({.kind = ImportItem::Kind::block,
                               .file = walk.file,
                               .end_offset = file.position(),
                               .raw = SharedBytes::copy_of(file.block()),
                               .mark = {}})) {
                return false;
            }
        }
        if (walk.bad_spots == 0) walk.clean_end = file.position();
        if (file.position() - walk.told_end >= kTellEvery || walk.clean_end - walk.marked_end >= kMarkEvery) {
            auto put = put_position(file, walk, pipeline, ImportItem::Kind::position);
            if (!put || !*put) return put;
        }
    }
}

Result<bool> ImportReader::put_position(const BlockFile& file, Walk& walk, ParsePipeline& pipeline,
                                        ImportItem::Kind kind) {
    ImportItem item{.kind = kind, .file = walk.file, .end_offset = file.position(), .raw = {}, .mark = {}};
    if (walk.clean_end > walk.marked_end &&
        (kind == ImportItem::Kind::file_end || walk.clean_end - walk.marked_end >= kMarkEvery)) {
        auto mark = make_import_mark(file.file(), walk.clean_end);
        if (!mark) return forward_error(mark);
        item.mark = std::move(*mark);
        walk.marked_end = walk.clean_end;
    }
    walk.told_end = file.position();
    return pipeline.put(std::move(item));
}

Result<std::uint64_t> ImportReader::resume_offset(const File& file) const {
    auto key = import_mark_key(file);
    if (!key) return forward_error(key);
    const auto value = [&]() -> Result<std::string> {
        const auto snapshot = store_.snapshot();
        if (!snapshot) return fail(snapshot.error().code, snapshot.error().context);
        return snapshot->meta(*key);
    }();
    if (!value) return 0;
    return import_mark_offset(file, *value);
}

bool ImportReader::store_has(const BlockHash& hash) const {
    const auto snapshot = store_.snapshot();
    if (!snapshot) return false;
    const auto record = snapshot->header(hash);
    constexpr std::uint32_t settled =
        HeaderRecord::kFailed | HeaderRecord::kFailedChild | HeaderRecord::kPruned;
    return record && (record->block || (record->status & settled) != 0);
}

void ImportReader::warn(const PlannedFile& planned, const ScanStep& spot, Walk& walk) {
    ++walk.bad_spots;
    if (!first_run_) return;
    ++counters_.bad_spots;
    if (walk.bad_spots > kWarningsPerFile || warned_ >= kWarningsPerImport) return;
    log_.warning("{}: passed over {} bytes at byte {}: {}", planned.path.string(), spot.size, spot.begin,
                 describe(spot.spot));
    if (++warned_ == kWarningsPerImport)
        log_.warning("Import: further places that are passed over are only counted");
}

}  // namespace blockpub
