/*
 * sum.h - the checksum of a store that is kept in a file.
 */
#ifndef STORE_SUM_H
#define STORE_SUM_H

#include <stddef.h>
#include <stdint.h>

#define SUM_LANES 4u

/*
 * Four CRC-32C, the k-th over words k, k + 4, k + 8, ... of 8 octets: one
 * chain of the instruction would wait for itself. Any change of up to 32 bits
 * in a row is noticed, any other with all but 2^-32.
 */
struct sum {
	uint32_t lanes[SUM_LANES];
};

/* Takes len octets in, a multiple of 32, aligned to 8. */
void sum_add(struct sum *sum, const void *data, size_t len);

/* The same in plain C; sum_add where there is no instruction for it. */
void sum_add_generic(struct sum *sum, const void *data, size_t len);

#endif
