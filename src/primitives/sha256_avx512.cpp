// SPDX-License-Identifier: MIT
#include "primitives/sha256_avx512.hpp"

#include "base/check.hpp"

#if defined(__x86_64__)

#include "primitives/sha256_rounds.hpp"

#include <immintrin.h>

namespace blockpub::sha_avx512 {
namespace {

#define BLOCKPUB_AVX512 [[gnu::target("avx512f,avx512bw"), gnu::always_inline]] inline

constexpr int kXor = 0x96;       // of three
constexpr int kChoose = 0xca;    // the second where the first is set, else the third
constexpr int kMajority = 0xe8;  // of three

// Intrinsics whose headers know no masks of all lanes warn about an undefined register in some compilers; the
// forms with a mask of all lanes and zero for the rest are the same instruction.
constexpr __mmask16 kAll = 0xffff;

struct Rounds {
    __m512i a, b, c, d, e, f, g, h;
    __m512i words[16];  // the schedule's newest
};

BLOCKPUB_AVX512 __m512i add(__m512i x, __m512i y) {
    return _mm512_add_epi32(x, y);
}
template <int X, int Y, int Z>
BLOCKPUB_AVX512 __m512i sum_of_rotations(__m512i x) {
    return _mm512_ternarylogic_epi32(_mm512_maskz_ror_epi32(kAll, x, X), _mm512_maskz_ror_epi32(kAll, x, Y),
                                     _mm512_maskz_ror_epi32(kAll, x, Z), kXor);
}
template <int X, int Y, int Shift>
BLOCKPUB_AVX512 __m512i rotations_and_shift(__m512i x) {
    return _mm512_ternarylogic_epi32(_mm512_maskz_ror_epi32(kAll, x, X), _mm512_maskz_ror_epi32(kAll, x, Y),
                                     _mm512_maskz_srli_epi32(kAll, x, Shift), kXor);
}

/// One round in all lanes; the variables' names move on by one with each, so that none is copied.
template <std::size_t Round>
BLOCKPUB_AVX512 void one_round(__m512i a, __m512i b, __m512i c, __m512i& d, __m512i e, __m512i f, __m512i g,
                               __m512i& h, __m512i (&words)[16]) {
    __m512i& word = words[Round % 16];
    if constexpr (Round >= 16) {
        word = add(add(word, rotations_and_shift<7, 18, 3>(words[(Round + 1) % 16])),
                   add(words[(Round + 9) % 16], rotations_and_shift<17, 19, 10>(words[(Round + 14) % 16])));
    }
    const __m512i constant = _mm512_set1_epi32(static_cast<int>(kRoundConstants[Round]));
    const __m512i first = add(add(add(h, add(word, constant)), sum_of_rotations<6, 11, 25>(e)),
                              _mm512_ternarylogic_epi32(e, f, g, kChoose));
    d = add(d, first);
    h = add(first, add(sum_of_rotations<2, 13, 22>(a), _mm512_ternarylogic_epi32(a, b, c, kMajority)));
}

template <std::size_t Round>
BLOCKPUB_AVX512 void rounds(Rounds& r) {
    one_round<Round + 0>(r.a, r.b, r.c, r.d, r.e, r.f, r.g, r.h, r.words);
    one_round<Round + 1>(r.h, r.a, r.b, r.c, r.d, r.e, r.f, r.g, r.words);
    one_round<Round + 2>(r.g, r.h, r.a, r.b, r.c, r.d, r.e, r.f, r.words);
    one_round<Round + 3>(r.f, r.g, r.h, r.a, r.b, r.c, r.d, r.e, r.words);
    one_round<Round + 4>(r.e, r.f, r.g, r.h, r.a, r.b, r.c, r.d, r.words);
    one_round<Round + 5>(r.d, r.e, r.f, r.g, r.h, r.a, r.b, r.c, r.words);
    one_round<Round + 6>(r.c, r.d, r.e, r.f, r.g, r.h, r.a, r.b, r.words);
    one_round<Round + 7>(r.b, r.c, r.d, r.e, r.f, r.g, r.h, r.a, r.words);
    if constexpr (Round + 8 < 64) rounds<Round + 8>(r);
}

/// One block of each lane, word by word: row i of the result is word i of all lanes.
BLOCKPUB_AVX512 void load_words(const std::array<const std::uint8_t*, kLanes>& blocks, std::size_t offset,
                                __m512i (&words)[16]) {
    const __m512i big_endian =
        _mm512_maskz_broadcast_i32x4(kAll, _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203));
    __m512i rows[16];
    for (std::size_t i = 0; i < 16; ++i)
        rows[i] = _mm512_shuffle_epi8(_mm512_loadu_si512(blocks[i] + offset), big_endian);
    // Within each quarter of 128 bits, four rows by four columns at a time.
    __m512i quads[16];
    for (std::size_t i = 0; i < 16; i += 4) {
        const __m512i low01 = _mm512_maskz_unpacklo_epi32(kAll, rows[i], rows[i + 1]);
        const __m512i high01 = _mm512_maskz_unpackhi_epi32(kAll, rows[i], rows[i + 1]);
        const __m512i low23 = _mm512_maskz_unpacklo_epi32(kAll, rows[i + 2], rows[i + 3]);
        const __m512i high23 = _mm512_maskz_unpackhi_epi32(kAll, rows[i + 2], rows[i + 3]);
        quads[i] = _mm512_maskz_unpacklo_epi64(0xff, low01, low23);
        quads[i + 1] = _mm512_maskz_unpackhi_epi64(0xff, low01, low23);
        quads[i + 2] = _mm512_maskz_unpacklo_epi64(0xff, high01, high23);
        quads[i + 3] = _mm512_maskz_unpackhi_epi64(0xff, high01, high23);
    }
    // Then the quarters themselves: quads[4 * r + c] has words c, 4 + c, 8 + c, 12 + c of lanes 4 * r and on.
    for (std::size_t c = 0; c < 4; ++c) {
        const __m512i even01 = _mm512_maskz_shuffle_i32x4(kAll, quads[c], quads[4 + c], 0x88);
        const __m512i odd01 = _mm512_maskz_shuffle_i32x4(kAll, quads[c], quads[4 + c], 0xdd);
        const __m512i even23 = _mm512_maskz_shuffle_i32x4(kAll, quads[8 + c], quads[12 + c], 0x88);
        const __m512i odd23 = _mm512_maskz_shuffle_i32x4(kAll, quads[8 + c], quads[12 + c], 0xdd);
        words[c] = _mm512_maskz_shuffle_i32x4(kAll, even01, even23, 0x88);
        words[4 + c] = _mm512_maskz_shuffle_i32x4(kAll, odd01, odd23, 0x88);
        words[8 + c] = _mm512_maskz_shuffle_i32x4(kAll, even01, even23, 0xdd);
        words[12 + c] = _mm512_maskz_shuffle_i32x4(kAll, odd01, odd23, 0xdd);
    }
}

}  // namespace

