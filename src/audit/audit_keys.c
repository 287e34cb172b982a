/* audit_keys.c - the DNSKEY RRset of a zone (RFC 4034 section 2): the tags of
 * keys, what each may sign, and the keys as OpenSSL wants them. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "audit/audit_part.h"

/* Finds the scheme of an algorithm (RFC 3110, RFC 5702, RFC 6605, RFC 8080).
 * False: signatures of the algorithm are not verified here. */
static bool
algorithm_find_scheme(uint8_t algorithm, enum verify_scheme *scheme)
{
	static const struct {
		uint8_t algorithm;
		uint8_t scheme;
	} rows[] = {
		{5, VERIFY_RSA_SHA1}, {7, VERIFY_RSA_SHA1},
		{8, VERIFY_RSA_SHA256}, {10, VERIFY_RSA_SHA512},
		{13, VERIFY_ECDSA_P256}, {14, VERIFY_ECDSA_P384},
		{15, VERIFY_ED25519}, {16, VERIFY_ED448},
		{18, VERIFY_ML_DSA_44},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].algorithm == algorithm) {
			*scheme = rows[i].scheme;
			return true;
		}
	return false;
}

/* Takes an RSA key apart: the length of the exponent in one octet or in three,
 * the exponent, the modulus (RFC 3110 section 2). */
static bool
key_read_rsa(const uint8_t *key, size_t len, struct verify_octets *out)
{
	struct cursor c;

	cursor_init(&c, key, len);
	out->exponent_len = cursor_read_u8(&c);
	if (out->exponent_len == 0)
		out->exponent_len = cursor_read_u16(&c);
	out->exponent = cursor_read_octets(&c, out->exponent_len);
	out->key_len = cursor_left(&c);
	out->key = cursor_read_octets(&c, out->key_len);
	return !c.failed;
}

/* Makes the key for OpenSSL. A key that is none is told of, and no error. */
static enum nsd_err
audit_key_make(struct audit *audit, struct audit_key *k, const uint8_t *rdata,
	size_t len, enum verify_scheme scheme)
{
	struct verify_octets octets = {
		.key = rdata + DNSKEY_HEAD,
		.key_len = len - DNSKEY_HEAD,
	};
	const struct audit_place place = {audit->options->apex, TYPE_DNSKEY,
		NULL, audit->order};
	enum nsd_err err = NSD_E_WIRE;

	if (scheme > VERIFY_RSA_SHA512
		|| key_read_rsa(octets.key, octets.key_len, &octets))
		err = verify_key_create(scheme, &octets, &k->key);
	if (err == NSD_E_WIRE) {
		k->broken = true;
		audit_add(audit, AUDIT_KEY_BROKEN, false, &place,
			"DNSKEY %u of algorithm %u is no key of it", k->tag,
			k->algorithm);
	}
	return err == NSD_E_MEMORY ? err : NSD_OK;
}

static enum nsd_err
audit_key_read(struct audit *audit, struct audit_key *k, const uint8_t *rdata,
	size_t len)
{
	const struct audit_place place = {audit->options->apex, TYPE_DNSKEY,
		NULL, audit->order};
	const struct audit_octets octets = {rdata, len};
	enum verify_scheme scheme;
	enum nsd_err err = audit_anchors_match(audit->options, &octets,
		&k->anchored);

	if (err != NSD_OK)
		return err;
	k->flags = octets_get_u16(rdata);
	k->algorithm = rdata[3];
	k->tag = dnskey_tag(rdata, len);
	k->revoked = (k->flags & DNSKEY_REVOKE) != 0;
	/* RFC 4034 section 2.1.1: only a key with the zone flag may sign */
	k->usable = dnskey_may_sign(rdata);
	/* RFC 4034 section 2.1.2 */
	if (rdata[2] != DNSKEY_PROTOCOL)
		audit_add(audit, AUDIT_KEY_PROTOCOL, false, &place,
			"DNSKEY %u has protocol %u, which must be 3", k->tag,
			rdata[2]);
	if (k->usable && audit->options->verify
		&& algorithm_find_scheme(k->algorithm, &scheme))
		return audit_key_make(audit, k, rdata, len, scheme);
	return NSD_OK;
}

static int
audit_key_compare(const void *a, const void *b)
{
	const struct audit_key *x = a, *y = b;

	if (x->algorithm != y->algorithm)
		return x->algorithm < y->algorithm ? -1 : 1;
	return x->tag < y->tag ? -1 : x->tag > y->tag;
}

/* True if an algorithm signs the DNSKEY RRset that can be verified here. sigs:
 * see audit_keys_read. */
static bool
keys_any_signs(const struct audit *audit, const uint8_t sigs[32])
{
	const struct audit_keys *keys = &audit->keys;

	for (size_t i = 0; i < keys->count; i++) {
		const struct audit_key *k = &keys->keys[i];

		if (k->usable && !k->revoked
			&& (!audit->options->verify || k->key != NULL)
			&& audit_keys_have(sigs, k->algorithm))
			return true;
	}
	return false;
}

/*
 * Each RRset needs a signature of each algorithm that has a key
 * (RFC 4035 section 2.2). Validators must not insist on that (RFC 6840 section
 * 5.11), and a signer may publish a key that does not sign yet. So algorithms
 * count that sign the DNSKEY RRset; all of them, if none does. Revoked keys do
 * not count.
 */
