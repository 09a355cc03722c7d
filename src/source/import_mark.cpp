// SPDX-License-Identifier: MIT
#include "source/import_mark.hpp"

#include "base/hex.hpp"
#include "primitives/sha256.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <vector>

namespace blockpub {

namespace {

/// Few enough to stand in the first record, which a node writes at once: they stay as the file grows.
constexpr std::size_t kHeadBytes = 256;
constexpr std::size_t kTailBytes = 4096;

std::string fingerprint(ByteSpan bytes) {
    return encode_hex(ByteSpan(sha256(bytes)).first(16));
}

/// Requires: offset is at most the file's size.
Result<std::string> tail_fingerprint(const File& file, std::uint64_t offset) {
    std::vector<std::uint8_t> tail(static_cast<std::size_t>(std::min<std::uint64_t>(offset, kTailBytes)));
    const auto got = file.read_at(offset - tail.size(), tail);
    if (!got) return fail(got.error().code, got.error().context);
    tail.resize(*got);
    return fingerprint(tail);
}

}  // namespace

Result<std::string> import_mark_key(const File& file) {
    std::error_code ignored;
    const std::string path = std::filesystem::weakly_canonical(file.path(), ignored).string();
    std::vector<std::uint8_t> bytes(path.begin(), path.end());
    bytes.push_back(0);
    const std::size_t prefix = bytes.size();
    bytes.resize(prefix + kHeadBytes);
    const auto got = file.read_at(0, std::span(bytes).subspan(prefix));
    if (!got) return fail(got.error().code, got.error().context);
    bytes.resize(prefix + *got);
    return "import:" + fingerprint(bytes);
}

Result<ImportMark> make_import_mark(const File& file, std::uint64_t offset) {
    auto key = import_mark_key(file);
    if (!key) return forward_error(key);
    auto tail = tail_fingerprint(file, offset);
    if (!tail) return forward_error(tail);
    return ImportMark{std::move(*key), std::to_string(offset) + ' ' + *tail};
}

Result<std::uint64_t> import_mark_offset(const File& file, std::string_view value) {
    std::uint64_t offset = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), offset);
    const auto rest = value.substr(static_cast<std::size_t>(end - value.data()));
    if (error != std::errc() || !rest.starts_with(' ')) return 0;
    const auto size = file.size();
    if (!size) return fail(size.error().code, size.error().context);
    if (offset > *size) return 0;
    const auto tail = tail_fingerprint(file, offset);
    if (!tail) return fail(tail.error().code, tail.error().context);
    return *tail == rest.substr(1) ? offset : 0;
}

}  // namespace blockpub
