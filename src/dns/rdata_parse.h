/*
 * rdata_parse.h - common state of the parsers of RDATA fields: the tokens still
 * to be read, the octets made so far, and the error.
 */
#ifndef DNS_RDATA_PARSE_H
#define DNS_RDATA_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/assert.h"
#include "base/octets.h"
#include "dns/rdata.h"
#include "dns/scan.h"
#include "dns/token.h"

/* A parse under way. The functions below return false with the error filled. */
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
	bool doubt; /* the same, but other servers load it */
};

static inline size_t
rdata_room(const struct rdata_parse *p)
{
	ASSERT_HOT(p->len <= RDATA_MAX_LEN);
	return RDATA_MAX_LEN - p->len;
}

/* Says what was expected at a token, a static text; false, for
 * `return rdata_expect(...)`. */
bool rdata_expect(struct rdata_parse *p, size_t token, const char *what);

/* Says that the RDATA is too long, at the last token read; false. */
bool rdata_expect_shorter(struct rdata_parse *p);

/* Notes that the value at a token breaks a rule; the first note counts. */
void rdata_note(struct rdata_parse *p, size_t token, const char *what);

/* Notes a broken rule that most other servers do not enforce: at least two of
 * BIND, Knot and NSD load the record. A note of another kind counts more. */
void rdata_doubt(struct rdata_parse *p, size_t token, const char *what);

/* The next token if there is one and it is not quoted; else NULL. */
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

/* The next token as a number up to max; *value is untouched on an error. */
static inline bool
rdata_next_number(struct rdata_parse *p, uint32_t max, const char *what,
	uint32_t *value)
{
	const struct token *t = rdata_next_bare(p, what);

	if (t == NULL)
		return false;
	if (!scan_number(t->text, t->len, max, value)) {
		rdata_expect(p, p->at - 1, what);
		return false; /* the compiler sees that *value is then unset */
	}
	return true;
}

/* All tokens that are left; at least min octets must come out. */
bool rdata_rest_base64(struct rdata_parse *p, size_t min);
bool rdata_rest_hex(struct rdata_parse *p, size_t min);

/* Appends octets; false if the RDATA would be too long. */
static inline bool
rdata_put(struct rdata_parse *p, const void *octets, size_t len)
{
	if (__builtin_expect(rdata_room(p) < len, 0))
		return rdata_expect_shorter(p);
	memcpy(p->out + p->len, octets, len);
	p->len += len;
	return true;
}

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

#endif
