// SPDX-License-Identifier: MIT
#include "query/script_json.hpp"

#include "base/hex.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace blockpub;

namespace {

std::string asm_of(const std::string& hex, bool name_hash_types = true) {
    std::string text;
    {
        TextAppender out(text);
        append_script_asm(out, *decode_hex(hex), name_hash_types);
    }
    return text;
}

std::string json_of(const std::string& hex, ChainKind chain) {
    std::string text;
    {
        TextAppender out(text);
        OutputScriptWriter(out, chain_params(chain)).append(*decode_hex(hex));
    }
    return text;
}

}  // namespace

TEST_SUITE_BEGIN("query.script_json");

TEST_CASE("scripts are disassembled as bitcoind does") {
    const std::string signature = "3006020101020101";
    struct Case {
        const char* name;
        std::string script;
        std::string text;
    };
    const Case cases[] = {
        {"nothing", "", ""},
        {"an empty push", "00", "0"},
        {"small numbers", "4f5160", "-1 1 16"},
        {"a push of up to four bytes is a number", "0180028000030000800400000080", "0 128 0 0"},
        {"the greatest and least of four bytes", "04ffffff7f04ffffffff", "2147483647 -2147483647"},
        {"five bytes are digits", "050102030405", "0102030405"},
        {"a push by a longer form than needed", "4c01054d0100054e0100000005", "5 5 5"},
        {"an empty push by PUSHDATA1", "4c00", "0"},
        {"a push cut short", "5102ff", "1 [error]"},
        {"a length cut short", "4d01", "[error]"},
        {"names of old and new instructions", "61b1b2b9ba",
         "OP_NOP OP_CHECKLOCKTIMEVERIFY "
         "OP_CHECKSEQUENCEVERIFY OP_NOP10 OP_CHECKSIGADD"},
        {"instructions that are none", "bbfeff", "OP_UNKNOWN OP_UNKNOWN OP_INVALIDOPCODE"},
        {"reserved words", "50898a6265667e",
         "OP_RESERVED OP_RESERVED1 OP_RESERVED2 OP_VER OP_VERIF "
         "OP_VERNOTIF OP_CAT"},
        {"a signature", "09" + signature + "83", signature + "[SINGLE|ANYONECANPAY]"},
        {"what looks like one behind OP_RETURN", "6a09" + signature + "01", "OP_RETURN " + signature + "01"},
    };
    for (const Case& c : cases) {
        CAPTURE(c.name);
        CHECK(asm_of(c.script) == c.text);
    }
    CHECK(asm_of("09" + signature + "01", false) == signature + "01");
}

TEST_CASE("a descriptor tells what can be told without keys") {
    struct Case {
        const char* name;
        const char* script;
        const char* expression;
    };
    static constexpr Case kCases[] = {
        {"an anchor is an address", "51024e73", R"("desc":"addr(bc1pfeessrawgf)#)"},
        {"a hybrid key is no key",
         "41061111111111111111111111111111111111111111111111111111111111111111"
         "1111111111111111111111111111111111111111111111111111111111111111ac",
         R"("desc":"raw(41061111)"},
        {"a taproot output off the curve is an address",
         "51200000000000000000000000000000000000000000000000000000000000000005", R"("desc":"addr(bc1p)"},
        {"a taproot output on the curve",
         "51200000000000000000000000000000000000000000000000000000000000000001",
         R"("desc":"rawtr(0000000000000000000000000000000000000000000000000000000000000001)#)"},
        {"a multisig with a hybrid key",
         "514106111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111"
         "111"
         "1111111111111111111111111111111111111111111151ae",
         R"("desc":"raw(51410611)"},
    };
    for (const Case& c : kCases) {
        CAPTURE(c.name);
        CHECK(json_of(c.script, ChainKind::main).find(c.expression) != std::string::npos);
    }
}

TEST_CASE("each chain has addresses of its own") {
    struct Case {
        ChainKind chain;
        const char* pubkeyhash;
        const char* scripthash;
        const char* witness;
    };
    // The hash of all zeros, and its program of version 0.
    static constexpr Case kCases[] = {
        {ChainKind::main, "1111111111111111111114oLvT2", "31h1vYVSYuKP6AhS86fbRdMw9XHieotbST",
         "bc1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq9e75rs"},
        {ChainKind::testnet3, "mfWxJ45yp2SFn7UciZyNpvDKrzbhyfKrY8", "2MsFDzHRUAMpjHxKyoEHU3aMCMsVtMqs1PV",
         "tb1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq0l98cr"},
        {ChainKind::testnet4, "mfWxJ45yp2SFn7UciZyNpvDKrzbhyfKrY8", "2MsFDzHRUAMpjHxKyoEHU3aMCMsVtMqs1PV",
         "tb1q"},
        {ChainKind::signet, "mfWxJ45yp2SFn7UciZyNpvDKrzbhyfKrY8", "2MsFDzHRUAMpjHxKyoEHU3aMCMsVtMqs1PV",
         "tb1q"},
        {ChainKind::regtest, "mfWxJ45yp2SFn7UciZyNpvDKrzbhyfKrY8", "2MsFDzHRUAMpjHxKyoEHU3aMCMsVtMqs1PV",
         "bcrt1q"},
    };
    const std::string zeros(40, '0');
    const auto has_address = [](const std::string& json, const std::string& address) {
        return json.find("\"address\":\"" + address) != std::string::npos;
    };
    for (const Case& c : kCases) {
        CHECK(has_address(json_of("76a914" + zeros + "88ac", c.chain), c.pubkeyhash));
        CHECK(has_address(json_of("a914" + zeros + "87", c.chain), c.scripthash));
        CHECK(has_address(json_of("0014" + zeros, c.chain), c.witness));
    }
}

TEST_CASE("a script that is met again is written as it was") {
    std::string text;
    std::vector<std::string> scripts;
    for (int i = 0; i < 300; ++i) {
        // Neighbours that differ in one byte, so that places are taken and given up.
        std::string hex = "0014" + std::string(38, '0');
        hex += "0123456789abcdef"[i / 16 % 16];
        hex += "0123456789abcdef"[i % 16];
        scripts.push_back(hex);
    }
    std::string wanted;
    {
        TextAppender out(text);
        OutputScriptWriter writer(out, chain_params(ChainKind::regtest));
        for (const int step : {1, 1, 7}) {
            for (std::size_t i = 0; i < scripts.size(); i += static_cast<std::size_t>(step)) {
                writer.append(*decode_hex(scripts[i]));
                writer.append(*decode_hex(scripts[i]));
                wanted += json_of(scripts[i], ChainKind::regtest);
                wanted += json_of(scripts[i], ChainKind::regtest);
            }
        }
    }
    CHECK(text == wanted);
}

TEST_SUITE_END();
