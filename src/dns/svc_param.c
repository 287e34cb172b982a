/* svc_param.c - the registered SvcParamKeys and the forms of their values. */
#include "base/octets.h"
#include "dns/codec.h"
#include "dns/scan.h"
#include "dns/svc_param.h"

static const char too_long[] = "a value of at most 65535 octets";
static const char no_escapes[] = "a value without escapes";

static bool
svc_put(struct svc_out *out, const void *octets, size_t len)
{
	if (out->room < len)
		return false;
	if (len > 0)
		memcpy(out->at, octets, len);
	out->at += len;
	out->room -= len;
	return true;
}

/* A comma-separated list without escapes. */
struct item_list {
	const char *at, *end;
	bool done;
};

static void
list_init(struct item_list *l, const struct svc_value *value)
{
	l->at = (const char *)value->octets;
	l->end = l->at + value->len;
	l->done = false;
}

/* Cuts off the next item, which may be empty. False behind the last. */
static bool
list_next(struct item_list *l, const char **item, size_t *len)
{
	const char *comma;

	if (l->done)
		return false;
	comma = l->at < l->end
		? memchr(l->at, ',', (size_t)(l->end - l->at)) : NULL;
	*item = l->at;
	*len = (size_t)((comma != NULL ? comma : l->end) - l->at);
	l->done = comma == NULL;
	l->at += *len + (comma != NULL);
	return true;
}

/* ---- opaque octets, as a quoted string */

static const char *
opaque_parse(const struct svc_value *value, struct svc_out *out)
{
	return svc_put(out, value->octets, value->len) ? NULL : too_long;
}

static const char *
opaque_check(const uint8_t *octets, size_t len)
{
	return NULL;
}

static void
opaque_print(const uint8_t *octets, size_t len, struct text *t)
{
	if (len == 0)
		return;
	text_put_char(t, '=');
	text_put_quoted(t, octets, len);
}

static const struct svc_form opaque_form = { opaque_parse, opaque_check,
	opaque_print, false, true };

/* ---- no value */

static const char *
empty_check(const uint8_t *octets, size_t len)
{
	return len == 0 ? NULL : "no value";
}

static const char *
empty_parse(const struct svc_value *value, struct svc_out *out)
{
	return empty_check(value->octets, value->len);
}

/* ---- mandatory: keys, on the wire in ascending order (section 8) */

static const char mandatory_expected[] =
	"a list of keys, without repetition and without mandatory";

static const char *
mandatory_check(const uint8_t *octets, size_t len)
{
	size_t i;

	if (len == 0 || len % 2 != 0)
		return "one or more keys of two octets";
	for (i = 0; i < len; i += 2) {
		uint16_t key = octets_get_u16(octets + i);

		if (key == SVC_MANDATORY)
			return mandatory_expected;
		if (i > 0 && key <= octets_get_u16(octets + i - 2))
			return "keys in ascending order";
	}
	return NULL;
}

/* Writes the keys of a set in ascending order. */
static bool
put_keys(struct svc_out *out, const struct svc_keys *keys)
{
	for (uint32_t key = 0; key <= UINT16_MAX; key++) {
		uint8_t octets[2];

		if (keys->bits[key / 8] == 0) {
			key |= 7;
			continue;
		}
		octets_put_u16(octets, (uint16_t)key);
		if (svc_keys_has(keys, (uint16_t)key)
			&& !svc_put(out, octets, 2))
			return false;
	}
	return true;
}

static const char *
mandatory_parse(const struct svc_value *value, struct svc_out *out)
{
	struct svc_keys keys;
	struct item_list l;
	const char *item;
	size_t len;

	if (value->escaped)
		return no_escapes;
	svc_keys_init(&keys);
	list_init(&l, value);
	while (list_next(&l, &item, &len)) {
		struct svc_key_text key;

		if (!svc_key_parse(item, len, &key)
			|| key.key == SVC_MANDATORY
			|| !svc_keys_add(&keys, key.key))
			return mandatory_expected;
		/* Octets that a primary has sent may be printed so. */
		if (key.doubt)
			out->doubt = "known keys, or keyN up to 65534";
	}
	return put_keys(out, &keys) ? NULL : too_long;
}

static void
mandatory_print(const uint8_t *octets, size_t len, struct text *t)
{
	size_t i;

	for (i = 0; i < len; i += 2) {
		text_put_char(t, i == 0 ? '=' : ',');
		svc_key_print(octets_get_u16(octets + i), t);
	}
}

