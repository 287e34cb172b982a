/* mutate_dns.c - changes one DNS message by its parts. */
#include "fuzz/mutate_dns.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/octets.h"
#include "dns/edns.h"
#include "dns/message.h"
#include "dns/name.h"
#include "dns/rrtype.h"
#include "dns/tsig.h"
#include "fuzz/mutate_draft.h"
#include "lib/chance.h"

#define CHANGES_MAX 4u
#define PIECE_MAX 600u
#define KEYS_MAX 8u

/* ---- values ------------------------------------------------------------ */

static const char *const plain_names[] = {"", "\7example", "\3www\7example",
	"\1*\7example", "\1z", "\1a\1b\1c\1z", "\4test"};
static const struct mutate_key plain_keys[] = {
	{"\3key", MAC_HMAC_SHA256, "s"},
	{"\3key", MAC_HMAC_SHA256, "another"},
	{"\7unknown", MAC_HMAC_SHA256, "u"},
};
const struct mutate_dns mutate_dns_plain = {
	.names = plain_names,
	.name_count = sizeof(plain_names) / sizeof(*plain_names),
	.keys = plain_keys,
	.key_count = sizeof(plain_keys) / sizeof(*plain_keys),
	.now_sec = 1700000000,
};

static const uint16_t types[] = {TYPE_A, TYPE_NS, TYPE_CNAME, TYPE_SOA,
	TYPE_PTR, TYPE_MX, TYPE_TXT, TYPE_AAAA, TYPE_SRV, TYPE_DNAME, TYPE_OPT,
	TYPE_DS, TYPE_RRSIG, TYPE_NSEC, TYPE_DNSKEY, TYPE_NSEC3,
	TYPE_NSEC3PARAM, TYPE_SVCB, TYPE_HTTPS, TYPE_TSIG, TYPE_IXFR, TYPE_AXFR,
	TYPE_MAILA, TYPE_MAILB, TYPE_ANY, TYPE_NXNAME, 249, 24, 0, 63, 65535};
static const uint16_t classes[] = {CLASS_IN, CLASS_CH, CLASS_ANY, 4, 254, 0,
	512, 65535};
static const uint16_t bounds[] = {0, 1, 2, 7, 8, 9, 40, 41, 255, 256, 511, 512,
	513, 1232, 4096, 16383, 16384, 32767, 32768, 65534, 65535};
static const uint16_t options[] = {EDNS_NSID, EDNS_COOKIE, EDNS_PADDING,
	EDNS_TCP_KEEPALIVE, EDNS_EXPIRE, EDNS_CLIENT_SUBNET, EDNS_ZONEVERSION,
	EDNS_EDE, EDNS_REPORT_CHANNEL, 5, 14, 16, 0, 65001, 65535};

static uint16_t
pick_number(struct draft *d)
{
	return below(d, 4) == 0 ? (uint16_t)chance_next(d->chance)
		: PICK(d, bounds);
}

/* ---- the header ---------------------------------------------------------- */

static void
change_flags(struct draft *d)
{
	static const uint8_t opcodes[] = {OPCODE_QUERY, OPCODE_NOTIFY,
		OPCODE_UPDATE, OPCODE_IQUERY, OPCODE_STATUS, OPCODE_DSO, 15};
	uint16_t flags = message_get_flags(d->octets);

	switch (below(d, 5)) {
	case 0:
		flags &= (uint16_t)~MESSAGE_OPCODE_MASK;
		flags |= (uint16_t)(PICK(d, opcodes) << 11);
		break;
	case 1:
		flags &= (uint16_t)~MESSAGE_RCODE_MASK;
		flags |= (uint16_t)below(d, 16);
		break;
	case 2:
		flags &= (uint16_t)~(MESSAGE_RCODE_MASK | MESSAGE_QR);
		break;
	default:
		flags ^= (uint16_t)(1u << below(d, 16));
		break;
	}
	octets_put_u16(d->octets + MESSAGE_FLAGS, flags);
	if (below(d, 4) == 0)
		octets_put_u16(d->octets, d->dns->id != 0 ? d->dns->id
			: (uint16_t)chance_next(d->chance));
}

