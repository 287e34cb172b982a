/*
 * mutate_octets.h - the hook of libFuzzer in a target that changes its inputs
 * itself, and changes of octets without a form.
 */
#ifndef TESTS_FUZZ_MUTATE_OCTETS_H
#define TESTS_FUZZ_MUTATE_OCTETS_H

#include <stddef.h>
#include <stdint.h>

/* Changes data in place, which has room for max octets. Returns its new
 * length. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max,
	unsigned seed);
/* Makes an input of two. Returns its length, up to max. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size,
	const uint8_t *two, size_t two_size, uint8_t *out, size_t max,
	unsigned seed);

/* Changes octets as libFuzzer does, if it is there; else a bit or an octet.
 * Returns the new length. */
size_t mutate_octets(uint64_t *chance, uint8_t *data, size_t size,
	size_t max);

#endif
