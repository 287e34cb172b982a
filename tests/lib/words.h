/*
 * words.h - cuts a line into tokens as a master-file scanner does: blanks
 * part them, quotes keep blanks, a quote behind "=" goes on with its word.
 * Comments and parentheses are not known here.
 */
#ifndef TESTS_LIB_WORDS_H
#define TESTS_LIB_WORDS_H

#include <stddef.h>

#include "dns/token.h"

/* Fills tokens, which point into the line; returns their count, or max + 1
 * if there are more. */
size_t words_split(const char *line, size_t len, struct token *tokens,
	size_t max);

#endif