static void
change_counts(struct draft *d)
{
	unsigned section = below(d, SECTIONS), counts[SECTIONS] = {0};
	uint8_t *at = d->octets + MESSAGE_QDCOUNT + 2 * section;

	switch (below(d, 4)) {
	case 0:
		octets_put_u16(at, pick_number(d));
		break;
	case 1:
		octets_put_u16(at, (uint16_t)(octets_get_u16(at)
			+ (below(d, 2) ? 1 : -1)));
		break;
	case 2:
		octets_put_u16(at, 0);
		break;
	default: /* as they are */
		for (size_t i = 0; i < d->count; i++)
			counts[d->parts[i].section]++;
		for (unsigned s = 0; s < SECTIONS; s++)
			octets_put_u16(d->octets + MESSAGE_QDCOUNT + 2 * s,
				(uint16_t)counts[s]);
	}
}

/* ---- names --------------------------------------------------------------- */

/* Writes a name. Returns its length. */
static size_t
make_name(struct draft *d, uint8_t *out)
{
	const char *name = d->dns->names[below(d,
		(uint32_t)d->dns->name_count)];
	size_t len = name_len((const uint8_t *)name), front = 0;

	switch (below(d, 12)) {
	case 0:
	case 1: /* to the first name */
		memcpy(out, "\xc0\x0c", 2);
		return 2;
	case 2: /* to anywhere */
		octets_put_u16(out, (uint16_t)(0xc000
			| below(d, (uint32_t)d->len + 2)));
		return 2;
	case 3: /* below it */
		front = 1 + below(d, 63);
		out[0] = (uint8_t)front++;
		memset(out + 1, 'a' + (int)below(d, 26), front - 1);
		break;
	case 4: /* many labels */
		for (front = 0; front < 2 * below(d, 130); front += 2)
			memcpy(out + front, "\1x", 2);
		break;
	default:
		break;
	}
	memcpy(out + front, name, len);
	for (size_t i = 1; i < len && below(d, 8) == 0; i++)
		if (out[front + i] >= 'a' && out[front + i] <= 'z')
			out[front + i] ^= 0x20;
	return front + len;
}

static void
change_name(struct draft *d)
{
	struct part *p = draft_pick_part(d);
	uint8_t name[600];

	if (p == NULL)
		return;
	if (below(d, 6) != 0) {
		size_t len = make_name(d, name);

		(void)draft_replace(d, p->at, p->name_len, name, len);
	} else if (p->name_len > 1) { /* an octet of it, or a label less */
		if (below(d, 2) == 0)
			d->octets[p->at + below(d, (uint32_t)p->name_len)] =
				(uint8_t)chance_next(d->chance);
		else if (d->octets[p->at] < 0xc0)
			(void)draft_replace(d, p->at,
				1u + d->octets[p->at], NULL, 0);
	}
}

/* ---- records ------------------------------------------------------------- */

static size_t
make_option(struct draft *d, uint8_t *out)
{
	uint16_t code = PICK(d, options);
	size_t len = below(d, 3) == 0 ? below(d, 48) : 0;

	octets_put_u16(out, code);
	memset(out + 4, (int)below(d, 256), 48);
	if (code == EDNS_COOKIE) {
		len = below(d, 2) == 0 ? 8 : 24;
		if (d->dns->cookie != NULL)
			memcpy(out + 4, d->dns->cookie, 24);
		if (below(d, 4) == 0)
			out[4 + below(d, 24)] ^= 1;
	} else if (code == EDNS_CLIENT_SUBNET) {
		memcpy(out + 4, "\0\1\30\0\300\0\2", 7);
		len = 7;
	} else if (code == EDNS_TCP_KEEPALIVE) {
		len = below(d, 4) == 0 ? 2 : 0;
	}
	if (below(d, 12) == 0)
		len = below(d, 48);
	octets_put_u16(out + 2, (uint16_t)len);
	return len + 4;
}

/* Behind the owner of an OPT. */
static size_t
make_opt(struct draft *d, uint8_t *out)
{
	size_t len = 10;

	octets_put_u16(out, TYPE_OPT);
	octets_put_u16(out + 2, pick_number(d));
	memset(out + 4, 0, 4);
	if (below(d, 2) == 0)
		out[6] = 0x80; /* DO */
	if (below(d, 12) == 0)
		out[5] = (uint8_t)below(d, 3);
	if (below(d, 12) == 0)
		out[4] = (uint8_t)below(d, 256);
	while (len < 300 && below(d, 3) != 0)
		len += make_option(d, out + len);
	octets_put_u16(out + 8, (uint16_t)(len - 10));
	return len;
}

