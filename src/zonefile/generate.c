/*
 * generate.c - $GENERATE START-STOP[/STEP] LINE: the line once for each number,
 * with the number in place of each "$" or "${OFFSET,WIDTH,BASE}".
 *
 * It comes from BIND and is in no RFC. The lines are made as text, some at a
 * time, and the reader parses them as if they stood in the file.
 */
#include "zonefile/generate.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "dns/rrtype.h"

#define BLOCK_LINES 512
#define BLOCK_OCTETS (1u << 20)
#define WIDTH_MAX 255
/* A number without a width, with dots between its digits, fits. */
#define NUMBER_LEAST 32

/* Reads digits at *at. False: there are none, or the number is over max. */
static bool
generate_parse_number(const char **at, const char *end, uint64_t max,
	uint64_t *out)
{
	const char *p = *at;
	uint64_t v = 0;

	while (p < end && *p >= '0' && *p <= '9') {
		v = v * 10 + (uint64_t)(*p++ - '0');
		if (v > max)
			return false;
	}
	if (p == *at)
		return false;
	*at = p;
	*out = v;
	return true;
}

static bool
parse_range(const struct token *t, struct generate *g)
{
	const char *p = t->text, *end = t->text + t->len;

	g->step = 1;
	if (!generate_parse_number(&p, end, INT32_MAX, &g->next) || p == end
			|| *p++ != '-'
			|| !generate_parse_number(&p, end, INT32_MAX, &g->stop))
		return false;
	if (p < end && (*p++ != '/'
			|| !generate_parse_number(&p, end, INT32_MAX,
			&g->step)))
		return false;
	return p == end && g->step > 0 && g->next <= g->stop;
}

/* Reads "{OFFSET[,WIDTH[,BASE]]}" at *at. */
static bool
parse_modifier(const char **at, const char *end, struct generate_slot *slot)
{
	const char *p = *at + 1;
	bool negative = p < end && *p == '-';
	uint64_t v;

	if (p < end && (*p == '-' || *p == '+'))
		p++;
	if (!generate_parse_number(&p, end, INT32_MAX, &v))
		return false;
	slot->offset = negative ? -(int64_t)v : (int64_t)v;
	if (p < end && *p == ',') {
		p++;
		if (!generate_parse_number(&p, end, WIDTH_MAX, &v))
			return false;
		slot->width = (unsigned)v;
	}
	if (p < end && *p == ',') {
		p++;
		if (p == end || *p == '\0' || strchr("doxXnN", *p) == NULL)
			return false;
		slot->base = *p++;
	}
	if (p == end || *p != '}')
		return false;
	*at = p + 1;
	return true;
}

static bool
has_line_break(const struct token *t)
{
	return memchr(t->text, '\n', t->len) != NULL
		|| memchr(t->text, '\r', t->len) != NULL;
}

/* The index of the token that is all of the RDATA, written in quotes as BIND
 * has it: $GENERATE 1-9 $ MX "10 mail$". 0: no one is. Text with a line break
 * is none, so that no line made begins inside it. */
static size_t
find_quoted_rdata(const struct reader *r)
{
	const struct token *t;
	uint16_t value;
	size_t i = 3, last = r->token_count - 1;

	/* TTL and class, in either order or absent. */
	while (i < last && !r->tokens[i].quoted) {
		t = &r->tokens[i];
		if ((t->text[0] < '0' || t->text[0] > '9')
			&& rrtype_parse_class(t->text, t->len, &value)
				!= NSD_OK)
			break;
		i++;
	}
	t = &r->tokens[last];
	return i + 1 == last && t->quoted && !r->tokens[i].quoted
		&& !has_line_break(t) ? last : 0;
}

/* Writes what stands in quotes without them, and \" as a quote. */
static char *
write_unquoted(const struct token *t, char *p)
{
	for (size_t i = 0; i < t->len; i++) {
		if (t->text[i] == '\\' && i + 1 < t->len
			&& t->text[++i] != '"')
			*p++ = '\\';
		*p++ = t->text[i];
	}
	return p;
}

