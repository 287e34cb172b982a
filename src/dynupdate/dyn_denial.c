/* dyn_denial.c - the NSEC or NSEC3 records of the names that a message touches:
 * that they are there, and have the types of the name (RFC 4034 section 4,
 * RFC 5155 section 7.1). */
#include <string.h>

#include "base/grow.h"
#include "dynupdate/dyn_signed.h"
#include "zone/nsec3.h"

/* Names that are hashed for a message; with the most iterations that are
 * allowed it is some ten milliseconds of work. */
#define HASHES_MAX 2000u

static const char no_nsec[] = "the update has no NSEC record that fits";
static const char nsec_remains[] = "the NSEC record of a name that is gone, or"
				   " below a cut, remains";
static const char no_nsec3[] = "the update has no NSEC3 record that fits";
static const char nsec3_remains[] = "the NSEC3 record of a name that is gone,"
				    " or below a cut, remains";
static const char types_differ[] = "the types in its NSEC or NSEC3 record are"
				   " not those of the name";

static enum nsd_err
refuse_denial(const struct dyn_check *c, const struct dyn_name *name,
	uint16_t type, const char *why)
{
	return dyn_refuse_rr(c->result, RCODE_REFUSED, EDE_PROHIBITED,
		name->owner, type, why);
}

/* ---- where names stand --------------------------------------------------- */

bool
dyn_denial_is_cut(const struct dynupdate *d, const struct dyn_name *name)
{
	return !dyn_name_is_apex(d, name) && dyn_name_has(d, name, TYPE_NS);
}

enum nsd_err
dyn_denial_is_hidden(struct dynupdate *d, const struct dyn_name *name,
	bool *is_hidden)
{
	const uint8_t *at = name->owner, *end = at + name->len - d->apex_len;

	*is_hidden = false;
	while (at < end && !*is_hidden) {
		const struct dyn_name *above;

		at += 1u + *at;
		above = dyn_name_get(d, at,
			(size_t)(name->owner + name->len - at));
		if (above == NULL)
			return NSD_E_MEMORY;
		*is_hidden = dyn_denial_is_cut(d, above)
			|| dyn_name_has(d, above, TYPE_DNAME);
	}
	return NSD_OK;
}

/* True if the name has records beside those that DNSSEC adds to it. */
static bool
name_has_own(const struct dynupdate *d, const struct dyn_name *name)
{
	return name->used_count > name->sig_count
		+ dyn_name_has(d, name, TYPE_NSEC)
		+ dyn_name_has(d, name, TYPE_NSEC3);
}

/* ---- types --------------------------------------------------------------- */

/* The types that a record of denial has of a name. */
struct denial_types {
	const struct dynupdate *d;
	const struct dyn_name *name;
	bool is_cut;
	bool is_hashed; /* by NSEC3 */
};

static bool
types_have_sigs(const struct denial_types *t)
{
	return t->name->sig_count > 0 && (!t->is_hashed || !t->is_cut
		|| dyn_name_has(t->d, t->name, TYPE_DS));
}

static bool
types_have(const struct denial_types *t, uint16_t type)
{
	if (type == TYPE_RRSIG)
		return types_have_sigs(t);
	if (t->is_hashed && (type == TYPE_NSEC || type == TYPE_NSEC3))
		return false;
	if (t->is_cut && type != TYPE_NS && type != TYPE_DS
		&& type != TYPE_NSEC)
		return false;
	return dyn_name_has(t->d, t->name, type);
}

static unsigned
types_count(const struct denial_types *t)
{
	const struct dyn_set *set;
	unsigned count = types_have_sigs(t);

	cds_list_for_each_entry(set, &t->name->used, node)
		count += set->type != TYPE_RRSIG && types_have(t, set->type);
	return count;
}

/* True if a bitmap has these types and no other. The bitmap was checked. */
static bool
types_are(const struct denial_types *t, const uint8_t *at, const uint8_t *end)
{
	unsigned count = 0;

	for (; at + 2 <= end; at += 2 + at[1])
		for (unsigned bit = 0; bit < at[1] * 8u; bit++) {
			if ((at[2 + bit / 8] & 0x80u >> bit % 8) == 0)
				continue;
			if (!types_have(t, (uint16_t)(at[0] << 8 | bit)))
				return false;
			count++;
		}
	return count == types_count(t);
}

