/* field_name.c - domain names. */
#include "dns/name.h"
#include "dns/rdata_field.h"

bool
field_name_parse(struct rdata_parse *p)
{
	const struct token *t = rdata_next_bare(p, "a domain name");
	uint8_t name[NAME_MAX_LEN];
	const char *why;
	size_t size;

	if (t == NULL)
		return false;
	if (rdata_room(p) >= NAME_MAX_LEN) {
		if (name_parse_text(t->text, t->len, p->origin,
			p->out + p->len, &size, &why) != NSD_OK)
			return rdata_expect(p, p->at - 1, why);
		p->len += size;
		return true;
	}
	if (name_parse_text(t->text, t->len, p->origin, name, &size, &why)
		!= NSD_OK)
		return rdata_expect(p, p->at - 1, why);
	return rdata_put(p, name, size);
}

bool
field_name_check(struct rdata_walk *w)
{
	const uint8_t *at = w->at;
	const uint8_t *limit = walk_left(w) < NAME_MAX_LEN ? w->end
		: at + NAME_MAX_LEN;

	while (at < limit && *at != 0) {
		if (*at > LABEL_MAX_LEN)
			return walk_broken(w, "an uncompressed domain name");
		at += 1 + *at;
	}
	if (at >= limit)
		return walk_broken(w, "a whole domain name");
	w->at = at + 1;
	return true;
}

void
field_name_print(struct rdata_walk *w, struct text *t)
{
	text_put_name(t, w->at);
	w->at += name_len(w->at);
}
