/* rdata_field.c - the kinds of fields, one row a kind; names, addresses. */
#include "dns/name.h"
#include "dns/rdata_field.h"
#include "dns/scan.h"

static const char too_long[] = "RDATA of at most 65535 octets";

bool
rdata_expect(struct rdata_parse *p, size_t token, const char *what)
{
	static const char prefix[] = "expected ";
	size_t room = sizeof(p->error->text) - sizeof(prefix);
	size_t len = strlen(what);

	if (len > room)
		len = room;
	p->error->token = token;
	memcpy(p->error->text, prefix, sizeof(prefix) - 1);
	memcpy(p->error->text + sizeof(prefix) - 1, what, len);
	p->error->text[sizeof(prefix) - 1 + len] = '\0';
	return false;
}

void
rdata_note(struct rdata_parse *p, size_t token, const char *what)
{
	if (!p->bad_value)
		rdata_expect(p, token, what);
	p->bad_value = true;
}

bool
rdata_put(struct rdata_parse *p, const void *octets, size_t len)
{
	if (rdata_room(p) < len)
		return rdata_expect(p, p->at > 0 ? p->at - 1 : 0, too_long);
	memcpy(p->out + p->len, octets, len);
	p->len += len;
	return true;
}

/* ---- names */

bool
rdata_next_name(struct rdata_parse *p)
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
rdata_check_name(struct rdata_walk *w)
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

static void
name_print(struct rdata_walk *w, struct rdata_text *t)
{
	text_put_name(t, w->at);
	w->at += name_len(w->at);
}

/* ---- addresses */

static bool
ip4_parse(struct rdata_parse *p)
{
	static const char what[] = "an IPv4 address";
	const struct token *t = rdata_next_bare(p, what);
	uint8_t octets[4];

	if (t == NULL)
		return false;
	if (!scan_ip4(t->text, t->len, octets))
		return rdata_expect(p, p->at - 1, what);
	return rdata_put(p, octets, 4);
}

static bool
ip4_check(struct rdata_walk *w)
{
	return walk_skip(w, 4, "four octets of an IPv4 address");
}

static void
ip4_print(struct rdata_walk *w, struct rdata_text *t)
{
	char text[16];

	text_put(t, text, scan_print_ip4(w->at, text));
	w->at += 4;
}

static bool
ip6_parse(struct rdata_parse *p)
{
	static const char what[] = "an IPv6 address";
	const struct token *t = rdata_next_bare(p, what);
	uint8_t octets[16];

	if (t == NULL)
		return false;
	if (!scan_ip6(t->text, t->len, octets))
		return rdata_expect(p, p->at - 1, what);
	return rdata_put(p, octets, 16);
}

static bool
ip6_check(struct rdata_walk *w)
{
	return walk_skip(w, 16, "sixteen octets of an IPv6 address");
}

static void
ip6_print(struct rdata_walk *w, struct rdata_text *t)
{
	char text[SCAN_IP6_MAX];

	text_put(t, text, scan_print_ip6(w->at, text));
	w->at += 16;
}

static bool
rdata_check_rest(struct rdata_walk *w)
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
unknown_print(struct rdata_walk *w, struct rdata_text *t)
{
	w->at = w->end;
}

/* A kind's own three functions, or its own but for the check. */
#define OPS(f) { field_##f##_parse, field_##f##_check, field_##f##_print }
#define OPS_CHECK(f, check) { field_##f##_parse, check, field_##f##_print }

const struct rdata_field_ops rdata_field_ops[] = {
	[FIELD_NAME_COMPRESSED] = { rdata_next_name, rdata_check_name,
		name_print },
	[FIELD_NAME] = { rdata_next_name, rdata_check_name, name_print },
	[FIELD_U8] = OPS(u8),
	[FIELD_U16] = OPS(u16),
	[FIELD_U32] = OPS(u32),
	[FIELD_U64] = OPS(u64),
	[FIELD_PERIOD] = { field_period_parse, field_u32_check,
		field_u32_print },
	[FIELD_TIME] = OPS_CHECK(time, field_u32_check),
	[FIELD_TYPE] = OPS_CHECK(type, field_u16_check),
	[FIELD_IP4] = { ip4_parse, ip4_check, ip4_print },
	[FIELD_IP6] = { ip6_parse, ip6_check, ip6_print },
	[FIELD_STRING] = OPS_CHECK(string, rdata_check_string),
	[FIELD_STRING_OPTIONAL] = OPS(string_optional),
	[FIELD_STRINGS] = OPS(strings),
	[FIELD_LONG_STRING] = OPS_CHECK(long_string, rdata_check_rest),
	[FIELD_HEX] = OPS(hex),
	[FIELD_HEX8] = OPS_CHECK(hex8, rdata_check_string),
	[FIELD_BASE64] = OPS_CHECK(base64, field_hex_check),
	[FIELD_BASE64_OPTIONAL] = { field_base64_optional_parse,
		rdata_check_rest, field_base64_print },
	[FIELD_BASE64_DASH] = OPS_CHECK(base64_dash, rdata_check_rest),
	[FIELD_BASE32HEX8] = OPS(base32hex8),
	[FIELD_BITMAP] = OPS(bitmap),
	[FIELD_ALGORITHM] = { field_algorithm_parse, field_u8_check,
		field_u8_print },
	[FIELD_CERT_TYPE] = OPS_CHECK(cert_type, field_u16_check),
	[FIELD_DSYNC_SCHEME] = OPS_CHECK(dsync_scheme, field_u8_check),
	[FIELD_LOC] = OPS(loc),
	[FIELD_APL] = OPS(apl),
	[FIELD_WKS] = OPS(wks),
	[FIELD_NXT_BITMAP] = OPS(nxt_bitmap),
	[FIELD_A6] = OPS(a6),
	[FIELD_NSAP] = OPS(nsap),
	[FIELD_ATMA] = OPS(atma),
	[FIELD_EUI48] = OPS(eui48),
	[FIELD_EUI64] = OPS(eui64),
	[FIELD_ILNP64] = OPS(ilnp64),
	[FIELD_TAG] = OPS(tag),
	[FIELD_HIP] = OPS(hip),
	[FIELD_IPSECKEY] = OPS(ipseckey),
	[FIELD_AMTRELAY] = OPS(amtrelay),
	[FIELD_SVC_PARAMS] = OPS(svc_params),
	[FIELD_UNKNOWN] = { unknown_parse, rdata_check_rest, unknown_print },
};
