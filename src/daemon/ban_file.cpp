// SPDX-License-Identifier: MIT
#include "daemon/ban_file.hpp"

#include "query/json_reader.hpp"
#include "query/json_writer.hpp"
#include "source/file.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace blockpub::ban_file {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kVersion = 1;
constexpr std::uint64_t kLargestFile = std::uint64_t{64} << 20;

std::optional<std::int64_t> integer_member(JsonValue entry, std::string_view name) {
    const auto value = entry.find(name);
    return value ? value->integer() : std::nullopt;
}

/// Nothing for what another version or network means. Errors: corrupt.
Result<std::optional<BanList::Ban>> decode_entry(JsonValue entry) {
    const auto version = integer_member(entry, "version");
    if (!version) return fail(Errc::corrupt, "an entry has no version");
    if (*version != kVersion) return std::nullopt;
    const auto created = integer_member(entry, "ban_created");
    const auto until = integer_member(entry, "banned_until");
    const auto address = entry.find("address");
    if (!created || !until || !address || !address->is_string())
        return fail(Errc::corrupt, "an entry lacks ban_created, banned_until or address");
    auto target = BanTarget::parse(address->text());
    if (!target) return std::nullopt;
    return BanList::Ban{.target = std::move(*target), .created = *created, .until = *until};
}

/// A single address that may be of CJDNS is written without its prefix length: with one bitcoind, where it
/// reaches CJDNS, takes it for nothing that it knows.
std::string text_in_file(const BanTarget& target) {
    const Subnet* const subnet = target.subnet();
    const bool cjdns = subnet != nullptr && subnet->is_one_address() && !subnet->network().is_v4() &&
                       subnet->network().bytes()[0] == 0xfc;
    return cjdns ? subnet->network().text() : target.text();
}

Result<std::string> read_text(const fs::path& path) {
    const auto file = File::open_for_reading(path);
    if (!file) return std::unexpected(file.error());
    const auto size = file->size();
    if (!size) return std::unexpected(size.error());
    if (*size > kLargestFile) return fail(Errc::corrupt, "the file is too large");
    std::string text(static_cast<std::size_t>(*size), '\0');
    const auto got = file->read_at(0, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
    if (!got) return std::unexpected(got.error());
    text.resize(*got);
    return text;
}

Result<void> write_text(const fs::path& path, std::string_view text) {
    auto file = File::create(path);
    if (!file) return forward_error(file);
    const ByteSpan bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    if (auto written = file->write(bytes); !written) return written;
    return file->sync();
}

}  // namespace

std::string encode(const std::vector<BanList::Ban>& bans) {
    std::string text;
    JsonWriter out(text);
    out.begin_object();
    out.key("banned_nets");
    out.begin_array();
    for (const BanList::Ban& ban : bans) {
        out.begin_object();
        out.member("version", kVersion);
        out.member("ban_created", ban.created);
        out.member("banned_until", ban.until);
        out.member("address", std::string_view(text_in_file(ban.target)));
        out.end_object();
    }
    out.end_array();
    out.end_object();
    text += '\n';
    return text;
}

Result<std::vector<BanList::Ban>> decode(std::string text) {
    JsonDocument document;
    if (!document.parse(std::move(text))) return fail(Errc::corrupt, "it is not JSON");
    const auto entries = document.root().find("banned_nets");
    if (!entries || entries->kind() != JsonKind::array)
        return fail(Errc::corrupt, "it has no list called banned_nets");
    std::vector<BanList::Ban> bans;
    for (JsonValue::Cursor cursor(*entries); !cursor.done(); cursor.next()) {
        auto ban = decode_entry(cursor.value());
        if (!ban) return forward_error(ban);
        if (*ban) bans.push_back(**ban);
    }
    return bans;
}

Result<std::vector<BanList::Ban>> read(const fs::path& path) {
    std::error_code error;
    if (!fs::exists(path, error) && !error) return std::vector<BanList::Ban>();
    auto text = read_text(path);
    if (!text) return forward_error(text);
    auto bans = decode(std::move(*text));
    if (bans) return bans;
    return fail(bans.error().code,
                fmt::format("{} is damaged: {}. Mend it, or remove it and ban again (setban).", path.string(),
                            bans.error().context));
}

Result<void> write(const fs::path& path, const std::vector<BanList::Ban>& bans) {
    fs::path fresh = path;
    fresh += ".new";
    std::error_code error;
    auto written = write_text(fresh, encode(bans));
    if (written) {
        fs::rename(fresh, path, error);
        if (!error) return sync_names(path.parent_path());
        written =
            fail(Errc::io, fmt::format("{}: cannot be put in place: {}", path.string(), error.message()));
    }
    fs::remove(fresh, error);
    return written;
}

}  // namespace blockpub::ban_file
