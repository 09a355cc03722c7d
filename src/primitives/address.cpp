// SPDX-License-Identifier: MIT
#include "primitives/address.hpp"

#include "base/ascii.hpp"
#include "base/check.hpp"
#include "primitives/base58.hpp"
#include "primitives/bech32.hpp"
#include "primitives/opcodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace blockpub {
namespace {

constexpr std::size_t kHashSize = 20;
constexpr std::size_t kMinProgram = 2;
constexpr std::size_t kMaxProgram = 40;
constexpr unsigned kMaxWitnessVersion = 16;
// Up to this many bytes of base58 without a good checksum are still called a mistyped address.
constexpr std::size_t kMaxBase58Guess = 100;

bool program_size_allowed(unsigned version, std::size_t size) {
    if (version == 0) return size == 20 || size == 32;
    return size >= kMinProgram && size <= kMaxProgram;
}

std::unexpected<Error> wrong(std::string sentence) {
    return fail(Errc::invalid_argument, std::move(sentence));
}

bool has_prefix(std::string_view address, std::string_view prefix) {
    return address.size() >= prefix.size() &&
           std::ranges::equal(address.substr(0, prefix.size()), prefix, {}, to_lower);
}

Result<Script> decode_segwit(const Bech32Text& text, const ChainParams& params) {
    if (text.values.empty()) return wrong("Empty Bech32 data section");
    if (text.prefix != params.bech32_prefix) {
        return wrong(
            fmt::format("Invalid or unsupported prefix for Segwit (Bech32) address (expected {}, got {}).",
                        params.bech32_prefix, text.prefix));
    }
    const unsigned version = text.values.front();
    if (version == 0 && text.kind != Bech32Kind::bech32) {
        return wrong("Version 0 witness address must use Bech32 checksum");
    }
    if (version != 0 && text.kind != Bech32Kind::bech32m) {
        return wrong("Version 1+ witness address must use Bech32m checksum");
    }
    const auto program = five_bits_to_bytes(ByteSpan(text.values).subspan(1));
    if (!program) return wrong("Invalid padding in Bech32 data section");
    if (version > kMaxWitnessVersion) return wrong("Invalid Bech32 address witness version");
    if (!program_size_allowed(version, program->size())) {
        if (version == 0) {
            return wrong(fmt::format("Invalid Bech32 v0 address program size ({} {}), per BIP141",
                                     program->size(), program->size() == 1 ? "byte" : "bytes"));
        }
        return wrong(fmt::format("Invalid Bech32 address program size ({} {})", program->size(),
                                 program->size() == 1 ? "byte" : "bytes"));
    }
    return pay_to_witness(version, *program);
}

}  // namespace

Script pay_to_pubkey_hash(ByteSpan hash) {
    Script script{kOpDup, kOpHash160};
    push_data(script, hash);
    script.insert(script.end(), {kOpEqualVerify, kOpCheckSig});
    return script;
}

Script pay_to_script_hash(ByteSpan hash) {
    Script script{kOpHash160};
    push_data(script, hash);
    script.push_back(kOpEqual);
    return script;
}

Script pay_to_witness(unsigned version, ByteSpan program) {
    BLOCKPUB_CHECK(
        version <= kMaxWitnessVersion && program.size() >= kMinProgram && program.size() <= kMaxProgram,
        "version {}, {} bytes", version, program.size());
    Script script;
    push_number(script, version);
    push_data(script, program);
    return script;
}

Result<Script> address_to_script(std::string_view address, const ChainParams& params) {
    // As in Core, what begins with the chain's prefix is bech32 or nothing.
    if (has_prefix(address, params.bech32_prefix)) {
        const auto text = decode_bech32(address);
        return text ? decode_segwit(*text, params) : wrong(text.error().context);
    }
    const auto payload = decode_base58check(address, 1 + kHashSize);
    if (!payload) {
        return wrong(decode_base58(address, kMaxBase58Guess)
                         ? "Invalid checksum or length of Base58 address (P2PKH or P2SH)"
                         : "Invalid or unsupported Segwit (Bech32) or Base58 encoding.");
    }
    const bool to_key = !payload->empty() && payload->front() == params.base58_pubkey;
    const bool to_script = !payload->empty() && payload->front() == params.base58_script;
    if (!to_key && !to_script) {
        return wrong("Invalid or unsupported Base58-encoded address.");
    }
    if (payload->size() != 1 + kHashSize) {
        return wrong("Invalid length for Base58 address (P2PKH or P2SH)");
    }
    const ByteSpan hash = ByteSpan(*payload).subspan(1);
    return to_key ? pay_to_pubkey_hash(hash) : pay_to_script_hash(hash);
}

std::size_t encode_address_to(ByteSpan script, OutputType type, const ChainParams& params, char* out) {
    switch (type) {
        case OutputType::pubkeyhash:
            return static_cast<std::size_t>(
                encode_base58check_to(params.base58_pubkey, script.subspan<3, kHashSize>(), out) - out);
        case OutputType::scripthash:
            return static_cast<std::size_t>(
                encode_base58check_to(params.base58_script, script.subspan<2, kHashSize>(), out) - out);
        case OutputType::anchor:
        case OutputType::witness_v0_keyhash:
        case OutputType::witness_v0_scripthash:
        case OutputType::witness_v1_taproot:
        case OutputType::witness_unknown:
            break;
        case OutputType::nonstandard:
        case OutputType::pubkey:
        case OutputType::multisig:
        case OutputType::nulldata:
            return 0;
    }
    const auto witness = witness_program(script);
    BLOCKPUB_CHECK(witness.has_value());
    std::array<std::uint8_t, 1 + (kMaxProgram * 8 + 4) / 5> values;
    values[0] = static_cast<std::uint8_t>(witness->version);
    const std::size_t count = 1 + bytes_to_five_bits_to(witness->program, values.data() + 1);
    const Bech32Kind kind = witness->version == 0 ? Bech32Kind::bech32 : Bech32Kind::bech32m;
    return static_cast<std::size_t>(
        encode_bech32_to(kind, params.bech32_prefix, ByteSpan(values).first(count), out) - out);
}

std::optional<std::string> script_to_address(ByteSpan script, const ChainParams& params) {
    std::array<char, kMaxAddressLength> text;
    const std::size_t size = encode_address_to(script, output_type(script), params, text.data());
    if (size == 0) return std::nullopt;
    return std::string(text.data(), size);
}

}  // namespace blockpub