static char *
write_token(const struct token *t, char *p)
{
	if (t->quoted)
		*p++ = '"';
	memcpy(p, t->text, t->len);
	p += t->len;
	if (t->quoted)
		*p++ = '"';
	return p;
}

/* True if there was nothing between a token and the one before it, as in
 * key="value". */
static bool
touches_last(const struct token *t)
{
	return t[-1].text + t[-1].len + t[-1].quoted + t->quoted == t->text;
}

/* Joins the tokens behind the range with blanks, quotes put back. */
static bool
join_line(const struct reader *r, struct generate *g)
{
	size_t size = 1, i, rdata = find_quoted_rdata(r);
	char *p;

	for (i = 2; i < r->token_count; i++)
		size += r->tokens[i].len + 3u;
	p = g->line = malloc(size);
	if (p == NULL)
		return false;
	for (i = 2; i < r->token_count; i++) {
		const struct token *t = &r->tokens[i];

		if (i > 2 && (i == rdata || !touches_last(t)))
			*p++ = ' ';
		p = i == rdata ? write_unquoted(t, p) : write_token(t, p);
	}
	*p++ = '\n';
	g->len = (size_t)(p - g->line);
	return true;
}

/* Cuts the line at its numbers. An escaped "$" stays, with its backslash. "$$"
 * is the older way to write it. NSD_E_SYNTAX: a bad modifier; NSD_E_MEMORY. */
static enum nsd_err
cut_line(struct generate *g)
{
	const char *end = g->line + g->len, *p = g->line;
	struct generate_slot *slot;
	size_t count = 1;
	size_t i;

	for (i = 0; i < g->len; i++)
		count += g->line[i] == '$';
	g->slots = calloc(count, sizeof(*g->slots));
	if (g->slots == NULL)
		return NSD_E_MEMORY;
	slot = g->slots;
	slot->text = p;
	while (p < end) {
		if (*p == '\\' && p + 1 < end) {
			p += 2;
			continue;
		}
		if (*p != '$') {
			p++;
			continue;
		}
		slot->len = (size_t)(p++ - slot->text);
		if (*p == '$') { /* a newline ends the line: p is inside */
			slot->base = '$';
			p++;
		} else {
			slot->base = 'd';
			if (*p == '{' && !parse_modifier(&p, end, slot))
				return NSD_E_SYNTAX;
		}
		g->numbers_len += slot->width + NUMBER_LEAST;
		slot++;
		slot->text = p;
	}
	slot->len = (size_t)(end - slot->text);
	g->slot_count = (size_t)(slot - g->slots) + 1;
	return NSD_OK;
}

/* Hexadecimal digits with dots between, the last digit first, as in ip6.arpa.
 * width counts digits and dots. If it is even, the last is a dot, as BIND has
 * it. */
static size_t
print_nibbles(char *out, uint64_t v, unsigned width, bool upper)
{
	const char *digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
	size_t n = 0;

	do {
		out[n++] = digits[v & 15];
		v >>= 4;
		if (v != 0 || n < width)
			out[n++] = '.';
	} while (v != 0 || n < width);
	return n;
}

#define NUMBER_TEXT_MAX (WIDTH_MAX + NUMBER_LEAST)