static size_t
make_rdata(struct draft *d, uint16_t type, uint8_t *out)
{
	size_t len = 0;

	switch (type) {
	case TYPE_A:
		memcpy(out, "\300\0\2\1", 4);
		return 4;
	case TYPE_SOA:
		len = make_name(d, out);
		len += make_name(d, out + len);
		memset(out + len, 0, 20);
		out[len + 3] = (uint8_t)below(d, 10);
		return len + 20;
	case TYPE_NS:
	case TYPE_CNAME:
	case TYPE_DNAME:
	case TYPE_PTR:
		return make_name(d, out);
	case TYPE_MX:
		memset(out, 0, 2);
		return 2 + make_name(d, out + 2);
	case TYPE_TXT:
		memcpy(out, "\4text", 5);
		return 5;
	default:
		len = below(d, 40);
		memset(out, (int)below(d, 256), len);
		return len;
	}
}

static void
add_record(struct draft *d)
{
	unsigned section = 1 + below(d, 3);
	uint16_t type = PICK(d, types);
	uint8_t out[4 * PIECE_MAX] = {0};
	size_t owner = 1, len;

	if (type == TYPE_OPT || below(d, 3) == 0) {
		section = below(d, 8) != 0 ? 3 : section;
		owner = below(d, 12) != 0 ? 1 : make_name(d, out);
		len = owner + make_opt(d, out + owner);
	} else {
		owner = make_name(d, out);
		octets_put_u16(out + owner, type);
		octets_put_u16(out + owner + 2, below(d, 4) == 0
			? PICK(d, classes) : CLASS_IN);
		octets_put_u32(out + owner + 4, pick_number(d));
		len = make_rdata(d, type, out + owner + 10);
		octets_put_u16(out + owner + 8, (uint16_t)len);
		len += owner + 10;
	}
	if (draft_replace(d, draft_section_end(d, section), 0, out, len))
		draft_count(d, section, 1);
}

static void
add_question(struct draft *d)
{
	uint8_t out[PIECE_MAX];
	struct part *p = draft_pick_part(d);
	size_t len;

	if (p != NULL && p->section == 0 && below(d, 2) == 0) {
		len = p->len < sizeof(out) ? p->len : sizeof(out);
		memcpy(out, d->octets + p->at, len);
	} else {
		len = make_name(d, out);
		octets_put_u16(out + len, PICK(d, types));
		octets_put_u16(out + len + 2, below(d, 4) == 0
			? PICK(d, classes) : CLASS_IN);
		len += 4;
	}
	if (draft_replace(d, draft_section_end(d, 0), 0, out, len))
		draft_count(d, 0, 1);
}

static void
remove_part(struct draft *d)
{
	struct part *p = draft_pick_part(d);

	if (p != NULL && draft_replace(d, p->at, p->len, NULL, 0))
		draft_count(d, p->section, -1);
}

/* Puts a copy of a part behind any other, or into another section; in place of
 * where it was, or as well. */
static void
copy_part(struct draft *d)
{
	struct part *p = draft_pick_part(d);
	unsigned section = below(d, 2) == 0 ? 3 : below(d, SECTIONS);
	uint8_t *copy;
	size_t to;

	if (p == NULL)
		return;
	copy = malloc(p->len);
	if (copy == NULL)
		abort();
	memcpy(copy, d->octets + p->at, p->len);
	to = draft_section_end(d, section);
	if (section == p->section && below(d, 2) == 0)
		to = p->at;
	if (draft_replace(d, to, 0, copy, p->len)) {
		draft_count(d, section, 1);
		if (below(d, 3) == 0 && draft_replace(d, p->at
			+ (to <= p->at ? p->len : 0), p->len, NULL, 0))
			draft_count(d, p->section, -1);
	}
	free(copy);
}

