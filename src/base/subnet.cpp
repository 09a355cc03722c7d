// SPDX-License-Identifier: MIT
#include "base/subnet.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

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
    const unsigned width = address->is_v4() ? 32 : 128;
    Subnet subnet;
    subnet.network_ = *address;
    subnet.prefix_ = width;
    if (slash == std::string_view::npos) return subnet;
    const std::string_view mask = text.substr(slash + 1);
    if (const auto [end, error] = std::from_chars(mask.data(), mask.data() + mask.size(), subnet.prefix_);
        error == std::errc() && end == mask.data() + mask.size()) {
        if (subnet.prefix_ > width) return wrong();
        return subnet;
    }
    const auto netmask = IpAddress::parse(mask);
    if (!netmask || netmask->is_v4() != address->is_v4()) return wrong();
    const auto bits = mask_bits(*netmask);
    if (!bits) return wrong();
    subnet.prefix_ = *bits;
    return subnet;
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
