/* field_identifier.c - NSAP, ATMA, EUI-48, EUI-64 and ILNP identifiers. */
#include "dns/codec.h"
#include "dns/rdata_field.h"

/*
 * Reads hexadecimal digits with dots among them; dots have no meaning. Returns
 * the count of octets; 0 if the text is malformed.
 */
static size_t
scan_dotted_hex(const char *text, size_t len, uint8_t *out, size_t room)
{
	struct codec c;
	size_t i, start = 0;

	codec_init(&c, out, room);
	for (i = 0; i <= len; i++) {
		if (i < len && text[i] != '.')
			continue;
		if (!codec_read_hex(&c, text + start, i - start))
			return 0;
		start = i + 1;
	}
	return codec_is_whole(&c) ? (size_t)(c.out - out) : 0;
}

/* No dot at an end, no two in a row. */
static bool
dots_stand_alone(const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (text[i] == '.' && (i == 0 || i + 1 == len
			|| text[i - 1] == '.'))
			return false;
	return true;
}

/* ---- NSAP (RFC 1706 section 5) */

bool
field_nsap_parse(struct rdata_parse *p)
{
	static const char what[] =
		"0x and octets in hexadecimal, dots between them";
	const struct token *t = rdata_next_bare(p, what);
	size_t len;

	if (t == NULL)
		return false;
	if (t->len < 3 || t->text[0] != '0' || (t->text[1] | 0x20) != 'x')
		return rdata_expect(p, p->at - 1, what);
	len = scan_dotted_hex(t->text + 2, t->len - 2, p->out + p->len,
		rdata_room(p));
	if (len == 0)
		return rdata_expect(p, p->at - 1, what);
	p->len += len;
	return true;
}

bool
field_nsap_check(struct rdata_walk *w)
{
	if (w->at == w->end)
		walk_note(w, "an address of one octet or more");
	w->at = w->end;
	return true;
}

void
field_nsap_print(struct rdata_walk *w, struct text *t)
{
	text_put(t, "0x", 2);
	text_put_hex(t, w->at, walk_left(w));
	w->at = w->end;
}

/* ---- ATMA (ATM Forum af-dans-0152): a format octet and the address. */

enum atma_format { ATMA_AESA = 0, ATMA_E164 = 1 };

/* Reads digits, which stay characters; single dots between them are dropped.
 * Returns the count of digits; 0 if the text is malformed. */
static size_t
scan_e164(const char *text, size_t len, uint8_t *out, size_t room)
{
	size_t i, count = 0;
	bool after_digit = false;

	for (i = 0; i < len; i++) {
		if (text[i] == '.' && after_digit && i + 1 < len) {
			after_digit = false;
			continue;
		}
		if (text[i] < '0' || text[i] > '9' || count == room)
			return 0;
		out[count++] = (uint8_t)text[i];
		after_digit = true;
	}
	return count;
}

bool
field_atma_parse(struct rdata_parse *p)
{
	static const char what[] = "+ and digits (E.164) or octets in "
		"hexadecimal (AESA)";
	const struct token *t = rdata_next_bare(p, what);
	uint8_t *out = p->out + p->len;
	size_t len = 0;

	if (t == NULL)
		return false;
	if (rdata_room(p) > 1) {
		bool is_e164 = t->len > 0 && t->text[0] == '+';

		out[0] = is_e164 ? ATMA_E164 : ATMA_AESA;
		if (is_e164)
			len = scan_e164(t->text + 1, t->len - 1, out + 1,
				rdata_room(p) - 1);
		else if (dots_stand_alone(t->text, t->len))
			len = scan_dotted_hex(t->text, t->len, out + 1,
				rdata_room(p) - 1);
	}
	if (len == 0)
		return rdata_expect(p, p->at - 1, what);
	p->len += 1 + len;
	return true;
}

bool
field_atma_check(struct rdata_walk *w)
{
	const uint8_t *at;

	if (w->at == w->end)
		return walk_broken(w, "a format octet");
	if (w->at[0] > ATMA_E164)
		walk_note(w, "a format of 0 or 1");
	if (walk_left(w) == 1)
		walk_note(w, "an address of one octet or more");
	if (w->at[0] == ATMA_E164)
		for (at = w->at + 1; at < w->end; at++)
			if (*at < '0' || *at > '9')
				walk_note(w, "an address of digits");
	w->at = w->end;
	return true;
}

