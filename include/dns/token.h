/*
 * token.h - a word of presentation format, as the scanner of zone files cut it.
 *
 * The scanner drops parentheses and comments and passes on the tokens of one
 * record. Nothing is copied, and escapes are still in.
 */
#ifndef DNS_TOKEN_H
#define DNS_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct token {
	const char *text; /* without the quotes, escapes still in; borrowed */
	uint32_t len;     /* octets */
	bool quoted;      /* stood in "…" */
	bool escaped;     /* has a backslash in it */
};

/*
 * Reads a TTL or other period: seconds, or numbers with units in any order and
 * case, such as 1w2d3h4m5s. A number without a unit may come last: 1h30 is 3630
 * seconds.
 * returns false: the text is no period, or does not fit 32 bits; *seconds is
 * not defined.
 */
bool token_parse_period(const char *text, size_t len, uint32_t *seconds)
	MUST_USE;

#endif
