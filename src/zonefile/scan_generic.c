/*
 * scan_generic.c - the scanner for any machine: a table of classes.
 */
#include "zonefile/scan.h"

#include <string.h>

#define TARGET

enum { IS_BLANK = 1, IS_NEWLINE = 2, IS_SPECIAL = 4 };

static const uint8_t octet_class[256] = {
	[' '] = IS_BLANK, ['\t'] = IS_BLANK,
	['\n'] = IS_NEWLINE,
	['"'] = IS_SPECIAL, [';'] = IS_SPECIAL, ['('] = IS_SPECIAL,
	[')'] = IS_SPECIAL, ['\\'] = IS_SPECIAL, [0] = IS_SPECIAL,
	['\r'] = IS_SPECIAL,
};

static inline void
scan_classify(const uint8_t *p, struct scan_masks *m)
{
	uint64_t blank = 0, newline = 0, special = 0;
	unsigned i;

	for (i = 0; i < SCAN_BLOCK; i++) {
		uint64_t c = octet_class[p[i]];

		blank |= (c & 1) << i;
		newline |= (c >> 1 & 1) << i;
		special |= (c >> 2) << i;
	}
	*m = (struct scan_masks){ .blank = blank, .newline = newline,
		.special = special };
	while (special != 0) {
		uint64_t bit = special & -special;

		switch (p[__builtin_ctzll(special)]) {
		case '"':
			m->quote |= bit;
			break;
		case ';':
			m->semicolon |= bit;
			break;
		case '\\':
			m->backslash |= bit;
			break;
		case 0:
			m->nul |= bit;
			break;
		case '\r':
			m->carriage |= bit;
			break;
		default:
			m->paren |= bit;
		}
		special ^= bit;
	}
}

static inline size_t
scan_write(uint32_t *out, uint32_t at, uint64_t bits)
{
	size_t n = 0;

	for (; bits != 0; bits &= bits - 1)
		out[n++] = at + (uint32_t)__builtin_ctzll(bits);
	return n;
}

#include "zonefile/scan_loop.h"

void
scan_run_generic(struct scan *s, size_t until)
{
	scan_loop(s, until);
}

uint32_t
scan_count_generic(const char *text, size_t len)
{
	const char *end = text + len;
	uint32_t n = 0;

	while ((text = memchr(text, '\n', (size_t)(end - text))) != NULL) {
		n++;
		text++;
	}
	return n;
}
