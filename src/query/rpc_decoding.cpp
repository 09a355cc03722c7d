// SPDX-License-Identifier: MIT
#include "base/ascii.hpp"
#include "base/hex.hpp"
#include "base/text_appender.hpp"
#include "primitives/address.hpp"
#include "primitives/bech32.hpp"
#include "primitives/bech32_errors.hpp"
#include "primitives/coin.hpp"
#include "primitives/descriptor.hpp"
#include "primitives/public_key.hpp"
#include "primitives/script.hpp"
#include "primitives/script_reader.hpp"
#include "primitives/sha256.hpp"
#include "query/rpc_lookup.hpp"
#include "query/script_json.hpp"
#include "query/transaction_json.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace blockpub {

namespace {

constexpr std::size_t kMaxElement = 520;    // MAX_SCRIPT_ELEMENT_SIZE
constexpr std::size_t kMaxScript = 10'000;  // MAX_SCRIPT_SIZE
constexpr std::uint8_t kLastOpcode = 0xb9;  // OP_NOP10
constexpr std::uint8_t kOpCheckSigAdd = 0xba;

/// Whether a script decodes, and has only instructions and elements that a script may have.
bool has_valid_operations(ByteSpan script) {
    ScriptInstruction instruction;
    ScriptReader reader(script);
    while (!reader.done()) {
        if (!reader.next(instruction) || instruction.opcode > kLastOpcode ||
            instruction.data.size() > kMaxElement) {
            return false;
        }
    }
    return true;
}

// Transactions.

bool has_sane_scripts(const TransactionView& transaction) {
    const auto sane = [](ByteSpan script) {
        return script.size() <= kMaxScript && has_valid_operations(script);
    };
    bool all = true;
    if (!transaction.is_coinbase()) {
        transaction.for_each_input(
            [&](std::size_t, const TxInput& input) { return all = sane(input.script); });
    }
    if (!all) return false;
    transaction.for_each_output(
        [&](std::size_t, const TxOutput& output) { return all = sane(output.script); });
    return all;
}

/// Bytes alone do not tell which of the two forms they are in: taken is the one whose scripts make sense.
std::optional<TransactionView> decode_transaction(ByteSpan bytes, bool try_legacy, bool try_extended) {
    std::optional<TransactionView> extended;
    std::optional<TransactionView> legacy;
    if (try_extended) {
        if (auto parsed = TransactionView::parse_whole(bytes)) extended = *parsed;
        if (extended && has_sane_scripts(*extended)) return extended;
    }
    if (try_legacy) {
        if (auto parsed = TransactionView::parse_whole_legacy(bytes)) legacy = *parsed;
        if (legacy && has_sane_scripts(*legacy)) return legacy;
    }
    return extended ? extended : legacy;
}

RpcOutcome decode_raw_transaction(const RpcContext& context, const RpcCall& call) {
    const bool told = call.arguments.has(1);
    const bool witness = told && call.arguments[1].is_true();
    const std::string_view hex = call.arguments[0].text();
    const auto bytes = is_hex(hex) ? decode_hex(hex) : std::nullopt;
    const auto transaction =
        bytes ? decode_transaction(*bytes, !told || !witness, !told || witness) : std::nullopt;
    if (!transaction) {
        return rpc_fail(RpcCode::deserialization_error,
                        "TX decode failed. Make sure the tx has at least one input.");
    }
    call.result.begin_object();
    const auto written =
        write_transaction_members(call.result, *transaction, {.txid = {}, .hex = false}, *context.params);
    if (!written) return rpc_fail(written.error());
    call.result.end_object();
    return {};
}

// Scripts.

bool is_compressed(ByteSpan key) {
    return key.size() == kCompressedKeySize;
}

/// Whether one could pay to the hash of this script and ever spend it.
bool can_be_wrapped(ByteSpan script, OutputType type) {
    switch (type) {
        case OutputType::nulldata:
        case OutputType::scripthash:
        case OutputType::witness_unknown:
        case OutputType::witness_v1_taproot:
        case OutputType::anchor:
            return false;
        case OutputType::multisig:
        case OutputType::nonstandard:
        case OutputType::pubkey:
        case OutputType::pubkeyhash:
        case OutputType::witness_v0_keyhash:
        case OutputType::witness_v0_scripthash:
            break;
    }
    if (!has_valid_operations(script) || is_unspendable(script)) return false;
    // What tapscript gives another meaning does not belong anywhere else. (BIP 342's OP_SUCCESSx)
    const auto succeeds = [](std::uint8_t op) {
        return op == 0x50 || op == 0x62 || (op >= 0x7e && op <= 0x81) || (op >= 0x83 && op <= 0x86) ||
               (op >= 0x89 && op <= 0x8a) || (op >= 0x8d && op <= 0x8e) || (op >= 0x95 && op <= 0x99) ||
               (op >= 0xbb && op <= 0xfe);
    };
    ScriptInstruction instruction;
    for (ScriptReader reader(script); reader.next(instruction);) {
        if (instruction.opcode == kOpCheckSigAdd || succeeds(instruction.opcode)) return false;
    }
    return true;
}

/// The witness program that stands for a script; none where it is one itself, or has a key that only
/// pre-segwit scripts may have.
std::optional<Script> witness_script_for(ByteSpan script, OutputType type) {
    MultisigScript multisig;
    switch (type) {
        case OutputType::pubkey:
            if (!is_compressed(pay_to_pubkey_key(script))) return std::nullopt;
            return pay_to_witness(0, hash160(pay_to_pubkey_key(script)));
        case OutputType::pubkeyhash:
            return pay_to_witness(0, script.subspan(3, 20));
        case OutputType::multisig:
            if (!match_multisig(script, multisig) || !std::ranges::all_of(multisig.keys(), is_compressed))
                return std::nullopt;
            break;
        case OutputType::nonstandard:
            break;
        default:
            return std::nullopt;
    }
    return pay_to_witness(0, sha256(script));
}

/// The descriptor of a script, where `inside` is what a witness program of version 0 commits to.
std::string descriptor_of(ByteSpan script, ByteSpan inside, const ChainParams& params) {
    std::string text;
    TextAppender out(text);
    const bool can_be_told = output_type(inside) == OutputType::multisig && inside.size() <= kMaxElement &&
                             output_type(script) == OutputType::witness_v0_scripthash;
    if (!can_be_told) {
        append_descriptor(out, script, output_type(script), params);
    } else {
        append_wrapped_descriptor(out, "wsh", inside, params);
    }
    return std::string(out.view(0, out.size()));
}

std::string asm_of(ByteSpan script) {
    std::string text;
    TextAppender out(text);
    append_script_asm(out, script, false);
    return std::string(out.view(0, out.size()));
}

void write_script_members(JsonWriter& out, ByteSpan script, ByteSpan inside, bool hex,
                          const ChainParams& params) {
    out.member("asm", std::string_view(asm_of(script)));
    out.member("desc", std::string_view(descriptor_of(script, inside, params)));
    if (hex) {
        out.key("hex");
        out.hex(script);
    }
    if (const auto address = script_to_address(script, params))
        out.member("address", std::string_view(*address));
    out.member("type", output_type_name(output_type(script)));
}

RpcOutcome decode_script(const RpcContext& context, const RpcCall& call) {
    Script script;
    if (!call.arguments[0].text().empty()) {
        auto bytes = hex_argument(call.arguments[0], "argument");
        if (!bytes) return std::unexpected(bytes.error());
        script = *std::move(bytes);
    }
    const ChainParams& params = *context.params;
    const OutputType type = output_type(script);
    JsonWriter& out = call.result;
    out.begin_object();
    write_script_members(out, script, {}, false, params);
    if (can_be_wrapped(script, type)) {
        const auto script_hash_address = [&](ByteSpan inner) {
            return *script_to_address(pay_to_script_hash(hash160(inner)), params);
        };
        out.member("p2sh", std::string_view(script_hash_address(script)));
        if (const auto witness = witness_script_for(script, type)) {
            out.key("segwit");
            out.begin_object();
            write_script_members(out, *witness, script, true, params);
            out.member("p2sh-segwit", std::string_view(script_hash_address(*witness)));
            out.end_object();
        }
    }
    out.end_object();
    return {};
}

// Addresses.

void write_address(JsonWriter& out, ByteSpan script, const ChainParams& params) {
    const OutputType type = output_type(script);
    out.member("address", std::string_view(*script_to_address(script, params)));
    out.key("scriptPubKey");
    out.hex(script);
    const bool is_script = type == OutputType::scripthash || type == OutputType::witness_v0_scripthash ||
                           type == OutputType::witness_v1_taproot || type == OutputType::anchor;
    // Nobody knows yet what a program of a later version stands for.
    if (type != OutputType::witness_unknown) out.member("isscript", is_script);
    const auto witness = witness_program(script);
    out.member("iswitness", witness.has_value());
    if (!witness || type == OutputType::anchor) return;
    out.member("witness_version", witness->version);
    out.key("witness_program");
    out.hex(witness->program);
}

void write_mistake(JsonWriter& out, std::string_view address, const Error& error, const ChainParams& params) {
    Bech32Mistake mistake{.sentence = error.context, .positions = {}};
    std::string prefix(address.substr(0, params.bech32_prefix.size()));
    for (char& c : prefix) c = to_lower(c);
    if (prefix == params.bech32_prefix && !decode_bech32(address)) mistake = locate_bech32_mistake(address);
    out.key("error_locations");
    out.begin_array();
    for (const std::size_t position : mistake.positions) out.unsigned_integer(position);
    out.end_array();
    out.member("error", std::string_view(mistake.sentence));
}

RpcOutcome validate_address(const RpcContext& context, const RpcCall& call) {
    const std::string_view address = call.arguments[0].text();
    const auto script = address_to_script(address, *context.params);
    call.result.begin_object();
    call.result.member("isvalid", script.has_value());
    if (script) {
        write_address(call.result, *script, *context.params);
    } else {
        write_mistake(call.result, address, script.error(), *context.params);
    }
    call.result.end_object();
    return {};
}

}  // namespace

