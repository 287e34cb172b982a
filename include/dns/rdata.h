/*
 * rdata.h - RDATA in text and on the wire, driven by the table of rrtype.h.
 *
 * Wire form here is always uncompressed, without the RDLENGTH field, as in
 * RFC 3597 section 4.
 */
#ifndef DNS_RDATA_H
#define DNS_RDATA_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/octets.h"
#include "dns/rrtype.h"
#include "dns/token.h"

#define RDATA_MAX_LEN 65535u

struct rdata_error {
	size_t token;   /* index of the token at fault; count: one is missing */
	char text[120]; /* what was expected */
};

/*
 * Parses the RDATA tokens of a record, known syntax or RFC 3597 \# form (the
 * latter is then checked against the type's wire rules too).
 * in: tokens after the type; origin completes relative names.
 * out: rdata (RDATA_MAX_LEN octets of room), *rdata_len. Names keep case.
 * returns NSD_OK; NSD_E_SYNTAX with *error filled; or NSD_E_ZONE with *error
 *     filled and the RDATA given all the same: its layout is that of the
 *     type, but a value breaks a rule (a digest of the wrong length). A
 *     primary refuses such a record, a secondary serves what it was sent.
 * Cost: linear, but for SvcParams that stand in descending order: quadratic in
 *     their number (0.3 s at the 16,000 that fit). Never allocates.
 *     Thread-safe.
 */
enum nsd_err rdata_parse(uint16_t type, const struct token *tokens,
	size_t token_count, const uint8_t *origin, uint8_t *rdata,
	size_t *rdata_len, struct rdata_error *error) MUST_USE;

/*
 * Checks that octets are RDATA of the type.
 * returns NSD_OK; NSD_E_WIRE if the layout is broken: a field is missing or
 *     cut, octets are left, a name is not whole or is compressed; NSD_E_ZONE
 *     if only a value breaks a rule (an empty digest, a bitmap out of order).
 *     On both *why is a static text that says what was expected.
 */
enum nsd_err rdata_check(uint16_t type, const uint8_t *rdata,
	size_t rdata_len, const char **why) MUST_USE;

/*
 * Reads RDATA from a message into uncompressed form: names are expanded where
 * RFC 3597 section 4 lets them come compressed. The layout is checked, the
 * values are not: ask rdata_check about those.
 * in: message cursor at the first octet of RDATA; rdlength as it stands.
 * out: rdata (RDATA_MAX_LEN of room). The cursor is moved behind.
 * returns NSD_OK or NSD_E_WIRE (then the cursor has failed).
 */
enum nsd_err rdata_read(uint16_t type, struct cursor *message,
	uint16_t rdlength, uint8_t *rdata, size_t *rdata_len) MUST_USE;

/*
 * Prints presentation format, NUL-terminated; octets that do not fit the type
 * (or that text could not give back) are printed in RFC 3597 form. Returns the
 * length it needs (as snprintf): nothing is promised about out if that is
 * >= size.
 */
size_t rdata_print(uint16_t type, const uint8_t *rdata, size_t rdata_len,
	char *out, size_t size);

/*
 * Canonical order of RDATA (RFC 4034 section 6.3) of one type, names compared
 * in canonical form where section 6.2 (as amended by RFC 6840) says so.
 */
int rdata_compare(uint16_t type, const uint8_t *a, size_t a_len,
	const uint8_t *b, size_t b_len);

/* Where the names of an RDATA stand. */
struct rdata_name {
	uint16_t offset;  /* of its first octet */
	bool compressible;
};
#define RDATA_NAMES_MAX 2 /* of fixed position; HIP's list is not told */

/*
 * Lists the names in the fields of a checked RDATA that may be compressed or
 * ask for additional data. Returns the count.
 */
unsigned rdata_list_names(uint16_t type, const uint8_t *rdata,
	size_t rdata_len, struct rdata_name out[RDATA_NAMES_MAX]);

/* Offset of the name that asks for addresses (RR_ADDITIONAL), or -1. A root
 * name in SVCB and HTTPS stands for the owner (RFC 9460 section 2.5.2). */
int rdata_additional_offset(uint16_t type, const uint8_t *rdata,
	size_t rdata_len);

#endif