/* ---- edges --------------------------------------------------------------- */

static enum nsd_err
edges_add(struct dyn_edges *edges, const uint8_t *owner, const uint8_t *next)
{
	struct dyn_edge *edge = grow_array(edges->edges, edges->count,
		&edges->room, sizeof(*edge));

	if (edge == NULL)
		return NSD_E_MEMORY;
	edges->edges = edge;
	edge += edges->count++;
	edge->owner = owner;
	edge->next = next;
	return NSD_OK;
}

static const uint8_t *
nsec3_bitmap(const struct dyn_rdata *rdata)
{
	const uint8_t *salt = rdata->octets + 4;

	return salt + 1 + *salt + 1 + salt[1 + *salt];
}

/* The hash of an NSEC3 record of the chain in use; NULL: it is another's. */
static const uint8_t *
nsec3_next(const struct nsec3_chain *chain, const struct dyn_rdata *rdata)
{
	const uint8_t *at = rdata->octets;

	if (at[0] != NSEC3_ALGORITHM_SHA1
		|| octets_get_u16(at + 2) != chain->iterations
		|| at[4] != chain->salt_len
		|| memcmp(at + 5, chain->salt, at[4]) != 0
		|| at[5 + at[4]] != NSEC3_HASH_LEN)
		return NULL;
	return at + 6 + at[4];
}

/* Notes what has changed of a chain's RRset. hash: of the owner, which is kept;
 * NULL: the chain has whole names. */
static enum nsd_err
note_edges(struct dyn_check *c, const struct dyn_set *set, const uint8_t *hash)
{
	enum nsd_err err = NSD_OK;

	if (set->message != c->d->message)
		return NSD_OK;
	for (const struct dyn_record *r = set->changed;
		r != NULL && err == NSD_OK; r = r->touched) {
		const uint8_t *owner = hash != NULL ? hash : set->name->owner;
		const uint8_t *gone = r->before->octets;
		const uint8_t *come = r->rdata->octets;

		if (!dyn_record_differs(r))
			continue;
		if (hash != NULL) {
			gone = nsec3_next(c->hashed, r->before);
			come = nsec3_next(c->hashed, r->rdata);
		}
		if (r->was_there && gone != NULL)
			err = edges_add(&c->chain.gone, owner, gone);
		if (err == NSD_OK && r->at != DYN_ABSENT && come != NULL)
			err = edges_add(&c->chain.come, owner, come);
	}
	return err;
}

/* ---- NSEC ---------------------------------------------------------------- */

static enum nsd_err
check_named(struct dyn_check *c, const struct dyn_name *name, bool is_hidden)
{
	struct dyn_set *set = dyn_name_find(c->d, name, TYPE_NSEC, 0);
	uint32_t count = set != NULL ? set->count : 0;
	struct denial_types types = {
		.d = c->d,
		.name = name,
		.is_cut = dyn_denial_is_cut(c->d, name),
	};
	const struct dyn_rdata *rdata;
	enum nsd_err err;

	if (set != NULL) {
		err = dyn_set_load(c->d, set);
		if (err == NSD_OK)
			err = note_edges(c, set, NULL);
		if (err != NSD_OK)
			return err;
	}
	if (is_hidden || !name_has_own(c->d, name))
		return count == 0 ? NSD_OK
			: refuse_denial(c, name, TYPE_NSEC, nsec_remains);
	if (count != 1)
		return refuse_denial(c, name, TYPE_NSEC, no_nsec);
	rdata = set->records[0]->rdata;
	return types_are(&types, rdata->octets + name_len(rdata->octets),
			rdata->octets + rdata->len)
		? NSD_OK
		: refuse_denial(c, name, TYPE_NSEC, types_differ);
}

/* ---- NSEC3 --------------------------------------------------------------- */

