/* audit_anchors.c - the keys of a zone that its trust anchors name. */
#include <stdlib.h>
#include <string.h>

#include "audit/audit_part.h"
#include "base/digest.h"
#include "dns/dnskey.h"

#define DS_HEAD 4u
/* Digests of DS records (RFC 4509, RFC 6605). Records with others count as if
 * they were not there. */
#define DS_SHA256 2u
#define DS_SHA384 4u

/* Computes the digest of a DS record over a key of the apex (RFC 4034 section
 * 5.1.4). *out_len: 0 if the kind is not known. */
static enum nsd_err
anchor_compute_digest(const struct audit_options *options, uint8_t kind,
	const struct audit_octets *key, uint8_t out[DIGEST_LEN_MAX],
	size_t *out_len)
{
	size_t apex_len = name_len(options->apex);
	struct digest *digest;
	enum nsd_err err;

	*out_len = 0;
	if (kind != DS_SHA256 && kind != DS_SHA384)
		return NSD_OK;
	err = kind == DS_SHA256 ? digest_create_sha256(&digest)
		: digest_create(DIGEST_SHA384, &digest);
	if (err != NSD_OK)
		return err;
	digest_add(digest, options->apex, apex_len);
	digest_add(digest, key->data, key->len);
	err = digest_end(digest, out);
	digest_destroy(digest);
	if (err == NSD_OK)
		*out_len = kind == DS_SHA256 ? 32 : digest_len(DIGEST_SHA384);
	return err;
}

static enum nsd_err
anchor_match_ds(const struct audit_options *options,
	const struct anchor *anchor, const struct audit_octets *key,
	bool *matches)
{
	uint8_t digest[DIGEST_LEN_MAX];
	enum nsd_err err;
	size_t len;

	if (anchor->rdlen <= DS_HEAD
		|| octets_get_u16(anchor->rdata)
			!= dnskey_tag(key->data, key->len)
		|| anchor->rdata[2] != key->data[3])
		return NSD_OK;
	err = anchor_compute_digest(options, anchor->rdata[3], key, digest,
		&len);
	*matches = err == NSD_OK && len > 0 && anchor->rdlen == DS_HEAD + len
		&& memcmp(anchor->rdata + DS_HEAD, digest, len) == 0;
	return err;
}

/* The same key, whatever its flags: SEP is for signers alone. */
static bool
anchor_is_key(const struct anchor *anchor, const struct audit_octets *key)
{
	return anchor->rdlen == key->len && key->len > 2
		&& memcmp(anchor->rdata + 2, key->data + 2, key->len - 2) == 0;
}

enum nsd_err
audit_anchors_match(const struct audit_options *options,
	const struct audit_octets *key, bool *matches)
{
	enum nsd_err err = NSD_OK;

	*matches = false;
	if (options->anchors == NULL || key->len < DNSKEY_HEAD)
		return NSD_OK;
	for (size_t i = 0; i < options->anchors->count && !*matches
		&& err == NSD_OK; i++) {
		const struct anchor *anchor = &options->anchors->items[i];

		if (anchor->type == TYPE_DNSKEY)
			*matches = anchor_is_key(anchor, key);
		else
			err = anchor_match_ds(options, anchor, key, matches);
	}
	return err;
}

void
audit_anchors_finish(struct audit *audit)
{
	const struct audit_place place = {audit->options->apex, TYPE_DNSKEY,
		NULL, 0};
	const struct audit_keys *keys = &audit->keys;
	bool any = false;

	if (audit->options->anchors == NULL)
		return;
	for (size_t i = 0; i < keys->count; i++) {
		const struct audit_key *k = &keys->keys[i];

		any |= k->anchored;
		/* A signature that cannot be verified here proves nothing. */
		if (k->anchored && k->usable && !k->revoked && k->self_signed
			&& k->key != NULL)
			return;
	}
	audit_add(audit, AUDIT_KEY_ANCHOR, false, &place, any
		? "the DNSKEY RRset is signed by no key that a trust anchor"
		  " names"
		: "no trust anchor names one of the DNSKEY records");
}
