// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/result.hpp>

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace blockpub {

/// The 8 bytes that a node XORs its block files with, repeated from the start of each file.
///
/// Thread safety: a value.
/// Source: Bitcoin Core v28 src/node/blockstorage.cpp (`xor.dat`). All zero is plain.
class XorKey {
 public:
    static constexpr std::size_t kSize = 8;
    /// Name of the file that holds the key, beside the block files.
    static constexpr const char* kFileName = "xor.dat";

    constexpr XorKey() = default;
    constexpr explicit XorKey(const std::array<std::uint8_t, kSize>& bytes) : bytes_(bytes) {}
    /// Takes exactly 16 hexadecimal digits, in the order of the bytes in `xor.dat`.
    [[nodiscard]] static std::optional<XorKey> from_hex(std::string_view hex);
    /// A random key, never the plain one. Errors: io.
    [[nodiscard]] static Result<XorKey> random();

    /// Obfuscates plain bytes, or makes obfuscated bytes plain, that lie at `file_offset` of their file.
    void apply(std::span<std::uint8_t> bytes, std::uint64_t file_offset) const noexcept;
    /// What a raw zero byte at `file_offset` looks like after apply().
    [[nodiscard]] std::uint8_t at(std::uint64_t file_offset) const noexcept {
        return bytes_[file_offset % kSize];
    }
    [[nodiscard]] bool is_plain() const noexcept { return *this == XorKey{}; }
    [[nodiscard]] const std::array<std::uint8_t, kSize>& bytes() const& noexcept { return bytes_; }
    [[nodiscard]] std::string hex() const;
    friend bool operator==(const XorKey&, const XorKey&) = default;

 private:
    std::array<std::uint8_t, kSize> bytes_{};
};

/// The key in `directory`'s `xor.dat`; the plain one where there is no such file.
/// Errors: corrupt (not exactly 8 bytes), io. The context names the file.
[[nodiscard]] Result<XorKey> read_xor_key(const std::filesystem::path& directory);

}  // namespace blockpub