static void
swap_parts(struct draft *d)
{
	struct part *p = d->count < 2 ? NULL
		: &d->parts[below(d, (uint32_t)d->count - 1)];
	uint8_t *copy;

	if (p == NULL)
		return;
	copy = malloc(p->len);
	if (copy == NULL)
		abort();
	memcpy(copy, d->octets + p->at, p->len);
	memmove(d->octets + p->at, d->octets + p[1].at, p[1].len);
	memcpy(d->octets + p->at + p[1].len, copy, p->len);
	free(copy);
}

static void
change_part(struct draft *d)
{
	struct part *p = draft_pick_part(d);
	uint8_t *at;

	if (p == NULL)
		return;
	at = d->octets + p->at + p->name_len;
	switch (below(d, p->section == 0 ? 2 : 5)) {
	case 0:
		octets_put_u16(at, PICK(d, types));
		break;
	case 1:
		octets_put_u16(at + 2, PICK(d, classes));
		break;
	case 2:
		octets_put_u16(at + 4 + 2 * below(d, 2), pick_number(d));
		break;
	case 3:
		octets_put_u16(at + 8, (uint16_t)(octets_get_u16(at + 8)
			+ below(d, 5) - 2));
		break;
	default:
		if (p->len > p->name_len + 10)
			at[10 + below(d, (uint32_t)(p->len - p->name_len
				- 10))] = (uint8_t)chance_next(d->chance);
	}
}

static void
change_opt(struct draft *d)
{
	struct part *p = draft_pick_record(d, TYPE_OPT);
	uint8_t option[400];
	uint8_t *at;
	size_t len;

	if (p == NULL) {
		add_record(d);
		return;
	}
	at = d->octets + p->at + p->name_len;
	if (below(d, 3) != 0) {
		len = make_option(d, option);
		if (draft_replace(d, p->at + p->name_len + 10, 0, option, len))
			octets_put_u16(at + 8, (uint16_t)(octets_get_u16(at
				+ 8) + len));
	} else {
		make_opt(d, option);
		memcpy(at + 2, option + 2, 6);
	}
}

/* ---- signatures ---------------------------------------------------------- */

static struct mac *
open_mac(const struct mutate_dns *dns, size_t key)
{
	static const struct mutate_dns *of;
	static struct mac *macs[KEYS_MAX];

	if (key >= KEYS_MAX)
		abort();
	if (of != dns) {
		for (unsigned i = 0; i < KEYS_MAX; i++) {
			mac_destroy(macs[i]);
			macs[i] = NULL;
		}
		of = dns;
	}
	if (macs[key] == NULL && mac_create(dns->keys[key].kind,
		(const uint8_t *)dns->keys[key].secret,
		strlen(dns->keys[key].secret), &macs[key]) != NSD_OK)
		abort();
	return macs[key];
}

/* The TSIG at the end, which is its last part; or NULL. */
static struct part *
last_tsig(struct draft *d)
{
	struct part *p;

	draft_read_parts(d);
	p = d->count > 0 ? &d->parts[d->count - 1] : NULL;
	if (p == NULL || p->section != 3 || p->at + p->len != d->len
		|| octets_get_u16(d->octets + p->at + p->name_len)
			!= TYPE_TSIG)
		return NULL;
	return p;
}

/* Signs it anew, if it ends in a TSIG. */
static void
sign(struct draft *d, size_t index)
{
	const struct mutate_key *key = &d->dns->keys[index];
	struct tsig_key tsig_key = {.kind = key->kind};
	struct tsig_stamp stamp = {d->dns->now_sec, TSIG_FUDGE_SEC,
		RCODE_NOERROR, 0};
	struct part *p = last_tsig(d);
	struct tsig_chain chain;
	size_t len;

	if (p != NULL) {
		uint8_t *count = d->octets + MESSAGE_ARCOUNT;

		d->len = p->at;
		octets_put_u16(count, (uint16_t)(octets_get_u16(count) - 1));
	}
	len = d->len;
	memcpy(tsig_key.name, key->name,
		name_len((const uint8_t *)key->name));
	tsig_key.mac = open_mac(d->dns, index);
	if (below(d, 12) == 0)
		stamp.time_sec += below(d, 2000) - 1000u;
	if (below(d, 24) == 0)
		stamp.error = RCODE_BADTIME;
	stamp.server_time = stamp.time_sec;
	tsig_begin(&chain, &tsig_key);
	if (tsig_sign(&chain, d->octets, &len, d->max, &stamp) == NSD_OK)
		d->len = len;
}

