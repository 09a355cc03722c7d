// SPDX-License-Identifier: MIT
#include "primitives/descriptor.hpp"

#include "base/ascii.hpp"
#include "base/hex.hpp"
#include "primitives/address.hpp"
#include "primitives/opcodes.hpp"
#include "primitives/public_key.hpp"
#include "primitives/script.hpp"
#include "primitives/sha256.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

namespace blockpub {
namespace {

constexpr std::size_t kMaxKeys = 20;       // MAX_PUBKEYS_PER_MULTISIG
constexpr std::size_t kMaxBareKeys = 3;    // what is relayed without sh() or wsh()
constexpr std::size_t kMaxPushSize = 520;  // MAX_SCRIPT_ELEMENT_SIZE: a redeem script is pushed whole
constexpr std::size_t kShownOrigin = 10;   // eight digits in brackets

// What surrounds an expression decides which functions and which keys it may have.
enum class Place : std::uint8_t { top, in_sh, in_wpkh, in_wsh, in_rawtr };

bool starts_with_any(std::string_view text, std::span<const std::string_view> functions) {
    return std::ranges::any_of(functions, [&](std::string_view name) {
        return text.size() > name.size() && text.starts_with(name) && text[name.size()] == '(';
    });
}

std::unexpected<Error> bad_descriptor(std::string sentence) {
    return fail(Errc::invalid_argument, std::move(sentence));
}
std::unexpected<Error> left_out(std::string_view what) {
    return fail(Errc::unsupported,
                fmt::format("{} not supported here: give raw(), addr(), pk(), pkh(), wpkh(), sh(), wsh(), "
                            "multi(), combo() or rawtr() with plain hexadecimal keys",
                            what));
}

// Strips `name(` and the `)` at the end; false, and nothing changed, for another function.
bool take_function(std::string_view name, std::string_view& text) {
    if (text.size() < name.size() + 2 || !text.starts_with(name) || text[name.size()] != '(' ||
        text.back() != ')') {
        return false;
    }
    text = text.substr(name.size() + 1, text.size() - name.size() - 2);
    return true;
}

// Takes the text up to a comma or a closing bracket that belongs to what surrounds it.
std::string_view take_expression(std::string_view& text) {
    int level = 0;
    std::size_t end = 0;
    for (; end < text.size(); ++end) {
        const char c = text[end];
        const bool closes = c == ')' || c == '}';
        if (level == 0 && (closes || c == ',')) break;
        if (c == '(' || c == '{') ++level;
        if (closes) --level;
    }
    const std::string_view expression = text.substr(0, end);
    text.remove_prefix(end);
    return expression;
}

// Base58 text of the length of a secret key (WIF) or an extended key (xpub, xprv).
bool looks_like_encoded_key(std::string_view text) {
    return text.size() >= 50 && std::ranges::all_of(text, is_alphanumeric);
}

Result<std::vector<std::uint8_t>> parse_key(std::string_view text, Place place) {
    if (text.empty()) return bad_descriptor("No key provided");
    if (text.find_first_of("[]") != std::string_view::npos) return left_out("A key with an origin is");
    if (text.find_first_of("/*<") != std::string_view::npos)
        return left_out("A key with a derivation path is");
    auto decoded = decode_hex(text);
    if (!decoded) {
        if (looks_like_encoded_key(text)) return left_out("A secret or extended key is");
        return bad_descriptor(fmt::format("key '{}' is not valid", text));
    }
    std::vector<std::uint8_t> key = *std::move(decoded);
    if (is_hybrid_public_key(key)) return bad_descriptor("Hybrid public keys are not allowed");
    if (is_valid_public_key(key)) {
        const bool uncompressed_allowed = place == Place::top || place == Place::in_sh;
        if (key.size() == kUncompressedKeySize && !uncompressed_allowed)
            return bad_descriptor("Uncompressed keys are not allowed");
        return key;
    }
    if (key.size() == kXOnlyKeySize && place == Place::in_rawtr) {
        key.insert(key.begin(), 2);
        if (is_valid_public_key(key)) return key;
    }
    return bad_descriptor(fmt::format("Pubkey '{}' is invalid", text));
}

Result<std::vector<std::uint8_t>> parse_key_of(std::string_view function, std::string_view text,
                                               Place place) {
    auto key = parse_key(text, place);
    if (!key && key.error().code == Errc::invalid_argument) {
        return bad_descriptor(fmt::format("{}: {}", function, key.error().context));
    }
    return key;
}

// A key as Core shows one of which it knows nothing else: its own fingerprint is its origin.
std::string shown_key(const std::vector<std::uint8_t>& key) {
    constexpr std::size_t kFingerprint = 4;
    return fmt::format("[{}]{}", encode_hex(ByteSpan(hash160(key)).first(kFingerprint)), encode_hex(key));
}

std::optional<std::uint32_t> parse_threshold(std::string_view text) {
    if (text.size() > 1 && text.front() == '+') text.remove_prefix(1);
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

Result<void> check_multisig(std::uint32_t threshold, std::span<const std::vector<std::uint8_t>> keys,
                            Place place) {
    const std::size_t count = keys.size();
    if (count == 0 || count > kMaxKeys) {
        return bad_descriptor(fmt::format(
            "Cannot have {} keys in multisig; must have between 1 and {} keys, inclusive", count, kMaxKeys));
    }
    if (threshold < 1)
        return bad_descriptor(fmt::format("Multisig threshold cannot be {}, must be at least 1", threshold));
    if (threshold > count) {
        return bad_descriptor(fmt::format(
            "Multisig threshold cannot be larger than the number of keys; threshold is {} but only {} keys "
            "specified",
            threshold, count));
    }
    if (place == Place::top && count > kMaxBareKeys) {
        return bad_descriptor(
            fmt::format("Cannot have {} pubkeys in bare multisig; only at most 3 pubkeys", count));
    }
    std::size_t size = 3;  // both numbers and the instruction
    for (const auto& key : keys) size += 1 + key.size();
    if (place == Place::in_sh && size > kMaxPushSize) {
        return bad_descriptor(
            fmt::format("P2SH script is too large, {} bytes is larger than {} bytes", size, kMaxPushSize));
    }
    return {};
}

Result<DescribedScript> parse_multisig(std::string_view text, bool sorted, Place place) {
    const std::string_view first = take_expression(text);
    const auto threshold = parse_threshold(first);
    if (!threshold) return bad_descriptor(fmt::format("Multi threshold '{}' is not valid", first));
    std::vector<std::vector<std::uint8_t>> keys;
    while (!text.empty()) {
        if (text.front() != ',')
            return bad_descriptor(fmt::format("Multi: expected ',', got '{}'", text.front()));
        text.remove_prefix(1);
        auto key = parse_key_of("Multi", take_expression(text), place);
        if (!key) return forward_error(key);
        keys.push_back(*std::move(key));
    }
    if (auto checked = check_multisig(*threshold, keys, place); !checked) return forward_error(checked);
    if (sorted) std::ranges::sort(keys);
    DescribedScript multisig{.script = {}, .inferred = fmt::format("multi({}", *threshold)};
    push_number(multisig.script, *threshold);
    for (const auto& key : keys) {
        push_data(multisig.script, key);
        multisig.inferred += ',' + shown_key(key);
    }
    multisig.inferred += ')';
    push_number(multisig.script, static_cast<std::int64_t>(keys.size()));
    multisig.script.push_back(kOpCheckMultisig);
    return multisig;
}

DescribedScript pk_of(const std::vector<std::uint8_t>& key) {
    DescribedScript pk{.script = {}, .inferred = fmt::format("pk({})", shown_key(key))};
    push_data(pk.script, key);
    pk.script.push_back(kOpCheckSig);
    return pk;
}

DescribedScript pkh_of(const std::vector<std::uint8_t>& key) {
    return {pay_to_pubkey_hash(hash160(key)), fmt::format("pkh({})", shown_key(key))};
}

DescribedScript wpkh_of(const std::vector<std::uint8_t>& key) {
    return {pay_to_witness(0, hash160(key)), fmt::format("wpkh({})", shown_key(key))};
}

DescribedScript sh_of(const DescribedScript& inner) {
    return {pay_to_script_hash(hash160(inner.script)), fmt::format("sh({})", inner.inferred)};
}

DescribedScript wsh_of(const DescribedScript& inner) {
    return {pay_to_witness(0, sha256(inner.script)), fmt::format("wsh({})", inner.inferred)};
}

Result<DescribedScript> parse_of_key(std::string_view function, std::string_view text, Place place,
                                     DescribedScript (*script_of)(const std::vector<std::uint8_t>&)) {
    auto key = parse_key_of(function, text, place);
    if (!key) return forward_error(key);
    return script_of(*key);
}

Result<DescribedScript> parse_rawtr(std::string_view text) {
    const std::string_view first = take_expression(text);
    if (!text.empty()) return bad_descriptor("rawtr(): only one key expected.");
    auto key = parse_key_of("rawtr()", first, Place::in_rawtr);
    if (!key) return forward_error(key);
    const ByteSpan x_only = ByteSpan(*key).subspan(1);
    const std::string origin = shown_key(*key).substr(0, kShownOrigin);
    return DescribedScript{pay_to_witness(1, x_only), fmt::format("rawtr({}{})", origin, encode_hex(x_only))};
}

Result<DescribedScript> parse_addr(std::string_view text, const ChainParams& params) {
    auto script = address_to_script(text, params);
    if (!script) return bad_descriptor("Address is not valid");
    return DescribedScript{.script = *std::move(script), .inferred = {}};
}

Result<DescribedScript> parse_raw(std::string_view text) {
    auto script = decode_hex(text);
    if (!script || script->empty()) return bad_descriptor("Raw script is not hex");
    return DescribedScript{.script = *std::move(script), .inferred = {}};
}

std::unexpected<Error> unknown_function(std::string_view text, Place place) {
    static constexpr std::array<std::string_view, 4> kLeftOut{"tr", "musig", "multi_a", "sortedmulti_a"};
    static constexpr std::array<std::string_view, 17> kMiniscript{
        "pk_k",  "pk_h",  "older", "after", "sha256", "hash256", "ripemd160", "hash160", "andor",
        "and_v", "and_b", "and_n", "or_b",  "or_c",   "or_d",    "or_i",      "thresh"};
    if (starts_with_any(text, kLeftOut))
        return left_out(fmt::format("{}() is", text.substr(0, text.find('('))));
    const std::string_view before_bracket = text.substr(0, text.find('('));
    if (starts_with_any(text, kMiniscript) ||
        (place == Place::in_wsh && before_bracket.find(':') != std::string_view::npos)) {
        return left_out("Miniscript is");
    }
    if (place == Place::in_sh) return bad_descriptor("A function is needed within P2SH");
    if (place == Place::in_wsh) return bad_descriptor("A function is needed within P2WSH");
    return bad_descriptor(fmt::format("'{}' is not a valid descriptor function", text));
}

Result<DescribedScript> parse_expression(std::string_view text, Place place, const ChainParams& params) {
    if (take_function("pk", text)) return parse_of_key("pk()", text, place, pk_of);
    if (take_function("pkh", text)) return parse_of_key("pkh()", text, place, pkh_of);
    const bool multi = take_function("multi", text);
    const bool sorted = !multi && take_function("sortedmulti", text);
    if (multi || sorted) return parse_multisig(text, sorted, place);
    if (take_function("wpkh", text)) {
        if (place == Place::in_wsh) return bad_descriptor("Can only have wpkh() at top level or inside sh()");
        return parse_of_key("wpkh()", text, Place::in_wpkh, wpkh_of);
    }
    for (const auto& [function, inner] : {std::pair("sh", Place::in_sh), std::pair("wsh", Place::in_wsh)}) {
        if (!take_function(function, text)) continue;
        if (inner == Place::in_sh && place != Place::top)
            return bad_descriptor("Can only have sh() at top level");
        if (place == Place::in_wsh) return bad_descriptor("Can only have wsh() at top level or inside sh()");
        const std::string_view first = take_expression(text);
        auto script = parse_expression(first, inner, params);
        if (!script) return script;
        if (!text.empty())
            return bad_descriptor(fmt::format("'{}' behind the script of {}()", text, function));
        return inner == Place::in_sh ? sh_of(*script) : wsh_of(*script);
    }
    if (take_function("addr", text)) {
        return place == Place::top ? parse_addr(text, params)
                                   : bad_descriptor("Can only have addr() at top level");
    }
    if (take_function("rawtr", text)) {
        return place == Place::top ? parse_rawtr(text) : bad_descriptor("Can only have rawtr at top level");
    }
    if (take_function("raw", text)) {
        return place == Place::top ? parse_raw(text) : bad_descriptor("Can only have raw() at top level");
    }
    if (take_function("combo", text)) return bad_descriptor("Can only have combo() at top level");
    return unknown_function(text, place);
}

// All forms of one key; those with a witness for a compressed one alone.
Result<std::vector<DescribedScript>> parse_combo(std::string_view text) {
    auto key = parse_key_of("combo()", text, Place::top);
    if (!key) return forward_error(key);
    std::vector<DescribedScript> scripts{pk_of(*key), pkh_of(*key)};
    if (key->size() == kCompressedKeySize) {
        scripts.push_back(wpkh_of(*key));
        scripts.push_back(sh_of(scripts.back()));
    }
    return scripts;
}

}  // namespace

Result<std::vector<DescribedScript>> expand_descriptor(std::string_view descriptor,
                                                       const ChainParams& params) {
    const std::size_t hash = descriptor.find('#');
    std::string_view text = descriptor.substr(0, hash);
    if (hash != descriptor.rfind('#')) return bad_descriptor("Multiple '#' symbols");
    const auto computed = descriptor_checksum(text);
    if (hash != std::string_view::npos && descriptor.size() - hash - 1 != kDescriptorChecksumLength) {
        return bad_descriptor(
            fmt::format("Expected 8 character checksum, not {} characters", descriptor.size() - hash - 1));
    }
    if (!computed) return bad_descriptor("Invalid characters in payload");
    if (hash != std::string_view::npos && descriptor.substr(hash + 1) != *computed) {
        return bad_descriptor(fmt::format("Provided checksum '{}' does not match computed checksum '{}'",
                                          descriptor.substr(hash + 1), *computed));
    }
    std::string_view expression = take_expression(text);
    std::vector<DescribedScript> scripts;
    if (take_function("combo", expression)) {
        auto all = parse_combo(expression);
        if (!all) return all;
        scripts = *std::move(all);
    } else {
        auto script = parse_expression(expression, Place::top, params);
        if (!script) return forward_error(script);
        scripts.push_back(*std::move(script));
    }
    if (!text.empty()) return bad_descriptor(fmt::format("'{}' behind the descriptor", text));
    return scripts;
}

Result<Script> descriptor_to_script(std::string_view descriptor, const ChainParams& params) {
    auto scripts = expand_descriptor(descriptor, params);
    if (!scripts) return forward_error(scripts);
    // Of combo() what pays to the key's hash, with a witness where there may be one.
    const std::size_t chosen = scripts->size() == 1 ? 0 : scripts->size() / 2;
    return std::move((*scripts)[chosen].script);
}

}  // namespace blockpub