/* ---- alpn, docpath: strings with a length octet (appendix A.1) */

static const char items_expected[] = "a list of items of 1 to 255 octets, "
	"with \\\\, for a comma and \\\\\\\\ for a backslash";

static const char *
items_check_from(const uint8_t *octets, size_t len)
{
	size_t at = 0;

	while (at < len) {
		if (octets[at] == 0 || len - at - 1 < octets[at])
			return "items of 1 to 255 octets";
		at += 1 + (size_t)octets[at];
	}
	return NULL;
}

static const char *
items_check(const uint8_t *octets, size_t len)
{
	return len > 0 ? items_check_from(octets, len) : items_expected;
}

static const char *
items_parse_some(const struct svc_value *value, struct svc_out *out)
{
	const uint8_t *at = value->octets, *end = at + value->len;

	for (;;) {
		uint8_t item[256];
		size_t len = 0;

		while (at < end && *at != ',') {
			if (*at == '\\') {
				if (++at == end)
					return items_expected;
				/* At least two of BIND, Knot and NSD drop the
				 * backslash. */
				if (*at != ',' && *at != '\\')
					out->doubt = items_expected;
			}
			if (len == 255)
				return items_expected;
			item[++len] = *at++;
		}
		if (len == 0)
			return items_expected;
		item[0] = (uint8_t)len;
		if (!svc_put(out, item, 1 + len))
			return too_long;
		if (at == end)
			return NULL;
		at++;
	}
}

/* An empty docpath is the root of the server. */
static const char *
items_parse_any(const struct svc_value *value, struct svc_out *out)
{
	return value->len == 0 ? NULL : items_parse_some(value, out);
}

static void
put_item(const uint8_t *item, size_t len, struct text *t)
{
	size_t i;

	for (i = 0; i < len; i++) {
		/* Escaped as part of an item, then as a string. */
		if (item[i] == ',' || item[i] == '\\')
			text_put(t, "\\\\", 2);
		if (item[i] == '"' || item[i] == '\\')
			text_put_char(t, '\\');
		text_put_octet(t, item[i]);
	}
}

static void
items_print(const uint8_t *octets, size_t len, struct text *t)
{
	size_t at = 0;

	if (len == 0)
		return;
	text_put(t, "=\"", 2);
	while (at < len) {
		if (at > 0)
			text_put_char(t, ',');
		put_item(octets + at + 1, octets[at], t);
		at += 1 + (size_t)octets[at];
	}
	text_put_char(t, '"');
}

/* ---- port (section 7.2) */

static const char port_expected[] = "a port from 0 to 65535";

static const char *
port_parse(const struct svc_value *value, struct svc_out *out)
{
	uint8_t octets[2];
	uint32_t port;

	if (value->escaped || !scan_number((const char *)value->octets,
		value->len, UINT16_MAX, &port))
		return port_expected;
	octets_put_u16(octets, (uint16_t)port);
	return svc_put(out, octets, 2) ? NULL : too_long;
}

static const char *
port_check(const uint8_t *octets, size_t len)
{
	return len == 2 ? NULL : "a port of two octets";
}

static void
port_print(const uint8_t *octets, size_t len, struct text *t)
{
	text_put_char(t, '=');
	text_put_number(t, octets_get_u16(octets));
}

/* ---- ipv4hint, ipv6hint (section 7.3) */

static const char *
ip4_parse(const struct svc_value *value, struct svc_out *out)
{
	struct item_list l;
	const char *item;
	uint8_t octets[4];
	size_t len;

	if (value->escaped)
		return no_escapes;
	list_init(&l, value);
	while (list_next(&l, &item, &len)) {
		if (!scan_ip4(item, len, octets))
			return "a list of IPv4 addresses";
		if (!svc_put(out, octets, 4))
			return too_long;
	}
	return NULL;
}

static const char *
ip4_check(const uint8_t *octets, size_t len)
{
	return len > 0 && len % 4 == 0 ? NULL : "one or more IPv4 addresses";
}

static void
ip4_print(const uint8_t *octets, size_t len, struct text *t)
{
	char text[16];
	size_t i;

	for (i = 0; i < len; i += 4) {
		text_put_char(t, i == 0 ? '=' : ',');
		text_put(t, text, scan_print_ip4(octets + i, text));
	}
}

