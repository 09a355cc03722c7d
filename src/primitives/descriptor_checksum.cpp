// SPDX-License-Identifier: MIT
#include "primitives/descriptor.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace blockpub {
namespace {

// The remainder of the checksum's generator polynomial over GF(32).
class DescriptorChecksum {
 public:
    void add_character(std::uint8_t place) {
        add(place & 31);
        group_ = group_ * 3 + (place >> 5);
        if (++grouped_ == 3) {
            add(group_);
            group_ = grouped_ = 0;
        }
    }
    void finish(char* out) {
        static constexpr std::string_view kOutput = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
        if (grouped_ != 0) add(group_);
        for (std::size_t i = 0; i < kDescriptorChecksumLength; ++i) add(0);
        state_ ^= 1;
        for (std::size_t i = 0; i < kDescriptorChecksumLength; ++i)
            out[i] = kOutput[state_ >> 5 * (kDescriptorChecksumLength - 1 - i) & 31];
    }

 private:
    // The generator times each value.
    static constexpr auto kMultiples = [] {
        constexpr std::array<std::uint64_t, 5> kGenerator{0xf5dee51989, 0xa9fdca3312, 0x1bab10e32d,
                                                          0x3706b1677a, 0x644d626ffd};
        std::array<std::uint64_t, 32> table{};
        for (std::size_t value = 0; value < table.size(); ++value) {
            for (std::size_t i = 0; i < kGenerator.size(); ++i) {
                if ((value >> i & 1) != 0) table[value] ^= kGenerator[i];
            }
        }
        return table;
    }();

    void add(unsigned value) { state_ = (state_ & 0x7ffffffff) << 5 ^ value ^ kMultiples[state_ >> 35]; }

    std::uint64_t state_ = 1;
    unsigned group_ = 0;
    unsigned grouped_ = 0;
};

// Place of each character among those that a descriptor has: ordered so that the commonest mistakes (case,
// hexadecimal digits) change a single group of five bits.
constexpr std::uint8_t kNoPlace = 0xff;
constexpr auto kPlaces = [] {
    constexpr std::string_view kInput =
        "0123456789()[],'/*abcdefgh@:$%{}"
        "IJKLMNOPQRSTUVWXYZ&+-.;<=>?!^_|~"
        "ijklmnopqrstuvwxyzABCDEFGH`#\"\\ ";
    std::array<std::uint8_t, 256> table{};
    table.fill(kNoPlace);
    for (std::size_t i = 0; i < kInput.size(); ++i)
        table[static_cast<std::uint8_t>(kInput[i])] = static_cast<std::uint8_t>(i);
    return table;
}();

std::uint8_t place_of(char c) {
    return kPlaces[static_cast<std::uint8_t>(c)];
}

}  // namespace

void descriptor_checksum_to(std::string_view descriptor, char* out) {
    DescriptorChecksum checksum;
    for (const char c : descriptor) checksum.add_character(place_of(c));
    checksum.finish(out);
}

std::optional<std::string> descriptor_checksum(std::string_view descriptor) {
    if (std::ranges::any_of(descriptor, [](char c) { return place_of(c) == kNoPlace; })) return std::nullopt;
    std::string out(kDescriptorChecksumLength, '\0');
    descriptor_checksum_to(descriptor, out.data());
    return out;
}

}  // namespace blockpub
