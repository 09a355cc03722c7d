// SPDX-License-Identifier: MIT
#include "query/rpc_auth.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>

using namespace blockpub;

namespace {

struct Directory {
    Directory() {
        std::string name = (std::filesystem::temp_directory_path() / "blockpub-auth-XXXXXX").string();
        path = ::mkdtemp(name.data());
    }
    ~Directory() { std::filesystem::remove_all(path); }
    std::filesystem::path path;
};

std::string read_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

mode_t mode_of(const std::filesystem::path& path) {
    struct ::stat status{};
    ::stat(path.c_str(), &status);
    return status.st_mode & 07777;
}

}  // namespace

TEST_SUITE_BEGIN("query.rpc_auth");

TEST_CASE("base64 is decoded strictly") {
    CHECK(decode_base64("") == "");
    CHECK(decode_base64("Zg==") == "f");
    CHECK(decode_base64("Zm8=") == "fo");
    CHECK(decode_base64("Zm9v") == "foo");
    CHECK(decode_base64("Zm9vYmE=") == "fooba");
    CHECK(decode_base64("+/+/") == "\xfb\xff\xbf");
    for (const char* wrong : {"Z", "Zg", "Zg=", "Zh==", "Zm9v\n", "Zm9v====", "=Zg=", "Zg==Zg==", "Zm-_"})
        CHECK_FALSE(decode_base64(wrong));
}

TEST_CASE("users are known by the password or by its salted hash") {
    RpcAuth auth;
    auth.add_password("alice", "open:sesame");
    // HMAC-SHA256 with the key 8ac09b2c of the message secret, computed apart.
    REQUIRE(auth.add_hashed("bob:8ac09b2c$865d4827f91126d342c0b5bd95e55fdb67cdd7aa0ccd59a529eb1234403dafe1"));
    CHECK(auth.user_of("Basic YWxpY2U6b3BlbjpzZXNhbWU=") == "alice");  // alice:open:sesame
    CHECK(auth.user_of("Basic  YWxpY2U6b3BlbjpzZXNhbWU=") == "alice");
    CHECK(auth.user_of("Basic Ym9iOnNlY3JldA==") == "bob");       // bob:secret
    CHECK_FALSE(auth.user_of("Basic Ym9iOnNlY3JldHM="));          // bob:secrets
    CHECK_FALSE(auth.user_of("Basic YWxpY2U6c2VjcmV0"));          // alice:secret
    CHECK_FALSE(auth.user_of("Basic YWxpY2U6b3BlbjpzZXNhbQ=="));  // alice:open:sesam
    CHECK_FALSE(auth.user_of("Basic YWxpY2U6"));                  // alice:
    CHECK_FALSE(auth.user_of("Basic YWxpY2U="));                  // alice
    CHECK_FALSE(auth.user_of("basic YWxpY2U6b3BlbjpzZXNhbWU="));
    CHECK_FALSE(auth.user_of("Bearer YWxpY2U6b3BlbjpzZXNhbWU="));
    CHECK_FALSE(auth.user_of("Basic"));
    CHECK_FALSE(auth.user_of(""));
    CHECK_FALSE(RpcAuth().user_of("Basic Og=="));  // :
}

TEST_CASE("a malformed -rpcauth is refused without repeating it") {
    for (const char* value :
         {"", "bob", "bob:salt", "bob$salt", ":salt$2f", "bob:salt$", "bob:salt$xyz", "bob:salt$abcd"}) {
        CAPTURE(value);
        RpcAuth auth;
        const auto added = auth.add_hashed(value);
        REQUIRE_FALSE(added);
        CHECK(added.error().code == Errc::invalid_argument);
        CHECK(added.error().context.find("bob") == std::string::npos);
    }
}

TEST_CASE("the cookie is a line without its end, new each time, with the mode asked for") {
    Directory directory;
    const auto path = directory.path / ".cookie";
    std::string first;
    struct Case {
        CookieAccess access;
        mode_t mode;
    };
    for (const Case c :
         {Case{CookieAccess::owner, 0600}, Case{CookieAccess::group, 0640}, Case{CookieAccess::all, 0644}}) {
        const auto cookie = RpcCookie::create(path, c.access);
        REQUIRE(cookie);
        const std::string text = read_file(path);
        CHECK(text == "__cookie__:" + cookie->password());
        CHECK(cookie->password().size() == 64);
        CHECK(cookie->password() != first);
        first = cookie->password();
        CHECK(mode_of(path) == c.mode);
        CHECK(std::distance(std::filesystem::directory_iterator(directory.path), {}) == 1);
    }
    CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("a cookie that another daemon has put in place is left alone") {
    Directory directory;
    const auto path = directory.path / ".cookie";
    {
        const auto cookie = RpcCookie::create(path, CookieAccess::owner);
        REQUIRE(cookie);
        std::ofstream(path) << "__cookie__:other";
    }
    CHECK(read_file(path) == "__cookie__:other");
}

TEST_CASE("what lies where the cookie is prepared is not written through") {
    Directory directory;
    const auto precious = directory.path / "precious";
    std::ofstream(precious) << "precious";
    std::filesystem::create_symlink(precious, directory.path / ".cookie.tmp");
    const auto cookie = RpcCookie::create(directory.path / ".cookie", CookieAccess::owner);
    REQUIRE(cookie);
    CHECK(read_file(precious) == "precious");
}

TEST_CASE("a cookie that cannot be written is an error that names the file") {
    const auto cookie = RpcCookie::create("/nonexistent/.cookie", CookieAccess::owner);
    REQUIRE_FALSE(cookie);
    CHECK(cookie.error().code == Errc::io);
    CHECK(cookie.error().context.find("/nonexistent/.cookie") != std::string::npos);
}

TEST_SUITE_END();
