// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/result.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace blockpub {

/// An IPv4 or IPv6 address; an IPv4 address mapped into IPv6 is the IPv4 one.
/// Thread safety: a value.
class IpAddress {
 public:
    IpAddress() = default;
    /// Numeric forms only. Nothing for anything else.
    [[nodiscard]] static std::optional<IpAddress> parse(std::string_view text);
    [[nodiscard]] static IpAddress from_v4(const std::array<std::uint8_t, 4>& bytes);
    [[nodiscard]] static IpAddress from_v6(const std::array<std::uint8_t, 16>& bytes);

    [[nodiscard]] bool is_v4() const { return v4_; }
    [[nodiscard]] bool is_loopback() const;
    /// 0.0.0.0 or ::
    [[nodiscard]] bool is_any() const;
    /// In network order; an IPv4 address in the first four.
    [[nodiscard]] const std::array<std::uint8_t, 16>& bytes() const { return bytes_; }
    friend bool operator==(const IpAddress&, const IpAddress&) = default;

 private:
    std::array<std::uint8_t, 16> bytes_{};
    bool v4_ = true;
};

/// The addresses that share a prefix.
/// Thread safety: a value.
class Subnet {
 public:
    /// An address, `address/prefix length` or `address/netmask` (contiguous). Errors: invalid_argument.
    [[nodiscard]] static Result<Subnet> parse(std::string_view text);
    [[nodiscard]] bool contains(const IpAddress& address) const;

 private:
    IpAddress network_;
    unsigned prefix_ = 0;  // bits
};

}  // namespace blockpub
