/* fold.h - a multiplication that mixes all bits of two words: the step of
 * hashes that are not meant for secrets. */
#ifndef BASE_FOLD_H
#define BASE_FOLD_H

#include <stdint.h>

/* Multiplies to 128 bits and folds these to 64: all bits of both are mixed. */
static inline uint64_t
fold_words(uint64_t a, uint64_t b)
{
	__extension__ unsigned __int128 m = (unsigned __int128)a * b;

	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

#endif
