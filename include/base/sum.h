/*
 * sum.h - a checksum of files: of a store that is kept in one, of a journal.
 */
#ifndef BASE_SUM_H
#define BASE_SUM_H

#include <stddef.h>
#include <stdint.h>

#define SUM_LANES 4u

/*
 * Four CRC-32C, the k-th over words k, k + 4, k + 8, ... of 8 octets. Four,
 * because the instruction takes longer to give its result than to be started
 * again. Any change of up to 32 bits in a row is noticed. Any other is missed
 * with a probability of 2^-32.
 */
struct sum {
	uint32_t lanes[SUM_LANES];
};

/* Adds len octets to the sum: a multiple of 32, aligned to 8. */
void sum_add(struct sum *sum, const void *data, size_t len);

/* sum_add in plain C, for machines without the instruction. */
void sum_add_generic(struct sum *sum, const void *data, size_t len);

#endif
