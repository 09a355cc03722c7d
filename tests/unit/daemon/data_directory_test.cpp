// SPDX-License-Identifier: MIT
#include "daemon/data_directory.hpp"

#include "daemon/descriptors.hpp"
#include "temporary_directory.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

using namespace blockpub;

namespace {

NodeOptions only_in(const std::filesystem::path& directory) {
    NodeOptions options = default_options(chain_params(ChainKind::regtest), directory);
    options.datadir_given = true;
    return options;
}

}  // namespace

TEST_SUITE("daemon.data_directory") {
    TEST_CASE("the chain's directory is made") {
        const test::TemporaryDirectory directory;
        REQUIRE(DataDirectory::claim(only_in(directory.path())));
        CHECK(std::filesystem::is_directory(directory.path() / "regtest"));
    }

    TEST_CASE("a directory asked for must be there, the default one is made") {
        const test::TemporaryDirectory directory;
        auto options = only_in(directory.path() / "none");
        const auto refused = DataDirectory::claim(options);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().context.find("does not exist") != std::string::npos);
        CHECK_FALSE(std::filesystem::exists(directory.path() / "none"));
        options.datadir_given = false;
        CHECK(DataDirectory::claim(options));
    }

    TEST_CASE("a directory of bitcoind's is refused, and left as it was") {
        for (const char* file :
             {"blocks/blk00000.dat", "blocks/blk04711.dat", "blocks/rev00001.dat", "blocks/xor.dat",
              "blocks/index/CURRENT", "chainstate/CURRENT", "peers.dat", "regtest/chainstate/CURRENT",
              "regtest/blocks/blk00000.dat", "regtest/bitcoind.pid"}) {
            CAPTURE(file);
            const test::TemporaryDirectory directory;
            directory.write(file, "");
            const auto refused = DataDirectory::claim(only_in(directory.path()));
            REQUIRE_FALSE(refused);
            CHECK(refused.error().context.find("is a bitcoind data directory") != std::string::npos);
            CHECK(refused.error().context.find("-importblocks=") != std::string::npos);
            CHECK_FALSE(std::filesystem::exists(directory.path() / "regtest/blockpubd.lock"));
        }
    }

    TEST_CASE("a configuration file of bitcoind's alone does not make it bitcoind's directory") {
        const test::TemporaryDirectory directory;
        directory.write("bitcoin.conf", "");
        CHECK(DataDirectory::claim(only_in(directory.path())));
    }

    TEST_CASE("a directory is held by one, by whatever name it is asked for, until it is let go") {
        const test::TemporaryDirectory directory;
        const test::TemporaryDirectory elsewhere;
        std::filesystem::create_directory_symlink(directory.path(), elsewhere.path() / "alias");
        {
            const auto first = DataDirectory::claim(only_in(directory.path()));
            REQUIRE(first);
            for (const auto& path : {directory.path(), elsewhere.path() / "alias"}) {
                const auto second = DataDirectory::claim(only_in(path));
                REQUIRE_FALSE(second);
                CHECK(second.error().code == Errc::busy);
                CHECK(second.error().context.find(path.string()) != std::string::npos);
            }
        }
        CHECK(DataDirectory::claim(only_in(directory.path())));
    }

    TEST_CASE("the process id stands in its file for as long as it holds") {
        const test::TemporaryDirectory directory;
        const auto path = directory.path() / "x.pid";
        {
            const auto pid = PidFile::write(path);
            REQUIRE(pid);
            CHECK(test::file_text(path) == std::to_string(::getpid()) + "\n");
        }
        CHECK_FALSE(std::filesystem::exists(path));
        CHECK(PidFile::write(directory.path() / "none/x.pid").error().context.find("none/x.pid") !=
              std::string::npos);
    }
}

TEST_SUITE("daemon.descriptors") {
    TEST_CASE("all descriptors are shared out, and no share is beyond the limit") {
        for (const std::size_t limit : {256, 257, 300, 1024, 4096, 65536}) {
            CAPTURE(limit);
            const auto budget = share_descriptors(limit, 128);
            REQUIRE(budget);
            CHECK(budget->base + budget->segments + budget->http + budget->zmq == limit);
            CHECK(budget->segments == 128);
            CHECK(budget->http >= 16);
            CHECK(budget->zmq >= 16);
            CHECK(budget->text().find(std::to_string(limit)) != std::string::npos);
        }
    }

    TEST_CASE("peers have a third of what is shared at most") {
        const auto few = share_descriptors(1024, 128, 125);
        REQUIRE(few);
        CHECK(few->peers == 125);
        CHECK(few->base + few->segments + few->http + few->zmq + few->peers == 1024);
        const auto many = share_descriptors(1024, 128, 5000);
        REQUIRE(many);
        CHECK(many->peers == (1024 - 128 - many->base) / 3);
        CHECK(many->base + many->segments + many->http + many->zmq + many->peers == 1024);
    }

    TEST_CASE("a limit too low is refused with the remedy") {
        const auto refused = share_descriptors(255, 128);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().context.find("ulimit -n") != std::string::npos);
        CHECK(share_descriptors(255, 64));
    }

    TEST_CASE("raising never lowers") {
        const std::size_t first = raise_descriptor_limit();
        CHECK(first > 0);
        CHECK(raise_descriptor_limit() == first);
    }
}
