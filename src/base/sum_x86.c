/* sum_x86.c - CRC-32C by the instruction of SSE 4.2. */
#include <nmmintrin.h>

#include "base/assert.h"
#include "base/sum.h"

__attribute__((target("sse4.2"))) static void
sum_add_sse42(struct sum *sum, const void *data, size_t len)
{
	const uint64_t *word = data;
	uint64_t a = sum->lanes[0], b = sum->lanes[1];
	uint64_t c = sum->lanes[2], d = sum->lanes[3];

	for (size_t i = 0; i < len / 8; i += SUM_LANES) {
		a = _mm_crc32_u64(a, word[i]);
		b = _mm_crc32_u64(b, word[i + 1]);
		c = _mm_crc32_u64(c, word[i + 2]);
		d = _mm_crc32_u64(d, word[i + 3]);
	}
	sum->lanes[0] = (uint32_t)a;
	sum->lanes[1] = (uint32_t)b;
	sum->lanes[2] = (uint32_t)c;
	sum->lanes[3] = (uint32_t)d;
}

void
sum_add(struct sum *sum, const void *data, size_t len)
{
	assert(len % (8 * SUM_LANES) == 0);
	if (__builtin_cpu_supports("sse4.2"))
		sum_add_sse42(sum, data, len);
	else
		sum_add_generic(sum, data, len);
}
