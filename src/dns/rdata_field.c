/* rdata_field.c - the kinds of fields that most types are made of. */
#include "dns/codec.h"
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

/* ---- integers */

bool
rdata_next_number(struct rdata_parse *p, uint32_t max, const char *what,
	uint32_t *value)
{
	const struct token *t = rdata_next_bare(p, what);

	if (t == NULL)
		return false;
	if (!scan_number(t->text, t->len, max, value))
		return rdata_expect(p, p->at - 1, what);
	return true;
}

static bool
put_u16(struct rdata_parse *p, uint32_t value)
{
	uint8_t octets[2];

	octets_put_u16(octets, (uint16_t)value);
	return rdata_put(p, octets, 2);
}

static bool
put_u32(struct rdata_parse *p, uint32_t value)
{
	uint8_t octets[4];

	octets_put_u32(octets, value);
	return rdata_put(p, octets, 4);
}

static bool
put_u8(struct rdata_parse *p, uint32_t value)
{
	uint8_t octet = (uint8_t)value;

	return rdata_put(p, &octet, 1);
}

static bool
u8_parse(struct rdata_parse *p)
{
	uint32_t value;

	return rdata_next_number(p, UINT8_MAX, "an integer from 0 to 255",
		&value) && put_u8(p, value);
}

static bool
u8_check(struct rdata_walk *w)
{
	return walk_skip(w, 1, "an octet");
}

static void
u8_print(struct rdata_walk *w, struct rdata_text *t)
{
	text_put_number(t, *w->at++);
}

static bool
u16_parse(struct rdata_parse *p)
{
	uint32_t value;

	return rdata_next_number(p, UINT16_MAX,
		"an integer from 0 to 65535", &value) && put_u16(p, value);
}

static bool
u16_check(struct rdata_walk *w)
{
	return walk_skip(w, 2, "two octets");
}

static void
u16_print(struct rdata_walk *w, struct rdata_text *t)
{
	text_put_number(t, octets_get_u16(w->at));
	w->at += 2;
}

static bool
u32_parse(struct rdata_parse *p)
{
	uint32_t value;

	return rdata_next_number(p, UINT32_MAX,
		"an integer from 0 to 4294967295", &value)
		&& put_u32(p, value);
}

static bool
u32_check(struct rdata_walk *w)
{
	return walk_skip(w, 4, "four octets");
}

static void
u32_print(struct rdata_walk *w, struct rdata_text *t)
{
	text_put_number(t, octets_get_u32(w->at));
	w->at += 4;
}

static bool
u64_parse(struct rdata_parse *p)
{
	static const char what[] = "an integer of at most 64 bits";
	const struct token *t = rdata_next_bare(p, what);
	uint64_t value;

	if (t == NULL)
		return false;
	if (!scan_u64(t->text, t->len, &value))
		return rdata_expect(p, p->at - 1, what);
	return put_u32(p, (uint32_t)(value >> 32))
		&& put_u32(p, (uint32_t)value);
}

static bool
u64_check(struct rdata_walk *w)
{
	return walk_skip(w, 8, "eight octets");
}

static void
u64_print(struct rdata_walk *w, struct rdata_text *t)
{
	text_put_number(t, (uint64_t)octets_get_u32(w->at) << 32
		| octets_get_u32(w->at + 4));
	w->at += 8;
}

/* ---- times */

static bool
period_parse(struct rdata_parse *p)
{
	static const char what[] = "seconds or a period such as 1h30m";
	const struct token *t = rdata_next_bare(p, what);
	uint32_t value;

	if (t == NULL)
		return false;
	if (!scan_period(t->text, t->len, &value))
		return rdata_expect(p, p->at - 1, what);
	return put_u32(p, value);
}

static bool
time_parse(struct rdata_parse *p)
{
	static const char what[] = "a time as YYYYMMDDHHMMSS (to "
		"21060207062815) or seconds";
	const struct token *t = rdata_next_bare(p, what);
	uint32_t value;

	if (t == NULL)
		return false;
	if (!scan_time(t->text, t->len, &value))
		return rdata_expect(p, p->at - 1, what);
	return put_u32(p, value);
}

static void
time_print(struct rdata_walk *w, struct rdata_text *t)
{
	char digits[14];

	scan_print_time(octets_get_u32(w->at), digits);
	text_put(t, digits, sizeof(digits));
	w->at += 4;
}

/* ---- mnemonics */

