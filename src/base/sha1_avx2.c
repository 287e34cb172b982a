/*
 * sha1_avx2.c - SHA-1 of 8 messages in vectors of 256 bits, for processors
 * without instructions for SHA-1. Where there are any, these are as fast.
 */
#include "base/sha1_kernel.h"

#define TARGET __attribute__((target("avx2")))
#define INLINE TARGET static inline __attribute__((always_inline))

#include <immintrin.h>

#define VECTOR __m256i
#define LANES 8u

#define add _mm256_add_epi32
#define exclusive_or _mm256_xor_si256
#define unpack32_low _mm256_unpacklo_epi32
#define unpack32_high _mm256_unpackhi_epi32
#define unpack64_low _mm256_unpacklo_epi64
#define unpack64_high _mm256_unpackhi_epi64

INLINE __m256i
rotate_left(__m256i x, int n)
{
	return _mm256_or_si256(_mm256_slli_epi32(x, n),
		_mm256_srli_epi32(x, 32 - n));
}

INLINE __m256i
xor_three(__m256i x, __m256i y, __m256i z)
{
	return _mm256_xor_si256(_mm256_xor_si256(x, y), z);
}

INLINE __m256i
sha_choose(__m256i x, __m256i y, __m256i z)
{
	return _mm256_xor_si256(z, _mm256_and_si256(x,
		_mm256_xor_si256(y, z)));
}

INLINE __m256i
sha_majority(__m256i x, __m256i y, __m256i z)
{
	return _mm256_or_si256(_mm256_and_si256(x, y), _mm256_and_si256(z,
		_mm256_or_si256(x, y)));
}

INLINE __m256i
fill_words(uint32_t word)
{
	return _mm256_set1_epi32((int)word);
}

INLINE __m256i
load_quads(const uint8_t *const *at, size_t offset)
{
	return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(
		(const __m128i *)(at[0] + offset))), _mm_loadu_si128(
		(const __m128i *)(at[4] + offset)), 1);
}

INLINE __m256i
to_native(__m256i v)
{
	return _mm256_shuffle_epi8(v, _mm256_broadcastsi128_si256(_mm_set_epi8(
		12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3)));
}

/* Counts of blocks are small, so a signed comparison will do. */
INLINE __m256i
keep_words(const uint32_t *counts, uint32_t block, __m256i new, __m256i old)
{
	return _mm256_blendv_epi8(old, new, _mm256_cmpgt_epi32(
		_mm256_loadu_si256((const __m256i *)counts),
		fill_words(block)));
}

INLINE void
store_words(uint32_t *words, __m256i v)
{
	_mm256_storeu_si256((__m256i *)words, v);
}

#include "base/sha1_lanes.h"

TARGET void
sha1_hash_avx2(struct sha1_message *messages, size_t count,
	const struct sha1_suffix *suffix, unsigned repeat)
{
	hash_lanes(messages, count, 1, suffix, repeat);
}
