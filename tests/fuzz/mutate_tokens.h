/*
 * mutate_tokens.h - changes text by its words and lines, with words of the
 * format at hand, as mutate_dns.h does with messages. All calls change data in
 * place, which has room for max octets, and return its new length.
 */
#ifndef TESTS_FUZZ_MUTATE_TOKENS_H
#define TESTS_FUZZ_MUTATE_TOKENS_H

#include <stddef.h>
#include <stdint.h>

#include "fuzz/mutate_octets.h"

#define MUTATE_WORD_MAX 256u

/* The words that a text is made of. */
struct mutate_text {
	size_t prefix; /* octets before the text */
	/* Writes a word of the format, without a blank, as a string. */
	void (*put_word)(char out[MUTATE_WORD_MAX], uint64_t *chance);
	/* Writes a word that begins a line; NULL: put_word does. */
	void (*put_first)(char out[MUTATE_WORD_MAX], uint64_t *chance);
};

size_t mutate_tokens(const struct mutate_text *text, uint8_t *data,
	size_t size, size_t max, unsigned seed);

/* The hook of libFuzzer in a target whose inputs are text. */
#define TOKENS_FOR_FUZZER(text)                                              \
	size_t                                                               \
	LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max,      \
		unsigned seed)                                               \
	{                                                                    \
		return mutate_tokens(text, data, size, max, seed);           \
	}

/* Writes one of the words. */
void mutate_pick(char out[MUTATE_WORD_MAX], const char *const *words,
	size_t count, uint64_t *chance);

/* A number, mostly at a bound of some type, maybe with a unit of time. */
void mutate_put_number(char out[MUTATE_WORD_MAX], uint64_t *chance);

#endif