static bool
type_parse(struct rdata_parse *p)
{
	static const char what[] = "an RR type";
	const struct token *t = rdata_next_bare(p, what);
	uint16_t type;

	if (t == NULL)
		return false;
	if (rrtype_parse(t->text, t->len, &type) != NSD_OK)
		return rdata_expect(p, p->at - 1, what);
	return put_u16(p, type);
}

static void
type_print(struct rdata_walk *w, struct rdata_text *t)
{
	char text[RRTYPE_TEXT_MAX];

	text_put(t, text, rrtype_print(octets_get_u16(w->at), text));
	w->at += 2;
}

struct mnemonic {
	uint16_t value;
	const char *name;
};

/* IANA "DNS Security Algorithm Numbers" */
static const struct mnemonic algorithms[] = {
	{ 0, "DELETE" }, { 1, "RSAMD5" }, { 2, "DH" }, { 3, "DSA" },
	{ 4, "ECC" }, { 5, "RSASHA1" }, { 6, "DSA-NSEC3-SHA1" },
	{ 7, "RSASHA1-NSEC3-SHA1" }, { 6, "NSEC3DSA" },
	{ 7, "NSEC3RSASHA1" }, { 8, "RSASHA256" }, { 10, "RSASHA512" },
	{ 12, "ECC-GOST" }, { 12, "ECCGOST" }, { 13, "ECDSAP256SHA256" },
	{ 14, "ECDSAP384SHA384" }, { 15, "ED25519" }, { 16, "ED448" },
	{ 17, "SM2SM3" }, { 23, "ECC-GOST12" }, { 252, "INDIRECT" },
	{ 253, "PRIVATEDNS" }, { 254, "PRIVATEOID" }, { 0, NULL },
};

/* RFC 4398 section 2.1 */
static const struct mnemonic cert_types[] = {
	{ 1, "PKIX" }, { 2, "SPKI" }, { 3, "PGP" }, { 4, "IPKIX" },
	{ 5, "ISPKI" }, { 6, "IPGP" }, { 7, "ACPKIX" }, { 8, "IACPKIX" },
	{ 253, "URI" }, { 254, "OID" }, { 0, NULL },
};

