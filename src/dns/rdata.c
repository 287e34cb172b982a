/* rdata.c - RDATA of any type, field by field, as the table of types says. */
#include "dns/codec.h"
#include "dns/name.h"
#include "dns/rdata_field.h"
#include "dns/scan.h"

/* ---- octets */

/*
 * Walks along all fields. Returns NSD_E_WIRE with w->why if the layout is
 * broken, or NSD_E_ZONE with w->value_why if a field's value breaks a rule.
 */
static enum nsd_err
check_fields(const struct rrtype *row, struct rdata_walk *w)
{
	unsigned i;

	if (walk_left(w) > RDATA_MAX_LEN) {
		w->why = "RDATA of at most 65535 octets";
		return NSD_E_WIRE;
	}
	for (i = 0; row->fields[i] != FIELD_END; i++)
		if (!rdata_field_ops[row->fields[i]].check(w))
			return NSD_E_WIRE;
	if (w->at != w->end) {
		w->why = "the end of the RDATA";
		return NSD_E_WIRE;
	}
	return w->value_why != NULL ? NSD_E_ZONE : NSD_OK;
}

enum nsd_err
rdata_check(uint16_t type, const uint8_t *rdata, size_t rdata_len,
	const char **why)
{
	const struct rrtype *row = rrtype_get(type);
	struct rdata_walk w = { .at = rdata, .end = rdata + rdata_len };
	enum nsd_err err = check_fields(row, &w);
	const char *rule_why;
	unsigned field;

	if (err != NSD_OK) {
		*why = err == NSD_E_WIRE ? w.why : w.value_why;
		return err;
	}
	if (row->rule == RULE_NONE)
		return NSD_OK;
	rule_why = rdata_rule_broken(row->rule, rdata, rdata_len, &field);
	if (rule_why == NULL)
		return NSD_OK;
	*why = rule_why;
	return NSD_E_ZONE;
}

/* ---- from text */

/* Parses all fields. Notes in first_of the first token of each. */
static bool
parse_fields(struct rdata_parse *p, const struct rrtype *row,
	size_t first_of[RDATA_FIELDS_MAX])
{
	unsigned i;

	for (i = 0; row->fields[i] != FIELD_END; i++) {
		first_of[i] = p->at;
		if (!rdata_field_ops[row->fields[i]].parse(p))
			return false;
	}
	if (p->at < p->count)
		return rdata_expect(p, p->at, "the end of the record");
	return true;
}

static bool
is_unknown_form(const struct token *tokens, size_t count)
{
	return count > 0 && tokens[0].len == 2 && !tokens[0].quoted
		&& tokens[0].text[0] == '\\' && tokens[0].text[1] == '#';
}

/* Parses \# LENGTH HEX... (RFC 3597 section 5). */
static bool
parse_unknown(struct rdata_parse *p)
{
	uint32_t len;

	p->at = 1;
	if (!rdata_next_number(p, RDATA_MAX_LEN,
		"the length of RDATA, 0 to 65535", &len)
		|| !rdata_rest_hex(p, 0))
		return false;
	if (p->len != len)
		return rdata_expect(p, 1,
			"a length that is that of the octets");
	return true;
}

/* Octets are taken as a transfer takes them: what breaks a rule is a doubt. */
static enum nsd_err
finish_unknown(struct rdata_parse *p, size_t *rdata_len)
{
	const char *why;
	enum nsd_err err = rdata_check(p->type, p->out, p->len, &why);

	if (err != NSD_OK)
		rdata_expect(p, p->count > 2 ? 2 : 1, why);
	p->error->is_doubt = err == NSD_E_ZONE;
	if (err == NSD_E_WIRE)
		return NSD_E_SYNTAX;
	*rdata_len = p->len;
	return err;
}

enum nsd_err
rdata_parse(uint16_t type, const struct token *tokens, size_t token_count,
	const uint8_t *origin, uint8_t *rdata, size_t *rdata_len,
	struct rdata_error *error)
{
	const struct rrtype *row = rrtype_get(type);
	struct rdata_parse p = {
		.tokens = tokens,
		.count = token_count,
		.origin = origin,
		.type = type,
		.out = rdata,
		.error = error,
	};
	size_t first_of[RDATA_FIELDS_MAX];
	const char *why;
	unsigned field = 0;

	if (is_unknown_form(tokens, token_count)) {
		if (!parse_unknown(&p))
			return NSD_E_SYNTAX;
		return finish_unknown(&p, rdata_len);
	}
	if (!parse_fields(&p, row, first_of))
		return NSD_E_SYNTAX;
	if (row->rule != RULE_NONE) {
		why = rdata_rule_broken(row->rule, rdata, p.len, &field);
		if (why != NULL && rdata_rule_is_doubt(row->rule, type,
				rdata))
			rdata_doubt(&p, first_of[field], why);
		else if (why != NULL)
			rdata_note(&p, first_of[field], why);
	}
	*rdata_len = p.len;
	if (!p.bad_value && !p.doubt)
		return NSD_OK;
	error->is_doubt = !p.bad_value;
	return NSD_E_ZONE;
}

/* ---- from a message */

enum nsd_err
rdata_read(uint16_t type, struct cursor *message, uint16_t rdlength,
	uint8_t *rdata, size_t *rdata_len)
{
	struct rdata_expand expand = { .message = *message, .out = rdata };
	struct rdata_walk w = { .expand = &expand };

	w.at = expand.from = cursor_read_octets(message, rdlength);
	if (w.at == NULL)
		return NSD_E_WIRE;
	w.end = w.at + rdlength;
	if (check_fields(rrtype_get(type), &w) == NSD_E_WIRE
		|| !field_name_expand_rest(&w)) {
		message->failed = true;
		return NSD_E_WIRE;
	}
	*rdata_len = expand.len;
	return NSD_OK;
}

/* ---- to text */

static void
print_unknown(struct text *t, const uint8_t *rdata, size_t rdata_len)
{
	text_put(t, "\\# ", 3);
	text_put_number(t, rdata_len);
	if (rdata_len > 0)
		text_put_char(t, ' ');
	text_put_hex(t, rdata, rdata_len);
}

/* True if the text of the type says the octets, and is read again. */
static bool
is_sayable(const struct rrtype *row, const uint8_t *rdata, size_t rdata_len)
{
	struct rdata_walk w = { .at = rdata, .end = rdata + rdata_len };
	unsigned field;

	if (row->fields[0] == FIELD_UNKNOWN
		|| check_fields(row, &w) == NSD_E_WIRE || w.is_unsayable)
		return false;
	return row->rule == RULE_NONE
		|| rdata_rule_broken(row->rule, rdata, rdata_len, &field)
			== NULL
		|| rdata_rule_is_doubt(row->rule, row->number, rdata);
}

size_t
rdata_print(uint16_t type, const uint8_t *rdata, size_t rdata_len, char *out,
	size_t size)
{
	const struct rrtype *row = rrtype_get(type);
	struct text t = { .out = out, .size = size };
	struct rdata_walk w = { .at = rdata, .end = rdata + rdata_len };
	unsigned i;

	if (!is_sayable(row, rdata, rdata_len)) {
		print_unknown(&t, rdata, rdata_len);
	} else {
		for (i = 0; row->fields[i] != FIELD_END; i++) {
			size_t before = t.len;

			text_put_blank(&t);
			rdata_field_ops[row->fields[i]].print(&w, &t);
			/* Takes the blank before an empty field back. */
			if (t.len == before + 1 && i > 0)
				t.len = before;
		}
	}
	if (t.len < size)
		out[t.len] = '\0';
	return t.len;
}
