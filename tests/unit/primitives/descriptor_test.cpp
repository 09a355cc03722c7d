// SPDX-License-Identifier: MIT
#include "primitives/descriptor.hpp"

#include "base/hex.hpp"
#include "primitives/address.hpp"
#include "primitives/public_key.hpp"
#include "primitives/script.hpp"
#include "primitives/sha256.hpp"
#include "unit/primitives/params.hpp"
#include "unit/primitives/vectors.hpp"

#include <doctest/doctest.h>

#include <sstream>

using namespace blockpub;
using namespace blockpub::test;

TEST_SUITE_BEGIN("primitives.descriptor");

namespace {

// The group's generator and its first multiples.
const std::string kG = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";
const std::string kG2 = "02c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee5";
const std::string kG3 = "02f9308a019258c31049344f85f89d5229b531c845836f99b08601f113bce036f9";
const std::string kGUncompressed =
    "0479be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798483ada7726a3c4655da4fbfc0e1108a8fd17b4"
    "48a6855419"
    "9c47d08ffb10d4b8";
const std::string kGHybrid = "06" + kGUncompressed.substr(2);
const std::string kGX = kG.substr(2);

std::string script_of(const std::string& descriptor) {
    const auto script = descriptor_to_script(descriptor, kMain);
    if (!script) return "error: " + script.error().context;
    return encode_hex(*script);
}

std::string hash160_hex(const std::string& hex) {
    return encode_hex(hash160(*decode_hex(hex)));
}
std::string sha256_hex(const std::string& hex) {
    return encode_hex(sha256(*decode_hex(hex)));
}

}  // namespace

TEST_CASE("checksums are the node's, and its descriptors give its scripts") {
    std::istringstream lines(vectors::read_file(vectors::directory() / "scripts.txt"));
    std::string script_hex, type, address, descriptor;
    int expanded = 0;
    while (lines >> script_hex >> type >> address >> descriptor) {
        CAPTURE(descriptor);
        const std::size_t hash = descriptor.find('#');
        REQUIRE(hash != std::string::npos);
        CHECK(descriptor_checksum(descriptor.substr(0, hash)) == descriptor.substr(hash + 1));
        const auto script = descriptor_to_script(descriptor, kRegtest);
        // Two that a node writes and does not read: an empty script, and a bare multisig of 15 keys.
        if (script_hex == "-" || descriptor.starts_with("multi(8,")) {
            CHECK_FALSE(script);
            continue;
        }
        REQUIRE(script);
        CHECK(encode_hex(*script) == script_hex);
        const auto without_checksum = descriptor_to_script(descriptor.substr(0, hash), kRegtest);
        REQUIRE(without_checksum);
        CHECK(*without_checksum == *script);
        ++expanded;
    }
    CHECK(expanded > 40);
}

TEST_CASE("each function gives its script") {
    const std::string multi =
        "51"
        "21" +
        kG2 + "21" + kG + "52ae";
    const std::string sorted =
        "51"
        "21" +
        kG + "21" + kG2 + "52ae";
    CHECK(script_of("raw(6A0102)") == "6a0102");
    CHECK(script_of("addr(1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa)") ==
          "76a91462e907b15cbf27d5425399ebf6f0fb50ebb88f1888ac");
    CHECK(script_of("pk(" + kG + ")") == "21" + kG + "ac");
    CHECK(script_of("pk(" + kGUncompressed + ")") == "41" + kGUncompressed + "ac");
    CHECK(script_of("pkh(" + kG + ")") == "76a914751e76e8199196d454941c45d1b3a323f1433bd688ac");
    CHECK(script_of("pkh(" + kGUncompressed + ")") == "76a91491b24bf9f5288532960ac687abb035127b1d28a588ac");
    CHECK(script_of("wpkh(" + kG + ")") == "0014751e76e8199196d454941c45d1b3a323f1433bd6");
    CHECK(script_of("sh(wpkh(" + kG + "))") == "a914bcfeb728b584253d5f3f70bcb780e9ef218a68f487");
    CHECK(script_of("multi(1," + kG2 + "," + kG + ")") == multi);
    CHECK(script_of("sortedmulti(1," + kG2 + "," + kG + ")") == sorted);
    CHECK(script_of("multi(+1," + kG2 + "," + kG + ")") == multi);
    CHECK(script_of("sh(multi(1," + kG2 + "," + kG + "))") == "a914" + hash160_hex(multi) + "87");
    CHECK(script_of("wsh(multi(1," + kG2 + "," + kG + "))") == "0020" + sha256_hex(multi));
    CHECK(script_of("sh(wsh(sortedmulti(1," + kG2 + "," + kG + ")))") ==
          "a914" + hash160_hex("0020" + sha256_hex(sorted)) + "87");
    CHECK(script_of("wsh(pk(" + kG + "))") == "0020" + sha256_hex("21" + kG + "ac"));
    CHECK(script_of("wsh(pkh(" + kG + "))") == "0020" + sha256_hex("76a914" + hash160_hex(kG) + "88ac"));
    CHECK(script_of("sh(pk(" + kGUncompressed + "))") ==
          "a914" + hash160_hex("41" + kGUncompressed + "ac") + "87");
    CHECK(script_of("rawtr(" + kGX + ")") == "5120" + kGX);
    CHECK(script_of("rawtr(" + kG + ")") == "5120" + kGX);
    CHECK(script_of("rawtr(03" + kGX + ")") == "5120" + kGX);
}

