// SPDX-License-Identifier: MIT
#include "base/subnet.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <span>
#include <string>
#include <utility>

namespace blockpub {

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
    const std::string copy(text);
    if (copy.size() != std::strlen(copy.c_str())) return std::nullopt;
    std::array<std::uint8_t, 4> v4;
    if (::inet_pton(AF_INET, copy.c_str(), v4.data()) == 1) return from_v4(v4);
    std::array<std::uint8_t, 16> v6;
    if (::inet_pton(AF_INET6, copy.c_str(), v6.data()) == 1) return from_v6(v6);
    return std::nullopt;
}

IpAddress IpAddress::from_v4(const std::array<std::uint8_t, 4>& bytes) {
    IpAddress address;
    std::ranges::copy(bytes, address.bytes_.begin());
    return address;
}

IpAddress IpAddress::from_v6(const std::array<std::uint8_t, 16>& bytes) {
    static constexpr std::uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    if (std::equal(std::begin(kMapped), std::end(kMapped), bytes.begin())) {
        return from_v4({bytes[12], bytes[13], bytes[14], bytes[15]});
    }
    IpAddress address;
    address.bytes_ = bytes;
    address.v4_ = false;
    return address;
}

bool IpAddress::is_loopback() const {
    if (v4_) return bytes_[0] == 127;
    return std::all_of(bytes_.begin(), bytes_.end() - 1, [](std::uint8_t b) { return b == 0; }) &&
           bytes_[15] == 1;
}

bool IpAddress::is_any() const {
    return std::ranges::all_of(bytes_, [](std::uint8_t b) { return b == 0; });
}

namespace {

unsigned width_of(const IpAddress& address) {
    return address.is_v4() ? 32 : 128;
}

/// RFC 1122, 1918, 2544, 3849, 3927, 4193, 4291, 4843, 4862, 5737, 6598, 7343.
constexpr std::string_view kNotRoutable[] = {"0.0.0.0/8",
                                             "10.0.0.0/8",
                                             "100.64.0.0/10",
                                             "127.0.0.0/8",
                                             "169.254.0.0/16",
                                             "172.16.0.0/12",
                                             "192.0.2.0/24",
                                             "192.168.0.0/16",
                                             "198.18.0.0/15",
                                             "198.51.100.0/24",
                                             "203.0.113.0/24",
                                             "255.255.255.255",
                                             "::",
                                             "::1",
                                             "2001:10::/28",
                                             "2001:20::/28",
                                             "2001:db8::/32",
                                             "fc00::/7",
                                             "fe80::/64"};

/// Unspecified, of no network, for documentation (RFC 3849), and what bitcoind makes its own names of: those
/// of DNS seeds, and the Tor addresses of old.
constexpr std::string_view kInvalid[] = {
    "0.0.0.0", "255.255.255.255", "::", "2001:db8::/32", "fd6b:88c0:8724::/48", "fd87:d87e:eb43::/48"};

bool is_in(const IpAddress& address, std::span<const std::string_view> networks) {
    return std::ranges::any_of(networks,
                               [&](std::string_view text) { return Subnet::parse(text)->contains(address); });
}

/// The longest run of zeros, of two groups at least: where it begins, and how long it is.
std::pair<std::size_t, std::size_t> longest_zeros(const std::array<unsigned, 8>& groups) {
    std::pair<std::size_t, std::size_t> best{groups.size(), 1};
    for (std::size_t at = 0; at < groups.size();) {
        std::size_t end = at;
        while (end < groups.size() && groups[end] == 0) ++end;
        if (end - at > best.second) best = {at, end - at};
        at = end + 1;
    }
    return best;
}

/// Leading ones of a netmask. Nothing when a one follows a zero.
std::optional<unsigned> mask_bits(const IpAddress& mask) {
    unsigned bits = 0;
    bool ended = false;
    for (std::size_t i = 0; i < (mask.is_v4() ? 4u : 16u); ++i) {
        for (int bit = 7; bit >= 0; --bit) {
            const bool one = (mask.bytes()[i] >> bit & 1) != 0;
            if (one && ended) return std::nullopt;
            if (one) ++bits;
            ended = ended || !one;
        }
    }
    return bits;
}

}  // namespace

bool IpAddress::is_routable() const {
    return !is_in(*this, kNotRoutable);
}

bool IpAddress::is_valid() const {
    return !is_in(*this, kInvalid);
}

std::string IpAddress::text() const {
    if (v4_) return fmt::format("{}.{}.{}.{}", bytes_[0], bytes_[1], bytes_[2], bytes_[3]);
    std::array<unsigned, 8> groups{};
    for (std::size_t i = 0; i < groups.size(); ++i)
        groups[i] = static_cast<unsigned>(bytes_[2 * i]) << 8 | bytes_[2 * i + 1];
    const auto [zeros, length] = longest_zeros(groups);
    std::string out;
    for (std::size_t i = 0; i < groups.size(); ++i) {
        if (i == zeros) {
            out += "::";
            i += length - 1;
            continue;
        }
        if (!out.empty() && out.back() != ':') out += ':';
        out += fmt::format("{:x}", groups[i]);
    }
    return out;
}

Subnet::Subnet(const IpAddress& address, unsigned prefix) : network_(address), prefix_(prefix) {
    std::array<std::uint8_t, 16> bytes = address.bytes();
    for (unsigned bit = prefix; bit < 8 * bytes.size(); ++bit)
        bytes[bit / 8] &= static_cast<std::uint8_t>(~(0x80u >> (bit % 8)));
    network_ = address.is_v4() ? IpAddress::from_v4({bytes[0], bytes[1], bytes[2], bytes[3]})
                               : IpAddress::from_v6(bytes);
}

Subnet Subnet::of(const IpAddress& address) {
    return {address, width_of(address)};
}

Result<Subnet> Subnet::parse(std::string_view text) {
    const auto wrong = [&] {
        return fail(
            Errc::invalid_argument,
            fmt::format(
                "'{}' is neither an address (1.2.3.4), a network and its prefix length (1.2.3.4/24), nor a "
                "network and its netmask (1.2.3.4/255.255.255.0)",
                text));
    };
    const std::size_t slash = text.find('/');
    const auto address = IpAddress::parse(text.substr(0, slash));
    if (!address) return wrong();
    if (slash == std::string_view::npos) return of(*address);
    const std::string_view mask = text.substr(slash + 1);
    unsigned prefix = 0;
    if (const auto [end, error] = std::from_chars(mask.data(), mask.data() + mask.size(), prefix);
        error == std::errc() && end == mask.data() + mask.size()) {
        if (prefix > width_of(*address)) return wrong();
        return Subnet(*address, prefix);
    }
    const auto netmask = IpAddress::parse(mask);
    if (!netmask || netmask->is_v4() != address->is_v4()) return wrong();
    const auto bits = mask_bits(*netmask);
    if (!bits) return wrong();
    return Subnet(*address, *bits);
}

std::string Subnet::text() const {
    return fmt::format("{}/{}", network_.text(), prefix_);
}

bool Subnet::contains(const IpAddress& address) const {
    if (address.is_v4() != network_.is_v4()) return false;
    for (unsigned bit = 0; bit < prefix_; bit += 8) {
        const unsigned kept = std::min(8u, prefix_ - bit);
        const auto mask = static_cast<std::uint8_t>(0xff << (8 - kept));
        if (((address.bytes()[bit / 8] ^ network_.bytes()[bit / 8]) & mask) != 0) return false;
    }
    return true;
}

}  // namespace blockpub
