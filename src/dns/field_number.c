/* field_number.c - integers, times, and numbers that have names. */
#include "dns/name.h"
#include "dns/rdata_field.h"
#include "dns/scan.h"
#include "dns/token.h"

/* ---- integers */

bool
field_u8_parse(struct rdata_parse *p)
{
	uint32_t value;

	return rdata_next_number(p, UINT8_MAX, "an integer from 0 to 255",
		&value) && rdata_put_u8(p, value);
}

bool
field_u8_check(struct rdata_walk *w)
{
	return walk_skip(w, 1, "an octet");
}

void
field_u8_print(struct rdata_walk *w, struct text *t)
{
	text_put_number(t, *w->at++);
}

bool
field_u16_parse(struct rdata_parse *p)
{
	uint32_t value;

	return rdata_next_number(p, UINT16_MAX,
		"an integer from 0 to 65535", &value)
		&& rdata_put_u16(p, value);
}

bool
field_u16_check(struct rdata_walk *w)
{
	return walk_skip(w, 2, "two octets");
}

void
field_u16_print(struct rdata_walk *w, struct text *t)
{
	text_put_number(t, octets_get_u16(w->at));
	w->at += 2;
}

bool
field_u32_parse(struct rdata_parse *p)
{
	uint32_t value;

	return rdata_next_number(p, UINT32_MAX,
		"an integer from 0 to 4294967295", &value)
		&& rdata_put_u32(p, value);
}

bool
field_u32_check(struct rdata_walk *w)
{
	return walk_skip(w, 4, "four octets");
}

void
field_u32_print(struct rdata_walk *w, struct text *t)
{
	text_put_number(t, octets_get_u32(w->at));
	w->at += 4;
}

bool
field_u64_parse(struct rdata_parse *p)
{
	static const char what[] = "an integer of at most 64 bits";
	const struct token *t = rdata_next_bare(p, what);
	uint64_t value;

	if (t == NULL)
		return false;
	if (!scan_u64(t->text, t->len, &value))
		return rdata_expect(p, p->at - 1, what);
	return rdata_put_u32(p, (uint32_t)(value >> 32))
		&& rdata_put_u32(p, (uint32_t)value);
}

bool
field_u64_check(struct rdata_walk *w)
{
	return walk_skip(w, 8, "eight octets");
}

void
field_u64_print(struct rdata_walk *w, struct text *t)
{
	text_put_number(t, (uint64_t)octets_get_u32(w->at) << 32
		| octets_get_u32(w->at + 4));
	w->at += 8;
}

/* ---- times */

bool
field_period_parse(struct rdata_parse *p)
{
	static const char what[] = "seconds or a period such as 1h30m";
	const struct token *t = rdata_next_bare(p, what);
	uint32_t value;

	if (t == NULL)
		return false;
	if (!token_parse_period(t->text, t->len, &value))
		return rdata_expect(p, p->at - 1, what);
	return rdata_put_u32(p, value);
}

bool
field_time_parse(struct rdata_parse *p)
{
	static const char what[] = "a time as YYYYMMDDHHMMSS (to "
		"21060207062815) or seconds";
	const struct token *t = rdata_next_bare(p, what);
	bool wraps = false;
	uint32_t value;

	if (t == NULL)
		return false;
	if (!scan_time(t->text, t->len, &value, &wraps))
		return rdata_expect(p, p->at - 1, what);
	if (wraps)
		rdata_doubt(p, p->at - 1, "a time from 1970 to "
			"21060207062815, as 32 bits hold no other");
	return rdata_put_u32(p, value);
}

void
field_time_print(struct rdata_walk *w, struct text *t)
{
	char digits[14];

	scan_print_time(octets_get_u32(w->at), digits);
	text_put(t, digits, sizeof(digits));
	w->at += 4;
}

/* ---- mnemonics */

bool
field_type_parse(struct rdata_parse *p)
{
	static const char what[] = "an RR type";
	const struct token *t = rdata_next_bare(p, what);
	uint16_t type;

	if (t == NULL)
		return false;
	if (rrtype_parse(t->text, t->len, &type) != NSD_OK)
		return rdata_expect(p, p->at - 1, what);
	return rdata_put_u16(p, type);
}

