/* tsig.c - messages signed with a shared secret. */
#include "dns/tsig.h"

#include <assert.h>
#include <string.h>

#include "dns/rrtype.h"

/*
 * The record: owner (the key's name), type, class ANY, TTL 0, RDLENGTH; RDATA
 * (RFC 8945 section 4.2): algorithm, then
 *
 *   +0 time signed 6, fudge 2   +8 MAC size 2, MAC
 *      original ID 2, error 2, other length 2, other data
 */
#define RR_FIXED 10u
#define TIME_LEN 6u
#define TIMERS_LEN 8u
#define TAIL_LEN 6u
#define TIME_BITS UINT64_C(0xffffffffffff)
/* RFC 8945 section 5.2.2.1: no MAC is shorter, nor shorter than half. */
#define MAC_LEN_MIN 10u

static const uint8_t *const algorithm_names[MAC_KIND_COUNT] = {
	[MAC_HMAC_MD5] = (const uint8_t *)"\010hmac-md5\007sig-alg\003reg"
		"\003int",
	[MAC_HMAC_SHA1] = (const uint8_t *)"\011hmac-sha1",
	[MAC_HMAC_SHA224] = (const uint8_t *)"\013hmac-sha224",
	[MAC_HMAC_SHA256] = (const uint8_t *)"\013hmac-sha256",
	[MAC_HMAC_SHA384] = (const uint8_t *)"\013hmac-sha384",
	[MAC_HMAC_SHA512] = (const uint8_t *)"\013hmac-sha512",
};

const uint8_t *
tsig_algorithm_name(enum mac_kind kind)
{
	return (size_t)kind < MAC_KIND_COUNT ? algorithm_names[kind] : NULL;
}

bool
tsig_find_algorithm(const uint8_t *name, enum mac_kind *kind)
{
	for (unsigned i = 0; i < MAC_KIND_COUNT; i++)
		if (name_equal(name, algorithm_names[i])) {
			*kind = (enum mac_kind)i;
			return true;
		}
	return false;
}

/* ---- the record --------------------------------------------------------- */

static uint64_t
get_time(const uint8_t *p)
{
	return (uint64_t)octets_get_u16(p) << 32 | octets_get_u32(p + 2);
}

static void
put_time(uint8_t *p, uint64_t sec)
{
	octets_put_u16(p, (uint16_t)(sec >> 32));
	octets_put_u32(p + 2, (uint32_t)sec);
}

/* Reads the fields behind the algorithm's name. */
static void
read_fields(struct cursor *c, struct tsig *tsig)
{
	const uint8_t *time = cursor_read_octets(c, TIME_LEN);

	tsig->time_sec = time != NULL ? get_time(time) : 0;
	tsig->fudge_sec = cursor_read_u16(c);
	tsig->mac_len = cursor_read_u16(c);
	tsig->mac = cursor_read_octets(c, tsig->mac_len);
	tsig->original_id = cursor_read_u16(c);
	tsig->error = cursor_read_u16(c);
	tsig->other_len = cursor_read_u16(c);
	tsig->other = cursor_read_octets(c, tsig->other_len);
}

enum nsd_err
tsig_read(const uint8_t *message, size_t len, size_t at, struct tsig *tsig)
{
	struct message_rr rr;
	struct cursor c;
	uint8_t algorithm[NAME_MAX_LEN];
	size_t algorithm_len;

	cursor_init(&c, message, len);
	if (at < MESSAGE_HEADER_LEN || cursor_read_octets(&c, at) == NULL
		|| message_read_rr(&c, &rr) != NSD_OK || cursor_left(&c) != 0
		|| rr.type != TYPE_TSIG || rr.rrclass != CLASS_ANY
		|| rr.ttl_sec != 0)
		return NSD_E_WIRE;
	cursor_init(&c, rr.rdata, rr.rdlen);
	if (name_read_uncompressed(&c, algorithm, &algorithm_len) != NSD_OK)
		return NSD_E_WIRE;
	tsig->at = at;
	read_fields(&c, tsig);
	if (c.failed || cursor_left(&c) != 0
		|| tsig->other_len > TSIG_OTHER_MAX)
		return NSD_E_WIRE;
	if (message_expand_name(message, len, at, &tsig->key) != NSD_OK)
		return NSD_E_WIRE;
	return message_expand_name(rr.rdata, rr.rdlen, 0, &tsig->algorithm);
}

/* ---- MACs --------------------------------------------------------------- */

void
tsig_begin(struct tsig_chain *chain, const struct tsig_key *key)
{
	memset(chain, 0, sizeof(*chain));
	chain->key = key;
}

/* Begins a MAC with what stands before the message: the MAC before it. Does
 * nothing if the MAC goes on over an unsigned message (RFC 8945 section
 * 5.3.1). */