void add_decoding_methods(std::vector<RpcMethod>& methods, const RpcContext& context) {
    methods.push_back({
        .category = "rawtransactions",
        .name = "decoderawtransaction",
        .arguments =
            {{.names = "hexstring", .type = ArgumentType::hex, .text = "the serialized transaction"},
             {.names = "iswitness",
              .type = ArgumentType::boolean,
              .required = false,
              .fallback = "depends on heuristic tests",
              .text = "whether it has witnesses; without an answer the form is taken in which its scripts "
                      "make sense"}},
        .description = "A serialized transaction as an object.",
        .result = "Result:\n"
                  "{                          (json object)\n"
                  "  \"txid\" : \"hex\",          (string) its id\n"
                  "  \"hash\" : \"hex\",          (string) its hash with witness\n"
                  "  \"version\" : n,           (numeric) version\n"
                  "  \"size\" : n,              (numeric) serialized size in bytes\n"
                  "  \"vsize\" : n,             (numeric) virtual size: a fourth of the weight, rounded up\n"
                  "  \"weight\" : n,            (numeric) weight\n"
                  "  \"locktime\" : xxx,        (numeric) lock time\n"
                  "  \"vin\" : [                (json array)\n"
                  "    {                      (json object)\n"
                  "      \"coinbase\" : \"hex\",  (string, optional) script of a coinbase; txid, vout and "
                  "scriptSig "
                  "are then left out\n"
                  "      \"txid\" : \"hex\",      (string, optional) transaction of the output spent\n"
                  "      \"vout\" : n,          (numeric, optional) number of that output\n"
                  "      \"scriptSig\" : {      (json object, optional)\n"
                  "        \"asm\" : \"str\",     (string) disassembly\n"
                  "        \"hex\" : \"hex\"      (string) bytes\n"
                  "      },\n"
                  "      \"txinwitness\" : [    (json array, optional)\n"
                  "        \"hex\",             (string) item of the witness\n"
                  "        ...\n"
                  "      ],\n"
                  "      \"sequence\" : n       (numeric) sequence number\n"
                  "    },\n"
                  "    ...\n"
                  "  ],\n"
                  "  \"vout\" : [               (json array)\n"
                  "    {                      (json object)\n"
                  "      \"value\" : n,         (numeric) amount in BTC\n"
                  "      \"n\" : n,             (numeric) number of the output\n"
                  "      \"scriptPubKey\" : {   (json object)\n"
                  "        \"asm\" : \"str\",     (string) disassembly\n"
                  "        \"desc\" : \"str\",    (string) descriptor\n"
                  "        \"hex\" : \"hex\",     (string) bytes\n"
                  "        \"address\" : \"str\", (string, optional) address, where the script has one\n"
                  "        \"type\" : \"str\"     (string) form of the script\n"
                  "      }\n"
                  "    },\n"
                  "    ...\n"
                  "  ]\n"
                  "}\n",
        .example = "\"hexstring\"",
        .json_example = "\"hexstring\"",
        .handler = [&context](const RpcCall& call) { return decode_raw_transaction(context, call); },
    });
    methods.push_back({
        .category = "rawtransactions",
        .name = "decodescript",
        .arguments = {{.names = "hexstring", .type = ArgumentType::hex, .text = "the script"}},
        .description = "A script as an object, with the addresses that would pay to its hash.",
        .result =
            "Result:\n"
            "{                          (json object)\n"
            "  \"asm\" : \"str\",           (string) disassembly\n"
            "  \"desc\" : \"str\",          (string) descriptor\n"
            "  \"type\" : \"str\",          (string) form of the script\n"
            "  \"address\" : \"str\",       (string, optional) address, where it has one\n"
            "  \"p2sh\" : \"str\",          (string, optional) address that pays to its hash\n"
            "  \"segwit\" : {             (json object, optional) the witness program that stands for it\n"
            "    \"asm\" : \"str\",         (string) disassembly\n"
            "    \"desc\" : \"str\",        (string) descriptor\n"
            "    \"hex\" : \"hex\",         (string) bytes\n"
            "    \"address\" : \"str\",     (string) address\n"
            "    \"type\" : \"str\",        (string) form of the script\n"
            "    \"p2sh-segwit\" : \"str\"  (string) address that pays to the program's hash\n"
            "  }\n"
            "}\n",
        .example = "\"hexstring\"",
        .json_example = "\"hexstring\"",
        .handler = [&context](const RpcCall& call) { return decode_script(context, call); },
    });
    methods.push_back({
        .category = "util",
        .name = "validateaddress",
        .arguments = {{.names = "address", .type = ArgumentType::string, .text = "the address"}},
        .description = "Whether a text is an address of this chain, and what it says.",
        .result =
            "Result:\n"
            "{                               (json object)\n"
            "  \"isvalid\" : true|false,       (boolean) whether it is an address\n"
            "  \"address\" : \"str\",            (string, optional) the address\n"
            "  \"scriptPubKey\" : \"hex\",       (string, optional) its script\n"
            "  \"isscript\" : true|false,      (boolean, optional) whether it pays to a script\n"
            "  \"iswitness\" : true|false,     (boolean, optional) whether it is a witness program\n"
            "  \"witness_version\" : n,        (numeric, optional) version of the program\n"
            "  \"witness_program\" : \"hex\",    (string, optional) the program\n"
            "  \"error_locations\" : [         (json array, optional) characters that are likely mistyped\n"
            "    n,                          (numeric) position\n"
            "    ...\n"
            "  ],\n"
            "  \"error\" : \"str\"               (string, optional) what is wrong with it\n"
            "}\n",
        .example = "\"bc1q09vm5lfy0j5reeulh4x5752q25uqqvz34hufdl\"",
        .json_example = "\"bc1q09vm5lfy0j5reeulh4x5752q25uqqvz34hufdl\"",
        .handler = [&context](const RpcCall& call) { return validate_address(context, call); },
    });
}

}  // namespace blockpub
