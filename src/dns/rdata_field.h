/*
 * rdata_field.h - what the parts of the RDATA code share: how a field is
 * parsed, checked and printed, one row a kind of field.
 *
 * Two things can be wrong with octets on the wire. If their layout is broken
 * (a length that points behind the end, half a name) they are no RDATA of the
 * type. If only a value breaks a rule (an empty digest, keys out of order)
 * a primary refuses the record, but a secondary serves what it was sent.
 */
#ifndef DNS_RDATA_FIELD_H
#define DNS_RDATA_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/octets.h"
#include "dns/rdata.h"
#include "dns/rrtype.h"
#include "dns/token.h"

/* A parse under way. The functions return false with the error filled. */
struct rdata_parse {
	const struct token *tokens;
	size_t count;
	size_t at; /* the next token */
	const uint8_t *origin;
	uint16_t type;
	uint8_t *out; /* RDATA_MAX_LEN octets of room */
	size_t len;
	struct rdata_error *error;
	/* A field's value breaks a rule; the parse goes on. */
	bool bad_value;
};

static inline size_t
rdata_room(const struct rdata_parse *p)
{
	return RDATA_MAX_LEN - p->len;
}

/* Says what was expected at a token; false, for `return rdata_expect(...)`. */
bool rdata_expect(struct rdata_parse *p, size_t token, const char *what);

/* Notes that the value at a token breaks a rule; the first one counts. */
void rdata_note(struct rdata_parse *p, size_t token, const char *what);

/* The next token if there is one that is not quoted; else an error. */
static inline const struct token *
rdata_next_bare(struct rdata_parse *p, const char *what)
{
	const struct token *t;

	if (p->at >= p->count) {
		rdata_expect(p, p->count, what);
		return NULL;
	}
	t = &p->tokens[p->at];
	if (__builtin_expect(t->quoted, 0)) {
		rdata_expect(p, p->at, what);
		return NULL;
	}
	p->at++;
	return t;
}

/* Appends octets; false if the RDATA would be too long. */
bool rdata_put(struct rdata_parse *p, const void *octets, size_t len);

static inline bool
rdata_put_u8(struct rdata_parse *p, uint32_t value)
{
	uint8_t octet = (uint8_t)value;

	return rdata_put(p, &octet, 1);
}

static inline bool
rdata_put_u16(struct rdata_parse *p, uint32_t value)
{
	uint8_t octets[2];

	octets_put_u16(octets, (uint16_t)value);
	return rdata_put(p, octets, 2);
}

static inline bool
rdata_put_u32(struct rdata_parse *p, uint32_t value)
{
	uint8_t octets[4];

	octets_put_u32(octets, value);
	return rdata_put(p, octets, 4);
}

/* The next token as a number; value_out untouched on an error. */
bool rdata_next_number(struct rdata_parse *p, uint32_t max, const char *what,
	uint32_t *value);
bool rdata_next_name(struct rdata_parse *p);
/* All tokens that are left; at least min octets must come out. */
bool rdata_rest_base64(struct rdata_parse *p, size_t min);
bool rdata_rest_hex(struct rdata_parse *p, size_t min);

/* A walk along RDATA on the wire. */
struct rdata_walk {
	const uint8_t *at, *end;
	const char *why;       /* broken layout */
	const char *value_why; /* the first broken rule, NULL: none */
};

static inline size_t
walk_left(const struct rdata_walk *w)
{
	return (size_t)(w->end - w->at);
}

static inline bool
walk_broken(struct rdata_walk *w, const char *why)
{
	w->why = why;
	return false;
}

static inline void
walk_note(struct rdata_walk *w, const char *why)
{
	if (w->value_why == NULL)
		w->value_why = why;
}

static inline bool
walk_skip(struct rdata_walk *w, size_t len, const char *why)
{
	if (walk_left(w) < len)
		return walk_broken(w, why);
	w->at += len;
	return true;
}

bool rdata_check_name(struct rdata_walk *w);
bool rdata_check_string(struct rdata_walk *w);

