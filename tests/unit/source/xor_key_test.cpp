// SPDX-License-Identifier: MIT
#include "source/xor_key.hpp"

#include "unit/source/block_file_bytes.hpp"

#include <doctest/doctest.h>

using namespace blockpub;
using namespace blockpub::test;

TEST_SUITE("source.xor_key") {
    TEST_CASE("the key's place follows from the file offset, as in scenario 34") {
        const XorKey key = XorKey::from_hex("0102030405060708").value();
        struct Case {
            std::uint64_t offset;
            const char* stored;
        };
        for (const Case& c : {Case{0, "f8bcb7dd"}, Case{301, "ffb9bcd8"}}) {
            CAPTURE(c.offset);
            Bytes bytes = hex(c.stored);
            key.apply(bytes, c.offset);
            CHECK(bytes == hex("f9beb4d9"));
        }
    }

    TEST_CASE("every length and every offset give what byte by byte gives") {
        const XorKey key = XorKey::from_hex("d0bf1e44da9e3c1f").value();
        for (std::uint64_t offset = 0; offset < 20; ++offset) {
            for (std::size_t size = 0; size < 40; ++size) {
                Bytes bytes(size);
                for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(i * 7);
                Bytes expected = bytes;
                for (std::size_t i = 0; i < size; ++i) expected[i] ^= key.bytes()[(offset + i) % 8];
                key.apply(bytes, offset);
                CHECK(bytes == expected);
                if (size > 0) CHECK(key.at(offset) == key.bytes()[offset % 8]);
            }
        }
    }

    TEST_CASE("sixteen digits are a key, and nothing else is") {
        CHECK(XorKey::from_hex("00ff00ff00ff00FF").value().hex() == "00ff00ff00ff00ff");
        CHECK(XorKey::from_hex("0000000000000000").value().is_plain());
        for (const char* wrong :
             {"", "00", "00ff00ff00ff00f", "00ff00ff00ff00ff0", "00ff00ff00ff00fg", "0x00ff00ff00ff00"}) {
            CHECK_FALSE(XorKey::from_hex(wrong));
        }
        const auto random = XorKey::random();
        REQUIRE(random);
        CHECK_FALSE(random->is_plain());
    }

    TEST_CASE("xor.dat must hold eight bytes, or be absent") {
        const TempDirectory directory;
        CHECK(read_xor_key(directory.path()).value().is_plain());
        directory.write("xor.dat", hex("0102030405060708"));
        CHECK(read_xor_key(directory.path()).value().hex() == "0102030405060708");
        for (const std::size_t size : {0, 7, 9, 100}) {
            directory.write("xor.dat", Bytes(size, 1));
            const auto key = read_xor_key(directory.path());
            REQUIRE_FALSE(key);
            CHECK(key.error().code == Errc::corrupt);
            CHECK(key.error().context.find((directory.path() / "xor.dat").string()) != std::string::npos);
        }
    }
}
