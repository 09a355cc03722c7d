// SPDX-License-Identifier: MIT
#include "source/import_plan.hpp"

#include "support/regtest_params.hpp"
#include "unit/source/block_file_bytes.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

using namespace blockpub;
using namespace blockpub::test;

namespace {
bool mentions(const Error& error, const std::string& text) {
    return error.context.find(text) != std::string::npos;
}
}  // namespace

TEST_SUITE("source.import_plan") {
    TEST_CASE("block files are taken in the order of their numbers, under the directory's key") {
        const TempDirectory directory;
        for (const char* name :
             {"blk00010.dat", "blk00002.dat", "blk100000.dat", "blk99999.dat", "rev00001.dat", "blk0001.dat",
              "blk00003.dat.tmp", "blk0000x.dat", "xblk00001.dat"}) {
            directory.write(name, Bytes(3, 0));
        }
        directory.write("xor.dat", hex("0102030405060708"));
        const auto files = list_block_files(directory.path());
        REQUIRE(files);
        std::vector<std::string> names;
        for (const auto& file : *files) {
            names.push_back(file.path.filename().string());
            CHECK(file.size == 3);
            CHECK(file.key.hex() == "0102030405060708");
        }
        CHECK(names ==
              std::vector<std::string>{"blk00002.dat", "blk00010.dat", "blk99999.dat", "blk100000.dat"});
    }

    TEST_CASE("a directory that cannot be what was meant is refused by name") {
        const TempDirectory directory;
        auto files = list_block_files(directory.path() / "absent");
        REQUIRE_FALSE(files);
        CHECK(files.error().code == Errc::not_found);
        CHECK(mentions(files.error(), "absent"));

        files = list_block_files(directory.path());
        REQUIRE_FALSE(files);
        CHECK(mentions(files.error(), "no blkNNNNN.dat"));
        CHECK_FALSE(mentions(files.error(), "did you mean"));

        directory.write("regtest/blocks/blk00000.dat", Bytes(3, 0));
        files = list_block_files(directory.path());
        REQUIRE_FALSE(files);
        CHECK(mentions(files.error(), "did you mean " + (directory.path() / "regtest/blocks").string()));

        const auto file = directory.write("file", Bytes(3, 0));
        files = list_block_files(file);
        REQUIRE_FALSE(files);
        CHECK(files.error().code == Errc::invalid_argument);

        directory.write("regtest/blocks/xor.dat", Bytes(7, 1));
        files = list_block_files(directory.path() / "regtest/blocks");
        REQUIRE_FALSE(files);
        CHECK(mentions(files.error(), "exactly 8 bytes"));
    }

    TEST_CASE("a file to load is plain, or under the key beside it, or refused by name") {
        const TempDirectory directory;
        const Bytes good = record(regtest().genesis, regtest().magic);
        const XorKey key = XorKey::from_hex("d0bf1e44da9e3c1f").value();
        const auto plain = directory.write("plain.dat", good);
        const auto keyed = directory.write("keyed.dat", obfuscated(good, key));
        CHECK(plan_load_file(plain, regtest()).value().key.is_plain());
        CHECK_FALSE(plan_load_file(keyed, regtest()));

        directory.write("xor.dat", key.bytes());
        CHECK(plan_load_file(plain, regtest()).value().key.is_plain());
        CHECK(plan_load_file(keyed, regtest()).value().key == key);
        CHECK(plan_load_file(keyed, regtest()).value().size == good.size());

        struct Case {
            const char* name;
            std::filesystem::path path;
            Errc code;
            const char* text;
        };
        const Bytes main_record = record(block_170(), chain_params(ChainKind::main).magic);
        REQUIRE(::mkfifo((directory.path() / "pipe").c_str(), 0600) == 0);
        for (const Case& c : {
                 Case{"absent", directory.path() / "absent", Errc::not_found, "absent"},
                 Case{"empty", directory.write("empty", {}), Errc::corrupt, "is empty"},
                 Case{"directory", directory.path(), Errc::invalid_argument, "is a directory"},
                 Case{"pipe", directory.path() / "pipe", Errc::invalid_argument, "not a regular file"},
                 Case{"text", directory.write("text", hex("68656c6c6f")), Errc::corrupt, "neither"},
                 Case{"main", directory.write("main", main_record), Errc::corrupt,
                      "of chain main, not of chain regtest"},
                 Case{"keyed main", directory.write("keyed main", obfuscated(main_record, key)),
                      Errc::corrupt, "of chain main, not of chain regtest"},
             }) {
            CAPTURE(c.name);
            const auto planned = plan_load_file(c.path, regtest());
            REQUIRE_FALSE(planned);
            CHECK(planned.error().code == c.code);
            CHECK(mentions(planned.error(), c.path.string()));
            CHECK(mentions(planned.error(), c.text));
            CHECK_FALSE(
                check_import_plan({.blocks_directory = {}, .load_files = {plain, c.path}}, regtest()));
        }
        CHECK(check_import_plan({.blocks_directory = {}, .load_files = {plain, keyed}}, regtest()));
        CHECK_FALSE(check_import_plan({.blocks_directory = directory.path(), .load_files = {}}, regtest()));
    }

    TEST_CASE("a directory of another chain is refused by name, also under a key") {
        const Bytes main_record = record(block_170(), chain_params(ChainKind::main).magic);
        for (const char* digits : {"0000000000000000", "d0bf1e44da9e3c1f"}) {
            CAPTURE(digits);
            const XorKey key = XorKey::from_hex(digits).value();
            const TempDirectory directory;
            directory.write("xor.dat", key.bytes());
            directory.write("blk00000.dat", obfuscated(main_record, key));
            const auto refused =
                check_import_plan({.blocks_directory = directory.path(), .load_files = {}}, regtest());
            REQUIRE_FALSE(refused);
            CHECK(mentions(refused.error(), "of chain main, not of chain regtest: give -chain=main"));
            CHECK(check_import_plan({.blocks_directory = directory.path(), .load_files = {}},
                                    chain_params(ChainKind::main)));
        }
        // Junk in front is passed over when the import comes to it.
        const TempDirectory directory;
        directory.write("blk00000.dat", hex("00112233445566778899"));
        CHECK(check_import_plan({.blocks_directory = directory.path(), .load_files = {}}, regtest()));
    }
}
