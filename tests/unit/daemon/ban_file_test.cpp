// SPDX-License-Identifier: MIT
#include "daemon/ban_file.hpp"

#include "temporary_directory.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

using namespace blockpub;

TEST_SUITE_BEGIN("daemon.ban_file");

namespace {

std::vector<BanList::Ban> some_bans() {
    return {{.target = *Subnet::parse("1.2.3.0/24"), .created = 1000, .until = 2000},
            {.target = *Subnet::parse("2001:db8::1"), .created = 1001, .until = std::int64_t{1} << 40}};
}

void write_text(const std::filesystem::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
}

}  // namespace

TEST_CASE("bans that are written are read again") {
    const test::TemporaryDirectory directory;
    const auto path = directory.path() / "banlist.json";
    REQUIRE(ban_file::write(path, some_bans()));
    const auto read = ban_file::read(path);
    REQUIRE(read);
    CHECK(*read == some_bans());
    REQUIRE(ban_file::write(path, {}));
    CHECK(ban_file::read(path)->empty());
    CHECK(std::distance(std::filesystem::directory_iterator(directory.path()), {}) == 1);
}

TEST_CASE("without a file there are no bans") {
    const test::TemporaryDirectory directory;
    const auto read = ban_file::read(directory.path() / "banlist.json");
    REQUIRE(read);
    CHECK(read->empty());
}

TEST_CASE("a file of bitcoind is read and written again, but for what bitcoind itself would leave out") {
    const auto entry = [](const std::string& address) {
        return "{\"version\":1,\"ban_created\":5,\"banned_until\":7,\"address\":\"" + address + "\"}";
    };
    const std::string onion = "pg6mmjiyjmcrsslvykfwnntlaru7p5svn6y2ymmju6nubxndf4pscryd.onion";
    const std::string i2p = "ukeu3k5oycgaauneqgtnvselmt4yemvoilkln7jpvamvfx7dnkdq.b32.i2p";
    const std::string cjdns = "fc00:1:2::3";
    const auto bans = ban_file::decode("{\n    \"_warning_\": \"some words\",\n    \"banned_nets\": [\n" +
                                       entry("1.2.3.4/32") + ",\n{\"version\": 2, \"another\": true}," +
                                       entry("somebody") + "," + entry(i2p) + "," + entry(onion) + "," +
                                       entry(cjdns) + "," + entry("fc00::/8") + "]\n}\n");
    REQUIRE(bans);
    REQUIRE(bans->size() == 5);
    CHECK(bans->front() == BanList::Ban{.target = *Subnet::parse("1.2.3.4"), .created = 5, .until = 7});
    CHECK((*bans)[3].target == *Subnet::parse("fc00:1:2::3/128"));
    // CJDNS addresses have no prefix length there.
    CHECK(ban_file::encode(*bans) == "{\"banned_nets\":[" + entry("1.2.3.4/32") + "," + entry(i2p) + "," +
                                         entry(onion) + "," + entry(cjdns) + "," + entry("fc00::/8") +
                                         "]}\n");
}

TEST_CASE("a damaged file is refused with its name and a remedy") {
    const test::TemporaryDirectory directory;
    const auto path = directory.path() / "banlist.json";
    for (const char* text : {"", "[]", "{}", "{\"banned_nets\": 3}", "{\"banned_nets\": [{}]}",
                             "{\"banned_nets\": [", "{\"banned_nets\": [{\"version\": 1}]}",
                             "{\"banned_nets\": [{\"version\": 1, \"ban_created\": \"5\", \"banned_until\": "
                             "7, \"address\": \"::\"}]}"}) {
        CAPTURE(text);
        write_text(path, text);
        const auto read = ban_file::read(path);
        REQUIRE_FALSE(read);
        CHECK(read.error().code == Errc::corrupt);
        CHECK(read.error().context.starts_with(path.string() + " is damaged: "));
        CHECK(read.error().context.find("remove it") != std::string::npos);
    }
}

TEST_CASE("a file that cannot be written leaves the old one in place") {
    const test::TemporaryDirectory directory;
    const auto path = directory.path() / "banlist.json";
    REQUIRE(ban_file::write(path, some_bans()));
    // A directory stands where the new file would be made.
    std::filesystem::create_directories(directory.path() / "banlist.json.new" / "x");
    const auto written = ban_file::write(path, {});
    REQUIRE_FALSE(written);
    CHECK(*ban_file::read(path) == some_bans());
}

TEST_SUITE_END();