/* Text that grows into a buffer of limited size, as snprintf does. */
struct rdata_text {
	char *out;
	size_t size;
	size_t len; /* needed so far, the NUL not counted */
};

void text_put(struct rdata_text *t, const char *text, size_t len);
void text_put_char(struct rdata_text *t, char c);
void text_put_number(struct rdata_text *t, uint64_t value);
/* A blank, but not at the start. */
void text_put_blank(struct rdata_text *t);
/* Octets in quotes, with escapes. */
void text_put_quoted(struct rdata_text *t, const uint8_t *octets, size_t len);
void text_put_hex(struct rdata_text *t, const uint8_t *octets, size_t len);
void text_put_base64(struct rdata_text *t, const uint8_t *octets, size_t len);
void text_put_name(struct rdata_text *t, const uint8_t *name);

/*
 * The functions of a kind of field. parse appends to p->out; check moves the
 * walk behind the field; print has a checked field at w->at, moves behind it,
 * and may be called with the same walk as check was.
 */
struct rdata_field_ops {
	bool (*parse)(struct rdata_parse *p);
	bool (*check)(struct rdata_walk *w);
	void (*print)(struct rdata_walk *w, struct rdata_text *t);
};

extern const struct rdata_field_ops rdata_field_ops[];

/* Kinds of fields in the field_*.c files. Some share the check of another. */
#define RDATA_FIELD_DECLARE(field)                                      \
	bool field##_parse(struct rdata_parse *p);                      \
	bool field##_check(struct rdata_walk *w);                       \
	void field##_print(struct rdata_walk *w, struct rdata_text *t);
RDATA_FIELD_DECLARE(field_a6)
RDATA_FIELD_DECLARE(field_algorithm)
RDATA_FIELD_DECLARE(field_amtrelay)
RDATA_FIELD_DECLARE(field_apl)
RDATA_FIELD_DECLARE(field_atma)
RDATA_FIELD_DECLARE(field_base32hex8)
RDATA_FIELD_DECLARE(field_base64)
RDATA_FIELD_DECLARE(field_base64_dash)
RDATA_FIELD_DECLARE(field_base64_optional)
RDATA_FIELD_DECLARE(field_bitmap)
RDATA_FIELD_DECLARE(field_cert_type)
RDATA_FIELD_DECLARE(field_dsync_scheme)
RDATA_FIELD_DECLARE(field_eui48)
RDATA_FIELD_DECLARE(field_eui64)
RDATA_FIELD_DECLARE(field_hex)
RDATA_FIELD_DECLARE(field_hex8)
RDATA_FIELD_DECLARE(field_hip)
RDATA_FIELD_DECLARE(field_ilnp64)
RDATA_FIELD_DECLARE(field_ipseckey)
RDATA_FIELD_DECLARE(field_loc)
RDATA_FIELD_DECLARE(field_long_string)
RDATA_FIELD_DECLARE(field_nsap)
RDATA_FIELD_DECLARE(field_nxt_bitmap)
RDATA_FIELD_DECLARE(field_period)
RDATA_FIELD_DECLARE(field_string)
RDATA_FIELD_DECLARE(field_string_optional)
RDATA_FIELD_DECLARE(field_strings)
RDATA_FIELD_DECLARE(field_svc_params)
RDATA_FIELD_DECLARE(field_tag)
RDATA_FIELD_DECLARE(field_time)
RDATA_FIELD_DECLARE(field_type)
RDATA_FIELD_DECLARE(field_u16)
RDATA_FIELD_DECLARE(field_u32)
RDATA_FIELD_DECLARE(field_u64)
RDATA_FIELD_DECLARE(field_u8)
RDATA_FIELD_DECLARE(field_wks)

/*
 * Checks the rule of a type on RDATA of sound layout. Returns NULL or what
 * was expected; *field is the index of the field at fault.
 */
const char *rdata_rule_broken(enum rdata_rule rule, const uint8_t *rdata,
	size_t rdata_len, unsigned *field);

#endif
