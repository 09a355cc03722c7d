// SPDX-License-Identifier: MIT
#pragma once

#include "base/hex.hpp"
#include "primitives/chain_params.hpp"
#include "source/xor_key.hpp"
#include "support/block_builder.hpp"
#include "support/temporary_directory.hpp"

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <string>

// Block files for the tests of module source, put together piece by piece.

namespace blockpub::test {

inline Bytes hex(std::string_view digits) {
    return decode_hex(digits).value();
}

inline Bytes join(std::initializer_list<Bytes> parts) {
    Bytes out;
    for (const Bytes& part : parts) append(out, part);
    return out;
}

inline Bytes bytes_of(ByteSpan bytes) {
    return {bytes.begin(), bytes.end()};
}

/// `magic length block`.
inline Bytes record(ByteSpan block, std::uint32_t magic) {
    Bytes out;
    append_le(out, magic);
    append_le(out, static_cast<std::uint32_t>(block.size()));
    append(out, block);
    return out;
}

inline Bytes obfuscated(Bytes bytes, const XorKey& key) {
    key.apply(bytes, 0);
    return bytes;
}

/// Mainnet's block 170: 490 bytes, two transactions.
inline Bytes block_170() {
    std::ifstream file(BLOCKPUB_SOURCE_ROOT "/tests/vectors/block170.hex");
    std::string digits((std::istreambuf_iterator<char>(file)), {});
    while (!digits.empty() && digits.back() == '\n') digits.pop_back();
    return hex(digits);
}

inline Bytes cut(Bytes bytes, std::size_t size) {
    bytes.resize(size);
    return bytes;
}

/// A directory that files are written to, and that is removed at the end.
class TempDirectory {
 public:
    [[nodiscard]] const std::filesystem::path& path() const { return directory_.path(); }
    std::filesystem::path write(const std::filesystem::path& name, ByteSpan bytes) const {
        const std::filesystem::path path = directory_.path() / name;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream file(path, std::ios::binary | std::ios::trunc);
        file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        return path;
    }

 private:
    TemporaryDirectory directory_;
};

}  // namespace blockpub::test
