/* field_encoded.c - octets in hexadecimal, base64 and base32hex. */
#include "dns/codec.h"
#include "dns/rdata_field.h"

/*
 * RFC 8078 section 4 writes its delete forms as "0 0 0 0" and "0 3 0 0"; its
 * errata write 00 and AA== for the last field. Either way it is one octet, 0.
 */
static bool
is_delete_form(const struct rdata_parse *p)
{
	const char *front = p->type == TYPE_CDS ? "\0\0\0\0"
		: p->type == TYPE_CDNSKEY ? "\0\0\3\0" : NULL;

	return front != NULL && p->at + 1 == p->count && p->len == 4
		&& memcmp(p->out, front, 4) == 0
		&& p->tokens[p->at].len == 1
		&& p->tokens[p->at].text[0] == '0';
}

bool
field_hex_parse(struct rdata_parse *p)
{
	if (is_delete_form(p)) {
		p->at++;
		return rdata_put_u8(p, 0);
	}
	return rdata_rest_hex(p, 1);
}

bool
field_hex_check(struct rdata_walk *w)
{
	if (w->at == w->end)
		walk_note(w, "an octet or more");
	w->at = w->end;
	return true;
}

void
field_hex_print(struct rdata_walk *w, struct text *t)
{
	text_put_hex(t, w->at, walk_left(w));
	w->at = w->end;
}

bool
field_hex8_parse(struct rdata_parse *p)
{
	static const char what[] =
		"at most 255 octets in hexadecimal, or - for none";
	const struct token *t = rdata_next_bare(p, what);
	uint8_t octets[256];
	struct codec c;

	if (t == NULL)
		return false;
	if (t->len == 1 && t->text[0] == '-')
		return rdata_put_u8(p, 0);
	codec_init(&c, octets + 1, 255);
	if (!codec_read_hex(&c, t->text, t->len) || !codec_is_whole(&c)
		|| t->len == 0)
		return rdata_expect(p, p->at - 1, what);
	octets[0] = (uint8_t)(c.out - octets - 1);
	return rdata_put(p, octets, 1 + (size_t)octets[0]);
}

void
field_hex8_print(struct rdata_walk *w, struct text *t)
{
	if (*w->at == 0)
		text_put_char(t, '-');
	text_put_hex(t, w->at + 1, *w->at);
	w->at += 1 + *w->at;
}

bool
field_base32hex8_parse(struct rdata_parse *p)
{
	static const char what[] = "1 to 255 octets in base32hex";
	const struct token *t = rdata_next_bare(p, what);
	uint8_t octets[256];
	size_t len;

	if (t == NULL)
		return false;
	len = codec_decode_base32hex(t->text, t->len, octets + 1, 255);
	if (len == 0)
		return rdata_expect(p, p->at - 1, what);
	octets[0] = (uint8_t)len;
	return rdata_put(p, octets, 1 + len);
}

bool
field_base32hex8_check(struct rdata_walk *w)
{
	/* RFC 5155 section 3.1.7 */
	if (w->at < w->end && *w->at == 0)
		walk_note(w, "a hash of 1 to 255 octets");
	return field_string_check(w);
}

void
field_base32hex8_print(struct rdata_walk *w, struct text *t)
{
	char text[(255 * 8 + 4) / 5];

	text_put(t, text, codec_print_base32hex(w->at + 1, *w->at, text));
	w->at += 1 + *w->at;
}

bool
field_base64_parse(struct rdata_parse *p)
{
	if (is_delete_form(p)) {
		p->at++;
		return rdata_put_u8(p, 0);
	}
	return rdata_rest_base64(p, 1);
}

void
field_base64_print(struct rdata_walk *w, struct text *t)
{
	text_put_base64(t, w->at, walk_left(w));
	w->at = w->end;
}

bool
field_base64_optional_parse(struct rdata_parse *p)
{
	return rdata_rest_base64(p, 0);
}

/* draft-durand-doa-over-dns section 3.2 */
bool
field_base64_dash_parse(struct rdata_parse *p)
{
	if (p->at + 1 == p->count && !p->tokens[p->at].quoted
		&& p->tokens[p->at].len == 1
		&& p->tokens[p->at].text[0] == '-') {
		p->at++;
		return true;
	}
	return rdata_rest_base64(p, 1);
}

void
field_base64_dash_print(struct rdata_walk *w, struct text *t)
{
	if (w->at == w->end)
		text_put_char(t, '-');
	field_base64_print(w, t);
}
