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

static bool
expand_put(struct rdata_expand *x, const uint8_t *octets, size_t len)
{
	if (RDATA_MAX_LEN - x->len < len)
		return false;
	memcpy(x->out + x->len, octets, len);
	x->len += len;
	return true;
}

bool
field_name_expand_rest(struct rdata_walk *w)
{
	struct rdata_expand *x = w->expand;

	if (!expand_put(x, x->from, (size_t)(w->at - x->from)))
		return false;
	x->from = w->at;
	return true;
}

/* Puts what stands before the name, and all of the name. */
static bool
expand_name(struct rdata_walk *w)
{
	struct rdata_expand *x = w->expand;
	uint8_t name[NAME_MAX_LEN];
	size_t len;

	x->message.at = w->at;
	if (!field_name_expand_rest(w)
		|| name_read(&x->message, name, &len) != NSD_OK
		|| x->message.at > w->end || !expand_put(x, name, len))
		return walk_broken(w, "a whole domain name");
	w->at = x->from = x->message.at;
	return true;
}

bool
field_name_check(struct rdata_walk *w)
{
	const uint8_t *at = w->at;
	const uint8_t *limit = walk_left(w) < NAME_MAX_LEN ? w->end
		: at + NAME_MAX_LEN;

	while (at < limit && *at != 0) {
		if (*at > LABEL_MAX_LEN && w->expand != NULL)
			return expand_name(w);
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
