// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/result.hpp>

#include <array>
#include <compare>
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
    /// Whether it can be that of a machine. Source: Bitcoin Core v28.1 src/netaddress.cpp, whose setban takes
    /// no others.
    [[nodiscard]] bool is_valid() const;
    /// Whether machines all over the world can be called by such addresses: not in private networks, not
    /// local, not set aside for documentation or other ends.
    [[nodiscard]] bool is_routable() const;
    /// The numeric form; of IPv6 the short one of RFC 5952.
    [[nodiscard]] std::string text() const;
    /// In network order; an IPv4 address in the first four.
    [[nodiscard]] const std::array<std::uint8_t, 16>& bytes() const { return bytes_; }
    friend bool operator==(const IpAddress&, const IpAddress&) = default;
    /// IPv4 before IPv6, then by their bytes.
    friend std::strong_ordering operator<=>(const IpAddress& a, const IpAddress& b) {
        if (a.v4_ != b.v4_) return b.v4_ <=> a.v4_;
        return a.bytes_ <=> b.bytes_;
    }

 private:
    std::array<std::uint8_t, 16> bytes_{};
    bool v4_ = true;
};

/// The addresses that share a prefix.
/// Thread safety: a value.
class Subnet {
 public:
    Subnet() = default;
    /// An address, `address/prefix length` or `address/netmask` (contiguous). Errors: invalid_argument.
    [[nodiscard]] static Result<Subnet> parse(std::string_view text);
    /// The one address.
    [[nodiscard]] static Subnet of(const IpAddress& address);
    [[nodiscard]] bool is_one_address() const { return prefix_ == (network_.is_v4() ? 32U : 128U); }
    /// Its first address.
    [[nodiscard]] const IpAddress& network() const& { return network_; }
    [[nodiscard]] bool contains(const IpAddress& address) const;
    /// `network/prefix length`, whatever form it came in.
    [[nodiscard]] std::string text() const;
    friend auto operator<=>(const Subnet&, const Subnet&) = default;

 private:
    Subnet(const IpAddress& address, unsigned prefix);

    IpAddress network_;    // no bit behind the prefix is set
    unsigned prefix_ = 0;  // bits
};

}  // namespace blockpub
