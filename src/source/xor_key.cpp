// SPDX-License-Identifier: MIT
#include "source/xor_key.hpp"

#include "base/endian.hpp"
#include "base/hex.hpp"
#include "source/file.hpp"

#include <sys/random.h>

#include <algorithm>
#include <bit>
#include <cerrno>

namespace blockpub {

std::optional<XorKey> XorKey::from_hex(std::string_view hex) {
    std::array<std::uint8_t, kSize> bytes{};
    if (hex.size() != 2 * kSize || !decode_hex_to(hex, bytes)) return std::nullopt;
    return XorKey(bytes);
}

Result<XorKey> XorKey::random() {
    XorKey key;
    while (key.is_plain()) {
        const ssize_t got = ::getrandom(key.bytes_.data(), kSize, 0);
        if (got != static_cast<ssize_t>(kSize)) {
            if (got < 0 && errno != EINTR) return fail(Errc::io, "no random bytes: " + errno_text(errno));
            key = XorKey{};
        }
    }
    return key;
}

void XorKey::apply(std::span<std::uint8_t> bytes, std::uint64_t file_offset) const noexcept {
    if (is_plain()) return;
    // The key turned so that its first byte belongs to bytes[0]; then whole words at a time.
    const std::uint64_t word =
        std::rotr(read_le<std::uint64_t>(bytes_.data()), static_cast<int>(file_offset % kSize * 8));
    std::array<std::uint8_t, kSize> turned{};
    write_le(turned.data(), word);
    std::size_t i = 0;
    for (; i + kSize <= bytes.size(); i += kSize) {
        write_le(&bytes[i], read_le<std::uint64_t>(&bytes[i]) ^ word);
    }
    for (std::size_t k = 0; i < bytes.size(); ++i, ++k)
        bytes[i] = static_cast<std::uint8_t>(bytes[i] ^ turned[k]);
}

std::string XorKey::hex() const {
    return encode_hex(bytes_);
}

Result<XorKey> read_xor_key(const std::filesystem::path& directory) {
    const std::filesystem::path path = directory / XorKey::kFileName;
    auto file = File::open_for_reading(path);
    if (!file && file.error().code == Errc::not_found) return XorKey{};
    if (!file) return forward_error(file);
    std::array<std::uint8_t, XorKey::kSize + 1> bytes{};
    const auto size = file->read_at(0, bytes);
    if (!size) return fail(size.error().code, size.error().context);
    if (*size != XorKey::kSize) {
        return fail(Errc::corrupt,
                    path.string() + " must hold exactly 8 bytes, the key of the block files beside it");
    }
    std::array<std::uint8_t, XorKey::kSize> key{};
    std::copy_n(bytes.begin(), XorKey::kSize, key.begin());
    return XorKey(key);
}

}  // namespace blockpub
