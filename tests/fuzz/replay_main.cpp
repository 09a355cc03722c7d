// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <vector>

// Runs a fuzz target without an engine: over the files given, and those of the directories given, in the
// order of their names; then over what small changes make of them. The changes are the same in every run.

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t kMostPrefixes = 300;
constexpr int kChangesPerFile = 100;

// In a buffer of its own of exactly its size, so that a sanitizer sees a read beyond the end.
void run(const Bytes& input) {
    const auto copy = std::make_unique<std::uint8_t[]>(std::max<std::size_t>(input.size(), 1));
    std::ranges::copy(input, copy.get());
    LLVMFuzzerTestOneInput(copy.get(), input.size());
}

void run_changed(const Bytes& input, std::mt19937& random) {
    for (std::size_t size = 0; size < std::min(input.size(), kMostPrefixes); ++size) {
        run(Bytes(input.begin(), input.begin() + static_cast<std::ptrdiff_t>(size)));
    }
    for (int i = 0; i < kChangesPerFile && !input.empty(); ++i) {
        Bytes changed = input;
        const std::size_t place = random() % changed.size();
        switch (random() % 4) {
            case 0:
                changed[place] ^= static_cast<std::uint8_t>(1u << random() % 8);
                break;
            case 1:
                changed[place] = static_cast<std::uint8_t>(random());
                break;
            case 2:
                changed[place] = static_cast<std::uint8_t>(0xfc + random() % 4);
                break;
            default:
                changed.insert(changed.begin() + static_cast<std::ptrdiff_t>(place),
                               static_cast<std::uint8_t>(random()));
        }
        run(changed);
    }
}

Bytes read_whole(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        std::fprintf(stderr, "%s: cannot be read\n", path.c_str());
        std::exit(1);
    }
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<std::filesystem::path> files;
    for (int i = 1; i < argc; ++i) {
        if (!std::filesystem::is_directory(argv[i])) {
            files.emplace_back(argv[i]);
            continue;
        }
        for (const auto& entry : std::filesystem::directory_iterator(argv[i])) files.push_back(entry.path());
    }
    if (files.empty()) {
        std::fprintf(stderr, "no inputs: give files or directories\n");
        return 1;
    }
    std::ranges::sort(files);
    std::mt19937 random(1);
    for (const auto& path : files) {
        const Bytes input = read_whole(path);
        run(input);
        run_changed(input, random);
    }
    std::printf("%zu inputs and their changes\n", files.size());
    return 0;
}
