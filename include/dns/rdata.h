/*
 * rdata.h - RDATA in text and on the wire, driven by the table of rrtype.h.
 *
 * Wire form here is always uncompressed, without the RDLENGTH field, as in
 * RFC 3597 section 4.
 */
#ifndef DNS_RDATA_H
#define DNS_RDATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/octets.h"
#include "dns/rrtype.h"
#include "dns/token.h"

#define RDATA_MAX_LEN 65535u

struct rdata_error {
	size_t token;     /* index of the token at fault; count: one is
			   * missing */
	const char *text; /* describes what was expected; static */
	bool is_doubt;    /* with NSD_E_ZONE: other servers load such
			   * records */
};

/*
 * Parses the RDATA tokens of a record: the syntax of the type, or the \# form
 * of RFC 3597, which is then checked against the wire rules of the type.
 * in: the tokens behind the type; origin completes relative names (NULL: none).
 * out: rdata (RDATA_MAX_LEN octets of room), *rdata_len. Names keep case.
 * returns NSD_OK; NSD_E_SYNTAX with *error filled if the text or the layout is
 *     wrong; NSD_E_ZONE with *error filled, and the RDATA as with NSD_OK, if
 *     only a value breaks a rule (a digest of the wrong length). A primary
 *     refuses such a record, but if it is a doubt loads it with a warning. In
 *     the \# form all of them are doubts: whoever wrote it means these octets.
 *     A secondary serves what it was sent. A doubt may be about the text
 *     alone: rdata_check then finds no fault in the octets.
 * Cost: linear; SvcParams that are not in order are sorted. Allocates nothing.
 * Several threads may call it at once.
 */
enum nsd_err rdata_parse(uint16_t type, const struct token *tokens,
	size_t token_count, const uint8_t *origin, uint8_t *rdata,
	size_t *rdata_len, struct rdata_error *error) MUST_USE;

/*
 * Checks that octets are RDATA of the type.
 * returns NSD_OK; NSD_E_WIRE if the layout is broken: a field is missing or
 *     cut, octets are left, a name is not whole or is compressed; NSD_E_ZONE
 *     if only a value breaks a rule (an empty digest, a bitmap out of order).
 *     With both errors *why is a static text that says what was expected.
 */
enum nsd_err rdata_check(uint16_t type, const uint8_t *rdata,
	size_t rdata_len, const char **why) MUST_USE;

/*
 * Reads RDATA from a message into uncompressed form. Expands the names of each
 * known type, also where RFC 3597 section 4 forbids senders to compress them:
 * some senders do, and other servers take it. Checks the layout but not the
 * values, which rdata_check does.
 * in: message, a cursor at the first octet of the RDATA; its RDLENGTH.
 * out: rdata (RDATA_MAX_LEN of room), *rdata_len. The cursor is behind it.
 * returns NSD_OK; NSD_E_WIRE, and the cursor has failed, if the RDATA leaves
 *     the message, its layout is broken, or it is too long once expanded.
 */
enum nsd_err rdata_read(uint16_t type, struct cursor *message,
	uint16_t rdlength, uint8_t *rdata, size_t *rdata_len) MUST_USE;

/*
 * Prints presentation format, NUL-terminated. RDATA that rdata_parse would
 * refuse in the text of the type is printed in the form of RFC 3597, which it
 * takes: any RDATA that rdata_read takes can be read again.
 * Returns the length that is needed, no NUL counted; if that is >= size, out is
 * of no use.
 */
size_t rdata_print(uint16_t type, const uint8_t *rdata, size_t rdata_len,
	char *out, size_t size);

/*
 * Canonical order of RDATA (RFC 4034 section 6.3) of one type, names compared
 * in canonical form where section 6.2 (as amended by RFC 6840) says so.
 */
int rdata_compare(uint16_t type, const uint8_t *a, size_t a_len,
	const uint8_t *b, size_t b_len);

/* Makes checked RDATA canonical, in place: names of the types that RFC 4034
 * section 6.2 point 3 lists, as RFC 6840 section 5.1 amends it, get lower
 * case. */
void rdata_make_canonical(uint16_t type, uint8_t *rdata, size_t rdata_len);

/* The place of a name in RDATA. */
struct rdata_name {
	uint16_t offset;  /* of its first octet */
	bool compressible;
};
#define RDATA_NAMES_MAX 2 /* the list of names in HIP is not among them */

/*
 * Lists the names in checked RDATA that may be compressed or that ask for
 * additional data. Returns their count.
 */
unsigned rdata_list_names(uint16_t type, const uint8_t *rdata,
	size_t rdata_len, struct rdata_name out[RDATA_NAMES_MAX]);

/* The offset, in checked RDATA, of the name whose addresses are additional data
 * (RR_ADDITIONAL); -1: there is none. In SVCB and HTTPS the root name stands
 * for the owner (RFC 9460 section 2.5.2). */
int rdata_additional_offset(uint16_t type, const uint8_t *rdata,
	size_t rdata_len);

#endif
