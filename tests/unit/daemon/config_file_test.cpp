// SPDX-License-Identifier: MIT
#include "daemon/config_file.hpp"

#include "temporary_directory.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace blockpub;

namespace {

std::string render(const ConfigFile& file) {
    std::string out;
    for (const ConfigEntry& entry : file.entries) {
        out += fmt::format("{}:[{}]{}={};", entry.line, entry.section, entry.name, entry.value);
    }
    return out;
}

}  // namespace

TEST_SUITE("daemon.config_file") {
    TEST_CASE("a file is taken apart into sections, names and values") {
        struct Case {
            const char* name;
            const char* text;
            const char* entries;
        };
        constexpr Case kCases[] = {
            {"an empty file has nothing", "", ""},
            {"blank lines and comments have nothing", "\n  \n# rpcport=1\n\t#x\n", ""},
            {"blanks around name and value go", "  rpcport =  8372 \r\n", "1:[]rpcport=8372;"},
            {"a comment may follow a value", "rpcport=8372 # ours", "1:[]rpcport=8372;"},
            {"a value may be empty", "debug=", "1:[]debug=;"},
            {"a value may hold an equals sign", "rpcauth=a:b$c=d", "1:[]rpcauth=a:b$c=d;"},
            {"a section holds until the next", "a=1\n[regtest]\nb=2\n[main]\nc=3",
             "1:[]a=1;3:[regtest]b=2;5:[main]c=3;"},
            {"a dotted name is a section too", "regtest.rpcport=1", "1:[regtest]rpcport=1;"},
            {"a dot within a section stays in the name", "[test]\nregtest.rpcport=1",
             "2:[test]regtest.rpcport=1;"},
            {"a byte order mark is skipped", "\xef\xbb\xbfrpcport=1", "1:[]rpcport=1;"},
            {"the last line needs no newline", "a=1\nb=2", "1:[]a=1;2:[]b=2;"},
        };
        for (const Case& c : kCases) {
            SUBCASE(c.name) {
                const auto file = parse_config(c.text, "x.conf");
                REQUIRE(file);
                CHECK(render(*file) == c.entries);
            }
        }
    }

    TEST_CASE("a line that cannot be meant is refused with its number") {
        struct Case {
            const char* name;
            const char* text;
            const char* error;
        };
        constexpr Case kCases[] = {
            {"a dash", "a=1\n-rpcport=1",
             "parse error on line 2: -rpcport=1, options in configuration file must be specified without "
             "leading -"},
            {"no value", "server", "parse error on line 1: server"},
            {"a negation without value", "nolisten",
             "parse error on line 1: nolisten, if you intended to specify a negated option, use nolisten=1 "
             "instead"},
            {"a hash within a password", "rpcpassword=ab#cd",
             "parse error on line 1, using # in rpcpassword can be ambiguous and should be avoided"},
        };
        for (const Case& c : kCases) {
            SUBCASE(c.name) {
                const auto file = parse_config(c.text, "x.conf");
                REQUIRE_FALSE(file);
                CHECK(file.error().context == c.error);
            }
        }
    }

    TEST_CASE("a missing file, a directory and an endless file are told apart") {
        const test::TemporaryDirectory directory;
        CHECK(read_config(directory.path() / "none").error().code == Errc::not_found);
        CHECK(read_config(directory.path()).error().context.ends_with("is a directory."));
        CHECK(read_config(directory.write("big.conf", std::string(5 << 20, '#'))).error().code ==
              Errc::limit);
        CHECK(read_config("/dev/zero").error().context.ends_with("is not a regular file."));
        CHECK(read_config(directory.write("a.conf", "a=1\n"))->entries.size() == 1);
    }
}
