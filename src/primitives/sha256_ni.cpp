// SPDX-License-Identifier: MIT
#include "primitives/sha256_ni.hpp"

#include "base/check.hpp"

#if defined(__x86_64__)

#include "primitives/sha256_rounds.hpp"

#include <cpuid.h>
#include <immintrin.h>

namespace blockpub::sha_ni {
namespace {

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
    const __m128i round = _mm_load_si128(reinterpret_cast<const __m128i*>(kRoundConstants) + Group);
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
