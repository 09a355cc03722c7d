// SPDX-License-Identifier: MIT
#include "source/import_plan.hpp"

#include "source/block_file.hpp"
#include "source/file.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>

namespace blockpub {

namespace fs = std::filesystem;

namespace {

using NumberedFiles = std::vector<std::pair<std::uint64_t, fs::path>>;

Result<NumberedFiles> find_block_files(const fs::path& directory) {
    std::error_code error;
    fs::directory_iterator entries(directory, error);
    NumberedFiles files;
    while (!error && entries != fs::directory_iterator()) {
        if (const auto number = block_file_number(entries->path().filename().native())) {
            files.emplace_back(*number, entries->path());
        }
        entries.increment(error);
    }
    if (error == std::errc::no_such_file_or_directory) {
        return fail(Errc::not_found, directory.string() + ": no such directory");
    }
    if (error == std::errc::not_a_directory) {
        return fail(Errc::invalid_argument, directory.string() + " is not a directory");
    }
    if (error) return fail(Errc::io, directory.string() + ": cannot list: " + error.message());
    std::ranges::sort(files);
    return files;
}

/// A directory below, or beside, `directory` that has block files: what was probably meant.
std::optional<fs::path> likely_directory(const fs::path& directory) {
    for (const char* below :
         {"blocks", "testnet3/blocks", "testnet4/blocks", "signet/blocks", "regtest/blocks"}) {
        const auto files = find_block_files(directory / below);
        if (files && !files->empty()) return directory / below;
    }
    return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> block_file_number(std::string_view name) {
    constexpr std::string_view prefix = "blk";
    constexpr std::string_view suffix = ".dat";
    if (!name.starts_with(prefix) || !name.ends_with(suffix)) return std::nullopt;
    name = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (name.size() < 5 || error != std::errc() || end != name.data() + name.size()) return std::nullopt;
    return number;
}

Result<std::vector<PlannedFile>> list_block_files(const fs::path& directory) {
    auto files = find_block_files(directory);
    if (!files) return forward_error(files);
    if (files->empty()) {
        std::string text = directory.string() + " holds no blkNNNNN.dat file";
        if (const auto likely = likely_directory(directory))
            text += "; did you mean " + likely->string() + "?";
        return fail(Errc::not_found, text);
    }
    auto key = read_xor_key(directory);
    if (!key) return forward_error(key);

    std::vector<PlannedFile> planned;
    for (auto& [number, path] : *files) {
        // Only for the progress: what cannot be read is found out, and told, when its turn comes.
        std::error_code error;
        const auto size = fs::file_size(path, error);
        planned.push_back({std::move(path), error ? 0 : size, *key});
    }
    return planned;
}

Result<PlannedFile> plan_load_file(const fs::path& path, const ChainParams& params) {
    auto file = File::open_for_reading(path);
    if (!file) return forward_error(file);
    auto directory_key = read_xor_key(path.parent_path());
    if (!directory_key) return forward_error(directory_key);
    auto key = detect_key(*file, params, *directory_key);
    if (!key) return forward_error(key);
    auto size = file->size();
    if (!size) return forward_error(size);
    return PlannedFile{path, *size, *key};
}

Result<void> check_import_plan(const ImportPlan& plan, const ChainParams& params) {
    if (plan.blocks_directory) {
        auto files = list_block_files(*plan.blocks_directory);
        if (!files) return forward_error(files);
        // The first file will do: what is wrong with single ones is told when their turn comes.
        const PlannedFile& first = files->front();
        if (const auto file = File::open_for_reading(first.path)) {
            if (auto right = refuse_other_chain(*file, params, first.key); !right) return right;
        }
    }
    for (const auto& path : plan.load_files) {
        auto file = plan_load_file(path, params);
        if (!file) return forward_error(file);
    }
    return {};
}

}  // namespace blockpub
