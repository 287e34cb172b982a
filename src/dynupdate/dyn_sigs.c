/* dyn_sigs.c - the signatures of an RRset that a message touches: that one of
 * them is as a validator needs it. They are not verified. */
#include <stdlib.h>

#include "dns/dnskey.h"
#include "dynupdate/dyn_signed.h"

/* Keys of a zone, with those that a message takes away: each is compared with
 * each signature of an RRset. 1,000 of both take 10 ms a message, 10,000 half a
 * second. */
#define KEYS_MAX 1000u

/* RRSIG RDATA (RFC 4034 section 3.1): where fields begin. */
enum rrsig_field {
	RRSIG_ALGORITHM = 2,
	RRSIG_LABELS = 3,
	RRSIG_ORIGINAL_TTL = 4,
	RRSIG_TAG = 16,
	RRSIG_SIGNER = 18,
};

enum nsd_err
dyn_sigs_refuse(const struct dyn_check *c, const struct dyn_name *name,
	uint16_t type, const char *why)
{
	return dyn_refuse_rr(c->result, RCODE_REFUSED, EDE_PROHIBITED,
		name->owner, type, why);
}

/* ---- keys ---------------------------------------------------------------- */

static void
dnskey_read(struct dyn_key *key, const struct dyn_rdata *rdata)
{
	unsigned flags = octets_get_u16(rdata->octets);

	key->tag = dnskey_tag(rdata->octets, rdata->len);
	key->algorithm = rdata->octets[3];
	key->may_sign = dnskey_may_sign(rdata->octets);
	key->is_sep = key->may_sign
		&& (flags & (DNSKEY_SEP | DNSKEY_REVOKE)) == DNSKEY_SEP;
}

/* Reads the keys that the zone has now, and those that a message takes away. */
enum nsd_err
dyn_sigs_read_keys(struct dyn_check *c)
{
	struct dyn_set *set = dyn_name_find(c->d, c->d->apex_name, TYPE_DNSKEY,
		0);
	const struct dyn_record *gone = NULL;
	size_t count = 0;
	enum nsd_err err;

	if (set == NULL || set->count == 0)
		return NSD_OK;
	err = dyn_set_load(c->d, set);
	if (err != NSD_OK)
		return err;
	if (set->message == c->d->message)
		gone = set->changed;
	for (const struct dyn_record *r = gone; r != NULL; r = r->touched)
		count += r->was_there && r->at == DYN_ABSENT;
	if (set->count + count > KEYS_MAX)
		return dyn_sigs_refuse(c, set->name, TYPE_DNSKEY,
			"the zone has too many keys");
	c->keys = malloc((set->count + count) * sizeof(*c->keys));
	if (c->keys == NULL)
		return NSD_E_MEMORY;
	for (uint32_t i = 0; i < set->count; i++) {
		const struct dyn_record *r = set->records[i];
		struct dyn_key *key = &c->keys[c->key_count++];

		dnskey_read(key, r->rdata);
		key->is_there = true;
		key->was_there = r->message != c->d->message || r->was_there;
	}
	for (const struct dyn_record *r = gone; r != NULL; r = r->touched)
		if (r->was_there && r->at == DYN_ABSENT) {
			struct dyn_key *key = &c->keys[c->key_count++];

			dnskey_read(key, r->before);
			key->is_there = false;
			key->was_there = true;
		}
	return NSD_OK;
}

static bool
key_has_made(const struct dyn_key *key, const struct dyn_rdata *sig)
{
	return key->may_sign
		&& key->tag == octets_get_u16(sig->octets + RRSIG_TAG)
		&& key->algorithm == sig->octets[RRSIG_ALGORITHM];
}

/* ---- an RRset ------------------------------------------------------------ */

/* How far a signature is right, from nothing to all. */
enum sig_rank {
	SIG_OF_NO_KEY,
	SIG_OF_OTHER_NAME,
	SIG_OF_OTHER_TTL,
	SIG_FITS,
};

static const char *const rank_texts[] = {
	[SIG_OF_NO_KEY] = "it is not signed by a key of the zone",
	[SIG_OF_OTHER_NAME] = "no signature has the zone's name and as many"
			      " labels as its owner",
	[SIG_OF_OTHER_TTL] = "no signature has its TTL of now, as original TTL"
			     " and as TTL",
};

static bool
sig_has_key(const struct dyn_check *c, const struct dyn_rdata *sig)
{
	for (size_t i = 0; i < c->key_count; i++)
		if (c->keys[i].is_there && key_has_made(&c->keys[i], sig))
			return true;
	return false;
}