/* RFC 9859 section 6.2 */
static const struct mnemonic dsync_schemes[] = {
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
next_mnemonic(struct rdata_parse *p, const struct mnemonic *m, uint32_t max,
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
print_mnemonic(struct rdata_text *t, const struct mnemonic *m,
	uint16_t value)
{
	for (; m->name != NULL; m++)
		if (m->value == value) {
			text_put(t, m->name, strlen(m->name));
			return;
		}
	text_put_number(t, value);
}

static bool
algorithm_parse(struct rdata_parse *p)
{
	uint32_t value;

	return next_mnemonic(p, algorithms, UINT8_MAX,
		"a DNSSEC algorithm or an integer from 0 to 255", &value)
		&& put_u8(p, value);
}

static bool
cert_type_parse(struct rdata_parse *p)
{
	uint32_t value;

	return next_mnemonic(p, cert_types, UINT16_MAX,
		"a certificate type or an integer from 0 to 65535", &value)
		&& put_u16(p, value);
}

static void
cert_type_print(struct rdata_walk *w, struct rdata_text *t)
{
	print_mnemonic(t, cert_types, octets_get_u16(w->at));
	w->at += 2;
}

static bool
dsync_scheme_parse(struct rdata_parse *p)
{
	uint32_t value;

	return next_mnemonic(p, dsync_schemes, UINT8_MAX,
		"a DSYNC scheme or an integer from 0 to 255", &value)
		&& put_u8(p, value);
}

static void
dsync_scheme_print(struct rdata_walk *w, struct rdata_text *t)
{
	print_mnemonic(t, dsync_schemes, *w->at++);
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

/* ---- strings (RFC 1035 section 5.1) */

static const char string_expected[] =
	"a string of at most 255 octets with whole escapes";

static bool
string_parse(struct rdata_parse *p)
{
	const struct token *t;
	ptrdiff_t len;

	if (p->at >= p->count)
		return rdata_expect(p, p->count, string_expected);
	t = &p->tokens[p->at++];
	if (rdata_room(p) < 256) {
		uint8_t octets[256];

		len = scan_unescape(t->text, t->len, octets + 1, 255);
		if (len < 0)
			return rdata_expect(p, p->at - 1, string_expected);
		octets[0] = (uint8_t)len;
		return rdata_put(p, octets, (size_t)len + 1);
	}
	if (!t->escaped && t->len <= 255) {
		memcpy(p->out + p->len + 1, t->text, t->len);
		len = t->len;
	} else {
		len = scan_unescape(t->text, t->len, p->out + p->len + 1,
			255);
		if (len < 0)
			return rdata_expect(p, p->at - 1, string_expected);
	}
	p->out[p->len] = (uint8_t)len;
	p->len += 1 + (size_t)len;
	return true;
}

bool
rdata_check_string(struct rdata_walk *w)
{
	if (w->at == w->end)
		return walk_broken(w, "a string");
	return walk_skip(w, 1 + (size_t)*w->at, "a whole string");
}

static void
string_print(struct rdata_walk *w, struct rdata_text *t)
{
	text_put_quoted(t, w->at + 1, *w->at);
	w->at += 1 + *w->at;
}

static bool
string_optional_parse(struct rdata_parse *p)
{
	return p->at >= p->count || string_parse(p);
}

static bool
string_optional_check(struct rdata_walk *w)
{
	return w->at == w->end || rdata_check_string(w);
}

static void
string_optional_print(struct rdata_walk *w, struct rdata_text *t)
{
	if (w->at < w->end)
		string_print(w, t);
}

static bool
strings_parse(struct rdata_parse *p)
{
	do {
		if (!string_parse(p))
			return false;
	} while (p->at < p->count);
	return true;
}

static bool
strings_check(struct rdata_walk *w)
{
	if (w->at == w->end)
		walk_note(w, "one or more strings");
	while (w->at < w->end)
		if (!rdata_check_string(w))
			return false;
	return true;
}

static void
strings_print(struct rdata_walk *w, struct rdata_text *t)
{
	while (w->at < w->end) {
		string_print(w, t);
		if (w->at < w->end)
			text_put_blank(t);
	}
}

static bool
long_string_parse(struct rdata_parse *p)
{
	static const char what[] = "a string with whole escapes";
	const struct token *t;
	ptrdiff_t len;

	if (p->at >= p->count)
		return rdata_expect(p, p->count, what);
	t = &p->tokens[p->at++];
	len = scan_unescape(t->text, t->len, p->out + p->len, rdata_room(p));
	if (len < 0)
		return rdata_expect(p, p->at - 1, what);
	p->len += (size_t)len;
	return true;
}

static bool
rest_check(struct rdata_walk *w)
{
	w->at = w->end;
	return true;
}

static void
long_string_print(struct rdata_walk *w, struct rdata_text *t)
{
	text_put_quoted(t, w->at, walk_left(w));
	w->at = w->end;
}

/* RFC 8659 section 4.1 */
static bool
is_tag(const uint8_t *octets, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		uint8_t c = name_lower_octet(octets[i]);

		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')))
			return false;
	}
	return len > 0;
}

static const char tag_expected[] =
	"a property tag of 1 to 255 letters and digits";

/* The tag may stand in quotes, as others let it. */
static bool
tag_parse(struct rdata_parse *p)
{
	const struct token *t;

	if (p->at >= p->count)
		return rdata_expect(p, p->count, tag_expected);
	t = &p->tokens[p->at++];
	if (t->len > 255 || !is_tag((const uint8_t *)t->text, t->len))
		return rdata_expect(p, p->at - 1, tag_expected);
	return put_u8(p, t->len) && rdata_put(p, t->text, t->len);
}

static bool
tag_check(struct rdata_walk *w)
{
	const uint8_t *tag = w->at;

	if (!rdata_check_string(w))
		return false;
	if (!is_tag(tag + 1, *tag))
		walk_note(w, tag_expected);
	return true;
}

static void
tag_print(struct rdata_walk *w, struct rdata_text *t)
{
	text_put(t, (const char *)w->at + 1, *w->at);
	w->at += 1 + *w->at;
}

/* ---- encoded octets */

bool
rdata_rest_hex(struct rdata_parse *p, size_t min)
{
	static const char what[] = "octets in hexadecimal";
	struct codec c;
	size_t start = p->len;

	codec_init(&c, p->out + p->len, rdata_room(p));
	while (p->at < p->count) {
		const struct token *t = &p->tokens[p->at];

		if (t->quoted || !codec_read_hex(&c, t->text, t->len))
			return rdata_expect(p, p->at, what);
		p->at++;
	}
	p->len = (size_t)(c.out - p->out);
	if (!codec_is_whole(&c))
		return rdata_expect(p, p->at - 1,
			"an even number of hexadecimal digits");
	if (p->len - start < min)
		return rdata_expect(p, p->count, what);
	return true;
}

/*
 * RFC 8078 section 4 prints its delete forms as "0 0 0 0" and "0 3 0 0";
 * its errata have 00 and AA==. Both stand for one octet of zero.
 */
static bool
is_delete_form(const struct rdata_parse *p)
{
	const char *front = p->type == TYPE_CDS ? "\0\0\0\0"
		: p->type == TYPE_CDNSKEY ? "\0\0\3\0" : NULL;

	return front != NULL && p->at + 1 == p->count && p->len == 4
		&& memcmp(p->out, front, 4) == 0
		&& p->tokens[p->at].len == 1
		&& p->tokens[p->at].text[0] == '0';
}

static bool
hex_parse(struct rdata_parse *p)
{
	if (is_delete_form(p)) {
		p->at++;
		return put_u8(p, 0);
	}
	return rdata_rest_hex(p, 1);
}

static bool
hex_check(struct rdata_walk *w)
{
	if (w->at == w->end)
		walk_note(w, "an octet or more");
	w->at = w->end;
	return true;
}

static void
hex_print(struct rdata_walk *w, struct rdata_text *t)
{
	text_put_hex(t, w->at, walk_left(w));
	w->at = w->end;
}

static bool
hex8_parse(struct rdata_parse *p)
{
	static const char what[] =
		"at most 255 octets in hexadecimal, or - for none";
	const struct token *t = rdata_next_bare(p, what);
	uint8_t octets[256];
	struct codec c;

	if (t == NULL)
		return false;
	if (t->len == 1 && t->text[0] == '-')
		return put_u8(p, 0);
	codec_init(&c, octets + 1, 255);
	if (!codec_read_hex(&c, t->text, t->len) || !codec_is_whole(&c)
		|| t->len == 0)
		return rdata_expect(p, p->at - 1, what);
	octets[0] = (uint8_t)(c.out - octets - 1);
	return rdata_put(p, octets, 1 + (size_t)octets[0]);
}

static void
hex8_print(struct rdata_walk *w, struct rdata_text *t)
{
	if (*w->at == 0)
		text_put_char(t, '-');
	text_put_hex(t, w->at + 1, *w->at);
	w->at += 1 + *w->at;
}

static bool
base32hex8_parse(struct rdata_parse *p)
{
	static const char what[] = "1 to 255 octets in base32hex";
	const struct token *t = rdata_next_bare(p, what);
	uint8_t octets[256];
	size_t len;

	if (t == NULL)
		return false;
	len = codec_decode_base32hex(t->text, t->len, octets + 1, 255);
	if (len == 0)
		return rdata_expect(p, p->at - 1, what);
	octets[0] = (uint8_t)len;
	return rdata_put(p, octets, 1 + len);
}

static bool
base32hex8_check(struct rdata_walk *w)
{
	/* RFC 5155 section 3.1.7 */
	if (w->at < w->end && *w->at == 0)
		walk_note(w, "a hash of 1 to 255 octets");
	return rdata_check_string(w);
}

static void
base32hex8_print(struct rdata_walk *w, struct rdata_text *t)
{
	char text[(255 * 8 + 4) / 5];

	text_put(t, text, codec_print_base32hex(w->at + 1, *w->at, text));
	w->at += 1 + *w->at;
}

bool
rdata_rest_base64(struct rdata_parse *p, size_t min)
{
	static const char what[] = "octets in base64";
	struct codec c;
	size_t start = p->len;

	codec_init(&c, p->out + p->len, rdata_room(p));
	while (p->at < p->count) {
		const struct token *t = &p->tokens[p->at];

		if (t->quoted || !codec_read_base64(&c, t->text, t->len))
			return rdata_expect(p, p->at, what);
		p->at++;
	}
	p->len = (size_t)(c.out - p->out);
	if (!codec_is_whole(&c))
		return rdata_expect(p, p->at - 1,
			"whole groups of base64, with their padding");
	if (p->len - start < min)
		return rdata_expect(p, p->count, what);
	return true;
}

static bool
base64_parse(struct rdata_parse *p)
{
	if (is_delete_form(p)) {
		p->at++;
		return put_u8(p, 0);
	}
	return rdata_rest_base64(p, 1);
}

static void
base64_print(struct rdata_walk *w, struct rdata_text *t)
{
	text_put_base64(t, w->at, walk_left(w));
	w->at = w->end;
}

static bool
base64_optional_parse(struct rdata_parse *p)
{
	return rdata_rest_base64(p, 0);
}

/* draft-durand-doa-over-dns section 3.2 */
static bool
base64_dash_parse(struct rdata_parse *p)
{
	if (p->at + 1 == p->count && !p->tokens[p->at].quoted
		&& p->tokens[p->at].len == 1
		&& p->tokens[p->at].text[0] == '-') {
		p->at++;
		return true;
	}
	return rdata_rest_base64(p, 1);
}

static void
base64_dash_print(struct rdata_walk *w, struct rdata_text *t)
{
	if (w->at == w->end)
		text_put_char(t, '-');
	base64_print(w, t);
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

const struct rdata_field_ops rdata_field_ops[] = {
	[FIELD_NAME_COMPRESSED] = { rdata_next_name, rdata_check_name,
		name_print },
	[FIELD_NAME] = { rdata_next_name, rdata_check_name, name_print },
	[FIELD_U8] = { u8_parse, u8_check, u8_print },
	[FIELD_U16] = { u16_parse, u16_check, u16_print },
	[FIELD_U32] = { u32_parse, u32_check, u32_print },
	[FIELD_U64] = { u64_parse, u64_check, u64_print },
	[FIELD_PERIOD] = { period_parse, u32_check, u32_print },
	[FIELD_TIME] = { time_parse, u32_check, time_print },
	[FIELD_TYPE] = { type_parse, u16_check, type_print },
	[FIELD_IP4] = { ip4_parse, ip4_check, ip4_print },
	[FIELD_IP6] = { ip6_parse, ip6_check, ip6_print },
	[FIELD_STRING] = { string_parse, rdata_check_string, string_print },
	[FIELD_STRING_OPTIONAL] = { string_optional_parse,
		string_optional_check, string_optional_print },
	[FIELD_STRINGS] = { strings_parse, strings_check, strings_print },
	[FIELD_LONG_STRING] = { long_string_parse, rest_check,
		long_string_print },
	[FIELD_HEX] = { hex_parse, hex_check, hex_print },
	[FIELD_HEX8] = { hex8_parse, rdata_check_string, hex8_print },
	[FIELD_BASE64] = { base64_parse, hex_check, base64_print },
	[FIELD_BASE64_OPTIONAL] = { base64_optional_parse, rest_check,
		base64_print },
	[FIELD_BASE64_DASH] = { base64_dash_parse, rest_check,
		base64_dash_print },
	[FIELD_BASE32HEX8] = { base32hex8_parse, base32hex8_check,
		base32hex8_print },
	[FIELD_BITMAP] = { field_bitmap_parse, field_bitmap_check,
		field_bitmap_print },
	[FIELD_ALGORITHM] = { algorithm_parse, u8_check, u8_print },
	[FIELD_CERT_TYPE] = { cert_type_parse, u16_check, cert_type_print },
	[FIELD_DSYNC_SCHEME] = { dsync_scheme_parse, u8_check,
		dsync_scheme_print },
	[FIELD_LOC] = { field_loc_parse, field_loc_check, field_loc_print },
	[FIELD_APL] = { field_apl_parse, field_apl_check, field_apl_print },
	[FIELD_WKS] = { field_wks_parse, field_wks_check, field_wks_print },
	[FIELD_NXT_BITMAP] = { field_nxt_bitmap_parse,
		field_nxt_bitmap_check, field_nxt_bitmap_print },
	[FIELD_A6] = { field_a6_parse, field_a6_check, field_a6_print },
	[FIELD_NSAP] = { field_nsap_parse, field_nsap_check,
		field_nsap_print },
	[FIELD_ATMA] = { field_atma_parse, field_atma_check,
		field_atma_print },
	[FIELD_EUI48] = { field_eui48_parse, field_eui48_check,
		field_eui48_print },
	[FIELD_EUI64] = { field_eui64_parse, field_eui64_check,
		field_eui64_print },
	[FIELD_ILNP64] = { field_ilnp64_parse, field_ilnp64_check,
		field_ilnp64_print },
	[FIELD_TAG] = { tag_parse, tag_check, tag_print },
	[FIELD_HIP] = { field_hip_parse, field_hip_check, field_hip_print },
	[FIELD_IPSECKEY] = { field_ipseckey_parse, field_ipseckey_check,
		field_ipseckey_print },
	[FIELD_AMTRELAY] = { field_amtrelay_parse, field_amtrelay_check,
		field_amtrelay_print },
	[FIELD_SVC_PARAMS] = { field_svc_params_parse,
		field_svc_params_check, field_svc_params_print },
	[FIELD_UNKNOWN] = { unknown_parse, rest_check, unknown_print },
};
