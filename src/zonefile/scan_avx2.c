/*
 * scan_avx2.c - the scanner with 32-octet vectors.
 */
#include "zonefile/scan.h"

#define TARGET __attribute__((target("avx2,bmi,bmi2,popcnt")))

#include "zonefile/scan_x86.h"

TARGET static inline uint64_t
mask_of(__m256i low, __m256i high)
{
	return (uint32_t)_mm256_movemask_epi8(low)
		| (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32;
}

TARGET static inline uint64_t
mask_equal(__m256i low, __m256i high, char c)
{
	__m256i v = _mm256_set1_epi8(c);

	return mask_of(_mm256_cmpeq_epi8(low, v), _mm256_cmpeq_epi8(high, v));
}

TARGET static inline void
scan_classify(const uint8_t *p, struct scan_masks *m)
{
	const __m256i white = _mm256_setr_epi8(SCAN_WHITE_TABLE,
		SCAN_WHITE_TABLE);
	const __m256i special = _mm256_setr_epi8(SCAN_SPECIAL_TABLE,
		SCAN_SPECIAL_TABLE);
	__m256i low = _mm256_loadu_si256((const __m256i *)p);
	__m256i high = _mm256_loadu_si256((const __m256i *)(p + 32));

	m->newline = mask_equal(low, high, '\n');
	m->blank = mask_of(
		_mm256_cmpeq_epi8(_mm256_shuffle_epi8(white, low), low),
		_mm256_cmpeq_epi8(_mm256_shuffle_epi8(white, high), high))
		& ~m->newline;
	m->special = mask_of(
		_mm256_cmpeq_epi8(_mm256_shuffle_epi8(special, low), low),
		_mm256_cmpeq_epi8(_mm256_shuffle_epi8(special, high), high));
	m->quote = m->semicolon = m->backslash = m->nul = 0;
	m->paren = m->carriage = 0;
	if (m->special == 0)
		return;
	m->quote = mask_equal(low, high, '"');
	m->semicolon = mask_equal(low, high, ';');
	m->backslash = mask_equal(low, high, '\\');
	m->nul = mask_equal(low, high, 0);
	m->carriage = mask_equal(low, high, '\r');
	m->paren = m->special & ~(m->quote | m->semicolon | m->backslash
		| m->nul | m->carriage);
}

#include "zonefile/scan_loop.h"

TARGET void
scan_run_avx2(struct scan *s, size_t until)
{
	scan_loop(s, until);
}

TARGET uint32_t
scan_count_avx2(const char *text, size_t len)
{
	const __m256i newline = _mm256_set1_epi8('\n');
	uint32_t n = 0;

	for (; len >= 32; text += 32, len -= 32) {
		__m256i v = _mm256_loadu_si256((const __m256i *)text);

		n += (uint32_t)_mm_popcnt_u32((uint32_t)_mm256_movemask_epi8(
			_mm256_cmpeq_epi8(v, newline)));
	}
	return n + scan_count_generic(text, len);
}
