// SPDX-License-Identifier: MIT
#include "primitives/script.hpp"

#include "base/hex.hpp"

#include <doctest/doctest.h>

using namespace blockpub;

TEST_SUITE_BEGIN("primitives.script");

TEST_CASE("data is pushed in the shortest form for its size") {
    struct Case {
        const char* name;
        std::size_t size;
        const char* head;
    };
    static constexpr Case kCases[] = {
        {"nothing", 0, "00"},
        {"one byte", 1, "01"},
        {"75 bytes", 75, "4b"},
        {"76 bytes", 76, "4c4c"},
        {"255 bytes", 255, "4cff"},
        {"256 bytes", 256, "4d0001"},
        {"65535 bytes", 65535, "4dffff"},
        {"65536 bytes", 65536, "4e00000100"},
    };
    for (const Case& c : kCases) {
        SUBCASE(c.name) {
            const std::vector<std::uint8_t> data(c.size, 0xab);
            Script script{0x51};
            push_data(script, data);
            CHECK(encode_hex(script) == "51" + std::string(c.head) + encode_hex(data));
        }
    }
}

TEST_CASE("numbers are pushed as CScript pushes them") {
    struct Case {
        std::int64_t number;
        const char* script;
    };
    static constexpr Case kCases[] = {
        {0, "00"},
        {1, "51"},
        {16, "60"},
        {-1, "4f"},
        {17, "0111"},
        {127, "017f"},
        {128, "028000"},
        {255, "02ff00"},
        {256, "020001"},
        {-2, "0182"},
        {-127, "01ff"},
        {-128, "028080"},
        {-255, "02ff80"},
        {32767, "02ff7f"},
        {32768, "03008000"},
        {-32768, "03008080"},
        {8388608, "0400008000"},
        {486604799, "04ffff001d"},
        {2147483647, "04ffffff7f"},
        {2147483648, "050000008000"},
        {INT64_MAX, "08ffffffffffffff7f"},
        {INT64_MIN, "09000000000000008080"},
    };
    for (const Case& c : kCases) {
        CAPTURE(c.number);
        Script script;
        push_number(script, c.number);
        CHECK(encode_hex(script) == c.script);
    }
}

TEST_CASE("signature operations are counted as Core counts them") {
    struct Case {
        const char* name;
        const char* script;
        unsigned rough;
        unsigned accurate;
    };
    static constexpr Case kCases[] = {
        {"nothing", "", 0, 0},
        {"CHECKSIG and CHECKSIGVERIFY", "acad", 2, 2},
        {"CHECKMULTISIG alone", "ae", 20, 20},
        {"three keys", "53ae", 20, 3},
        {"sixteen keys, VERIFY", "60af", 20, 16},
        {"a number that is a push", "0111ae", 20, 20},
        {"OP_0 keys", "00ae", 20, 20},
        {"something between the number and the operation", "5361ae", 20, 20},
        {"within a push", "02acac", 0, 0},
        {"within PUSHDATA1", "4c02acac", 0, 0},
        {"behind PUSHDATA1", "4c01acac", 1, 1},
        {"behind PUSHDATA2", "4d0100acac", 1, 1},
        {"behind PUSHDATA4", "4e01000000acac", 1, 1},
        {"behind an empty PUSHDATA1", "4c00ac", 1, 1},
        {"before a push that is cut short", "ac02ac", 1, 1},
        {"before PUSHDATA1 without its size", "ac4c", 1, 1},
        {"before PUSHDATA2 with half its size", "ac4dac", 1, 1},
        {"before PUSHDATA4 that is cut short", "ac4effffffffac", 1, 1},
        {"behind an unknown operation", "ffac", 1, 1},
        {"CHECKSIGADD does not count", "ba", 0, 0},
    };
    for (const Case& c : kCases) {
        SUBCASE(c.name) {
            const auto script = decode_hex(c.script);
            REQUIRE(script);
            CHECK(count_sigops(*script, false) == c.rough);
            CHECK(count_sigops(*script, true) == c.accurate);
        }
    }
}
