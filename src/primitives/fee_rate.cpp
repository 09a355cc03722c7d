// SPDX-License-Identifier: MIT
#include "primitives/fee_rate.hpp"

#include <fmt/format.h>

#include <cmath>

namespace blockpub {
namespace {

__extension__ using Wide = __int128;

}  // namespace

FeeRate FeeRate::of(Amount fee, std::int64_t vsize) {
    // A family's fees, as they were made to count, can be more than all money.
    return {vsize > 0 ? static_cast<Amount>(Wide{fee} * 1000 / vsize) : 0};
}

Amount FeeRate::fee_for(std::int64_t vsize) const {
    const auto fee =
        static_cast<Amount>(std::ceil(static_cast<double>(per_kvb) * static_cast<double>(vsize) / 1000.0));
    if (fee != 0 || vsize == 0 || per_kvb == 0) return fee;
    return per_kvb > 0 ? 1 : -1;
}

std::string FeeRate::text() const {
    return fmt::format("{}.{:08} BTC/kvB", per_kvb / kCoin, per_kvb % kCoin);
}

std::string format_amount(Amount amount) {
    // The smallest amount has no positive counterpart.
    const auto magnitude = amount < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(amount)
                                      : static_cast<std::uint64_t>(amount);
    constexpr auto kUnit = static_cast<std::uint64_t>(kCoin);
    return fmt::format("{}{}.{:08}", amount < 0 ? "-" : "", magnitude / kUnit, magnitude % kUnit);
}

std::string format_money(Amount amount) {
    std::string text = format_amount(amount);
    constexpr std::size_t kLeastDecimals = 2;
    const std::size_t shortest = text.find('.') + 1 + kLeastDecimals;
    while (text.size() > shortest && text.back() == '0') text.pop_back();
    return text;
}

}  // namespace blockpub
