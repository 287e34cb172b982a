/*
 * scan_sse42.c - the scanner with 16-octet vectors, for machines without AVX2.
 */
#include "zonefile/scan.h"

#define TARGET __attribute__((target("sse4.2,popcnt")))

#include <immintrin.h>

/* Without BMI: no count of trailing zeros that is defined for no bits. */
TARGET static inline size_t
scan_write(uint32_t *out, uint32_t at, uint64_t bits)
{
	size_t n = 0;

	for (; bits != 0; bits &= bits - 1)
		out[n++] = at + (uint32_t)__builtin_ctzll(bits);
	return n;
}

#define N ((char)0x80)

TARGET static inline uint64_t
mask_equal(const __m128i v[4], char c)
{
	__m128i x = _mm_set1_epi8(c);
	uint64_t bits = 0;
	unsigned i;

	for (i = 0; i < 4; i++)
		bits |= (uint64_t)(uint32_t)_mm_movemask_epi8(
			_mm_cmpeq_epi8(v[i], x)) << (16 * i);
	return bits;
}

/* Octets that are the member of the class which their low nibble selects;
 * see scan_x86.h. */
TARGET static inline uint64_t
mask_class(const __m128i v[4], __m128i table)
{
	uint64_t bits = 0;
	unsigned i;

	for (i = 0; i < 4; i++)
		bits |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(
			_mm_shuffle_epi8(table, v[i]), v[i])) << (16 * i);
	return bits;
}

TARGET static inline void
scan_classify(const uint8_t *p, struct scan_masks *m)
{
	const __m128i white = _mm_setr_epi8(' ', N, N, N, N, N, N, N, N, '\t',
		'\n', N, N, N, N, N);
	const __m128i special = _mm_setr_epi8(0, N, '"', N, N, N, N, N, '(',
		')', N, ';', '\\', '\r', N, N);
	__m128i v[4];
	unsigned i;

	for (i = 0; i < 4; i++)
		v[i] = _mm_loadu_si128((const __m128i *)(p + 16 * i));
	m->newline = mask_equal(v, '\n');
	m->blank = mask_class(v, white) & ~m->newline;
	m->special = mask_class(v, special);
	m->quote = m->semicolon = m->backslash = m->nul = 0;
	m->paren = m->carriage = 0;
	if (m->special == 0)
		return;
	m->quote = mask_equal(v, '"');
	m->semicolon = mask_equal(v, ';');
	m->backslash = mask_equal(v, '\\');
	m->nul = mask_equal(v, 0);
	m->carriage = mask_equal(v, '\r');
	m->paren = m->special & ~(m->quote | m->semicolon | m->backslash
		| m->nul | m->carriage);
}

#include "zonefile/scan_loop.h"

TARGET void
scan_run_sse42(struct scan *s, size_t until)
{
	scan_loop(s, until);
}
