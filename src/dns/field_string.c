/* field_string.c - character strings (RFC 1035 section 5.1) and tags. */
#include "dns/name.h"
#include "dns/rdata_field.h"
#include "dns/scan.h"

static const char string_expected[] =
	"a string of at most 255 octets with whole escapes";

bool
field_string_parse(struct rdata_parse *p)
{
	const struct token *t;
	ptrdiff_t len;

	if (p->at >= p->count)
		return rdata_expect(p, p->count, string_expected);
	t = &p->tokens[p->at++];
	if (rdata_room(p) < 256) {
		uint8_t octets[256];

		len = scan_unescape(t->text, t->len, octets + 1, 255);
		if (len < 0)
			return rdata_expect(p, p->at - 1, string_expected);
		octets[0] = (uint8_t)len;
		return rdata_put(p, octets, (size_t)len + 1);
	}
	if (!t->escaped && t->len <= 255) {
		memcpy(p->out + p->len + 1, t->text, t->len);
		len = t->len;
	} else {
		len = scan_unescape(t->text, t->len, p->out + p->len + 1,
			255);
		if (len < 0)
			return rdata_expect(p, p->at - 1, string_expected);
	}
	p->out[p->len] = (uint8_t)len;
	p->len += 1 + (size_t)len;
	return true;
}

bool
field_string_check(struct rdata_walk *w)
{
	if (w->at == w->end)
		return walk_broken(w, "a string");
	return walk_skip(w, 1 + (size_t)*w->at, "a whole string");
}

void
field_string_print(struct rdata_walk *w, struct text *t)
{
	text_put_quoted(t, w->at + 1, *w->at);
	w->at += 1 + *w->at;
}

bool
field_string_optional_parse(struct rdata_parse *p)
{
	return p->at >= p->count || field_string_parse(p);
}

bool
field_string_optional_check(struct rdata_walk *w)
{
	return w->at == w->end || field_string_check(w);
}

void
field_string_optional_print(struct rdata_walk *w, struct text *t)
{
	if (w->at < w->end)
		field_string_print(w, t);
}

bool
field_strings_parse(struct rdata_parse *p)
{
	do {
		if (!field_string_parse(p))
			return false;
	} while (p->at < p->count);
	return true;
}

bool
field_strings_check(struct rdata_walk *w)
{
	if (w->at == w->end)
		walk_note(w, "one or more strings");
	while (w->at < w->end)
		if (!field_string_check(w))
			return false;
	return true;
}

void
field_strings_print(struct rdata_walk *w, struct text *t)
{
	while (w->at < w->end) {
		field_string_print(w, t);
		if (w->at < w->end)
			text_put_blank(t);
	}
}

bool
field_long_string_parse(struct rdata_parse *p)
{
	static const char what[] = "a string with whole escapes";
	const struct token *t;
	ptrdiff_t len;

	if (p->at >= p->count)
		return rdata_expect(p, p->count, what);
	t = &p->tokens[p->at++];
	len = scan_unescape(t->text, t->len, p->out + p->len, rdata_room(p));
	if (len < 0)
		return rdata_expect(p, p->at - 1, what);
	p->len += (size_t)len;
	return true;
}

void
field_long_string_print(struct rdata_walk *w, struct text *t)
{
	text_put_quoted(t, w->at, walk_left(w));
	w->at = w->end;
}

/* RFC 8659 section 4.1 */
static bool
is_tag(const uint8_t *octets, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		uint8_t c = name_lower_octet(octets[i]);

		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')))
			return false;
	}
	return len > 0;
}

static const char tag_expected[] =
	"a property tag of 1 to 255 letters and digits";

/* The tag may stand in quotes, as other servers allow. Escapes in it are
 * doubted. */
bool
field_tag_parse(struct rdata_parse *p)
{
	const struct token *t;
	uint8_t tag[255];
	ptrdiff_t len;

	if (p->at >= p->count)
		return rdata_expect(p, p->count, tag_expected);
	t = &p->tokens[p->at++];
	len = scan_unescape(t->text, t->len, tag, sizeof(tag));
	if (len < 0 || !is_tag(tag, (size_t)len))
		return rdata_expect(p, p->at - 1, tag_expected);
	if (t->escaped)
		rdata_doubt(p, p->at - 1, "a property tag without escapes");
	return rdata_put_u8(p, (uint32_t)len)
		&& rdata_put(p, tag, (size_t)len);
}

bool
field_tag_check(struct rdata_walk *w)
{
	const uint8_t *tag = w->at;

	if (!field_string_check(w))
		return false;
	if (!is_tag(tag + 1, *tag))
		walk_note(w, tag_expected);
	return true;
}

void
field_tag_print(struct rdata_walk *w, struct text *t)
{
	text_put(t, (const char *)w->at + 1, *w->at);
	w->at += 1 + *w->at;
}