static void
add_prior(struct tsig_chain *chain)
{
	struct mac *mac = chain->key->mac;
	uint8_t len[2];

	if (chain->unsigned_count > 0)
		return;
	mac_begin(mac);
	if (chain->prior_len == 0)
		return;
	octets_put_u16(len, (uint16_t)chain->prior_len);
	mac_add(mac, len, sizeof(len));
	mac_add(mac, chain->prior, chain->prior_len);
}

/* Adds a message; header: its header as it was before the TSIG was added. */
static void
add_message(struct mac *mac, const uint8_t *message, size_t len,
	const uint8_t header[MESSAGE_HEADER_LEN])
{
	mac_add(mac, header, MESSAGE_HEADER_LEN);
	mac_add(mac, message + MESSAGE_HEADER_LEN, len - MESSAGE_HEADER_LEN);
}

/* Adds the TSIG variables (RFC 8945 section 4.3.3); behind the first answer
 * only the time signed and the fudge (section 5.3.1). */
static void
add_variables(const struct tsig_chain *chain, const struct tsig *tsig)
{
	const struct tsig_key *key = chain->key;
	const uint8_t *algorithm = algorithm_names[key->kind];
	uint8_t fixed[TIMERS_LEN + 4];

	put_time(fixed, tsig->time_sec);
	octets_put_u16(fixed + TIME_LEN, tsig->fudge_sec);
	if (chain->is_answered) {
		mac_add(key->mac, fixed, TIMERS_LEN);
		return;
	}
	mac_add(key->mac, key->name, name_len(key->name));
	octets_put_u16(fixed, CLASS_ANY);
	octets_put_u32(fixed + 2, 0);
	mac_add(key->mac, fixed, 2 + 4);
	mac_add(key->mac, algorithm, name_len(algorithm));
	put_time(fixed, tsig->time_sec);
	octets_put_u16(fixed + TIMERS_LEN, tsig->error);
	octets_put_u16(fixed + TIMERS_LEN + 2, tsig->other_len);
	mac_add(key->mac, fixed, sizeof(fixed));
	mac_add(key->mac, tsig->other, tsig->other_len);
}

/* Goes on to the next message: the MAC of this one stands before it. */
static void
chain_next(struct tsig_chain *chain, const uint8_t *mac, size_t len,
	uint64_t time)
{
	/* Only the request, the first message, has no MAC before it. */
	chain->is_answered = chain->prior_len > 0;
	memcpy(chain->prior, mac, len);
	chain->prior_len = len;
	chain->unsigned_count = 0;
	chain->time_sec = time;
}

static bool
mac_len_is_allowed(enum mac_kind kind, size_t len)
{
	size_t full = mac_len(kind);

	return len <= full && len >= MAC_LEN_MIN && len >= full / 2;
}

enum rcode
tsig_check(struct tsig_chain *chain, const uint8_t *message,
	const struct tsig *tsig, uint64_t now)
{
	const struct tsig_key *key = chain->key;
	uint8_t header[MESSAGE_HEADER_LEN], mac[MAC_LEN_MAX];
	uint64_t apart, before = chain->time_sec;
	bool is_later = chain->is_answered;

	assert(key != NULL && key->mac != NULL);
	if (!name_equal(tsig->key.name, key->name)
		|| !name_equal(tsig->algorithm.name,
			algorithm_names[key->kind]))
		return RCODE_BADKEY;
	if (!mac_len_is_allowed(key->kind, tsig->mac_len))
		return RCODE_FORMERR;
	memcpy(header, message, sizeof(header));
	octets_put_u16(header + MESSAGE_ID, tsig->original_id);
	octets_put_u16(header + MESSAGE_ARCOUNT,
		(uint16_t)(message_get_count(message, MESSAGE_ARCOUNT) - 1));
	add_prior(chain);
	add_message(key->mac, message, tsig->at, header);
	add_variables(chain, tsig);
	if (mac_end(key->mac, mac) != NSD_OK)
		return RCODE_SERVFAIL;
	if (!mac_is_equal(mac, tsig->mac, tsig->mac_len))
		return RCODE_BADSIG;
	chain_next(chain, tsig->mac, tsig->mac_len, tsig->time_sec);
	/* An older message must not be inserted between later ones. */
	if (is_later && tsig->time_sec < before)
		return RCODE_BADTIME;
	now &= TIME_BITS;
	apart = now > tsig->time_sec ? now - tsig->time_sec
				     : tsig->time_sec - now;
	return apart <= tsig->fudge_sec ? RCODE_NOERROR : RCODE_BADTIME;
}

enum nsd_err
tsig_skip(struct tsig_chain *chain, const uint8_t *message, size_t len)
{
	if (!chain->is_answered
		|| chain->unsigned_count >= TSIG_UNSIGNED_MAX)
		return NSD_E_PEER;
	add_prior(chain);
	mac_add(chain->key->mac, message, len);
	chain->unsigned_count++;
	return NSD_OK;
}

