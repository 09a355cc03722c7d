// SPDX-License-Identifier: MIT
// Import of a file of blocks, start of the store to the last synced commit, against a copy of the same bytes
// with fsync in the same run.

#include "bench_support.hpp"
#include "source/file.hpp"

#include <vector>

using namespace blockpub;
using namespace blockpub::bench;

namespace {

double copy_and_sync(const std::filesystem::path& from) {
    const test::TemporaryDirectory directory;
    const auto begin = SteadyClock::now();
    const File in = must(File::open_for_reading(from));
    File out = must(File::create(directory.path() / "copy.dat"));
    std::vector<std::uint8_t> buffer(std::size_t{1} << 20);
    for (std::uint64_t offset = 0;;) {
        const std::size_t got = must(in.read_at(offset, buffer));
        if (got == 0) break;
        must(out.write(ByteSpan(buffer).first(got)));
        offset += got;
    }
    must(out.sync());
    return seconds_since(begin);
}

double import_into_new_store(const std::filesystem::path& file) {
    const auto begin = SteadyClock::now();
    Node node;
    const ImportResult result = node.import(file);
    const double seconds = seconds_since(begin);
    if (result.imported == 0 || result.invalid != 0 || result.waiting != 0)
        give_up("not all blocks were imported");
    return seconds;
}

}  // namespace

int main(int argc, char** argv) {
    const auto file = big_vectors(argc, argv);
    const double megabytes = static_cast<double>(std::filesystem::file_size(file)) / 1e6;
    std::vector<double> copies;
    std::vector<double> imports;
    for (int round = 0; round < 5; ++round) {
        copies.push_back(copy_and_sync(file));
        imports.push_back(import_into_new_store(file));
    }
    const double copy = megabytes / median(copies);
    const double import = megabytes / median(imports);
    fmt::print("import {:.1f} MB/s, copy with fsync {:.1f} MB/s: import is {:.2f} of the copy\n", import,
               copy, import / copy);
    fmt::print("{{\"bench\":\"import\",\"import_mb_s\":{:.1f},\"copy_mb_s\":{:.1f},\"ratio\":{:.3f}}}\n",
               import, copy, import / copy);
}