void
field_type_print(struct rdata_walk *w, struct text *t)
{
	char text[RRTYPE_TEXT_MAX];

	text_put(t, text, rrtype_print(octets_get_u16(w->at), text));
	w->at += 2;
}

struct named_value {
	uint16_t value;
	const char *name;
};

/* IANA "DNS Security Algorithm Numbers" */
static const struct named_value algorithms[] = {
	{ 0, "DELETE" }, { 1, "RSAMD5" }, { 2, "DH" }, { 3, "DSA" },
	{ 4, "ECC" }, { 5, "RSASHA1" }, { 6, "DSA-NSEC3-SHA1" },
	{ 7, "RSASHA1-NSEC3-SHA1" }, { 6, "NSEC3DSA" },
	{ 7, "NSEC3RSASHA1" }, { 8, "RSASHA256" }, { 10, "RSASHA512" },
	{ 12, "ECC-GOST" }, { 12, "ECCGOST" }, { 13, "ECDSAP256SHA256" },
	{ 14, "ECDSAP384SHA384" }, { 15, "ED25519" }, { 16, "ED448" },
	{ 17, "SM2SM3" }, { 18, "MLDSA44" },
	{ 23, "ECC-GOST12" }, { 252, "INDIRECT" },
	{ 253, "PRIVATEDNS" }, { 254, "PRIVATEOID" }, { 0, NULL },
};

/* RFC 4398 section 2.1 */
static const struct named_value cert_types[] = {
	{ 1, "PKIX" }, { 2, "SPKI" }, { 3, "PGP" }, { 4, "IPKIX" },
	{ 5, "ISPKI" }, { 6, "IPGP" }, { 7, "ACPKIX" }, { 8, "IACPKIX" },
	{ 253, "URI" }, { 254, "OID" }, { 0, NULL },
};

/* RFC 9859 section 6.2 */
static const struct named_value dsync_schemes[] = {
	{ 1, "NOTIFY" }, { 0, NULL },
};

static bool
token_is(const struct token *t, const char *word)
{
	size_t i;

	for (i = 0; i < t->len && word[i] != '\0'; i++)
		if (name_lower_octet((uint8_t)t->text[i])
			!= name_lower_octet((uint8_t)word[i]))
			return false;
	return i == t->len && word[i] == '\0';
}

/* A number up to max or one of the words. */
static bool
next_mnemonic(struct rdata_parse *p, const struct named_value *m, uint32_t max,
	const char *what, uint32_t *value)
{
	const struct token *t = rdata_next_bare(p, what);

	if (t == NULL)
		return false;
	if (scan_number(t->text, t->len, max, value))
		return true;
	for (; m->name != NULL; m++)
		if (token_is(t, m->name)) {
			*value = m->value;
			return true;
		}
	return rdata_expect(p, p->at - 1, what);
}

static void
print_mnemonic(struct text *t, const struct named_value *m,
	uint16_t value)
{
	for (; m->name != NULL; m++)
		if (m->value == value) {
			text_put(t, m->name, strlen(m->name));
			return;
		}
	text_put_number(t, value);
}

bool
field_algorithm_parse(struct rdata_parse *p)
{
	uint32_t value;

	return next_mnemonic(p, algorithms, UINT8_MAX,
		"a DNSSEC algorithm or an integer from 0 to 255", &value)
		&& rdata_put_u8(p, value);
}

bool
field_cert_type_parse(struct rdata_parse *p)
{
	uint32_t value;

	return next_mnemonic(p, cert_types, UINT16_MAX,
		"a certificate type or an integer from 0 to 65535", &value)
		&& rdata_put_u16(p, value);
}

void
field_cert_type_print(struct rdata_walk *w, struct text *t)
{
	print_mnemonic(t, cert_types, octets_get_u16(w->at));
	w->at += 2;
}

bool
field_dsync_scheme_parse(struct rdata_parse *p)
{
	uint32_t value;

	return next_mnemonic(p, dsync_schemes, UINT8_MAX,
		"a DSYNC scheme or an integer from 0 to 255", &value)
		&& rdata_put_u8(p, value);
}

void
field_dsync_scheme_print(struct rdata_walk *w, struct text *t)
{
	print_mnemonic(t, dsync_schemes, *w->at++);
}