/* ---- writing ------------------------------------------------------------ */

static size_t
record_len(size_t key_len, size_t algorithm_len, size_t mac_len,
	size_t other_len)
{
	return key_len + RR_FIXED + algorithm_len + TIMERS_LEN + 2 + mac_len
		+ TAIL_LEN + other_len;
}

size_t
tsig_len(const struct tsig_key *key)
{
	return record_len(name_len(key->name),
		name_len(algorithm_names[key->kind]), mac_len(key->kind), 0);
}

static uint8_t *
tsig_put_octets(uint8_t *out, const uint8_t *octets, size_t len)
{
	if (len > 0)
		memcpy(out, octets, len);
	return out + len;
}

/* Appends a TSIG record with these fields; the message has room for it. */
static void
tsig_append_record(const struct tsig *tsig, uint8_t *message, size_t *len)
{
	size_t record = record_len(tsig->key.len, tsig->algorithm.len,
		tsig->mac_len, tsig->other_len);
	uint8_t *out = tsig_put_octets(message + *len, tsig->key.name,
		tsig->key.len);

	octets_put_u16(out, TYPE_TSIG);
	octets_put_u16(out + 2, CLASS_ANY);
	octets_put_u32(out + 4, 0);
	octets_put_u16(out + 8,
		(uint16_t)(record - tsig->key.len - RR_FIXED));
	out = tsig_put_octets(out + RR_FIXED, tsig->algorithm.name,
		tsig->algorithm.len);
	put_time(out, tsig->time_sec);
	octets_put_u16(out + TIME_LEN, tsig->fudge_sec);
	octets_put_u16(out + TIMERS_LEN, tsig->mac_len);
	out = tsig_put_octets(out + TIMERS_LEN + 2, tsig->mac, tsig->mac_len);
	octets_put_u16(out, tsig->original_id);
	octets_put_u16(out + 2, tsig->error);
	octets_put_u16(out + 4, tsig->other_len);
	out = tsig_put_octets(out + TAIL_LEN, tsig->other, tsig->other_len);
	octets_put_u16(message + MESSAGE_ARCOUNT,
		(uint16_t)(message_get_count(message, MESSAGE_ARCOUNT) + 1));
	*len += record;
	assert(out == message + *len);
}

static void
tsig_set_name(struct message_name *to, const uint8_t *name)
{
	to->len = (uint8_t)name_len(name);
	memcpy(to->name, name, to->len);
}

enum nsd_err
tsig_sign(struct tsig_chain *chain, uint8_t *message, size_t *len,
	size_t capacity, const struct tsig_stamp *stamp)
{
	const struct tsig_key *key = chain->key;
	uint8_t mac[MAC_LEN_MAX], other[TSIG_OTHER_MAX];
	struct tsig tsig = {
		.time_sec = stamp->time_sec & TIME_BITS,
		.fudge_sec = stamp->fudge_sec,
		.original_id = message_get_id(message),
		.error = stamp->error,
		.other_len = stamp->error == RCODE_BADTIME ? TIME_LEN : 0,
		.mac = mac,
		.other = other,
	};

	assert(key != NULL && key->mac != NULL);
	assert(*len >= MESSAGE_HEADER_LEN && *len <= capacity);
	tsig.mac_len = (uint16_t)mac_len(key->kind);
	tsig_set_name(&tsig.key, key->name);
	tsig_set_name(&tsig.algorithm, algorithm_names[key->kind]);
	put_time(other, stamp->server_time);
	if (record_len(tsig.key.len, tsig.algorithm.len, tsig.mac_len,
		tsig.other_len) > capacity - *len)
		return NSD_E_LIMIT;
	add_prior(chain);
	add_message(key->mac, message, *len, message);
	add_variables(chain, &tsig);
	if (mac_end(key->mac, mac) != NSD_OK)
		return NSD_E_MEMORY;
	tsig_append_record(&tsig, message, len);
	chain_next(chain, mac, tsig.mac_len, tsig.time_sec);
	return NSD_OK;
}

enum nsd_err
tsig_refuse(const struct tsig *request, enum rcode error, uint8_t *message,
	size_t *len, size_t capacity)
{
	struct tsig tsig = *request;

	assert(*len >= MESSAGE_HEADER_LEN && *len <= capacity);
	tsig.error = error;
	tsig.mac_len = 0;
	tsig.other_len = 0;
	if (record_len(tsig.key.len, tsig.algorithm.len, 0, 0)
		> capacity - *len)
		return NSD_E_LIMIT;
	tsig_append_record(&tsig, message, len);
	return NSD_OK;
}
