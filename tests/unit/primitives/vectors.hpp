// SPDX-License-Identifier: MIT
#pragma once

#include "base/check.hpp"
#include "base/hex.hpp"

#include <blockpub/bytes.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

/// The facts under tests/vectors, found by the path that the build gives the tests.
namespace blockpub::vectors {

inline std::string read_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    BLOCKPUB_CHECK(file.is_open(), "{}", path.string());
    return {std::istreambuf_iterator<char>(file), {}};
}

inline std::filesystem::path directory() {
    return BLOCKPUB_TEST_VECTORS;
}

/// The bytes of a file of hexadecimal digits on one line.
inline std::vector<std::uint8_t> read_hex(const char* name) {
    std::string text = read_file(directory() / name);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    auto bytes = decode_hex(text);
    BLOCKPUB_CHECK(bytes.has_value(), "{}", name);
    return *std::move(bytes);
}

/// Mainnet's block 170, the first with a payment.
inline SharedBytes block170() {
    return SharedBytes::copy_of(read_hex("block170.hex"));
}

/// A file of the vectors shared between projects, where the environment says that they are here.
inline std::optional<std::filesystem::path> shared(const char* name) {
    const char* root = std::getenv("BLOCKPUB_SHARED");
    if (root == nullptr) return std::nullopt;
    const std::filesystem::path path = std::filesystem::path(root) / "vectors" / name;
    if (!std::filesystem::exists(path)) return std::nullopt;
    return path;
}

}  // namespace blockpub::vectors