TEST_CASE("combo gives every form of a key, and pays to its hash where one script is wanted") {
    const auto scripts = expand_descriptor("combo(" + kG + ")", kMain);
    REQUIRE(scripts);
    REQUIRE(scripts->size() == 4);
    const std::string functions[] = {"pk", "pkh", "wpkh", "sh(wpkh"};
    for (std::size_t i = 0; i < scripts->size(); ++i) {
        const std::string closing = i == 3 ? "))" : ")";
        CHECK(encode_hex((*scripts)[i].script) == script_of(functions[i] + "(" + kG + closing));
        CHECK((*scripts)[i].inferred == functions[i] + "([751e76e8]" + kG + closing);
    }
    CHECK(script_of("combo(" + kG + ")") == script_of("wpkh(" + kG + ")"));
    const auto uncompressed = expand_descriptor("combo(" + kGUncompressed + ")", kMain);
    REQUIRE(uncompressed);
    CHECK(uncompressed->size() == 2);
    CHECK(script_of("combo(" + kGUncompressed + ")") == script_of("pkh(" + kGUncompressed + ")"));
    CHECK(script_of("sh(combo(" + kG + "))") == "error: Can only have combo() at top level");
}

TEST_CASE("what is inferred of a script has the keys' fingerprints, and multi for sortedmulti") {
    const auto inferred = [](const std::string& descriptor) {
        const auto scripts = expand_descriptor(descriptor, kMain);
        REQUIRE(scripts);
        REQUIRE(scripts->size() == 1);
        return scripts->front().inferred;
    };
    const std::string g = "[751e76e8]" + kG;
    const std::string g2 = "[" + hash160_hex(kG2).substr(0, 8) + "]" + kG2;
    CHECK(inferred("pk(" + kG + ")") == "pk(" + g + ")");
    CHECK(inferred("pkh(" + kGUncompressed + ")") == "pkh([91b24bf9]" + kGUncompressed + ")");
    CHECK(inferred("multi(2," + kG2 + "," + kG + ")") == "multi(2," + g2 + "," + g + ")");
    CHECK(inferred("sh(wsh(sortedmulti(+1," + kG2 + "," + kG + ")))") ==
          "sh(wsh(multi(1," + g + "," + g2 + ")))");
    CHECK(inferred("rawtr(" + kGX + ")") == "rawtr([751e76e8]" + kGX + ")");
    CHECK(inferred("rawtr(03" + kGX + ")") ==
          "rawtr([" + hash160_hex("03" + kGX).substr(0, 8) + "]" + kGX + ")");
    CHECK(inferred("raw(51)").empty());
    CHECK(inferred("addr(1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa)").empty());
}