/* Hashes a name. False: the message has too many. */
static bool
hash_name(struct dyn_check *c, const uint8_t *name, uint8_t *hash)
{
	const struct nsec3_params params = {
		.salt = c->hashed->salt,
		.salt_len = c->hashed->salt_len,
		.iterations = c->hashed->iterations,
	};
	struct nsec3_job job = {.name = name}, *jobs = &job;

	if (++c->hashes > HASHES_MAX)
		return false;
	nsec3_hash_batch(&params, &jobs, 1);
	memcpy(hash, job.hash, NSEC3_HASH_LEN);
	return true;
}

/* Finds the record of the chain that matches a name. *rdata NULL: there is
 * none. */
static enum nsd_err
find_nsec3(struct dyn_check *c, const struct dyn_name *name,
	const struct dyn_rdata **rdata)
{
	uint8_t owner[1 + NSEC3_LABEL_LEN + NAME_MAX_LEN];
	uint8_t hash[NSEC3_HASH_LEN];
	struct dyn_name *hashed;
	struct dyn_set *set;
	enum nsd_err err;

	*rdata = NULL;
	if (!hash_name(c, name->owner, hash))
		return refuse_denial(c, name, TYPE_NSEC3,
			"the update changes too many names at a time");
	owner[0] = NSEC3_LABEL_LEN;
	nsec3_print_label(hash, owner + 1);
	memcpy(owner + 1 + NSEC3_LABEL_LEN, c->d->apex, c->d->apex_len);
	hashed = dyn_name_get(c->d, owner,
		1u + NSEC3_LABEL_LEN + c->d->apex_len);
	if (hashed == NULL)
		return NSD_E_MEMORY;
	set = dyn_name_find(c->d, hashed, TYPE_NSEC3, 0);
	if (set == NULL)
		return NSD_OK;
	err = dyn_set_load(c->d, set);
	for (uint32_t i = 0; i < set->count && err == NSD_OK; i++)
		if (nsec3_next(c->hashed, set->records[i]->rdata) != NULL)
			*rdata = set->records[i]->rdata;
	return err;
}

/* Empty non-terminals above a name that is new have records, too (RFC 5155
 * section 7.1), but above a delegation that is left out of the chain. */
static enum nsd_err
check_above_hashed(struct dyn_check *c, const struct dyn_name *name)
{
	const uint8_t *at = name->owner;
	const uint8_t *end = at + name->len - c->d->apex_len;

	for (at += 1u + *at; at < end; at += 1u + *at) {
		struct dyn_name *above = dyn_name_get(c->d, at,
			(size_t)(name->owner + name->len - at));
		const struct dyn_rdata *rdata;
		enum nsd_err err;

		if (above == NULL)
			return NSD_E_MEMORY;
		if (name_has_own(c->d, above) || above->hashed == c->d->message)
			return NSD_OK;
		above->hashed = c->d->message;
		err = find_nsec3(c, above, &rdata);
		if (err != NSD_OK || c->result->rcode != RCODE_NOERROR)
			return err;
		if (rdata == NULL)
			return refuse_denial(c, above, TYPE_NSEC3, no_nsec3);
	}
	return NSD_OK;
}

/* A name without a record: it must not need one. */
static enum nsd_err
check_unhashed(const struct dyn_check *c, const struct dyn_name *name,
	bool is_needed)
{
	/* RFC 5155 section 6: with Opt-Out. */
	bool may_be_left_out = dyn_denial_is_cut(c->d, name)
		&& !dyn_name_has(c->d, name, TYPE_DS);

	return !is_needed || may_be_left_out ? NSD_OK
		: refuse_denial(c, name, TYPE_NSEC3, no_nsec3);
}

