/*
 * scan_avx512.c - the scanner with a whole block in one vector.
 */
#include "zonefile/scan.h"

#define TARGET __attribute__((target( \
	"avx512f,avx512bw,avx512vl,avx512vbmi2,bmi,bmi2,popcnt")))

#include <immintrin.h>

#define N ((char)0x80)

/* The octets 0..63, of which the bits select: their offsets in the block. */
static const uint8_t offsets[64] __attribute__((aligned(64))) = {
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
	16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
	32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,
	48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63,
};

TARGET static inline size_t
scan_write(uint32_t *out, uint32_t at, uint64_t bits)
{
	__m512i packed = _mm512_maskz_compress_epi8(bits,
		_mm512_load_si512(offsets));
	__m512i base = _mm512_set1_epi32((int)at);
	size_t n = (size_t)_mm_popcnt_u64(bits);

	_mm512_storeu_si512(out, _mm512_add_epi32(base,
		_mm512_cvtepu8_epi32(_mm512_castsi512_si128(packed))));
	if (__builtin_expect(n <= 16, 1))
		return n;
	_mm512_storeu_si512(out + 16, _mm512_add_epi32(base,
		_mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(packed, 1))));
	_mm512_storeu_si512(out + 32, _mm512_add_epi32(base,
		_mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(packed, 2))));
	_mm512_storeu_si512(out + 48, _mm512_add_epi32(base,
		_mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(packed, 3))));
	return n;
}

TARGET static inline void
scan_classify(const uint8_t *p, struct scan_masks *m)
{
	const __m512i white = _mm512_broadcast_i32x4(_mm_setr_epi8(' ', N, N,
		N, N, N, N, N, N, '\t', '\n', N, N, N, N, N));
	const __m512i special = _mm512_broadcast_i32x4(_mm_setr_epi8(0, N, '"',
		N, N, N, N, N, '(', ')', N, ';', '\\', '\r', N, N));
	__m512i v = _mm512_loadu_si512(p);

	m->newline = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('\n'));
	m->blank = _mm512_cmpeq_epi8_mask(_mm512_shuffle_epi8(white, v), v)
		& ~m->newline;
	m->special = _mm512_cmpeq_epi8_mask(_mm512_shuffle_epi8(special, v), v);
	m->quote = m->semicolon = m->backslash = m->nul = 0;
	m->paren = m->carriage = 0;
	if (m->special == 0)
		return;
	m->quote = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('"'));
	m->semicolon = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8(';'));
	m->backslash = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('\\'));
	m->nul = _mm512_cmpeq_epi8_mask(v, _mm512_setzero_si512());
	m->carriage = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('\r'));
	m->paren = m->special & ~(m->quote | m->semicolon | m->backslash
		| m->nul | m->carriage);
}

#include "zonefile/scan_loop.h"

TARGET void
scan_run_avx512(struct scan *s, size_t until)
{
	scan_loop(s, until);
}

TARGET uint32_t
scan_count_avx512(const char *text, size_t len)
{
	const __m512i newline = _mm512_set1_epi8('\n');
	uint32_t n = 0;

	for (; len >= 64; text += 64, len -= 64)
		n += (uint32_t)_mm_popcnt_u64(_mm512_cmpeq_epi8_mask(
			_mm512_loadu_si512(text), newline));
	return n + scan_count_generic(text, len);
}