void
field_atma_print(struct rdata_walk *w, struct text *t)
{
	const uint8_t *at = w->at + 1;
	size_t len = walk_left(w) - 1;

	if (w->at[0] == ATMA_E164) {
		text_put_char(t, '+');
		text_put(t, (const char *)at, len);
	} else {
		text_put_hex(t, at, len);
	}
	w->at = w->end;
}

/* ---- EUI-48 and EUI-64 (RFC 7043), ILNP's 64 bits (RFC 6742) */

static const char digits[] = "0123456789abcdef";

/* Reads one to four digits; returns how many, 0 if there is none. */
static size_t
scan_group(const char *text, size_t len, uint32_t *value)
{
	size_t i;

	*value = 0;
	for (i = 0; i < len && i < 4; i++) {
		unsigned digit = (unsigned)(uint8_t)text[i] - '0';

		if (digit > 9) {
			digit = ((unsigned)(uint8_t)text[i] | 0x20) - 'a';
			if (digit > 5)
				break;
			digit += 10;
		}
		*value = *value << 4 | digit;
	}
	return i;
}

/*
 * Reads octets as pairs of digits with a hyphen between two octets. A first
 * digit of 0 may be left out, but that is doubted.
 */
static bool
eui_parse(struct rdata_parse *p, size_t octets, const char *what)
{
	const struct token *t = rdata_next_bare(p, what);
	uint8_t out[8];
	size_t i, at = 0;

	if (t == NULL)
		return false;
	for (i = 0; i < octets; i++) {
		uint32_t value;
		size_t len;

		if (i > 0 && (at >= t->len || t->text[at++] != '-'))
			return rdata_expect(p, p->at - 1, what);
		len = scan_group(t->text + at, t->len - at, &value);
		if (len == 0 || len > 2)
			return rdata_expect(p, p->at - 1, what);
		if (len == 1)
			rdata_doubt(p, p->at - 1, what);
		out[i] = (uint8_t)value;
		at += len;
	}
	if (at != t->len)
		return rdata_expect(p, p->at - 1, what);
	return rdata_put(p, out, octets);
}

static void
eui_print(struct rdata_walk *w, struct text *t, size_t octets)
{
	size_t i;

	for (i = 0; i < octets; i++) {
		if (i > 0)
			text_put_char(t, '-');
		text_put_char(t, digits[*w->at >> 4]);
		text_put_char(t, digits[*w->at++ & 15]);
	}
}

bool
field_eui48_parse(struct rdata_parse *p)
{
	return eui_parse(p, 6, "six octets as xx-xx-xx-xx-xx-xx");
}

bool
field_eui48_check(struct rdata_walk *w)
{
	return walk_skip(w, 6, "six octets");
}

void
field_eui48_print(struct rdata_walk *w, struct text *t)
{
	eui_print(w, t, 6);
}

bool
field_eui64_parse(struct rdata_parse *p)
{
	return eui_parse(p, 8, "eight octets as xx-xx-xx-xx-xx-xx-xx-xx");
}

bool
field_eui64_check(struct rdata_walk *w)
{
	return walk_skip(w, 8, "eight octets");
}

void
field_eui64_print(struct rdata_walk *w, struct text *t)
{
	eui_print(w, t, 8);
}

bool
field_ilnp64_parse(struct rdata_parse *p)
{
	static const char what[] = "64 bits as xxxx:xxxx:xxxx:xxxx";
	const struct token *t = rdata_next_bare(p, what);
	uint8_t out[8];
	size_t at = 0;
	int i;

	if (t == NULL)
		return false;
	for (i = 0; i < 4; i++) {
		uint32_t value;
		size_t len;

		if (i > 0 && (at >= t->len || t->text[at++] != ':'))
			return rdata_expect(p, p->at - 1, what);
		len = scan_group(t->text + at, t->len - at, &value);
		if (len == 0)
			return rdata_expect(p, p->at - 1, what);
		octets_put_u16(out + 2 * i, (uint16_t)value);
		at += len;
	}
	if (at != t->len)
		return rdata_expect(p, p->at - 1, what);
	return rdata_put(p, out, sizeof(out));
}

bool
field_ilnp64_check(struct rdata_walk *w)
{
	return walk_skip(w, 8, "eight octets");
}

void
field_ilnp64_print(struct rdata_walk *w, struct text *t)
{
	int i;

	for (i = 0; i < 8; i++) {
		if (i > 0 && i % 2 == 0)
			text_put_char(t, ':');
		text_put_char(t, digits[*w->at >> 4]);
		text_put_char(t, digits[*w->at++ & 15]);
	}
}
