// SPDX-License-Identifier: MIT
#include "primitives/siphash.hpp"

#include "base/endian.hpp"

#include <bit>

namespace blockpub {
namespace {

/// The four words that are mixed.
class SipState {
 public:
    explicit SipState(const SipHashKey& key)
        : v0_(key.k0 ^ 0x736f6d6570736575),
          v1_(key.k1 ^ 0x646f72616e646f6d),
          v2_(key.k0 ^ 0x6c7967656e657261),
          v3_(key.k1 ^ 0x7465646279746573) {}

    void absorb(std::uint64_t word) {
        v3_ ^= word;
        rounds(2);
        v0_ ^= word;
    }
    [[nodiscard]] std::uint64_t finish() {
        v2_ ^= 0xff;
        rounds(4);
        return v0_ ^ v1_ ^ v2_ ^ v3_;
    }

 private:
    void rounds(int count) {
        for (int i = 0; i < count; ++i) {
            v0_ += v1_;
            v1_ = std::rotl(v1_, 13) ^ v0_;
            v0_ = std::rotl(v0_, 32);
            v2_ += v3_;
            v3_ = std::rotl(v3_, 16) ^ v2_;
            v0_ += v3_;
            v3_ = std::rotl(v3_, 21) ^ v0_;
            v2_ += v1_;
            v1_ = std::rotl(v1_, 17) ^ v2_;
            v2_ = std::rotl(v2_, 32);
        }
    }

    std::uint64_t v0_;
    std::uint64_t v1_;
    std::uint64_t v2_;
    std::uint64_t v3_;
};

}  // namespace

std::uint64_t siphash(const SipHashKey& key, ByteSpan bytes) {
    SipState state(key);
    const std::size_t whole = bytes.size() / 8 * 8;
    for (std::size_t at = 0; at < whole; at += 8) state.absorb(read_le<std::uint64_t>(bytes.data() + at));
    std::uint64_t last = std::uint64_t{bytes.size() & 0xff} << 56;
    for (std::size_t at = whole; at < bytes.size(); ++at)
        last |= std::uint64_t{bytes[at]} << (8 * (at - whole));
    state.absorb(last);
    return state.finish();
}

}  // namespace blockpub