static const char *
ip6_parse(const struct svc_value *value, struct svc_out *out)
{
	struct item_list l;
	const char *item;
	uint8_t octets[16];
	size_t len;

	if (value->escaped)
		return no_escapes;
	list_init(&l, value);
	while (list_next(&l, &item, &len)) {
		if (!scan_ip6(item, len, octets))
			return "a list of IPv6 addresses";
		if (!svc_put(out, octets, 16))
			return too_long;
	}
	return NULL;
}

static const char *
ip6_check(const uint8_t *octets, size_t len)
{
	return len > 0 && len % 16 == 0 ? NULL : "one or more IPv6 addresses";
}

static void
ip6_print(const uint8_t *octets, size_t len, struct text *t)
{
	char text[SCAN_IP6_MAX];
	size_t i;

	for (i = 0; i < len; i += 16) {
		text_put_char(t, i == 0 ? '=' : ',');
		text_put(t, text, scan_print_ip6(octets + i, text));
	}
}

/* ---- ech (RFC 9848 section 3): an ECHConfigList */

static const char *
ech_parse(const struct svc_value *value, struct svc_out *out)
{
	static const char expected[] =
		"a list of ECH configurations in base64";
	struct codec c;

	codec_init(&c, out->at, out->room);
	if (value->escaped
		|| !codec_read_base64(&c, (const char *)value->octets,
			value->len)
		|| !codec_is_whole(&c))
		return expected;
	if (value->len == 0)
		out->doubt = expected;
	out->at = c.out;
	out->room = c.room;
	return NULL;
}

static const char *
ech_check(const uint8_t *octets, size_t len)
{
	return len > 0 ? NULL : "a list of ECH configurations";
}

static void
ech_print(const uint8_t *octets, size_t len, struct text *t)
{
	text_put_char(t, '=');
	text_put_base64(t, octets, len);
}

/* ---- dohpath (RFC 9461 section 5): a URI template with "dns" in it */

/* The length of the UTF-8 sequence at s; 0 if it is none. RFC 3629 section 4 */
static size_t
svc_utf8_len(const uint8_t *s, size_t left)
{
	size_t len = *s < 0x80 ? 1 : *s < 0xc2 ? 0 : *s < 0xe0 ? 2
		: *s < 0xf0 ? 3 : *s < 0xf5 ? 4 : 0;
	size_t i;

	if (len == 0 || left < len)
		return 0;
	for (i = 1; i < len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] > 0x9f)
		|| (*s == 0xf0 && s[1] < 0x90) || (*s == 0xf4 && s[1] > 0x8f))
		return 0;
	return len;
}

/* True if "dns" is among the variables of an expression. Between its braces it
 * has an operator, then names separated by commas (RFC 6570 section 2.2). */
static bool
expression_has_dns(const uint8_t *at, const uint8_t *end)
{
	if (at < end && strchr("+#./;?&", *at) != NULL && *at != '\0')
		at++;
	while (at < end) {
		const uint8_t *comma = memchr(at, ',', (size_t)(end - at));
		size_t len = (size_t)((comma != NULL ? comma : end) - at);

		if (len >= 3 && memcmp(at, "dns", 3) == 0
			&& (len == 3 || at[3] == ':' || at[3] == '*'))
			return true;
		at += len + (comma != NULL);
	}
	return false;
}

static const char *
dohpath_check(const uint8_t *octets, size_t len)
{
	static const char what[] =
		"a path in UTF-8 with the variable dns, as /dns-query{?dns}";
	const uint8_t *end = octets + len, *open, *close, *at;
	bool found = false;

	if (len == 0 || *octets != '/')
		return what;
	for (at = octets; at < end;) {
		size_t some = svc_utf8_len(at, (size_t)(end - at));

		if (some == 0)
			return what;
		at += some;
	}
	for (at = octets; (open = memchr(at, '{', (size_t)(end - at)))
		!= NULL; at = close + 1) {
		close = memchr(open, '}', (size_t)(end - open));
		if (close == NULL)
			return what;
		if (expression_has_dns(open + 1, close))
			found = true;
	}
	return found ? NULL : what;
}

static const char *
dohpath_parse(const struct svc_value *value, struct svc_out *out)
{
	const char *why = dohpath_check(value->octets, value->len);

	if (why != NULL)
		out->doubt = why;
	return opaque_parse(value, out);
}

