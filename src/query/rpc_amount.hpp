// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/fee_rate.hpp"
#include "query/json_reader.hpp"
#include "query/rpc_error.hpp"

#include <expected>
#include <optional>
#include <string_view>

namespace blockpub {

/// A decimal number in JSON's own form, as satoshi; nothing for what is no such number, or finer than a
/// satoshi, or beyond 18 digits. Source: Bitcoin Core v28.1 src/util/strencodings.h, ParseFixedPoint.
[[nodiscard]] std::optional<Amount> parse_amount(std::string_view text);

/// An amount of BTC, as a number or a string. Errors: Core's texts.
[[nodiscard]] std::expected<Amount, RpcError> amount_argument(JsonValue value);

/// A fee rate in BTC for 1,000 virtual bytes. Errors: Core's texts.
[[nodiscard]] std::expected<FeeRate, RpcError> fee_rate_argument(JsonValue value);

}  // namespace blockpub
