/*
 * chance.h - numbers by chance that a seed gives again, and what the
 * environment sets for a run.
 */
#ifndef TESTS_LIB_CHANCE_H
#define TESTS_LIB_CHANCE_H

#include <stdint.h>
#include <stdlib.h>

/* The next number; any seed will do as the first state, zero too. */
static inline uint64_t
chance_next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* The next number as one from 0 to below - 1; below is not zero. */
static inline uint32_t
chance_below(uint64_t *state, uint32_t below)
{
	return (uint32_t)(chance_next(state) % below);
}

/* The environment variable name as a number (0x.. and 0.. too), or otherwise if
 * it is not set. */
static inline uint64_t
chance_setting(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text == NULL ? otherwise : strtoull(text, NULL, 0);
}

#endif
