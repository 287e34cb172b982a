/*
 * field_svcb.c - the parameters of SVCB and HTTPS records (RFC 9460).
 *
 *   | key 16 | length 16 | value |, keys in strictly ascending order
 */
#include <assert.h>
#include <stdlib.h>

#include "dns/rdata_field.h"
#include "dns/scan.h"
#include "dns/svc_param.h"

#define HEAD 4

static const char param_expected[] =
	"a parameter: a known key or keyN up to 65534, then =VALUE if any";
static const char no_default_expected[] =
	"alpn beside no-default-alpn";
static const char mandatory_expected[] =
	"each key that mandatory lists among the parameters";

static size_t
param_len(const uint8_t *param)
{
	return HEAD + (size_t)octets_get_u16(param + 2);
}

/* The parameter with a key; NULL if there is none. All have a sound layout. */
static const uint8_t *
find_param(const uint8_t *at, const uint8_t *end, uint16_t key)
{
	for (; at < end; at += param_len(at))
		if (octets_get_u16(at) == key)
			return at;
	return NULL;
}

/*
 * Checks the rules between parameters: those that mandatory lists are there
 * (section 8), and alpn is there if no-default-alpn is (section 7.1.1). Each
 * parameter is sound. Returns NULL, or what was expected, with *key the key
 * that wants it.
 */
static const char *
broken_rule(const uint8_t *params, const uint8_t *end, uint16_t *key)
{
	const uint8_t *mandatory = find_param(params, end, SVC_MANDATORY);
	const uint8_t *at = params;
	size_t i;

	if (mandatory != NULL)
		/* Both lists are in ascending order, so one pass will do. */
		for (i = HEAD; i + 2 <= param_len(mandatory); i += 2) {
			uint16_t wanted = octets_get_u16(mandatory + i);

			while (at < end && octets_get_u16(at) < wanted)
				at += param_len(at);
			if (at >= end || octets_get_u16(at) != wanted) {
				*key = SVC_MANDATORY;
				return mandatory_expected;
			}
		}
	if (find_param(params, end, SVC_NO_DEFAULT_ALPN) != NULL
		&& find_param(params, end, SVC_ALPN) == NULL) {
		*key = SVC_NO_DEFAULT_ALPN;
		return no_default_expected;
	}
	return NULL;
}

/* ---- from text */

struct param_text {
	const char *key;
	size_t key_len;
	const char *value; /* NULL: none */
	size_t value_len;
	size_t token; /* of the key */
};

/* True if b begins where a ends, with the quotes of either. */
static bool
tokens_touch(const struct token *a, const struct token *b)
{
	return a->text + a->len + a->quoted + b->quoted == b->text;
}

/*
 * Cuts KEY[=VALUE]. A value in quotes is a token of its own, right behind the
 * "=" (appendix A), and nothing but a blank is right behind it.
 */
static bool
next_param(struct rdata_parse *p, struct param_text *param)
{
	const struct token *t = rdata_next_bare(p, param_expected);
	const char *equals;

	if (t == NULL)
		return false;
	param->token = p->at - 1;
	param->key = t->text;
	equals = memchr(t->text, '=', t->len);
	param->key_len = equals != NULL ? (size_t)(equals - t->text) : t->len;
	param->value = NULL;
	param->value_len = 0;
	if (equals == NULL)
		return true;
	param->value = equals + 1;
	param->value_len = t->len - param->key_len - 1;
	if (param->value_len > 0 || p->at == p->count
		|| !p->tokens[p->at].quoted
		|| !tokens_touch(t, &p->tokens[p->at]))
		return true;
	t = &p->tokens[p->at++];
	param->value = t->text;
	param->value_len = t->len;
	return p->at == p->count || !tokens_touch(t, &p->tokens[p->at])
		|| rdata_expect(p, p->at, "a blank behind a quoted value");
}

/* Parses a value with escapes. Not inlined, as its buffer is large. */
__attribute__((noinline)) static const char *
parse_escaped(const struct svc_form *form, const struct param_text *param,
	struct svc_out *out)
{
	uint8_t octets[RDATA_MAX_LEN];
	struct svc_value value = { .octets = octets, .escaped = true };
	ptrdiff_t len = scan_unescape(param->value, param->value_len, octets,
		sizeof(octets));