/* RFC 4035 section 2.2: fields that at least one signature must have. */
static enum sig_rank
sig_find_rank(const struct dyn_check *c, const struct dyn_set *set,
	const struct dyn_set *sigs, const struct dyn_rdata *sig)
{
	const uint8_t *owner = set->name->owner;
	unsigned labels = name_count_labels(owner)
		- (name_is_wildcard(owner) ? 1 : 0);

	if (!sig_has_key(c, sig))
		return SIG_OF_NO_KEY;
	if (sig->octets[RRSIG_LABELS] != labels
		|| !name_equal(sig->octets + RRSIG_SIGNER, c->d->apex))
		return SIG_OF_OTHER_NAME;
	return octets_get_u32(sig->octets + RRSIG_ORIGINAL_TTL) == set->ttl_sec
			&& sigs->ttl_sec == set->ttl_sec
		? SIG_FITS : SIG_OF_OTHER_TTL;
}

/* True if the message has changed records, and not only their TTL. */
static bool
set_has_other_records(const struct dynupdate *d, const struct dyn_set *set)
{
	if (set->message != d->message)
		return false;
	for (const struct dyn_record *r = set->changed; r != NULL;
		r = r->touched)
		if (dyn_record_differs(r))
			return true;
	return false;
}

/* ---- the DNSKEY RRset ---------------------------------------------------- */

/* Finds the algorithms of the keys with the SEP flag that sign the DNSKEY
 * RRset. signs[0]: there is any. */
static void
sep_find_algorithms(const struct dyn_check *c, const struct dyn_set *sigs,
	bool signs[256])
{
	memset(signs, 0, 256 * sizeof(*signs));
	for (uint32_t i = 0; i < sigs->count; i++)
		for (size_t n = 0; n < c->key_count; n++) {
			const struct dyn_key *key = &c->keys[n];

			if (key->is_there && key->is_sep
				&& key_has_made(key, sigs->records[i]->rdata))
				signs[0] = signs[key->algorithm] = true;
		}
}

/* Returns the algorithm by which a key with the SEP flag has to sign in place
 * of one whose signature goes; 0: any. False: none has to. */
static bool
sep_is_needed(const struct dyn_check *c, const struct dyn_rdata *gone,
	uint8_t *algorithm)
{
	bool was_sep = false, has_sep = false;

	*algorithm = 0;
	for (size_t i = 0; i < c->key_count; i++) {
		const struct dyn_key *key = &c->keys[i];

		was_sep |= key->was_there && key->is_sep
			&& key_has_made(key, gone);
		if (!key->is_there || !key->is_sep)
			continue;
		has_sep = true;
		if (key->algorithm == gone->octets[RRSIG_ALGORITHM])
			*algorithm = key->algorithm;
	}
	return was_sep && has_sep;
}

/*
 * The parent's DS records lead to keys with the SEP flag, as tools make them.
 * So if the message takes away a signature of such a key, another such key has
 * to sign the DNSKEY RRset: one of the same algorithm, as long as the zone has
 * one (RFC 4035 section 2.2). Without any, it is up to the signer: the flag
 * alone has no meaning to a validator (RFC 4034 section 2.1.1).
 */
static enum nsd_err
check_sep(const struct dyn_check *c, const struct dyn_set *set,
	const struct dyn_set *sigs)
{
	const struct dyn_record *r = sigs->message == c->d->message
		? sigs->changed : NULL;
	bool signs[256];
	uint8_t algorithm;

	sep_find_algorithms(c, sigs, signs);
	for (; r != NULL; r = r->touched)
		if (r->was_there && dyn_record_differs(r)
			&& sep_is_needed(c, r->before, &algorithm)
			&& !signs[algorithm])
			return dyn_sigs_refuse(c, set->name, set->type,
				"no key with the SEP flag signs it any more");
	return NSD_OK;
}

/* ---- interface ----------------------------------------------------------- */

enum nsd_err
dyn_sigs_check(struct dyn_check *c, const struct dyn_set *set,
	struct dyn_set *sigs)
{
	bool is_new = set_has_other_records(c->d, set);
	enum sig_rank best = SIG_OF_NO_KEY, rank;
	enum nsd_err err = dyn_set_load(c->d, sigs);

	if (err != NSD_OK)
		return err;
	for (uint32_t i = 0; i < sigs->count; i++) {
		const struct dyn_record *r = sigs->records[i];

		rank = sig_find_rank(c, set, sigs, r->rdata);
		if (rank > best)
			best = rank;
		if (is_new && (r->message != c->d->message
				|| !dyn_record_differs(r)))
			return dyn_sigs_refuse(c, set->name, set->type,
				"a signature of its former records remains");
	}
	if (best != SIG_FITS)
		return dyn_sigs_refuse(c, set->name, set->type,
			rank_texts[best]);
	return set->type == TYPE_DNSKEY ? check_sep(c, set, sigs) : NSD_OK;
}
