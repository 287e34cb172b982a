/*
 * scan.c - escapes, quotes and comments inside a block: the part of the scanner
 * that no instruction set makes faster.
 */
#include "zonefile/scan.h"

#include <string.h>

void
scan_init(struct scan *s, const uint8_t *text, size_t len)
{
	memset(s, 0, sizeof(*s));
	s->text = text;
	s->len = len;
}

/* Bits from n up; n may be 64. */
static inline uint64_t
bits_from(unsigned n)
{
	return n < 64 ? ~(uint64_t)0 << n : 0;
}

/* The octets that have no meaning of their own behind a backslash. */
static uint64_t
find_escaped(struct scan *s, uint64_t backslash)
{
	uint64_t escaped = s->carry_escape;

	backslash &= ~escaped;
	s->carry_escape = 0;
	while (backslash != 0) {
		unsigned i = (unsigned)__builtin_ctzll(backslash);

		if (i == 63) {
			s->carry_escape = 1;
			break;
		}
		escaped |= (uint64_t)2 << i;
		backslash &= ~((uint64_t)3 << i);
	}
	return escaped;
}

struct regions {
	uint64_t comment;
	uint64_t quoted; /* octets of quoted words, quotes counted */
};

/* Walks quotes and comments in order, because each may hide the other. */
static void
find_regions(struct scan *s, const struct scan_masks *m, uint64_t escaped,
	struct regions *r, struct scan_words *w)
{
	uint64_t quote = m->quote & ~escaped;
	uint64_t semicolon = m->semicolon & ~escaped;
	unsigned pos = 0;

	while (pos < 64) {
		uint64_t rest = bits_from(pos);
		uint64_t next;
		unsigned i;

		if (s->in_comment) {
			next = m->newline & rest;
			i = next != 0 ? (unsigned)__builtin_ctzll(next) : 64;
			r->comment |= rest & ~bits_from(i);
			s->in_comment = next == 0;
			pos = i;
		} else if (s->in_quote) {
			next = quote & rest;
			if (next == 0) {
				r->quoted |= rest;
				return;
			}
			i = (unsigned)__builtin_ctzll(next);
			r->quoted |= rest & ~bits_from(i + 1);
			w->close |= (uint64_t)1 << i;
			s->in_quote = false;
			pos = i + 1;
		} else {
			next = (quote | semicolon) & rest;
			if (next == 0)
				return;
			i = (unsigned)__builtin_ctzll(next);
			pos = i;
			if ((semicolon >> i & 1) != 0) {
				s->in_comment = true;
				continue;
			}
			s->in_quote = true;
			r->quoted |= (uint64_t)1 << i;
			w->open |= (uint64_t)1 << i;
			pos = i + 1;
		}
	}
}

/* The carriage returns that are not before a newline or the end of the text. */
static uint64_t
find_returns(const struct scan *s, size_t at, const struct scan_masks *m)
{
	size_t left = s->len - at;
	uint64_t before = m->newline >> 1;

	if (left <= SCAN_BLOCK)
		before |= (uint64_t)1 << (left - 1);
	else
		before |= (uint64_t)(s->text[at + SCAN_BLOCK] == '\n') << 63;
	return m->carriage & ~before;
}

void
scan_resolve(struct scan *s, size_t at, const struct scan_masks *m,
	struct scan_words *w)
{
	struct regions r = { 0, 0 };
	uint64_t escaped = 0;
	uint64_t outside, single, blank;

	memset(w, 0, sizeof(*w));
	if ((m->backslash | s->carry_escape) != 0) {
		escaped = find_escaped(s, m->backslash);
		s->saw_escape = true;
	}
	if (m->nul != 0)
		s->saw_nul = true;
	find_regions(s, m, escaped, &r, w);
	if ((m->newline & r.quoted) != 0)
		s->saw_quoted_newline = true;
	outside = ~(r.comment | r.quoted);
	single = m->newline | ((m->paren | find_returns(s, at, m)) & ~escaped);
	w->single = (single & outside) | (m->nul & ~r.quoted);
	blank = (m->blank | m->carriage) & ~escaped;
	w->word = outside & ~(single | m->nul | blank);
}

void
scan_finish(struct scan *s)
{
	if (s->end_count < s->start_count)
		s->ends[s->end_count++] = (uint32_t)s->len;
}