/* With any key; the last octets of one may be altered. */
static void
add_signature(struct draft *d)
{
	size_t index = below(d, (uint32_t)d->dns->key_count);
	struct part *p;

	sign(d, index);
	p = last_tsig(d);
	if (p != NULL && below(d, 6) == 0)
		d->octets[p->at + below(d, (uint32_t)p->len)] ^=
			(uint8_t)(1u << below(d, 8));
}

/* The key that it says it is signed with; key_count: none. */
static size_t
find_signer(struct draft *d)
{
	struct part *p = last_tsig(d);
	size_t i;

	for (i = 0; p != NULL && i < d->dns->key_count; i++) {
		const uint8_t *name = (const uint8_t *)d->dns->keys[i].name;

		if (p->name_len == name_len(name) && memcmp(d->octets + p->at,
			name, p->name_len) == 0)
			return i;
	}
	return d->dns->key_count;
}

/* ---- a message ----------------------------------------------------------- */

static void
change(struct draft *d)
{
	static void (*const ways[])(struct draft *) = {change_flags,
		change_flags, change_flags, change_counts, change_name,
		change_name, add_record, add_record, add_question, remove_part,
		copy_part, swap_parts, change_part, change_part, change_opt,
		change_opt, add_signature, add_signature};
	size_t at;

	draft_read_parts(d);
	if (below(d, 16) != 0) {
		PICK(d, ways)(d);
		return;
	}
	at = below(d, (uint32_t)d->len);
	if (below(d, 3) == 0 && at >= MESSAGE_HEADER_LEN)
		d->len = at;
	else
		d->len = mutate_octets(d->chance, d->octets, d->len, d->max);
}

static void
begin(struct draft *d)
{
	memset(d->octets, 0, MESSAGE_HEADER_LEN);
	octets_put_u16(d->octets, d->dns->id != 0 ? d->dns->id
		: (uint16_t)chance_next(d->chance));
	d->len = MESSAGE_HEADER_LEN;
	if (d->max < MESSAGE_HEADER_LEN)
		d->len = d->max;
}

size_t
mutate_dns_request(const struct mutate_dns *dns, uint8_t *data, size_t max,
	uint64_t *chance)
{
	static struct draft d;

	d.dns = dns;
	d.chance = chance;
	d.max = max < MESSAGE_MAX_LEN ? max : MESSAGE_MAX_LEN;
	begin(&d);
	if (d.len == MESSAGE_HEADER_LEN) {
		add_question(&d);
		octets_put_u16(d.octets + MESSAGE_QDCOUNT, 1);
	}
	if (d.len > MESSAGE_HEADER_LEN && below(&d, 2) == 0) {
		draft_read_parts(&d);
		change_opt(&d);
	}
	if (d.len > MESSAGE_HEADER_LEN && below(&d, 2) == 0)
		add_signature(&d);
	memcpy(data, d.octets, d.len);
	return d.len;
}

size_t
mutate_dns_message(const struct mutate_dns *dns, uint8_t *data, size_t size,
	size_t max, uint64_t *chance)
{
	static struct draft d;
	size_t signer;

	if (max < MESSAGE_HEADER_LEN)
		return mutate_octets(chance, data, size, max);
	if (size < MESSAGE_HEADER_LEN || size > MESSAGE_MAX_LEN)
		return mutate_dns_request(dns, data, max, chance);
	d.dns = dns;
	d.chance = chance;
	d.max = max < MESSAGE_MAX_LEN ? max : MESSAGE_MAX_LEN;
	d.len = size;
	memcpy(d.octets, data, size);
	signer = find_signer(&d);
	for (uint32_t i = below(&d, CHANGES_MAX) + 1;
		i > 0 && d.len >= MESSAGE_HEADER_LEN; i--)
		change(&d);
	/* A signed message is mostly signed again, so that mutations reach the
	 * code behind the check. */
	if (signer < dns->key_count && d.len >= MESSAGE_HEADER_LEN
		&& below(&d, 4) != 0)
		sign(&d, signer);
	memcpy(data, d.octets, d.len);
	return d.len;
}
