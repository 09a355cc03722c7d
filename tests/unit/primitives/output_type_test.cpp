// SPDX-License-Identifier: MIT
#include "primitives/output_type.hpp"

#include "base/hex.hpp"
#include "primitives/signature_encoding.hpp"
#include "unit/primitives/vectors.hpp"

#include <doctest/doctest.h>

#include <sstream>
#include <string>

using namespace blockpub;

namespace {

constexpr const char* kKey = "02e2a7b01fadbab713e0e021bfb16b6792821723f7a0860abff1f178512bd0c71a";

std::string repeated(const char* text, std::size_t times) {
    std::string out;
    for (std::size_t i = 0; i < times; ++i) out += text;
    return out;
}

std::string_view type_of(const std::string& hex) {
    const auto script = decode_hex(hex);
    REQUIRE(script);
    return output_type_name(output_type(*script));
}

}  // namespace

TEST_SUITE_BEGIN("primitives.output_type");

TEST_CASE("every recorded script has the type that the node gave it") {
    std::istringstream lines(vectors::read_file(vectors::directory() / "scripts.txt"));
    std::size_t rows = 0;
    for (std::string line; std::getline(lines, line); ++rows) {
        std::istringstream words(line);
        std::string script;
        std::string type;
        words >> script >> type;
        CAPTURE(script);
        CHECK(type_of(script == "-" ? "" : script) == type);
    }
    CHECK(rows > 50);
}

TEST_CASE("scripts at the edges of the forms") {
    struct Case {
        const char* name;
        std::string script;
        const char* type;
    };
    const std::string key = "21" + std::string(kKey);
    const Case cases[] = {
        {"an anchor", "51024e73", "anchor"},
        {"two bytes that are no anchor", "51024e74", "witness_unknown"},
        {"version 1 of 33 bytes", "5121" + repeated("00", 33), "witness_unknown"},
        {"version 16 of 40 bytes", "6028" + repeated("00", 40), "witness_unknown"},
        {"version 16 of 41 bytes", "6029" + repeated("00", 41), "nonstandard"},
        {"version 0 of 21 bytes", "0015" + repeated("00", 21), "nonstandard"},
        {"OP_RETURN alone", "6a", "nulldata"},
        {"OP_RETURN and a small number", "6a60", "nulldata"},
        {"OP_RETURN and an instruction", "6a61", "nonstandard"},
        {"OP_RETURN and a push cut short", "6a02ff", "nonstandard"},
        {"a hybrid key", "4106" + repeated("11", 64) + "ac", "pubkey"},
        {"a compressed key's size, an uncompressed one's head", "2104" + repeated("11", 32) + "ac",
         "nonstandard"},
        {"1 of 1", "51" + key + "51ae", "multisig"},
        {"2 of 1", "52" + key + "51ae", "nonstandard"},
        {"0 of 1", "00" + key + "51ae", "nonstandard"},
        {"16 of 16", "60" + repeated(key.c_str(), 16) + "60ae", "multisig"},
        {"17 of 17", "0111" + repeated(key.c_str(), 17) + "0111ae", "multisig"},
        {"20 of 20", "0114" + repeated(key.c_str(), 20) + "0114ae", "multisig"},
        {"20 of 21", "0114" + repeated(key.c_str(), 21) + "0115ae", "nonstandard"},
        {"one, pushed as a byte", "0101" + key + "51ae", "nonstandard"},
        {"a key by PUSHDATA1", "514c" + key + "51ae", "multisig"},
        {"something behind it", "51" + key + "51aeae", "nonstandard"},
        {"a count too few", "51" + key + "52ae", "nonstandard"},
        {"the instruction alone", "ae", "nonstandard"},
    };
    for (const Case& c : cases) {
        CAPTURE(c.name);
        CHECK(type_of(c.script) == c.type);
    }
}

TEST_CASE("a signature is named by its hash type, and nothing else is") {
    const std::string plain = "3006020101020101";
    struct Case {
        const char* name;
        std::string bytes;
        const char* hash_type;
    };
    const Case cases[] = {
        {"all", plain + "01", "ALL"},
        {"none", plain + "02", "NONE"},
        {"single", plain + "03", "SINGLE"},
        {"all, anyone can pay", plain + "81", "ALL|ANYONECANPAY"},
        {"none, anyone can pay", plain + "82", "NONE|ANYONECANPAY"},
        {"single, anyone can pay", plain + "83", "SINGLE|ANYONECANPAY"},
        {"an undefined hash type", plain + "04", ""},
        {"hash type zero", plain + "00", ""},
        {"a negative r", "300602018102010101", ""},
        {"a negative s", "300602010102018101", ""},
        {"an r with a zero too many", "30070202000102010101", ""},
        {"an r with the zero that it needs", "30070202008102010101", "ALL"},
        {"an empty r", "3005020002010101", ""},
        {"a wrong total", "300702010102010101", ""},
        {"a wrong tag", "310602010102010101", ""},
        {"an r of another type", "300603010102010101", ""},
        {"nothing", "", ""},
        {"an r longer than all", "3006024001020101", ""},
    };
    for (const Case& c : cases) {
        CAPTURE(c.name);
        CHECK(signature_hash_name(*decode_hex(c.bytes)) == c.hash_type);
    }
}

TEST_SUITE_END();