	if (len < 0)
		return "a value of whole escapes and at most 65535 octets";
	value.len = (size_t)len;
	return form->parse(&value, out);
}

static const char *
parse_value(const struct svc_form *form, const struct param_text *param,
	struct svc_out *out)
{
	struct svc_value value = {
		.octets = (const uint8_t *)(param->value != NULL
			? param->value : ""),
		.len = param->value_len,
	};

	if (memchr(value.octets, '\\', value.len) != NULL)
		return parse_escaped(form, param, out);
	return form->parse(&value, out);
}

/* ---- the order of keys
 *
 * Parameters are mostly written in order. Once one is not, the keys go into a
 * set, which finds repeated ones, and the parameters are sorted at the end. So
 * no order takes quadratic time.
 */

#define PARAMS_MAX (RDATA_MAX_LEN / HEAD + 1)

struct param_order {
	bool disordered;
	long last_key;        /* the highest so far, while in order */
	struct svc_keys seen; /* used once disordered */
};

/* Notes the parameter at `last`, which follows those from `first` on. False if
 * its key was there already. */
static bool
key_order_add(struct param_order *o, const uint8_t *first, const uint8_t *last)
{
	uint16_t key = octets_get_u16(last);

	if (!o->disordered && key > o->last_key) {
		o->last_key = key;
		return true;
	}
	if (!o->disordered) {
		o->disordered = true;
		svc_keys_init(&o->seen);
		for (; first < last; first += param_len(first))
			svc_keys_add(&o->seen, octets_get_u16(first));
	}
	return svc_keys_add(&o->seen, key);
}

