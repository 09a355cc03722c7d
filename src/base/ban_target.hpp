// SPDX-License-Identifier: MIT
#pragma once

#include "base/subnet.hpp"

#include <blockpub/result.hpp>

#include <compare>
#include <string>
#include <string_view>

namespace blockpub {

/// Whom a ban concerns: a network of IP addresses, or one address of Tor or I2P. From the latter nobody comes
/// here; they are kept for bitcoind, whose list this may be.
/// Thread safety: a value.
class BanTarget {
 public:
    BanTarget() = default;
    BanTarget(const Subnet& subnet) : subnet_(subnet) {}
    /// What Subnet::parse takes, `<56 characters>.onion` or `<52 characters>.b32.i2p`.
    /// Errors: invalid_argument.
    [[nodiscard]] static Result<BanTarget> parse(std::string_view text);
    [[nodiscard]] bool contains(const IpAddress& address) const {
        return name_.empty() && subnet_.contains(address);
    }
    /// Null where it is an address of Tor or I2P.
    [[nodiscard]] const Subnet* subnet() const& { return name_.empty() ? &subnet_ : nullptr; }
    [[nodiscard]] std::string text() const { return name_.empty() ? subnet_.text() : name_; }
    /// Networks of IP addresses come first.
    friend auto operator<=>(const BanTarget&, const BanTarget&) = default;

 private:
    std::string name_;  // of Tor or I2P, in lower case
    Subnet subnet_;     // where there is no name
};

}  // namespace blockpub
