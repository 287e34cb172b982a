/* rdata_field.c - the table of the kinds of fields, one row a kind. */
#include "dns/rdata_field.h"

/* All octets that are left are the field, whatever they are. */
static bool
check_rest(struct rdata_walk *w)
{
	w->at = w->end;
	return true;
}

/* ---- no format but that of RFC 3597 */

static bool
unknown_parse(struct rdata_parse *p)
{
	return rdata_expect(p, p->at,
		"\\# and RDATA in hexadecimal, the type has no other format");
}

static void
unknown_print(struct rdata_walk *w, struct text *t)
{
	w->at = w->end;
}

/* A kind's own three functions and its size, or its own but for the check. */
#define OPS(f, size) \
	{ field_##f##_parse, field_##f##_check, field_##f##_print, size }
#define OPS_CHECK(f, check, size) \
	{ field_##f##_parse, check, field_##f##_print, size }

const struct rdata_field_ops rdata_field_ops[] = {
	[FIELD_NAME_COMPRESSED] = OPS(name, FIELD_SIZE_NAME),
	[FIELD_NAME] = OPS(name, FIELD_SIZE_NAME),
	[FIELD_U8] = OPS(u8, 1),
	[FIELD_U16] = OPS(u16, 2),
	[FIELD_U32] = OPS(u32, 4),
	[FIELD_U64] = OPS(u64, 8),
	[FIELD_PERIOD] = { field_period_parse, field_u32_check, field_u32_print,
		4 },
	[FIELD_TIME] = OPS_CHECK(time, field_u32_check, 4),
	[FIELD_TYPE] = OPS_CHECK(type, field_u16_check, 2),
	[FIELD_IP4] = OPS(ip4, 4),
	[FIELD_IP6] = OPS(ip6, 16),
	[FIELD_STRING] = OPS(string, FIELD_SIZE_COUNTED),
	[FIELD_STRING_OPTIONAL] = OPS(string_optional, FIELD_SIZE_REST),
	[FIELD_STRINGS] = OPS(strings, FIELD_SIZE_REST),
	[FIELD_LONG_STRING] = OPS_CHECK(long_string, check_rest,
		FIELD_SIZE_REST),
	[FIELD_HEX] = OPS(hex, FIELD_SIZE_REST),
	[FIELD_HEX8] = OPS_CHECK(hex8, field_string_check, FIELD_SIZE_COUNTED),
	[FIELD_BASE64] = OPS_CHECK(base64, field_hex_check, FIELD_SIZE_REST),
	[FIELD_BASE64_OPTIONAL] = { field_base64_optional_parse, check_rest,
		field_base64_print, FIELD_SIZE_REST },
	[FIELD_BASE64_DASH] = OPS_CHECK(base64_dash, check_rest,
		FIELD_SIZE_REST),
	[FIELD_BASE32HEX8] = OPS(base32hex8, FIELD_SIZE_COUNTED),
	[FIELD_BITMAP] = OPS(bitmap, FIELD_SIZE_REST),
	[FIELD_ALGORITHM] = { field_algorithm_parse, field_u8_check,
		field_u8_print, 1 },
	[FIELD_CERT_TYPE] = OPS_CHECK(cert_type, field_u16_check, 2),
	[FIELD_DSYNC_SCHEME] = OPS_CHECK(dsync_scheme, field_u8_check, 1),
	[FIELD_LOC] = OPS(loc, FIELD_SIZE_REST),
	[FIELD_APL] = OPS(apl, FIELD_SIZE_REST),
	[FIELD_WKS] = OPS(wks, FIELD_SIZE_REST),
	[FIELD_NXT_BITMAP] = OPS(nxt_bitmap, FIELD_SIZE_REST),
	[FIELD_A6] = OPS(a6, FIELD_SIZE_REST),
	[FIELD_NSAP] = OPS(nsap, FIELD_SIZE_REST),
	[FIELD_ATMA] = OPS(atma, FIELD_SIZE_REST),
	[FIELD_EUI48] = OPS(eui48, 6),
	[FIELD_EUI64] = OPS(eui64, 8),
	[FIELD_ILNP64] = OPS(ilnp64, 8),
	[FIELD_TAG] = OPS(tag, FIELD_SIZE_COUNTED),
	[FIELD_HIP] = OPS(hip, FIELD_SIZE_REST),
	[FIELD_IPSECKEY] = OPS(ipseckey, FIELD_SIZE_REST),
	[FIELD_AMTRELAY] = OPS(amtrelay, FIELD_SIZE_REST),
	[FIELD_SVC_PARAMS] = OPS(svc_params, FIELD_SIZE_REST),
	[FIELD_UNKNOWN] = { unknown_parse, check_rest, unknown_print,
		FIELD_SIZE_REST },
};