bool available() noexcept {
    static const bool has = __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0;
    return has;
}

[[gnu::target("avx512f,avx512bw")]] void compress(States& states,
                                                  const std::array<const std::uint8_t*, kLanes>& blocks,
                                                  std::size_t count) noexcept {
    __m512i state[8];
    for (std::size_t i = 0; i < 8; ++i) state[i] = _mm512_load_si512(states.words[i].data());
    for (std::size_t block = 0; block < count; ++block) {
        Rounds r{state[0], state[1], state[2], state[3], state[4], state[5], state[6], state[7], {}};
        load_words(blocks, block * sha_ni::kBlock, r.words);
        rounds<0>(r);
        const __m512i after[8] = {r.a, r.b, r.c, r.d, r.e, r.f, r.g, r.h};
        for (std::size_t i = 0; i < 8; ++i) state[i] = add(state[i], after[i]);
    }
    for (std::size_t i = 0; i < 8; ++i) _mm512_store_si512(states.words[i].data(), state[i]);
}

}  // namespace blockpub::sha_avx512

#else

namespace blockpub::sha_avx512 {

bool available() noexcept {
    return false;
}
void compress(States&, const std::array<const std::uint8_t*, kLanes>&, std::size_t) noexcept {
    BLOCKPUB_CHECK(false, "no such instructions");
}

}  // namespace blockpub::sha_avx512

#endif
