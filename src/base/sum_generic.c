/* sum_generic.c - CRC-32C by tables, eight octets a step. */
#include <pthread.h>

#include "base/assert.h"
#include "base/sum.h"

#define POLYNOMIAL 0x82f63b78u /* Castagnoli's, bits reversed */

/* tables[k][b]: the remainder of octet b followed by k octets of zero. */
static uint32_t tables[8][256];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static void
tables_fill(void)
{
	for (unsigned i = 0; i < 256; i++) {
		uint32_t crc = i;

		for (unsigned bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ ((crc & 1) != 0 ? POLYNOMIAL : 0);
		tables[0][i] = crc;
	}
	for (unsigned k = 1; k < 8; k++)
		for (unsigned i = 0; i < 256; i++)
			tables[k][i] = tables[k - 1][i] >> 8
				^ tables[0][tables[k - 1][i] & 0xff];
}

static inline uint32_t
lane_add(uint32_t crc, uint64_t word)
{
	uint32_t out = 0;

	word ^= crc;
	for (unsigned k = 0; k < 8; k++)
		out ^= tables[7 - k][word >> 8 * k & 0xff];
	return out;
}

void
sum_add_generic(struct sum *sum, const void *data, size_t len)
{
	const uint64_t *word = data;

	assert(len % (8 * SUM_LANES) == 0);
	pthread_once(&tables_once, tables_fill);
	for (size_t i = 0; i < len / 8; i += SUM_LANES)
		for (unsigned k = 0; k < SUM_LANES; k++)
			sum->lanes[k] = lane_add(sum->lanes[k], word[i + k]);
}
