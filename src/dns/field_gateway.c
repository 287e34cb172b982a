/* field_gateway.c - IPSECKEY, AMTRELAY, HIP: gateways, relays, servers. */
#include "dns/codec.h"
#include "dns/name.h"
#include "dns/rdata_field.h"
#include "dns/scan.h"

/* RFC 4025 section 2.3, RFC 8777 section 4.2.3: the same numbers. */
enum gateway { GATEWAY_NONE, GATEWAY_IP4, GATEWAY_IP6, GATEWAY_NAME };

static const char type_expected[] = "a gateway type from 0 to 3";

/* Reads a gateway of the type: ".", an address or a name. */
static bool
next_gateway(struct rdata_parse *p, uint32_t type)
{
	static const char *const expected[] = {
		"., for there is no gateway", "an IPv4 address",
		"an IPv6 address" };
	const struct token *t;
	uint8_t octets[16];

	if (type == GATEWAY_NAME)
		return field_name_parse(p);
	t = rdata_next_bare(p, expected[type]);
	if (t == NULL)
		return false;
	if (type == GATEWAY_NONE && t->len == 1 && t->text[0] == '.')
		return true;
	if (type == GATEWAY_IP4 && scan_ip4(t->text, t->len, octets))
		return rdata_put(p, octets, 4);
	if (type == GATEWAY_IP6 && scan_ip6(t->text, t->len, octets))
		return rdata_put(p, octets, 16);
	return rdata_expect(p, p->at - 1, expected[type]);
}

/* False if the layout is broken. The type is one of the four. */
static bool
check_gateway(struct rdata_walk *w, unsigned type)
{
	switch (type) {
	case GATEWAY_IP4:
		return walk_skip(w, 4, "an IPv4 address");
	case GATEWAY_IP6:
		return walk_skip(w, 16, "an IPv6 address");
	case GATEWAY_NAME:
		return field_name_check(w);
	}
	ASSERT_HOT(type == GATEWAY_NONE);
	return true;
}

static void
print_gateway(struct rdata_walk *w, struct text *t, unsigned type)
{
	char text[SCAN_IP6_MAX];

	switch (type) {
	case GATEWAY_IP4:
		text_put(t, text, scan_print_ip4(w->at, text));
		w->at += 4;
		break;
	case GATEWAY_IP6:
		text_put(t, text, scan_print_ip6(w->at, text));
		w->at += 16;
		break;
	case GATEWAY_NAME:
		text_put_name(t, w->at);
		w->at += name_len(w->at);
		break;
	default:
		text_put_char(t, '.');
	}
}

/* ---- IPSECKEY (RFC 4025): precedence, gateway type, algorithm, gateway, and
 * a key unless the algorithm is 0. */

static const char key_expected[] =
	"a key in base64, or none for algorithm 0";

bool
field_ipseckey_parse(struct rdata_parse *p)
{
	static const char what[] = "an integer from 0 to 255";
	uint32_t precedence, type, algorithm;
	uint8_t head[3];
	size_t start;

	if (!rdata_next_number(p, UINT8_MAX, what, &precedence)
		|| !rdata_next_number(p, GATEWAY_NAME, type_expected, &type)
		|| !rdata_next_number(p, UINT8_MAX, what, &algorithm))
		return false;
	head[0] = (uint8_t)precedence;
	head[1] = (uint8_t)type;
	head[2] = (uint8_t)algorithm;
	if (!rdata_put(p, head, sizeof(head)) || !next_gateway(p, type))
		return false;
	start = p->at;
	if ((algorithm == 0) != (start == p->count))
		rdata_doubt(p, start, key_expected);
	return rdata_rest_base64(p, start < p->count ? 1 : 0);
}

bool
field_ipseckey_check(struct rdata_walk *w)
{
	const uint8_t *head = w->at;

	if (!walk_skip(w, 3, "precedence, gateway type and algorithm"))
		return false;
	if (head[1] > GATEWAY_NAME)
		walk_note(w, type_expected);
	else if (!check_gateway(w, head[1]))
		return false;
	else if ((head[2] == 0) != (w->at == w->end))
		walk_doubt(w, key_expected);
	w->at = w->end;
	return true;
}

void
field_ipseckey_print(struct rdata_walk *w, struct text *t)
{
	const uint8_t *head = w->at;
	int i;

	for (i = 0; i < 3; i++) {
		text_put_number(t, head[i]);
		text_put_char(t, ' ');
	}
	w->at += 3;
	print_gateway(w, t, head[1]);
	if (w->at < w->end) {
		text_put_char(t, ' ');
		text_put_base64(t, w->at, walk_left(w));
	}
	w->at = w->end;
}

/* ---- AMTRELAY (RFC 8777 section 4): precedence, D bit and type, relay. */

#define DISCOVERY 0x80u