TEST_CASE("wrong descriptors are refused in Core's words") {
    struct Case {
        const char* name;
        std::string descriptor;
        std::string error;
    };
    const auto keys = [](int count, const std::string& key) {
        std::string out;
        for (int i = 0; i < count; ++i) out += "," + key;
        return out;
    };
    const std::string off_curve = "020000000000000000000000000000000000000000000000000000000000000005";
    const Case cases[] = {
        {"nothing", "", "'' is not a valid descriptor function"},
        {"a bare address", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",
         "'1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa' is not a valid descriptor function"},
        {"an unknown function", "nope(00)", "'nope(00)' is not a valid descriptor function"},
        {"without the last bracket", "pk(" + kG, "'pk(" + kG + "' is not a valid descriptor function"},
        {"something behind it", "raw(00),raw(01)", "',raw(01)' behind the descriptor"},
        {"something behind the inner script", "sh(pk(" + kG + "),pk(" + kG + "))",
         "',pk(" + kG + ")' behind the script of sh()"},
        {"raw without hex", "raw(xyz)", "Raw script is not hex"},
        {"raw with an odd digit", "raw(0)", "Raw script is not hex"},
        {"raw of nothing", "raw()", "Raw script is not hex"},
        {"an address of another chain", "addr(bcrt1pfeesnyr2tx)", "Address is not valid"},
        {"no key", "pk()", "pk(): No key provided"},
        {"a key that is not hex", "pkh(zz)", "pkh(): key 'zz' is not valid"},
        {"a key of 32 bytes", "pk(" + kGX + ")", "pk(): Pubkey '" + kGX + "' is invalid"},
        {"a key that is not on the curve", "wpkh(" + off_curve + ")",
         "wpkh(): Pubkey '" + off_curve + "' is invalid"},
        {"a hybrid key", "pk(" + kGHybrid + ")", "pk(): Hybrid public keys are not allowed"},
        {"an uncompressed key in wpkh", "wpkh(" + kGUncompressed + ")",
         "wpkh(): Uncompressed keys are not allowed"},
        {"an uncompressed key in wsh", "wsh(pk(" + kGUncompressed + "))",
         "pk(): Uncompressed keys are not allowed"},
        {"an uncompressed key in a multisig in sh(wsh())", "sh(wsh(multi(1," + kGUncompressed + ")))",
         "Multi: Uncompressed keys are not allowed"},
        {"two keys in rawtr", "rawtr(" + kGX + "," + kGX + ")", "rawtr(): only one key expected."},
        {"an uncompressed key in rawtr", "rawtr(" + kGUncompressed + ")",
         "rawtr(): Uncompressed keys are not allowed"},
        {"a key of 32 bytes that is not on the curve", "rawtr(" + off_curve.substr(2) + ")",
         "rawtr(): Pubkey '" + off_curve.substr(2) + "' is invalid"},
        {"a threshold of words", "multi(one," + kG + ")", "Multi threshold 'one' is not valid"},
        {"a threshold that is negative", "multi(-1," + kG + ")", "Multi threshold '-1' is not valid"},
        {"a threshold beyond 32 bits", "multi(4294967296," + kG + ")",
         "Multi threshold '4294967296' is not valid"},
        {"a threshold of none", "multi(0," + kG + ")", "Multisig threshold cannot be 0, must be at least 1"},
        {"a threshold above the number of keys", "multi(2," + kG + ")",
         "Multisig threshold cannot be larger than the number of keys; threshold is 2 but only 1 keys "
         "specified"},
        {"no keys", "multi(1)", "Cannot have 0 keys in multisig; must have between 1 and 20 keys, inclusive"},
        {"21 keys", "wsh(multi(1" + keys(21, kG) + "))",
         "Cannot have 21 keys in multisig; must have between 1 and 20 keys, inclusive"},
        {"four bare keys", "multi(1" + keys(4, kG) + ")",
         "Cannot have 4 pubkeys in bare multisig; only at most 3 pubkeys"},
        {"16 keys in sh", "sh(multi(1" + keys(16, kG) + "))",
         "P2SH script is too large, 547 bytes is larger than 520 bytes"},
        {"8 uncompressed keys in sh", "sh(multi(1" + keys(8, kGUncompressed) + "))",
         "P2SH script is too large, 531 bytes is larger than 520 bytes"},
        {"sh in sh", "sh(sh(pk(" + kG + ")))", "Can only have sh() at top level"},
        {"sh in wsh", "wsh(sh(pk(" + kG + ")))", "Can only have sh() at top level"},
        {"wsh in wsh", "wsh(wsh(pk(" + kG + ")))", "Can only have wsh() at top level or inside sh()"},
        {"wpkh in wsh", "wsh(wpkh(" + kG + "))", "Can only have wpkh() at top level or inside sh()"},
        {"addr in sh", "sh(addr(1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa))", "Can only have addr() at top level"},
        {"raw in sh", "sh(raw(51))", "Can only have raw() at top level"},
        {"rawtr in wsh", "wsh(rawtr(" + kGX + "))", "Can only have rawtr at top level"},
        {"a key alone in sh", "sh(" + kG + ")", "A function is needed within P2SH"},
        {"a key alone in wsh", "wsh(" + kG + ")", "A function is needed within P2WSH"},
        {"two checksums", "raw(51)#8lvh9jxk#8lvh9jxk", "Multiple '#' symbols"},
        {"a checksum of seven", "raw(51)#8lvh9jx", "Expected 8 character checksum, not 7 characters"},
        {"an empty checksum", "raw(51)#", "Expected 8 character checksum, not 0 characters"},
        {"a wrong checksum", "raw(52)#8lvh9jxk",
         "Provided checksum '8lvh9jxk' does not match computed checksum '" + *descriptor_checksum("raw(52)") +
             "'"},
        {"a character that no descriptor has", "raw(51)\n", "Invalid characters in payload"},
    };
    for (const Case& c : cases) {
        SUBCASE(c.name) {
            const auto script = descriptor_to_script(c.descriptor, kMain);
            REQUIRE_FALSE(script);
            CHECK(script.error().code == Errc::invalid_argument);
            CHECK(script.error().context == c.error);
        }
    }
}

