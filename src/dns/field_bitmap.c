/* field_bitmap.c - sets of RR types: NSEC, NSEC3, CSYNC, NXT. */
#include "dns/rdata_field.h"

#define WINDOW_OCTETS 32
#define WINDOWS 256

static const char types_expected[] = "an RR type from 1 to 65535";

static void
set_bit(uint8_t *bits, unsigned bit)
{
	bits[bit / 8] |= (uint8_t)(0x80u >> bit % 8);
}

/* The count of octets up to the last one that is not zero. */
static size_t
bitmap_trim(const uint8_t *bits, size_t len)
{
	while (len > 0 && bits[len - 1] == 0)
		len--;
	return len;
}

static bool
put_window(struct rdata_parse *p, unsigned window, const uint8_t *bits)
{
	uint8_t block[2 + WINDOW_OCTETS];
	size_t len = bitmap_trim(bits, WINDOW_OCTETS);

	if (len == 0)
		return true;
	block[0] = (uint8_t)window;
	block[1] = (uint8_t)len;
	memcpy(block + 2, bits, len);
	return rdata_put(p, block, 2 + len);
}

/*
 * The common case: all types are below 512, so only two windows need to be
 * cleared. Stops at the first other token and returns its place; p->at stays.
 */
static size_t
collect_low_types(const struct rdata_parse *p,
	uint8_t low[2 * WINDOW_OCTETS])
{
	size_t at;
	uint16_t type;

	for (at = p->at; at < p->count; at++) {
		const struct token *t = &p->tokens[at];

		if (t->quoted || rrtype_parse(t->text, t->len, &type)
			!= NSD_OK || type >= 512 || type == 0)
			break;
		set_bit(low, type);
	}
	return at;
}

/* RFC 4034 section 4.1.2 */
bool
field_bitmap_parse(struct rdata_parse *p)
{
	uint8_t low[2 * WINDOW_OCTETS] = { 0 };
	uint8_t all[WINDOWS * WINDOW_OCTETS];
	size_t at = collect_low_types(p, low);
	unsigned window;
	uint16_t type;

	if (at == p->count) {
		p->at = at;
		return put_window(p, 0, low)
			&& put_window(p, 1, low + WINDOW_OCTETS);
	}
	memset(all, 0, sizeof(all));
	memcpy(all, low, sizeof(low));
	for (p->at = at; p->at < p->count; p->at++) {
		const struct token *t = &p->tokens[p->at];

		if (t->quoted || rrtype_parse(t->text, t->len, &type)
			!= NSD_OK)
			return rdata_expect(p, p->at, types_expected);
		if (type == 0)
			rdata_doubt(p, p->at, types_expected);
		set_bit(all, type);
	}
	for (window = 0; window < WINDOWS; window++)
		if (!put_window(p, window, all + window * WINDOW_OCTETS))
			return false;
	return true;
}

bool
field_bitmap_check(struct rdata_walk *w)
{
	int last = -1;

	while (w->at < w->end) {
		size_t len;

		if (walk_left(w) < 2)
			return walk_broken(w, "a whole bitmap window");
		len = w->at[1];
		if (walk_left(w) < 2 + len)
			return walk_broken(w, "a whole bitmap window");
		if (len == 0 || len > WINDOW_OCTETS)
			walk_note(w, "bitmap windows of 1 to 32 octets");
		else if (w->at[1 + len] == 0)
			walk_note(w,
				"bitmap windows without a trailing zero");
		else if (w->at[0] == 0 && (w->at[2] & 0x80))
			walk_doubt(w, "a bitmap without type 0");
		if (w->at[0] <= last)
			walk_note(w, "bitmap windows in ascending order");
		last = w->at[0];
		w->at += 2 + len;
	}
	return true;
}

static void
print_bits(struct text *t, unsigned base, const uint8_t *bits,
	size_t len, bool *first)
{
	unsigned bit;

	for (bit = 0; bit < 8 * len; bit++) {
		char text[RRTYPE_TEXT_MAX];

		if (!(bits[bit / 8] & 0x80u >> bit % 8))
			continue;
		if (!*first)
			text_put_char(t, ' ');
		*first = false;
		text_put(t, text, rrtype_print((uint16_t)(base + bit), text));
	}
}

void
field_bitmap_print(struct rdata_walk *w, struct text *t)
{
	bool first = true;

	while (w->at < w->end) {
		print_bits(t, w->at[0] * 256u, w->at + 2, w->at[1], &first);
		w->at += 2 + (size_t)w->at[1];
	}
}

/* RFC 2535 section 5.2: types 1 to 127. Bit 0 is 0 in this form. */
#define NXT_OCTETS 16

bool
field_nxt_bitmap_parse(struct rdata_parse *p)
{
	static const char what[] = "an RR type from 1 to 127";
	uint8_t bits[NXT_OCTETS] = { 0 };
	uint16_t type;

	if (p->at >= p->count)
		return rdata_expect(p, p->count, what);
	for (; p->at < p->count; p->at++) {
		const struct token *t = &p->tokens[p->at];

		if (t->quoted || rrtype_parse(t->text, t->len, &type)
			!= NSD_OK || type == 0 || type > 127)
			return rdata_expect(p, p->at, what);
		set_bit(bits, type);
	}
	return rdata_put(p, bits, bitmap_trim(bits, NXT_OCTETS));
}

bool
field_nxt_bitmap_check(struct rdata_walk *w)
{
	size_t len = walk_left(w);

	if (len == 0 || len > NXT_OCTETS)
		walk_note(w, "a bitmap of 1 to 16 octets");
	else if ((w->at[0] & 0x80) || w->at[len - 1] == 0)
		walk_note(w, "a bitmap without type 0 or a trailing zero");
	w->at = w->end;
	return true;
}

void
field_nxt_bitmap_print(struct rdata_walk *w, struct text *t)
{
	bool first = true;

	print_bits(t, 0, w->at, walk_left(w), &first);
	w->at = w->end;
}
