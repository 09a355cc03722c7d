// SPDX-License-Identifier: MIT
#include "query/script_json.hpp"

#include "base/endian.hpp"
#include "primitives/address.hpp"
#include "primitives/coin.hpp"
#include "primitives/descriptor.hpp"
#include "primitives/opcode_names.hpp"
#include "primitives/opcodes.hpp"
#include "primitives/public_key.hpp"
#include "primitives/script_reader.hpp"
#include "primitives/signature_encoding.hpp"

#include <algorithm>
#include <bit>

namespace blockpub {
namespace {

constexpr std::size_t kMaxShownNumber = 4;  // bytes of a push that is shown as a number

/// A script number of up to four bytes: little-endian magnitude, the sign in the highest bit.
std::int64_t script_number(ByteSpan bytes) {
    std::uint32_t magnitude = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) magnitude |= std::uint32_t{bytes[i]} << 8 * i;
    if (bytes.empty() || (bytes.back() & 0x80) == 0) return magnitude;
    return -static_cast<std::int64_t>(magnitude & ~(std::uint32_t{0x80} << 8 * (bytes.size() - 1)));
}

void append_push(TextAppender& out, ByteSpan data, bool name_hash_types) {
    if (data.size() <= kMaxShownNumber) {
        out.integer(script_number(data));
        return;
    }
    const std::string_view name = name_hash_types ? signature_hash_name(data) : std::string_view();
    if (name.empty()) {
        out.hex(data);
        return;
    }
    out.hex(data.first(data.size() - 1));
    out.character('[');
    out.text(name);
    out.character(']');
}

/// The expression without its checksum.
void append_expression(TextAppender& out, ByteSpan script, OutputType type, const ChainParams& params) {
    const auto is_plain_key = [](ByteSpan key) { return !is_hybrid_public_key(key); };
    if (type == OutputType::pubkey && is_plain_key(pay_to_pubkey_key(script))) {
        out.text("pk(");
        out.hex(pay_to_pubkey_key(script));
        out.character(')');
        return;
    }
    MultisigScript multisig;
    if (type == OutputType::multisig && match_multisig(script, multisig) &&
        std::ranges::all_of(multisig.keys(), is_plain_key)) {
        out.text("multi(");
        out.unsigned_integer(multisig.required);
        for (const ByteSpan key : multisig.keys()) {
            out.character(',');
            out.hex(key);
        }
        out.character(')');
        return;
    }
    if (type == OutputType::witness_v1_taproot && is_valid_x_only_key(script.subspan(2))) {
        out.text("rawtr(");
        out.hex(script.subspan(2));
        out.character(')');
        return;
    }
    constexpr std::string_view kAddress = "addr(";
    char* const room = out.room(kAddress.size() + kMaxAddressLength);
    if (const std::size_t size = encode_address_to(script, type, params, room + kAddress.size()); size != 0) {
        std::ranges::copy(kAddress, room);
        out.advance(room + kAddress.size() + size);
        out.character(')');
        return;
    }
    out.text("raw(");
    out.hex(script);
    out.character(')');
}

/// The checksum of the descriptor that begins at `begin`.
void append_checksum(TextAppender& out, std::size_t begin) {
    constexpr std::size_t kChecksum = 8;
    const std::size_t length = out.size() - begin;
    char* const room = out.room(1 + kChecksum);
    *room = '#';
    descriptor_checksum_to(out.view(begin, length), room + 1);
    out.advance(room + 1 + kChecksum);
}

}  // namespace

void append_script_asm(TextAppender& out, ByteSpan script, bool name_hash_types) {
    // Data that only looks like a signature follows an OP_RETURN.
    name_hash_types = name_hash_types && !is_unspendable(script);
    ScriptInstruction instruction;
    ScriptReader reader(script);
    for (bool first = true; !reader.done(); first = false) {
        if (!first) out.character(' ');
        if (!reader.next(instruction)) {
            out.text("[error]");
            return;
        }
        if (instruction.opcode <= kOpPushData4) {
            append_push(out, instruction.data, name_hash_types);
        } else {
            out.text(opcode_name(instruction.opcode));
        }
    }
}

void append_descriptor(TextAppender& out, ByteSpan script, OutputType type, const ChainParams& params) {
    const std::size_t begin = out.size();
    append_expression(out, script, type, params);
    append_checksum(out, begin);
}

void append_wrapped_descriptor(TextAppender& out, std::string_view function, ByteSpan script,
                               const ChainParams& params) {
    const std::size_t begin = out.size();
    out.text(function);
    out.character('(');
    append_expression(out, script, output_type(script), params);
    out.character(')');
    append_checksum(out, begin);
}

OutputScriptWriter::Written& OutputScriptWriter::place_of(ByteSpan script) {
    // The end of a hash or key is as good as any hash of it.
    const auto last = read_le<std::uint64_t>(script.data() + script.size() - sizeof(std::uint64_t));
    constexpr unsigned kShift = 64 - std::bit_width(std::tuple_size_v<decltype(written_)> - 1);
    return written_[last * 0x9e3779b97f4a7c15 >> kShift];
}

void OutputScriptWriter::append(ByteSpan script) {
    const bool worth_it = script.size() >= sizeof(std::uint64_t) && script.size() <= kMaxRemembered;
    Written* const place = worth_it ? &place_of(script) : nullptr;
    if (place != nullptr && std::ranges::equal(ByteSpan(place->script).first(place->script_size), script)) {
        out_.repeat(place->begin, place->length);
        return;
    }
    const std::size_t begin = out_.size();
    const OutputType type = output_type(script);
    out_.text(R"({"asm":")");
    append_script_asm(out_, script, false);
    out_.text(R"(","desc":")");
    append_descriptor(out_, script, type, params_);
    out_.text(R"(","hex":")");
    out_.hex(script);
    constexpr std::string_view kAddress = R"(","address":")";
    char* const room = out_.room(kAddress.size() + kMaxAddressLength);
    if (const std::size_t size = encode_address_to(script, type, params_, room + kAddress.size());
        size != 0) {
        std::ranges::copy(kAddress, room);
        out_.advance(room + kAddress.size() + size);
    }
    out_.text(R"(","type":")");
    out_.text(output_type_name(type));
    out_.text("\"}");
    if (place != nullptr) {
        place->begin = begin;
        place->length = out_.size() - begin;
        place->script_size = script.size();
        std::ranges::copy(script, place->script.begin());
    }
}

}  // namespace blockpub
