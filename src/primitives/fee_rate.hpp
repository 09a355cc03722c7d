// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/transaction.hpp"

#include <cstdint>
#include <string>

namespace blockpub {

/// A fee in satoshi for 1,000 virtual bytes.
/// Thread safety: a value.
/// Source: Bitcoin Core v28.1 src/policy/feerate.cpp, CFeeRate.
struct FeeRate {
    Amount per_kvb = 0;

    /// Rounded down; 0 for no size.
    [[nodiscard]] static FeeRate of(Amount fee, std::int64_t vsize);
    /// Rounded up, so that a rate above 0 asks for at least one satoshi.
    [[nodiscard]] Amount fee_for(std::int64_t vsize) const;
    /// `0.00001000 BTC/kvB`.
    [[nodiscard]] std::string text() const;
    friend auto operator<=>(const FeeRate&, const FeeRate&) = default;
};

/// An amount in BTC as bitcoind's messages have it: at least two decimals, no further zeros at the end.
[[nodiscard]] std::string format_money(Amount amount);
/// An amount in BTC with all eight decimals, as in JSON.
[[nodiscard]] std::string format_amount(Amount amount);

}  // namespace blockpub
