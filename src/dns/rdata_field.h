/*
 * rdata_field.h - how a field of RDATA is parsed, checked and printed: one row
 * of a table for each kind of field.
 */
#ifndef DNS_RDATA_FIELD_H
#define DNS_RDATA_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/octets.h"
#include "dns/rdata.h"
#include "dns/rdata_parse.h"
#include "dns/rdata_walk.h"
#include "dns/rrtype.h"
#include "dns/text.h"

/* The octets of checked RDATA that a kind of field takes, where that is no
 * number. */
enum {
	FIELD_SIZE_REST = 0,       /* to the end, or as other fields have it */
	FIELD_SIZE_NAME = 254,     /* a name in full */
	FIELD_SIZE_COUNTED = 255,  /* a length octet, and as many behind it */
};

/*
 * The functions of a kind of field, and its size: a number of octets, or
 * FIELD_SIZE_... above. parse appends to p->out; check moves the
 * walk behind the field; print has a checked field at w->at, moves behind it,
 * and may be called with the same walk as check was.
 */
struct rdata_field_ops {
	bool (*parse)(struct rdata_parse *p);
	bool (*check)(struct rdata_walk *w);
	void (*print)(struct rdata_walk *w, struct text *t);
	uint8_t size;
};

extern const struct rdata_field_ops rdata_field_ops[];

static inline bool
rdata_field_is_name(uint8_t field)
{
	return field == FIELD_NAME || field == FIELD_NAME_COMPRESSED;
}

/* Puts what stands between the last name that was expanded and w->at. False:
 * there is no room. */
bool field_name_expand_rest(struct rdata_walk *w);

/* The functions in the field_*.c files. Several kinds share the check or the
 * print of another. */
#define RDATA_FIELD_DECLARE(field)                                      \
	bool field##_parse(struct rdata_parse *p);                      \
	bool field##_check(struct rdata_walk *w);                       \
	void field##_print(struct rdata_walk *w, struct text *t);
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
RDATA_FIELD_DECLARE(field_ip4)
RDATA_FIELD_DECLARE(field_ip6)
RDATA_FIELD_DECLARE(field_loc)
RDATA_FIELD_DECLARE(field_long_string)
RDATA_FIELD_DECLARE(field_name)
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

/* True if at least two of BIND, Knot and NSD load records of the type that
 * break the rule. */
bool rdata_rule_is_doubt(enum rdata_rule rule, uint16_t type,
	const uint8_t *rdata);

#endif