bool
field_amtrelay_parse(struct rdata_parse *p)
{
	uint32_t precedence, discovery, type;
	uint8_t head[2];

	if (!rdata_next_number(p, UINT8_MAX, "an integer from 0 to 255",
			&precedence)
		|| !rdata_next_number(p, 1, "0 or 1, the discovery bit",
			&discovery)
		|| !rdata_next_number(p, GATEWAY_NAME,
			"a relay type from 0 to 3", &type))
		return false;
	head[0] = (uint8_t)precedence;
	head[1] = (uint8_t)(discovery != 0 ? DISCOVERY | type : type);
	return rdata_put(p, head, sizeof(head)) && next_gateway(p, type);
}

bool
field_amtrelay_check(struct rdata_walk *w)
{
	const uint8_t *head = w->at;
	unsigned type;

	if (!walk_skip(w, 2, "precedence and relay type"))
		return false;
	type = head[1] & ~DISCOVERY;
	if (type <= GATEWAY_NAME)
		return check_gateway(w, type);
	walk_note(w, "a relay type from 0 to 3");
	w->at = w->end;
	return true;
}

void
field_amtrelay_print(struct rdata_walk *w, struct text *t)
{
	const uint8_t *head = w->at;
	unsigned type = head[1] & ~DISCOVERY;

	text_put_number(t, head[0]);
	text_put(t, head[1] & DISCOVERY ? " 1 " : " 0 ", 3);
	text_put_number(t, type);
	text_put_char(t, ' ');
	w->at += 2;
	print_gateway(w, t, type);
}

/*
 * ---- HIP (RFC 8005 section 5)
 *
 *   | HIT length 8 | algorithm 8 | key length 16 | HIT | key | servers |
 *
 * In text the algorithm is first, and the key is one word of base64.
 */
#define HIP_HEAD 4

static bool
next_hit_and_key(struct rdata_parse *p, uint8_t *head)
{
	static const char hit_expected[] =
		"a host identity tag of 1 to 255 octets in hexadecimal";
	static const char public_key_expected[] =
		"a public key in base64, one word";
	const struct token *t = rdata_next_bare(p, hit_expected);
	struct codec c;
	size_t start = p->len;

	if (t == NULL)
		return false;
	codec_init(&c, p->out + start, 255);
	if (t->len == 0 || !codec_read_hex(&c, t->text, t->len)
		|| !codec_is_whole(&c))
		return rdata_expect(p, p->at - 1, hit_expected);
	p->len = (size_t)(c.out - p->out);
	head[0] = (uint8_t)(p->len - start);
	t = rdata_next_bare(p, public_key_expected);
	if (t == NULL)
		return false;
	start = p->len;
	codec_init(&c, p->out + start, rdata_room(p));
	if (t->len == 0 || !codec_read_base64(&c, t->text, t->len)
		|| !codec_is_whole(&c))
		return rdata_expect(p, p->at - 1, public_key_expected);
	p->len = (size_t)(c.out - p->out);
	octets_put_u16(head + 2, (uint16_t)(p->len - start));
	return true;
}

bool
field_hip_parse(struct rdata_parse *p)
{
	uint8_t head[HIP_HEAD] = { 0 };
	size_t start = p->len;
	uint32_t algorithm;

	if (!rdata_next_number(p, UINT8_MAX,
		"a public key algorithm from 0 to 255", &algorithm))
		return false;
	head[1] = (uint8_t)algorithm;
	if (!rdata_put(p, head, sizeof(head)) || !next_hit_and_key(p, head))
		return false;
	memcpy(p->out + start, head, sizeof(head));
	while (p->at < p->count)
		if (!field_name_parse(p))
			return false;
	return true;
}

bool
field_hip_check(struct rdata_walk *w)
{
	const uint8_t *head = w->at;

	if (!walk_skip(w, HIP_HEAD, "lengths and algorithm")
		|| !walk_skip(w, head[0], "a whole host identity tag")
		|| !walk_skip(w, octets_get_u16(head + 2),
			"a whole public key"))
		return false;
	if (head[0] == 0)
		walk_note(w, "a host identity tag of 1 to 255 octets");
	if (octets_get_u16(head + 2) == 0)
		walk_note(w, "a public key that is not empty");
	while (w->at < w->end)
		if (!field_name_check(w))
			return false;
	return true;
}

void
field_hip_print(struct rdata_walk *w, struct text *t)
{
	const uint8_t *head = w->at;
	size_t key_len = octets_get_u16(head + 2);

	text_put_number(t, head[1]);
	text_put_char(t, ' ');
	w->at += HIP_HEAD;
	text_put_hex(t, w->at, head[0]);
	text_put_char(t, ' ');
	w->at += head[0];
	text_put_base64(t, w->at, key_len);
	w->at += key_len;
	while (w->at < w->end) {
		text_put_char(t, ' ');
		text_put_name(t, w->at);
		w->at += name_len(w->at);
	}
}
