// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/result.hpp>

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace blockpub {

/// Bytes of a base64 text (RFC 4648, with padding). Nothing for anything else.
[[nodiscard]] std::optional<std::string> decode_base64(std::string_view text);
[[nodiscard]] std::string encode_base64(std::string_view bytes);

/// Who may call, by HTTP Basic authentication.
///
/// Thread safety: immutable once set up.
/// Source: Bitcoin Core v28 src/httprpc.cpp, share/rpcauth.
class RpcAuth {
 public:
    /// A user and the password itself: the cookie, or -rpcuser and -rpcpassword.
    void add_password(std::string user, std::string password);
    /// A value of -rpcauth, `user:salt$hash`, the hash being HMAC-SHA256 of the password keyed with the salt,
    /// in hex. Errors: invalid_argument; the text does not repeat the value.
    [[nodiscard]] Result<void> add_hashed(std::string_view value);
    /// The user that the value of an Authorization field stands for. Compares everything it has in a time
    /// that does not depend on what matches.
    [[nodiscard]] std::optional<std::string> user_of(std::string_view authorization) const;

 private:
    struct Password {
        std::string user;
        std::string joined;  // user:password
    };
    struct Hashed {
        std::string user;
        std::string salt;
        std::string hash;
    };
    std::vector<Password> passwords_;
    std::vector<Hashed> hashed_;
};

enum class CookieAccess : std::uint8_t { owner, group, all };

/// By -rpccookieperms name. Nothing for others.
[[nodiscard]] std::optional<CookieAccess> cookie_access_from_name(std::string_view name);

/// The file that lets programs of the same user in: `__cookie__:` and 64 digits, new at each start, removed
/// at the end. Thread safety: one thread at a time.
class RpcCookie {
 public:
    /// Writes the file beside its place and renames it there, so that nobody reads half of one. Errors: io.
    [[nodiscard]] static Result<RpcCookie> create(std::filesystem::path path, CookieAccess access);
    RpcCookie(RpcCookie&& other) noexcept;
    RpcCookie& operator=(RpcCookie&&) = delete;
    /// Removes the file, if it still is this one.
    ~RpcCookie();

    [[nodiscard]] const std::string& password() const { return password_; }
    static constexpr std::string_view kUser = "__cookie__";

 private:
    RpcCookie(std::filesystem::path path, std::string password)
        : path_(std::move(path)), password_(std::move(password)) {}

    std::filesystem::path path_;  // empty: moved from
    std::string password_;
};

}  // namespace blockpub
