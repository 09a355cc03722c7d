// SPDX-License-Identifier: MIT
#include "query/rpc_amount.hpp"

#include "base/ascii.hpp"

#include <algorithm>
#include <string>

namespace blockpub {
namespace {

constexpr int kDecimals = 8;
constexpr int kMaxDigits = 18;

/// The digits at the front, taken off.
std::string_view take_digits(std::string_view& text) {
    const auto end = std::ranges::find_if_not(text, is_digit);
    const auto size = static_cast<std::size_t>(end - text.begin());
    const std::string_view digits = text.substr(0, size);
    text.remove_prefix(size);
    return digits;
}

bool take(std::string_view& text, std::string_view any_of) {
    if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
    text.remove_prefix(1);
    return true;
}

struct Decimal {
    bool negative = false;
    std::string digits;
    long exponent = 0;  ///< of ten
};

std::optional<Decimal> split(std::string_view text) {
    Decimal decimal;
    decimal.negative = take(text, "-");
    const std::string_view whole = take_digits(text);
    if (whole.empty() || (whole.size() > 1 && whole.front() == '0')) return std::nullopt;
    decimal.digits = whole;
    if (take(text, ".")) {
        const std::string_view fraction = take_digits(text);
        if (fraction.empty()) return std::nullopt;
        decimal.digits += fraction;
        decimal.exponent = -static_cast<long>(fraction.size());
    }
    if (take(text, "eE")) {
        const bool negative = !text.empty() && text.front() == '-';
        take(text, "+-");
        std::string_view power = take_digits(text);
        if (power.empty()) return std::nullopt;
        while (power.size() > 1 && power.front() == '0') power.remove_prefix(1);
        if (power.size() > kMaxDigits) return std::nullopt;
        const long value = std::stol(std::string(power));
        decimal.exponent += negative ? -value : value;
    }
    if (!text.empty()) return std::nullopt;
    return decimal;
}

}  // namespace

std::optional<Amount> parse_amount(std::string_view text) {
    auto decimal = split(text);
    if (!decimal) return std::nullopt;
    std::string& digits = decimal->digits;
    digits.erase(0, digits.find_first_not_of('0'));
    long exponent = decimal->exponent + kDecimals;
    while (!digits.empty() && digits.back() == '0') {
        digits.pop_back();
        ++exponent;
    }
    if (exponent < 0 && !digits.empty()) return std::nullopt;
    if (exponent >= kMaxDigits) return std::nullopt;
    if (digits.empty()) return 0;
    if (digits.size() + static_cast<std::size_t>(exponent) > kMaxDigits) return std::nullopt;
    digits.append(static_cast<std::size_t>(exponent), '0');
    const Amount amount = std::stoll(digits);
    return decimal->negative ? -amount : amount;
}

std::expected<Amount, RpcError> amount_argument(JsonValue value) {
    if (value.kind() != JsonKind::number && value.kind() != JsonKind::string)
        return rpc_fail(RpcCode::type_error, "Amount is not a number or string");
    const auto amount = parse_amount(value.text());
    if (!amount) return rpc_fail(RpcCode::type_error, "Invalid amount");
    if (*amount < 0 || *amount > kMaxMoney) return rpc_fail(RpcCode::type_error, "Amount out of range");
    return *amount;
}

std::expected<FeeRate, RpcError> fee_rate_argument(JsonValue value) {
    const auto amount = amount_argument(value);
    if (!amount) return std::unexpected(amount.error());
    if (*amount >= kCoin) {
        return rpc_fail(RpcCode::invalid_parameter,
                        "Fee rates larger than or equal to 1BTC/kvB are not accepted");
    }
    return FeeRate{*amount};
}

}  // namespace blockpub
