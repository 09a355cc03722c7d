// SPDX-License-Identifier: MIT
#include "primitives/coin.hpp"

#include "primitives/opcodes.hpp"

#include <algorithm>
#include <limits>

namespace blockpub {
namespace {

// First byte of an encoded script: its form, or the form `kRaw` with the length behind it.
enum Form : std::uint8_t {
    kRaw = 0,
    kPubkeyHash = 1,         // DUP HASH160 <20> EQUALVERIFY CHECKSIG
    kScriptHash = 2,         // HASH160 <20> EQUAL
    kWitnessPubkeyHash = 3,  // 0 <20>
    kWitnessScriptHash = 4,  // 0 <32>
    kTaproot = 5,            // 1 <32>
    kPubkeyEven = 6,         // <02 key> CHECKSIG
    kPubkeyOdd = 7,          // <03 key> CHECKSIG
};

/// Bytes before and behind the hash or key that a form leaves out.
struct Frame {
    ByteSpan before;
    std::size_t size;
    ByteSpan behind;
};

constexpr std::uint8_t kPubkeyHashBefore[] = {0x76, 0xa9, 20};
constexpr std::uint8_t kPubkeyHashBehind[] = {0x88, 0xac};
constexpr std::uint8_t kScriptHashBefore[] = {0xa9, 20};
constexpr std::uint8_t kScriptHashBehind[] = {0x87};
constexpr std::uint8_t kWitnessPubkeyHashBefore[] = {0x00, 20};
constexpr std::uint8_t kWitnessScriptHashBefore[] = {0x00, 32};
constexpr std::uint8_t kTaprootBefore[] = {0x51, 32};
constexpr std::uint8_t kPubkeyEvenBefore[] = {33, 0x02};
constexpr std::uint8_t kPubkeyOddBefore[] = {33, 0x03};
constexpr std::uint8_t kPubkeyBehind[] = {0xac};

constexpr Frame kFrames[] = {
    {{}, 0, {}},
    {kPubkeyHashBefore, 20, kPubkeyHashBehind},
    {kScriptHashBefore, 20, kScriptHashBehind},
    {kWitnessPubkeyHashBefore, 20, {}},
    {kWitnessScriptHashBefore, 32, {}},
    {kTaprootBefore, 32, {}},
    {kPubkeyEvenBefore, 32, kPubkeyBehind},
    {kPubkeyOddBefore, 32, kPubkeyBehind},
};

/// Longest script kept in a coin: longer ones are unspendable (10,000 bytes).
constexpr std::uint64_t kMaxScript = 10'000;

bool fits(const Frame& frame, ByteSpan script) {
    return script.size() == frame.before.size() + frame.size + frame.behind.size() &&
           std::ranges::equal(script.first(frame.before.size()), frame.before) &&
           std::ranges::equal(script.last(frame.behind.size()), frame.behind);
}

/// The form that leaves most of a script out.
std::uint8_t form_of(ByteSpan script) {
    for (std::uint8_t form = kPubkeyHash; form <= kPubkeyOdd; ++form) {
        if (fits(kFrames[form], script)) return form;
    }
    return kRaw;
}

void append(std::vector<std::uint8_t>& out, ByteSpan bytes) {
    out.insert(out.end(), bytes.begin(), bytes.end());
}

/// Seven bits a byte, least significant first; the high bit says that more follow.
void encode_number(std::uint64_t value, std::vector<std::uint8_t>& out) {
    while (value >= 0x80) {
        out.push_back(static_cast<std::uint8_t>(value | 0x80));
        value >>= 7;
    }
    out.push_back(static_cast<std::uint8_t>(value));
}

std::uint64_t decode_number(ByteReader& reader) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const auto byte = reader.le<std::uint8_t>();
        if (shift == 63 && byte > 1) break;
        value |= std::uint64_t{byte & 0x7fu} << shift;
        if (byte < 0x80) {
            if (byte == 0 && shift != 0) break;  // a longer form than needed
            return value;
        }
    }
    reader.fail();
    return 0;
}

/// An amount as mantissa * 10^exponent in one number: mantissa * 10 + exponent, exponent 0 to 9.
std::uint64_t pack_amount(std::uint64_t amount) {
    std::uint64_t exponent = 0;
    while (amount != 0 && exponent < 9 && amount % 10 == 0) {
        amount /= 10;
        ++exponent;
    }
    return amount * 10 + exponent;
}

Amount unpack_amount(std::uint64_t packed, ByteReader& reader) {
    std::uint64_t amount = packed / 10;
    for (std::uint64_t exponent = packed % 10;
         exponent > 0 && amount <= static_cast<std::uint64_t>(kMaxMoney); --exponent) {
        amount *= 10;
    }
    if (amount > static_cast<std::uint64_t>(kMaxMoney) || pack_amount(amount) != packed) {
        reader.fail();
        return 0;
    }
    return static_cast<Amount>(amount);
}

}  // namespace

void encode_coin(const Coin& coin, std::vector<std::uint8_t>& out) {
    encode_number(std::uint64_t{coin.height.value} * 2 + (coin.coinbase ? 1 : 0), out);
    encode_number(pack_amount(static_cast<std::uint64_t>(coin.amount)), out);
    const std::uint8_t form = form_of(coin.script);
    out.push_back(form);
    if (form == kRaw) {
        encode_number(coin.script.size(), out);
        append(out, coin.script);
        return;
    }
    const Frame& frame = kFrames[form];
    append(out, ByteSpan(coin.script).subspan(frame.before.size(), frame.size));
}

Coin decode_coin(ByteReader& reader) {
    Coin coin;
    decode_coin(reader, coin);
    return coin;
}

void decode_coin(ByteReader& reader, Coin& coin) {
    coin.script.resize_for_overwrite(0);
    const std::uint64_t place = decode_number(reader);
    if (place / 2 > std::numeric_limits<std::uint32_t>::max()) reader.fail();
    coin.height = Height{static_cast<std::uint32_t>(place / 2)};
    coin.coinbase = place % 2 != 0;
    coin.amount = unpack_amount(decode_number(reader), reader);
    const auto form = reader.le<std::uint8_t>();
    if (form > kPubkeyOdd) reader.fail();
    if (!reader.ok()) {
        coin = {};
        return;
    }
    if (form == kRaw) {
        const std::uint64_t size = decode_number(reader);
        if (size > kMaxScript) reader.fail();
        coin.script = CoinScript(reader.take(size));
        if (form_of(coin.script) != kRaw) reader.fail();
    } else {
        const Frame& frame = kFrames[form];
        std::uint8_t* at =
            coin.script.resize_for_overwrite(frame.before.size() + frame.size + frame.behind.size());
        for (const ByteSpan part : {frame.before, reader.take(frame.size), frame.behind})
            at = std::copy(part.begin(), part.end(), at);
    }
    if (!reader.ok()) coin = {};
}

bool is_unspendable(ByteSpan script) {
    return script.size() > kMaxScript || (!script.empty() && script[0] == kOpReturn);
}

}  // namespace blockpub