static bool
print_slot(const struct generate_slot *slot, uint64_t i, char *out, size_t *len)
{
	int64_t v = (int64_t)i + slot->offset;
	int width = (int)slot->width;

	*len = 0;
	if (slot->base == 0)
		return true;
	if (slot->base == '$') {
		memcpy(out, "\\$", 2);
		*len = 2;
		return true;
	}
	if (v < 0)
		return false;
	switch (slot->base) {
	case 'n':
	case 'N':
		*len = print_nibbles(out, (uint64_t)v, slot->width,
			slot->base == 'N');
		return true;
	case 'o':
		*len = (size_t)snprintf(out, NUMBER_TEXT_MAX, "%0*llo", width,
			(unsigned long long)v);
		return true;
	case 'x':
		*len = (size_t)snprintf(out, NUMBER_TEXT_MAX, "%0*llx", width,
			(unsigned long long)v);
		return true;
	case 'X':
		*len = (size_t)snprintf(out, NUMBER_TEXT_MAX, "%0*llX", width,
			(unsigned long long)v);
		return true;
	default:
		*len = (size_t)snprintf(out, NUMBER_TEXT_MAX, "%0*lld", width,
			(long long)v);
		return true;
	}
}

/* Appends the line for one number. NSD_E_SYNTAX: the number with its offset is
 * negative; NSD_E_MEMORY. */
static enum nsd_err
print_line(struct generate *g, uint64_t i)
{
	char number[NUMBER_TEXT_MAX];
	/* SCAN_PADDING: octets behind the text that the reader may look at. */
	size_t need = g->len + g->numbers_len + SCAN_PADDING;
	char *out = grow_octets(g->out, g->out_len + need, &g->out_size);
	size_t s;

	if (out == NULL)
		return NSD_E_MEMORY;
	g->out = out;
	for (s = 0; s < g->slot_count; s++) {
		const struct generate_slot *slot = &g->slots[s];
		size_t len;

		memcpy(g->out + g->out_len, slot->text, slot->len);
		g->out_len += slot->len;
		if (!print_slot(slot, i, number, &len))
			return NSD_E_SYNTAX;
		memcpy(g->out + g->out_len, number, len);
		g->out_len += len;
	}
	return NSD_OK;
}

enum nsd_err
generate_next(struct generate *g, struct reader *r)
{
	unsigned lines;

	assert(generate_has_more(g));
	g->out_len = 0;
	for (lines = 0; lines < BLOCK_LINES && generate_has_more(g)
			&& g->out_len < BLOCK_OCTETS; lines++) {
		enum nsd_err err = print_line(g, g->next);

		if (err == NSD_E_SYNTAX)
			reader_error(r, r->tokens[1].text, "Invalid "
				"offset in $GENERATE: negative number");
		if (err != NSD_OK)
			return err;
		g->next += g->step;
	}
	if (g->out_len > r->generate_octets) {
		reader_error(r, r->tokens[1].text,
			"$GENERATE makes too much text");
		return NSD_E_SYNTAX;
	}
	r->generate_octets -= g->out_len;
	memset(g->out + g->out_len, 0, SCAN_PADDING);
	return NSD_OK;
}

enum nsd_err
generate_begin(struct generate *g, struct reader *r)
{
	enum nsd_err err;

	memset(g, 0, sizeof(*g));
	if (r->token_count < 5) {
		reader_error(r, r->tokens[0].text, "Missing fields in "
			"$GENERATE: range, owner, type and rdata expected");
		return NSD_E_SYNTAX;
	}
	if (!parse_range(&r->tokens[1], g)) {
		reader_error_word(r, &r->tokens[1], "START-STOP[/STEP]",
			"Invalid range in $GENERATE");
		return NSD_E_SYNTAX;
	}
	if ((g->stop - g->next) / g->step >= r->generate_left) {
		reader_error_word(r, &r->tokens[1], NULL, "Invalid range in "
			"$GENERATE, more than %u records", r->generate_max);
		return NSD_E_SYNTAX;
	}
	r->generate_left -= (uint32_t)((g->stop - g->next) / g->step + 1);
	err = join_line(r, g) ? cut_line(g) : NSD_E_MEMORY;
	if (err == NSD_E_SYNTAX)
		reader_error(r, r->tokens[2].text, "Invalid modifier in "
			"$GENERATE: expected ${OFFSET[,WIDTH[,BASE]]}");
	return err;
}

void
generate_end(struct generate *g)
{
	free(g->line);
	free(g->slots);
	free(g->out);
}
