/*
 * token.h - a word of presentation format, as the scanner of zone files cut it.
 *
 * The scanner drops parentheses and comments and passes on the tokens of one
 * record. Nothing is copied, and escapes are still in.
 */
#ifndef DNS_TOKEN_H
#define DNS_TOKEN_H

#include <stdbool.h>
#include <stdint.h>

struct token {
	const char *text; /* without the quotes, escapes still in; borrowed */
	uint32_t len;     /* octets */
	bool quoted;      /* stood in "…" */
	bool escaped;     /* has a backslash in it */
};

#endif
