// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/bytes.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace blockpub {

/// The forms of output script that Core tells apart.
/// Source: Bitcoin Core v28 src/script/solver.cpp.
enum class OutputType : std::uint8_t {
    nonstandard,
    pubkey,
    pubkeyhash,
    scripthash,
    multisig,
    nulldata,
    anchor,
    witness_v0_keyhash,
    witness_v0_scripthash,
    witness_v1_taproot,
    witness_unknown,
};

[[nodiscard]] OutputType output_type(ByteSpan script);
/// As `type` of a scriptPubKey in RPC.
[[nodiscard]] std::string_view output_type_name(OutputType type);

/// Source: BIP 16.
[[nodiscard]] bool is_pay_to_script_hash(ByteSpan script);

/// A witness program. Source: BIP 141.
struct WitnessProgram {
    unsigned version = 0;
    ByteSpan program;
};
[[nodiscard]] std::optional<WitnessProgram> witness_program(ByteSpan script);

/// A bare OP_CHECKMULTISIG script; its keys point into the script.
struct MultisigScript {
    static constexpr std::size_t kMaxKeys = 20;
    unsigned required = 0;
    std::size_t count = 0;
    std::array<ByteSpan, kMaxKeys> storage;
    [[nodiscard]] std::span<const ByteSpan> keys() const& { return {storage.data(), count}; }
};
/// Whether the script is one of those that output_type calls multisig.
[[nodiscard]] bool match_multisig(ByteSpan script, MultisigScript& out);

/// The key of a script that output_type calls pubkey. Requires: it is one.
[[nodiscard]] inline ByteSpan pay_to_pubkey_key(ByteSpan script) {
    return script.subspan(1, script.size() - 2);
}

}  // namespace blockpub