static int
compare_places(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Puts the parameters in order of their keys. Not inlined, as its buffers are
 * large. */
__attribute__((noinline)) static void
order_sort(uint8_t *first, const uint8_t *end)
{
	uint32_t places[PARAMS_MAX]; /* key, offset */
	uint8_t copy[RDATA_MAX_LEN];
	const uint8_t *at;
	size_t count = 0, i;

	assert((size_t)(end - first) <= sizeof(copy));
	memcpy(copy, first, (size_t)(end - first));
	for (at = first; at < end; at += param_len(at))
		places[count++] = (uint32_t)octets_get_u16(at) << 16
			| (uint32_t)(at - first);
	qsort(places, count, sizeof(places[0]), compare_places);
	for (i = 0; i < count; i++) {
		const uint8_t *param = copy + (places[i] & 0xffff);

		memcpy(first, param, param_len(param));
		first += param_len(param);
	}
}

/* Checks a value that was given as octets. False: it breaks a rule, and that
 * was noted. */
static bool
check_generic(struct rdata_parse *p, const struct param_text *param,
	uint16_t key, const uint8_t *value, size_t len)
{
	const struct svc_form *form = svc_form_get(key);
	const char *why = form->check(value, len);

	if (why == NULL)
		return true;
	if (form->is_strict)
		rdata_note(p, param->token, why);
	else
		rdata_doubt(p, param->token, why);
	return false;
}

/* Parses one parameter and appends it. *sound becomes false if it breaks a
 * rule. */
static bool
parse_param(struct rdata_parse *p, const struct param_text *param, bool *sound)
{
	uint8_t *start = p->out + p->len;
	const struct svc_form *form;
	struct svc_key_text key;
	struct svc_out out;
	const char *why;

	if (!svc_key_parse(param->key, param->key_len, &key))
		return rdata_expect(p, param->token, param_expected);
	if (rdata_room(p) < HEAD)
		return rdata_expect(p, param->token,
			"RDATA of at most 65535 octets");
	out.at = start + HEAD;
	out.room = rdata_room(p) - HEAD;
	out.doubt = key.doubt ? param_expected : NULL;
	/* The value of keyN is opaque octets, also if N has a name. */
	form = svc_form_get(key.generic ? SVC_INVALID : key.key);
	why = parse_value(form, param, &out);
	if (why != NULL)
		return rdata_expect(p, param->token, why);
	if (out.doubt != NULL) {
		rdata_doubt(p, param->token, out.doubt);
		if (key.key == SVC_INVALID
			|| svc_form_get(key.key)->check(start + HEAD,
				(size_t)(out.at - start - HEAD)) != NULL)
			*sound = false;
	}
	octets_put_u16(start, key.key);
	octets_put_u16(start + 2, (uint16_t)(out.at - start - HEAD));
	if (key.generic && !check_generic(p, param, key.key, start + HEAD,
		(size_t)(out.at - start - HEAD)))
		*sound = false;
	p->len = (size_t)(out.at - p->out);
	return true;
}

/* The token that has the key. All parameters were parsed already. */
static size_t
find_token(struct rdata_parse *p, size_t first, uint16_t wanted)
{
	size_t i;

	for (i = first; i < p->count; i++) {
		const struct token *t = &p->tokens[i];
		const char *equals = memchr(t->text, '=', t->len);
		struct svc_key_text key;

		if (!t->quoted && svc_key_parse(t->text, equals != NULL
			? (size_t)(equals - t->text) : t->len, &key)
			&& key.key == wanted)
			return i;
	}
	return first;
}

bool
field_svc_params_parse(struct rdata_parse *p)
{
	size_t first_token = p->at, first = p->len;
	struct param_order order;
	bool sound = true;
	const char *why;
	uint16_t key;

	order.disordered = false;
	order.last_key = -1;
	while (p->at < p->count) {
		struct param_text param;
		size_t start = p->len;

		if (!next_param(p, &param)
			|| !parse_param(p, &param, &sound))
			return false;
		if (!key_order_add(&order, p->out + first, p->out + start))
			return rdata_expect(p, param.token,
				"each key at most once");
	}
	if (order.disordered)
		order_sort(p->out + first, p->out + p->len);
	/* Rules between parameters apply if each of them is sound. */
	why = sound ? broken_rule(p->out + first, p->out + p->len, &key)
		: NULL;
	if (why != NULL && key == SVC_NO_DEFAULT_ALPN)
		rdata_doubt(p, find_token(p, first_token, key), why);
	else if (why != NULL)
		rdata_note(p, find_token(p, first_token, key), why);
	return true;
}

/* ---- on the wire */

bool
field_svc_params_check(struct rdata_walk *w)
{
	const uint8_t *params = w->at;
	const struct svc_form *form;
	long last_key = -1;
	const char *why;
	uint16_t key;

	while (w->at < w->end) {
		const uint8_t *param = w->at;

		if (!walk_skip(w, HEAD, "a whole parameter")
			|| !walk_skip(w, octets_get_u16(param + 2),
				"a whole value of a parameter"))
			return false;
		key = octets_get_u16(param);
		if (key <= last_key)
			walk_note(w, "parameters in ascending order of keys");
		if (key == SVC_INVALID)
			walk_doubt(w, "a key up to 65534");
		last_key = key;
		form = svc_form_get(key);
		why = form->check(param + HEAD, octets_get_u16(param + 2));
		if (why != NULL && form->is_strict)
			walk_note(w, why);
		else if (why != NULL && form->says_all)
			walk_doubt(w, why);
		else if (why != NULL)
			walk_doubt_octets(w, why);
	}
	/* Rules between parameters apply if each of them is sound. */
	if (w->value_why == NULL) {
		why = broken_rule(params, w->end, &key);
		if (why != NULL && key == SVC_NO_DEFAULT_ALPN)
			walk_doubt(w, why);
		else if (why != NULL)
			walk_note(w, why);
	}
	return true;
}

void
field_svc_params_print(struct rdata_walk *w, struct text *t)
{
	bool first = true;

	while (w->at < w->end) {
		uint16_t key = octets_get_u16(w->at);

		if (!first)
			text_put_char(t, ' ');
		first = false;
		svc_key_print(key, t);
		svc_form_get(key)->print(w->at + HEAD,
			octets_get_u16(w->at + 2), t);
		w->at += param_len(w->at);
	}
}