/* ---- tls-supported-groups: numbers of two octets, none twice */

static const char groups_expected[] =
	"a list of groups, 0 to 65535, none of them twice";

static const char *
groups_check(const uint8_t *octets, size_t len)
{
	struct svc_keys seen;
	size_t i;

	if (len == 0 || len % 2 != 0)
		return "one or more groups of two octets";
	svc_keys_init(&seen);
	for (i = 0; i < len; i += 2)
		if (!svc_keys_add(&seen, octets_get_u16(octets + i)))
			return groups_expected;
	return NULL;
}

static const char *
groups_parse(const struct svc_value *value, struct svc_out *out)
{
	uint8_t *first = out->at;
	struct item_list l;
	const char *item;
	size_t len;

	if (value->escaped)
		return no_escapes;
	list_init(&l, value);
	while (list_next(&l, &item, &len)) {
		uint8_t octets[2];
		uint32_t group;

		if (!scan_number(item, len, UINT16_MAX, &group))
			return groups_expected;
		octets_put_u16(octets, (uint16_t)group);
		if (!svc_put(out, octets, 2))
			return too_long;
	}
	return groups_check(first, (size_t)(out->at - first));
}

static void
groups_print(const uint8_t *octets, size_t len, struct text *t)
{
	size_t i;

	for (i = 0; i < len; i += 2) {
		text_put_char(t, i == 0 ? '=' : ',');
		text_put_number(t, octets_get_u16(octets + i));
	}
}

/* ---- IANA "Service Parameter Keys (SvcParamKeys)" */

static const struct svc_param {
	const char *name;
	struct svc_form form;
} params[] = {
	[0] = { "mandatory", { mandatory_parse, mandatory_check,
		mandatory_print, true, false } },
	[1] = { "alpn", { items_parse_some, items_check, items_print, true,
		false } },
	[2] = { "no-default-alpn", { empty_parse, empty_check,
		opaque_print, false, false } },
	[3] = { "port", { port_parse, port_check, port_print, true, false } },
	[4] = { "ipv4hint", { ip4_parse, ip4_check, ip4_print, true, false } },
	[5] = { "ech", { ech_parse, ech_check, ech_print, false, true } },
	[6] = { "ipv6hint", { ip6_parse, ip6_check, ip6_print, true, false } },
	/* RFC 9461, RFC 9540 */
	[7] = { "dohpath", { dohpath_parse, dohpath_check, opaque_print, false,
		true } },
	[8] = { "ohttp", { empty_parse, empty_check, opaque_print, false,
		false } },
	/* draft-ietf-tls-key-share-prediction */
	[9] = { "tls-supported-groups", { groups_parse, groups_check,
		groups_print, false, false } },
	/* RFC 9953 */
	[10] = { "docpath", { items_parse_any, items_check_from,
		items_print, false, false } },
	/* draft-ietf-intarea-proxy-config */
	[11] = { "pvd", { empty_parse, empty_check, opaque_print, false,
		false } },
};

#define PARAM_COUNT (sizeof(params) / sizeof(params[0]))

const struct svc_form *
svc_form_get(uint16_t key)
{
	return key < PARAM_COUNT ? &params[key].form : &opaque_form;
}

/* Section 2.1: keyNNNNN has no leading zeros. Section 14.3.2: 65535 is no
 * key. */
static bool
parse_generic(const char *text, size_t len, struct svc_key_text *key)
{
	uint32_t number;

	if (len < 4 || memcmp(text, "key", 3) != 0
		|| !scan_number(text + 3, len - 3, SVC_INVALID, &number))
		return false;
	key->key = (uint16_t)number;
	key->generic = true;
	key->doubt = (text[3] == '0' && len > 4) || number == SVC_INVALID;
	return true;
}

bool
svc_key_parse(const char *text, size_t len, struct svc_key_text *key)
{
	size_t i;

	for (i = 0; i < PARAM_COUNT; i++)
		if (strlen(params[i].name) == len
			&& memcmp(params[i].name, text, len) == 0) {
			key->key = (uint16_t)i;
			key->generic = false;
			key->doubt = false;
			return true;
		}
	return parse_generic(text, len, key);
}

void
svc_key_print(uint16_t key, struct text *t)
{
	if (key < PARAM_COUNT) {
		text_put(t, params[key].name, strlen(params[key].name));
		return;
	}
	text_put(t, "key", 3);
	text_put_number(t, key);
}
