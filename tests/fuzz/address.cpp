// SPDX-License-Identifier: MIT
#include "primitives/address.hpp"

#include "base/check.hpp"
#include "primitives/bech32.hpp"
#include "primitives/bech32_errors.hpp"

#include <array>
#include <string_view>

using namespace blockpub;

namespace {

void check_round_trip(ByteSpan script, const ChainParams& params) {
    const auto address = script_to_address(script, params);
    if (!address) return;
    const auto again = address_to_script(*address, params);
    BLOCKPUB_CHECK(again && std::ranges::equal(*again, script), "{}", *address);
}

}  // namespace

// The first byte chooses the chain; the rest is taken as an address, and as a script.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    if (size == 0) return 0;
    constexpr std::array kChains{ChainKind::main, ChainKind::testnet3, ChainKind::regtest};
    const ChainParams& params = chain_params(kChains[bytes[0] % kChains.size()]);
    const ByteSpan rest(bytes + 1, size - 1);
    check_round_trip(rest, params);
    const std::string_view text(reinterpret_cast<const char*>(rest.data()), rest.size());
    if (!decode_bech32(text)) {
        const Bech32Mistake mistake = locate_bech32_mistake(text);
        BLOCKPUB_CHECK(!mistake.sentence.empty());
        for (const std::size_t position : mistake.positions) BLOCKPUB_CHECK(position < text.size());
    }
    const auto script = address_to_script(text, params);
    if (!script) {
        BLOCKPUB_CHECK(script.error().code == Errc::invalid_argument && !script.error().context.empty());
        return 0;
    }
    BLOCKPUB_CHECK(script_to_address(*script, params).has_value());
    check_round_trip(*script, params);
    return 0;
}
