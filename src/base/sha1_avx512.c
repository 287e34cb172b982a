/*
 * sha1_avx512.c - SHA-1 of 16 messages in vectors of 512 bits, or of 32 in two
 * of them.
 */
#include "base/sha1_kernel.h"

#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl")))
#define INLINE TARGET static inline __attribute__((always_inline))

#include <immintrin.h>

#define VECTOR __m512i
#define LANES 16u

#define add _mm512_add_epi32
#define exclusive_or _mm512_xor_si512
#define rotate_left _mm512_rol_epi32
#define unpack32_low _mm512_unpacklo_epi32
#define unpack32_high _mm512_unpackhi_epi32
#define unpack64_low _mm512_unpacklo_epi64
#define unpack64_high _mm512_unpackhi_epi64

/* The third argument is a truth table, the first operand its highest bit. */
#define xor_three(x, y, z) _mm512_ternarylogic_epi32(x, y, z, 0x96)
#define sha_choose(x, y, z) _mm512_ternarylogic_epi32(x, y, z, 0xca)
#define sha_majority(x, y, z) _mm512_ternarylogic_epi32(x, y, z, 0xe8)

INLINE __m512i
fill_words(uint32_t word)
{
	return _mm512_set1_epi32((int)word);
}

INLINE __m512i
load_quads(const uint8_t *const *at, size_t offset)
{
	__m512i v = _mm512_castsi128_si512(_mm_loadu_si128(
		(const __m128i *)(at[0] + offset)));

	v = _mm512_inserti32x4(v, _mm_loadu_si128(
		(const __m128i *)(at[4] + offset)), 1);
	v = _mm512_inserti32x4(v, _mm_loadu_si128(
		(const __m128i *)(at[8] + offset)), 2);
	return _mm512_inserti32x4(v, _mm_loadu_si128(
		(const __m128i *)(at[12] + offset)), 3);
}

INLINE __m512i
to_native(__m512i v)
{
	return _mm512_shuffle_epi8(v, _mm512_broadcast_i32x4(_mm_set_epi8(12,
		13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3)));
}

INLINE __m512i
keep_words(const uint32_t *counts, uint32_t block, __m512i new, __m512i old)
{
	return _mm512_mask_blend_epi32(_mm512_cmpgt_epu32_mask(
		_mm512_loadu_si512(counts), fill_words(block)), old, new);
}

INLINE void
store_words(uint32_t *words, __m512i v)
{
	_mm512_storeu_si512(words, v);
}

#include "base/sha1_lanes.h"

TARGET void
sha1_hash_avx512(struct sha1_message *messages, size_t count,
	const struct sha1_suffix *suffix, unsigned repeat)
{
	hash_lanes(messages, count, 1, suffix, repeat);
}

TARGET void
sha1_hash_avx512x2(struct sha1_message *messages, size_t count,
	const struct sha1_suffix *suffix, unsigned repeat)
{
	hash_lanes(messages, count, 2, suffix, repeat);
}
