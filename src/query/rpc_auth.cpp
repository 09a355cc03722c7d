// SPDX-License-Identifier: MIT
#include "query/rpc_auth.hpp"

#include "base/hex.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

namespace blockpub {

namespace {

int base64_digit(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    if (c == '+') return 62;
    if (c == '/') return 63;
    return -1;
}

/// Takes a time that depends on the length of `given` alone.
bool equal_in_constant_time(std::string_view given, std::string_view wanted) {
    if (wanted.empty()) return given.empty();
    std::size_t difference = given.size() ^ wanted.size();
    for (std::size_t i = 0; i < given.size(); ++i) {
        difference |= static_cast<std::size_t>(static_cast<unsigned char>(given[i]) ^
                                               static_cast<unsigned char>(wanted[i % wanted.size()]));
    }
    return difference == 0;
}

std::string hmac_sha256_hex(std::string_view key, std::string_view message) {
    std::array<std::uint8_t, 32> digest{};
    unsigned size = digest.size();
    ::HMAC(::EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(message.data()), message.size(), digest.data(), &size);
    return encode_hex(digest);
}

}  // namespace

std::string encode_base64(std::string_view bytes) {
    static constexpr std::string_view kDigits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    out.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
        std::uint32_t bits = 0;
        for (std::size_t k = 0; k < 3; ++k)
            bits = bits << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0u);
        for (std::size_t k = 0; k < 4; ++k) out += k <= count ? kDigits[bits >> (18 - 6 * k) & 63] : '=';
    }
    return out;
}

std::optional<std::string> decode_base64(std::string_view text) {
    if (text.size() % 4 != 0) return std::nullopt;
    std::size_t padding = 0;
    while (padding < 2 && text.ends_with('=')) {
        text.remove_suffix(1);
        ++padding;
    }
    std::string out;
    out.reserve(text.size() * 3 / 4);
    std::uint32_t bits = 0;
    unsigned count = 0;
    for (const char c : text) {
        const int digit = base64_digit(c);
        if (digit < 0) return std::nullopt;
        bits = bits << 6 | static_cast<std::uint32_t>(digit);
        count += 6;
        if (count >= 8) {
            count -= 8;
            out += static_cast<char>(bits >> count & 0xff);
        }
    }
    if ((bits & ((1u << count) - 1)) != 0) return std::nullopt;
    return out;
}

void RpcAuth::add_password(std::string user, std::string password) {
    std::string joined = user + ':' + password;
    passwords_.push_back({std::move(user), std::move(joined)});
}

Result<void> RpcAuth::add_hashed(std::string_view value) {
    const std::size_t colon = value.find(':');
    const std::size_t dollar = value.find('$', colon == std::string_view::npos ? 0 : colon);
    if (colon == std::string_view::npos || colon == 0 || dollar == std::string_view::npos) {
        return fail(Errc::invalid_argument, "an -rpcauth value is not of the form user:salt$hash");
    }
    Hashed entry{std::string(value.substr(0, colon)),
                 std::string(value.substr(colon + 1, dollar - colon - 1)),
                 std::string(value.substr(dollar + 1))};
    if (entry.hash.size() != 64 || !is_hex(entry.hash)) {
        return fail(Errc::invalid_argument, "the hash in an -rpcauth value is not 64 hexadecimal digits");
    }
    std::ranges::transform(entry.hash, entry.hash.begin(), [](char c) {
        return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    hashed_.push_back(std::move(entry));
    return {};
}

std::optional<std::string> RpcAuth::user_of(std::string_view authorization) const {
    if (!authorization.starts_with("Basic ")) return std::nullopt;
    authorization.remove_prefix(6);
    while (authorization.starts_with(' ')) authorization.remove_prefix(1);
    const auto joined = decode_base64(authorization);
    if (!joined) return std::nullopt;
    const std::size_t colon = joined->find(':');
    if (colon == std::string::npos) return std::nullopt;
    const std::string_view user = std::string_view(*joined).substr(0, colon);
    const std::string_view password = std::string_view(*joined).substr(colon + 1);

    bool known = false;
    for (const Password& entry : passwords_) known |= equal_in_constant_time(*joined, entry.joined);
    for (const Hashed& entry : hashed_) {
        const bool name = equal_in_constant_time(user, entry.user);
        const bool hash = equal_in_constant_time(hmac_sha256_hex(entry.salt, password), entry.hash);
        known |= name && hash;
    }
    if (!known) return std::nullopt;
    return std::string(user);
}

std::optional<CookieAccess> cookie_access_from_name(std::string_view name) {
    if (name == "owner") return CookieAccess::owner;
    if (name == "group") return CookieAccess::group;
    if (name == "all") return CookieAccess::all;
    return std::nullopt;
}

namespace {

std::unexpected<Error> cookie_failure(const char* what, const std::filesystem::path& path, int code) {
    return fail(
        Errc::io,
        fmt::format(
            "cannot {} the RPC cookie {}: {}; give a place for it with -rpccookiefile=, or -rpcuser= and "
            "-rpcpassword= instead",
            what, path.string(), std::strerror(code)));
}

Result<void> write_new_file(const std::filesystem::path& path, std::string_view text, mode_t mode) {
    // What an earlier start left half-way is not ours to write through: it may be a link.
    ::unlink(path.c_str());
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0) return cookie_failure("create", path, errno);
    // The mode is set on the open file: the umask has no say in it.
    const bool written = ::fchmod(file, mode) == 0 &&
                         ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    const int code = errno;
    ::close(file);
    if (written) return {};
    ::unlink(path.c_str());
    return cookie_failure("write", path, code);
}

}  // namespace

Result<RpcCookie> RpcCookie::create(std::filesystem::path path, CookieAccess access) {
    std::array<std::uint8_t, 32> random;
    if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) {
        return cookie_failure("make", path, errno);
    }
    std::string password = encode_hex(random);
    const mode_t mode = access == CookieAccess::owner ? 0600 : access == CookieAccess::group ? 0640 : 0644;
    std::filesystem::path beside = path;
    beside += ".tmp";
    if (auto written = write_new_file(beside, fmt::format("{}:{}", kUser, password), mode); !written)
        return forward_error(written);
    if (::rename(beside.c_str(), path.c_str()) != 0) {
        const int code = errno;
        ::unlink(beside.c_str());
        return cookie_failure("put in place", path, code);
    }
    return RpcCookie(std::move(path), std::move(password));
}

RpcCookie::RpcCookie(RpcCookie&& other) noexcept
    : path_(std::exchange(other.path_, {})), password_(std::move(other.password_)) {}

RpcCookie::~RpcCookie() {
    if (path_.empty()) return;
    std::ifstream file(path_, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (text == fmt::format("{}:{}", kUser, password_)) ::unlink(path_.c_str());
}

}  // namespace blockpub
