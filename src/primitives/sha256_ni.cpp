// SPDX-License-Identifier: MIT
#include "primitives/sha256_ni.hpp"

#include "base/check.hpp"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

namespace blockpub::sha_ni {
namespace {

alignas(16) constexpr std::uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// The instructions keep a state's eight words as ABEF and CDGH.
struct Lane {
    __m128i abef;
    __m128i cdgh;
    __m128i words[4];  // the schedule's newest sixteen
};

#define BLOCKPUB_SHA_NI [[gnu::target("sha,sse4.1"), gnu::always_inline]] inline

BLOCKPUB_SHA_NI void load(const State& state, Lane& lane) {
    const __m128i dcba = _mm_loadu_si128(reinterpret_cast<const __m128i*>(state.data()));
    const __m128i hgfe = _mm_loadu_si128(reinterpret_cast<const __m128i*>(state.data() + 4));
    const __m128i cdab = _mm_shuffle_epi32(dcba, 0xb1);
    const __m128i efgh = _mm_shuffle_epi32(hgfe, 0x1b);
    lane.abef = _mm_alignr_epi8(cdab, efgh, 8);
    lane.cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
}

BLOCKPUB_SHA_NI void store(const Lane& lane, State& state) {
    const __m128i feba = _mm_shuffle_epi32(lane.abef, 0x1b);
    const __m128i dchg = _mm_shuffle_epi32(lane.cdgh, 0xb1);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(state.data()), _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(state.data() + 4), _mm_alignr_epi8(dchg, feba, 8));
}

template <std::size_t Group>
BLOCKPUB_SHA_NI void four_rounds(Lane& lane, const std::uint8_t* block) {
    __m128i& word = lane.words[Group % 4];
    if constexpr (Group < 4) {
        const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
        word = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(block) + Group), big_endian);
    } else {
        const __m128i last = lane.words[(Group + 3) % 4];
        const __m128i seven_back = _mm_alignr_epi8(last, lane.words[(Group + 2) % 4], 4);
        word = _mm_sha256msg2_epu32(
            _mm_add_epi32(_mm_sha256msg1_epu32(word, lane.words[(Group + 1) % 4]), seven_back), last);
    }
    const __m128i round = _mm_load_si128(reinterpret_cast<const __m128i*>(kRound) + Group);
    const __m128i sum = _mm_add_epi32(word, round);
    lane.cdgh = _mm_sha256rnds2_epu32(lane.cdgh, lane.abef, sum);
    lane.abef = _mm_sha256rnds2_epu32(lane.abef, lane.cdgh, _mm_shuffle_epi32(sum, 0x0e));
}

/// The rounds of one block in each of N lanes, side by side.
template <std::size_t Group, std::size_t N>
BLOCKPUB_SHA_NI void rounds(Lane (&lanes)[N], const std::uint8_t* const (&blocks)[N]) {
    for (std::size_t i = 0; i < N; ++i) four_rounds<Group>(lanes[i], blocks[i]);
    if constexpr (Group < 15) rounds<Group + 1>(lanes, blocks);
}

template <std::size_t N>
BLOCKPUB_SHA_NI void compress_lanes(Lane (&lanes)[N], const std::uint8_t* (&blocks)[N], std::size_t count) {
    for (; count != 0; --count) {
        __m128i abef[N];
        __m128i cdgh[N];
        for (std::size_t i = 0; i < N; ++i) {
            abef[i] = lanes[i].abef;
            cdgh[i] = lanes[i].cdgh;
        }
        rounds<0>(lanes, blocks);
        for (std::size_t i = 0; i < N; ++i) {
            lanes[i].abef = _mm_add_epi32(lanes[i].abef, abef[i]);
            lanes[i].cdgh = _mm_add_epi32(lanes[i].cdgh, cdgh[i]);
            blocks[i] += kBlock;
        }
    }
}

bool has_instructions() noexcept {
    constexpr unsigned kSha = 1U << 29;   // leaf 7, EBX
    constexpr unsigned kSsse3 = 1U << 9;  // leaf 1, ECX
    constexpr unsigned kSse41 = 1U << 19;
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (b & kSha) == 0) return false;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & kSsse3) != 0 && (c & kSse41) != 0;
}

}  // namespace

bool available() noexcept {
    static const bool has = has_instructions();
    return has;
}

[[gnu::target("sha,sse4.1")]] void compress(State& state, const std::uint8_t* blocks,
                                            std::size_t count) noexcept {
    Lane lanes[1];
    load(state, lanes[0]);
    const std::uint8_t* at[] = {blocks};
    compress_lanes(lanes, at, count);
    store(lanes[0], state);
}

[[gnu::target("sha,sse4.1")]] void compress_two(State& a, const std::uint8_t* a_blocks, State& b,
                                                const std::uint8_t* b_blocks, std::size_t count) noexcept {
    Lane lanes[2];
    load(a, lanes[0]);
    load(b, lanes[1]);
    const std::uint8_t* at[] = {a_blocks, b_blocks};
    compress_lanes(lanes, at, count);
    store(lanes[0], a);
    store(lanes[1], b);
}

}  // namespace blockpub::sha_ni

#else

namespace blockpub::sha_ni {

bool available() noexcept {
    return false;
}
void compress(State&, const std::uint8_t*, std::size_t) noexcept {
    BLOCKPUB_CHECK(false, "no such instructions");
}
void compress_two(State&, const std::uint8_t*, State&, const std::uint8_t*, std::size_t) noexcept {
    BLOCKPUB_CHECK(false, "no such instructions");
}

}  // namespace blockpub::sha_ni

#endif
