/* rdata_parse.c - common code of the parsers of fields: their errors, and
 * fields in hexadecimal or base64 that go on to the last token. */
#include "dns/rdata_parse.h"

#include "dns/codec.h"

bool
rdata_expect(struct rdata_parse *p, size_t token, const char *what)
{
	p->error->token = token;
	p->error->text = what;
	return false;
}

bool
rdata_expect_shorter(struct rdata_parse *p)
{
	return rdata_expect(p, p->at > 0 ? p->at - 1 : 0,
		"RDATA of at most 65535 octets");
}

void
rdata_note(struct rdata_parse *p, size_t token, const char *what)
{
	if (!p->bad_value)
		rdata_expect(p, token, what);
	p->bad_value = true;
}

void
rdata_doubt(struct rdata_parse *p, size_t token, const char *what)
{
	if (!p->bad_value && !p->doubt)
		rdata_expect(p, token, what);
	p->doubt = true;
}

bool
rdata_rest_hex(struct rdata_parse *p, size_t min)
{
	static const char what[] = "octets in hexadecimal";
	struct codec c;
	size_t start = p->len;

	codec_init(&c, p->out + p->len, rdata_room(p));
	while (p->at < p->count) {
		const struct token *t = &p->tokens[p->at];

		if (t->quoted || !codec_read_hex(&c, t->text, t->len))
			return rdata_expect(p, p->at, what);
		p->at++;
	}
	p->len = (size_t)(c.out - p->out);
	if (!codec_is_whole(&c))
		return rdata_expect(p, p->at - 1,
			"an even number of hexadecimal digits");
	if (p->len - start < min)
		return rdata_expect(p, p->count, what);
	return true;
}

bool
rdata_rest_base64(struct rdata_parse *p, size_t min)
{
	static const char what[] = "octets in base64";
	struct codec c;
	size_t start = p->len;

	codec_init(&c, p->out + p->len, rdata_room(p));
	while (p->at < p->count) {
		const struct token *t = &p->tokens[p->at];

		if (t->quoted || !codec_read_base64(&c, t->text, t->len))
			return rdata_expect(p, p->at, what);
		p->at++;
	}
	p->len = (size_t)(c.out - p->out);
	if (!codec_is_whole(&c))
		return rdata_expect(p, p->at - 1,
			"whole groups of base64, with their padding");
	if (p->len - start < min)
		return rdata_expect(p, p->count, what);
	return true;
}
