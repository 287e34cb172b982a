/*
 * sha1_shani.c - SHA-1 by the instructions made for it. With one message they
 * are idle half of the time, as each four rounds wait for the four before. Two
 * messages keep them busy.
 */
#include "base/sha1_kernel.h"

#define TARGET __attribute__((target("sha,sse4.1")))
#define INLINE TARGET static inline __attribute__((always_inline))

#include <immintrin.h>

#define LANES_MAX 2u

/*
 * A state is two vectors: A, B, C, D from the highest word down, and E in the
 * highest word of the other. The words of a message stand in the same order,
 * four in a vector. So the first four words of a digest can be hashed again as
 * they stand.
 */
struct sha1_lane {
	__m128i abcd;
	__m128i e;
	__m128i w[4];
};

INLINE __m128i
four_rounds(__m128i abcd, __m128i e, unsigned group)
{
	switch (group / 5) {
	case 0:
		return _mm_sha1rnds4_epu32(abcd, e, 0);
	case 1:
		return _mm_sha1rnds4_epu32(abcd, e, 1);
	case 2:
		return _mm_sha1rnds4_epu32(abcd, e, 2);
	default:
		return _mm_sha1rnds4_epu32(abcd, e, 3);
	}
}

/* Makes the words of a group from those of the four groups before it. */
INLINE void
extend_words(__m128i *w, unsigned group)
{
	__m128i x = _mm_sha1msg1_epu32(w[group % 4], w[(group + 1) % 4]);

	x = _mm_xor_si128(x, w[(group + 2) % 4]);
	w[group % 4] = _mm_sha1msg2_epu32(x, w[(group + 3) % 4]);
}

/* Hashes one block in each of n lanes. In: abcd, e, w. Out: abcd, e. */
INLINE void
compress_block(struct sha1_lane *l, unsigned n)
{
	/* The state between rounds. e is abcd of four rounds ago: rotated, the
	 * A of then is the E of now. */
	__m128i abcd[LANES_MAX], e[LANES_MAX], next;
	unsigned group, i;

	SHA1_UNROLL
	for (i = 0; i < n; i++) {
		abcd[i] = l[i].abcd;
		e[i] = _mm_add_epi32(l[i].e, l[i].w[0]);
	}
	SHA1_UNROLL
	for (group = 0; group < 20; group++) {
		SHA1_UNROLL
		for (i = 0; i < n; i++) {
			if (group >= 4)
				extend_words(l[i].w, group);
			if (group > 0)
				e[i] = _mm_sha1nexte_epu32(e[i],
					l[i].w[group % 4]);
			next = four_rounds(abcd[i], e[i], group);
			e[i] = abcd[i];
			abcd[i] = next;
		}
	}
	SHA1_UNROLL
	for (i = 0; i < n; i++) {
		l[i].e = _mm_sha1nexte_epu32(e[i], l[i].e);
		l[i].abcd = _mm_add_epi32(l[i].abcd, abcd[i]);
	}
}

INLINE __m128i
start_abcd(void)
{
	return _mm_set_epi32((int)SHA1_H0, (int)SHA1_H1, (int)SHA1_H2,
		(int)SHA1_H3);
}

INLINE __m128i
start_e(void)
{
	return _mm_set_epi32((int)SHA1_H4, 0, 0, 0);
}

INLINE void
load_words(struct sha1_lane *l, const uint8_t *block)
{
	const __m128i reverse = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
		11, 12, 13, 14, 15);
	unsigned i;

	SHA1_UNROLL
	for (i = 0; i < 4; i++)
		l->w[i] = _mm_shuffle_epi8(_mm_loadu_si128(
			(const __m128i *)(block + 16 * i)), reverse);
}

/* Loads four words, the first one highest. */
INLINE __m128i
load_suffix(const uint32_t *words)
{
	return _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)words),
		_MM_SHUFFLE(0, 1, 2, 3));
}

/* Hashes the digests, each followed by the suffix. */
INLINE void
compress_suffix(struct sha1_lane *l, unsigned n,
	const struct sha1_suffix *suffix)
{
	unsigned i, k, block;

	SHA1_UNROLL
	for (i = 0; i < n; i++) {
		l[i].w[0] = l[i].abcd;
		/* Word 4 is E. It is 0 in the suffix, and words 5 to 7 are 0
		 * in e. */
		l[i].w[1] = _mm_or_si128(l[i].e,
			load_suffix(suffix->words + 4));
		l[i].w[2] = load_suffix(suffix->words + 8);
		l[i].w[3] = load_suffix(suffix->words + 12);
		l[i].abcd = start_abcd();
		l[i].e = start_e();
	}
	compress_block(l, n);
	for (block = 1; block < suffix->block_count; block++) {
		SHA1_UNROLL
		for (i = 0; i < n; i++)
			SHA1_UNROLL
			for (k = 0; k < 4; k++)
				l[i].w[k] = load_suffix(suffix->words
					+ 16 * block + 4 * k);
		compress_block(l, n);
	}
}

INLINE void
hash_lanes(struct sha1_message *m, unsigned n, const struct sha1_suffix *suffix,
	unsigned repeat)
{
	struct sha1_lane lanes[LANES_MAX];
	uint32_t words[4];
	unsigned i;
	uint32_t block;

	SHA1_UNROLL
	for (i = 0; i < n; i++) {
		lanes[i].abcd = start_abcd();
		lanes[i].e = start_e();
		for (block = 0; block < m[i].block_count; block++) {
			load_words(&lanes[i], m[i].blocks + (size_t)64 * block);
			compress_block(&lanes[i], 1);
		}
	}
	for (; repeat > 0; repeat--)
		compress_suffix(lanes, n, suffix);
	SHA1_UNROLL
	for (i = 0; i < n; i++) {
		_mm_storeu_si128((__m128i *)words, lanes[i].abcd);
		m[i].digest[0] = words[3];
		m[i].digest[1] = words[2];
		m[i].digest[2] = words[1];
		m[i].digest[3] = words[0];
		m[i].digest[4] = (uint32_t)_mm_extract_epi32(lanes[i].e, 3);
	}
}

TARGET void
sha1_hash_shani1(struct sha1_message *messages, size_t count,
	const struct sha1_suffix *suffix, unsigned repeat)
{
	hash_lanes(messages, 1, suffix, repeat);
}

TARGET void
sha1_hash_shani2(struct sha1_message *messages, size_t count,
	const struct sha1_suffix *suffix, unsigned repeat)
{
	if (count == 2)
		hash_lanes(messages, 2, suffix, repeat);
	else
		hash_lanes(messages, 1, suffix, repeat);
}