TEST_CASE("the limits themselves are allowed") {
    const auto keys = [](int count, const std::string& key) {
        std::string out;
        for (int i = 0; i < count; ++i) out += "," + key;
        return out;
    };
    CHECK(descriptor_to_script("multi(3" + keys(3, kG) + ")", kMain));
    CHECK(descriptor_to_script("sh(multi(15" + keys(15, kG) + "))", kMain));
    CHECK(descriptor_to_script("sh(multi(7" + keys(7, kGUncompressed) + "))", kMain));
    const auto twenty = descriptor_to_script("wsh(multi(20" + keys(20, kG) + "))", kMain);
    REQUIRE(twenty);
    // 20 has no instruction of its own: it is a push of one byte, before and behind the keys.
    std::string inner = "0114";
    for (int i = 0; i < 20; ++i) inner += "21" + kG;
    CHECK(encode_hex(*twenty) == "0020" + sha256_hex(inner + "0114ae"));
}

TEST_CASE("what Core takes and blockpub does not is refused in one sentence") {
    const char* xpub =
        "xpub661MyMwAqRbcFtXgS5sYJABqqG9YLmC4Q1Rdap9gSE8NqtwybGhePY2gZ29ESFjqJoCu1Rupje8YtGqsefD265TMg7usUDFd"
        "p6W1EGMcet8";
    const std::string sentence =
        " not supported here: give raw(), addr(), pk(), pkh(), wpkh(), sh(), wsh(), multi(), combo() or "
        "rawtr() with plain hexadecimal keys";
    struct Case {
        const char* name;
        std::string descriptor;
        std::string begins;
    };
    const Case cases[] = {
        {"tr", "tr(" + kGX + ")", "tr() is"},
        {"an extended key", std::string("pkh(") + xpub + ")", "A secret or extended key is"},
        {"a derivation path", std::string("wpkh(") + xpub + "/0/*)", "A key with a derivation path is"},
        {"an origin", "pkh([d34db33f/44'/0'/0']" + kG + ")", "A key with an origin is"},
        {"a secret key", "pk(5KYZdUEo39z3FPrtuX2QbbwGnNP5zTd7yyr2SC1j299sBCnWjss)",
         "A secret or extended key is"},
        {"miniscript", "wsh(and_v(v:pk(" + kG + "),older(10)))", "Miniscript is"},
        {"miniscript with a wrapper", "wsh(c:pk_k(" + kG + "))", "Miniscript is"},
        {"a tapscript multisig", "tr(" + kGX + ",multi_a(1," + kG + "))", "tr() is"},
    };
    for (const Case& c : cases) {
        SUBCASE(c.name) {
            const auto script = descriptor_to_script(c.descriptor, kMain);
            REQUIRE_FALSE(script);
            CHECK(script.error().code == Errc::unsupported);
            CHECK(script.error().context == c.begins + sentence);
        }
    }
}

TEST_CASE("brackets without end neither recurse nor hang") {
    std::string deep;
    for (int i = 0; i < 100'000; ++i) deep += "sh(";
    CHECK_FALSE(descriptor_to_script(deep, kMain));
    CHECK_FALSE(descriptor_to_script(deep + std::string(100'000, ')'), kMain));
    std::string wide = "wsh(multi(1";
    for (int i = 0; i < 1'000; ++i) wide += "," + kG;
    CHECK_FALSE(descriptor_to_script(wide + "))", kMain));
}

TEST_CASE("public keys are points of the curve") {
    struct Case {
        const char* name;
        std::string key;
        bool valid;
    };
    const std::string prime = "fffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2f";
    const Case cases[] = {
        {"even", kG, true},
        {"odd", "03" + kGX, true},
        {"uncompressed", kGUncompressed, true},
        {"hybrid", kGHybrid, false},
        {"uncompressed with another y", kGUncompressed.substr(0, 129) + "9", false},
        {"nothing", "", false},
        {"32 bytes", kGX, false},
        {"another first byte", "05" + kGX, false},
        {"uncompressed in 33 bytes", "04" + kGX, false},
        {"x is zero", "02" + std::string(64, '0'), false},
        {"x is one", "02" + std::string(63, '0') + "1", true},
        {"x is five", "02" + std::string(63, '0') + "5", false},
        {"x is the prime", "02" + prime, false},
        {"x is the prime and one", "02" + prime.substr(0, 62) + "30", false},
        {"y is the prime", "04" + std::string(63, '0') + "1" + prime, false},
    };
    for (const Case& c : cases) {
        SUBCASE(c.name) {
            CHECK(is_valid_public_key(*decode_hex(c.key)) == c.valid);
        }
    }
}
