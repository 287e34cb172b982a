/*
 * token.h - a word of presentation format, as a master-file scanner cuts it.
 *
 * The scanner groups the tokens of one record (parentheses and comments
 * already gone) and passes them on; nothing is copied or unescaped yet.
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