static void
keys_find_needed(struct audit *audit, const uint8_t sigs[32])
{
	struct audit_keys *keys = &audit->keys;
	const struct audit_place place = {audit->options->apex, TYPE_DNSKEY,
		NULL, audit->order};
	bool any_signs = keys_any_signs(audit, sigs);
	int unused = -1;

	for (size_t i = 0; i < keys->count; i++) {
		const struct audit_key *k = &keys->keys[i];

		if (!k->usable || k->revoked || k->algorithm == unused
			|| audit_keys_have(keys->needed, k->algorithm))
			continue;
		if (any_signs && !audit_keys_have(sigs, k->algorithm)) {
			unused = k->algorithm;
			audit_add(audit, AUDIT_KEY_UNUSED, false, &place,
				"algorithm %u has a DNSKEY and does not sign "
				"the DNSKEY RRset", k->algorithm);
			continue;
		}
		keys->needed[k->algorithm / 8] |=
			(uint8_t)(1u << k->algorithm % 8);
		/* Keys are ascending by algorithm. */
		keys->needed_list[keys->needed_count++] = k->algorithm;
		if (audit->options->verify && k->key == NULL && !k->broken)
			audit_add(audit, AUDIT_KEY_UNKNOWN, false, &place,
				"signatures of algorithm %u cannot be "
				"verified here", k->algorithm);
	}
	if (keys->needed_count == 0)
		audit_add(audit, AUDIT_KEY_NONE, false, &place,
			"no DNSKEY is a zone key that may sign");
}

enum nsd_err
audit_keys_read(struct audit *audit, const struct audit_rrs *rrs,
	const uint8_t sigs[32])
{
	struct audit_keys *keys = &audit->keys;
	size_t count = 0;

	assert(keys->keys == NULL && rrs->len > 0);
	for (size_t at = 0; at < rrs->len;
		at += 2u + octets_get_u16(rrs->data + at))
		count++;
	keys->keys = calloc(count, sizeof(*keys->keys));
	if (keys->keys == NULL)
		return NSD_E_MEMORY;
	for (size_t at = 0; at < rrs->len;
		at += 2u + octets_get_u16(rrs->data + at)) {
		size_t len = octets_get_u16(rrs->data + at);
		enum nsd_err err;

		if (len < DNSKEY_HEAD)
			continue;
		err = audit_key_read(audit, &keys->keys[keys->count],
			rrs->data + at + 2, len);
		keys->count++;
		if (err != NSD_OK)
			return err;
	}
	qsort(keys->keys, keys->count, sizeof(*keys->keys), audit_key_compare);
	keys_find_needed(audit, sigs);
	return NSD_OK;
}

void
audit_keys_fini(struct audit_keys *keys)
{
	for (size_t i = 0; i < keys->count; i++)
		verify_key_destroy(keys->keys[i].key);
	free(keys->keys);
}

struct audit_key *
audit_keys_find(const struct audit_keys *keys, uint8_t algorithm,
	uint16_t tag)
{
	const struct audit_key wanted = {.algorithm = algorithm, .tag = tag};
	size_t low = 0, high = keys->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (audit_key_compare(&keys->keys[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < keys->count
			&& audit_key_compare(&keys->keys[low], &wanted) == 0
		? &keys->keys[low] : NULL;
}

/*
 * Validators ignore the SEP flag (RFC 4034 section 2.1.1), but tools that make
 * the DS RRset do not: if no key with the flag signs the DNSKEY RRset, the DS
 * leads nowhere, also if the last such key is revoked. A revocation counts only
 * if the revoked key itself signs the RRset (RFC 5011 section 2.1); neither DS
 * records nor trust anchors lead to a revoked key.
 */
void
audit_keys_finish(struct audit *audit)
{
	const struct audit_place place = {audit->options->apex, TYPE_DNSKEY,
		NULL, 0};
	const struct audit_keys *keys = &audit->keys;
	size_t sep = 0, sep_signing = 0, signing = 0, revoked_signing = 0;

	for (size_t i = 0; i < keys->count; i++) {
		const struct audit_key *k = &keys->keys[i];

		if (k->usable && k->revoked && !k->self_signed)
			audit_add(audit, AUDIT_KEY_REVOKED, false, &place,
				"DNSKEY %u is revoked but does not sign the "
				"DNSKEY RRset", k->tag);
		revoked_signing += k->usable && k->revoked && k->self_signed;
		sep += k->usable && (k->flags & DNSKEY_SEP) != 0;
		if (!k->usable || k->revoked)
			continue;
		signing += k->self_signed;
		sep_signing += k->self_signed && (k->flags & DNSKEY_SEP) != 0;
	}
	audit_anchors_finish(audit);
	/* If nothing signs the RRset, that was said of its signatures. */
	if (signing == 0 && revoked_signing > 0)
		audit_add(audit, AUDIT_RRSIG_MISSING, false, &place,
			"the DNSKEY RRset is signed by revoked keys alone");
	if (sep > 0 && sep_signing == 0 && signing > 0)
		audit_add(audit, AUDIT_KEY_SEP, false, &place,
			"the DNSKEY RRset is signed by no key with the SEP "
			"flag");
}