static enum nsd_err
check_hashed(struct dyn_check *c, struct dyn_name *name, bool is_hidden)
{
	bool is_needed = !is_hidden && name_has_own(c->d, name);
	struct denial_types types = {
		.d = c->d,
		.name = name,
		.is_cut = dyn_denial_is_cut(c->d, name),
		.is_hashed = true,
	};
	const struct dyn_rdata *rdata;
	enum nsd_err err = find_nsec3(c, name, &rdata);
	const uint8_t *bitmap, *end;

	if (err != NSD_OK || c->result->rcode != RCODE_NOERROR)
		return err;
	if (rdata == NULL)
		return check_unhashed(c, name, is_needed);
	bitmap = nsec3_bitmap(rdata);
	end = rdata->octets + rdata->len;
	/* An empty non-terminal has no types. */
	if (!is_needed)
		return bitmap == end ? NSD_OK
			: refuse_denial(c, name, TYPE_NSEC3, nsec3_remains);
	if (!types_are(&types, bitmap, end))
		return refuse_denial(c, name, TYPE_NSEC3, types_differ);
	return name->used_before == 0 ? check_above_hashed(c, name) : NSD_OK;
}

/* Notes the changes of a name that is the hash of another. */
static enum nsd_err
note_hashed(struct dyn_check *c, struct dyn_name *name)
{
	struct dyn_set *set = dyn_name_find(c->d, name, TYPE_NSEC3, 0);
	uint8_t *hash;

	if (set == NULL || name->len != 1 + NSEC3_LABEL_LEN + c->d->apex_len)
		return NSD_OK;
	hash = arena_alloc(&c->d->arena, NSEC3_HASH_LEN);
	if (hash == NULL)
		return NSD_E_MEMORY;
	return nsec3_parse_label(name->owner, hash)
		? note_edges(c, set, hash) : NSD_OK;
}

/* ---- for a message ------------------------------------------------------- */

/* Chains that come with a message, or go with it, are not looked at: a signer
 * knows what it does. */
void
dyn_denial_init(struct dyn_check *c)
{
	const struct dynupdate *d = c->d;
	const struct dyn_set *nsec = dyn_name_find(d, d->apex_name, TYPE_NSEC,
		0);
	const struct dyn_set *params = dyn_name_find(d, d->apex_name,
		TYPE_NSEC3PARAM, 0);
	const struct nsec3_chain *hashed = d->zone->chain == STORE_NONE ? NULL
		: store_get(d->view, d->zone->chain);

	if (hashed != NULL && params != NULL && params->count > 0
		&& params->message != d->message
		&& (hashed->flags & NSEC3_CHAIN_COSTLY) == 0) {
		c->hashed = hashed;
		c->chain.is_hashed = true;
		(void)hash_name(c, d->apex, c->apex_hash);
		c->chain.base = c->apex_hash;
	} else if (nsec != NULL && nsec->count > 0
		&& (nsec->message != d->message || nsec->count_before > 0)) {
		c->chain.base = d->apex;
	}
}

enum nsd_err
dyn_denial_check_name(struct dyn_check *c, struct dyn_name *name)
{
	bool is_hidden;
	enum nsd_err err;

	if (c->chain.base == NULL)
		return NSD_OK;
	err = dyn_denial_is_hidden(c->d, name, &is_hidden);
	if (err != NSD_OK || c->hashed == NULL)
		return err != NSD_OK ? err : check_named(c, name, is_hidden);
	err = note_hashed(c, name);
	/* An owner of NSEC3 alone is no name of the zone. */
	if (err != NSD_OK || (!name_has_own(c->d, name)
			&& name->used_count > 0))
		return err;
	return check_hashed(c, name, is_hidden);
}

enum nsd_err
dyn_denial_check_chain(struct dyn_check *c)
{
	const uint8_t *at;
	uint8_t owner[1 + NSEC3_LABEL_LEN + NAME_MAX_LEN];

	if (c->chain.base == NULL)
		return NSD_OK;
	at = dyn_chain_find_break(&c->chain);
	if (at == NULL)
		return NSD_OK;
	if (!c->chain.is_hashed)
		return dyn_refuse_rr(c->result, RCODE_REFUSED, EDE_PROHIBITED,
			at, TYPE_NSEC, "the chain would break there");
	owner[0] = NSEC3_LABEL_LEN;
	nsec3_print_label(at, owner + 1);
	memcpy(owner + 1 + NSEC3_LABEL_LEN, c->d->apex, c->d->apex_len);
	return dyn_refuse_rr(c->result, RCODE_REFUSED, EDE_PROHIBITED, owner,
		TYPE_NSEC3, "the chain would break there");
}
