/* dyn_set.c - the records of an RRset, as a batch has changed them. */
#include <assert.h>
#include <string.h>

#include "base/fold.h"
#include "base/grow.h"
#include "dns/rrtype.h"
#include "dynupdate/dyn.h"
#include "zone/nsec3_page.h"
#include "zone/unpack.h"

/* A smaller RRset is searched one by one. */
#define TABLE_MIN 8u
/* RFC 2136 section 1.1.5: WKS records are of one address and protocol. */
#define WKS_KEY_LEN 5u

static bool
type_is_single(uint16_t type)
{
	return (rrtype_get(type)->flags & RR_SINGLETON) != 0;
}

/* ---- equality ------------------------------------------------------------ */

static uint32_t
hash_rdata(struct dynupdate *d, uint16_t type, const uint8_t *rdata, size_t len)
{
	if (type == TYPE_WKS && len > WKS_KEY_LEN)
		len = WKS_KEY_LEN;
	if ((rrtype_get(type)->flags & RR_CANON_LOWER) != 0) {
		memcpy(d->canonical, rdata, len);
		rdata_make_canonical(type, d->canonical, len);
		rdata = d->canonical;
	}
	return (uint32_t)fold_octets(d->options.seed, rdata, len);
}

/* RFC 2136 section 1.1.5. RDATA of WKS is at least as long as its key. */
static bool
rdata_is_equal(uint16_t type, const struct dyn_rdata *a, const uint8_t *rdata,
	size_t len)
{
	if (a->len == len && memcmp(a->octets, rdata, len) == 0)
		return true;
	if (type == TYPE_WKS)
		return a->len >= WKS_KEY_LEN && len >= WKS_KEY_LEN
			&& memcmp(a->octets, rdata, WKS_KEY_LEN) == 0;
	return a->len == len
		&& (rrtype_get(type)->flags & RR_CANON_LOWER) != 0
		&& rdata_compare(type, a->octets, a->len, rdata, len) == 0;
}

/* ---- tables -------------------------------------------------------------- */

static void
known_put(struct dyn_set *set, struct dyn_record *r)
{
	struct dyn_record **slot = &set->table[r->hash & (set->slots - 1)];

	r->chain = *slot;
	*slot = r;
}

/* Makes the table four times as large; the first one has one chain. */
static enum nsd_err
known_grow(struct dynupdate *d, struct dyn_set *set)
{
	struct dyn_record **old = set->table;
	uint32_t slots = set->slots, more = slots == 0 ? 1 : 4 * slots;
	struct dyn_record **table = arena_alloc_zero(&d->arena,
		more * sizeof(struct dyn_record *));

	if (table == NULL)
		return NSD_E_MEMORY;
	set->table = table;
	set->slots = more;
	for (uint32_t i = 0; i < slots; i++) {
		struct dyn_record *next, *r = old[i];

		for (; r != NULL; r = next) {
			next = r->chain;
			known_put(set, r);
		}
	}
	return NSD_OK;
}

/* Finds a record that is or was there. */
static struct dyn_record *
known_find(const struct dyn_set *set, uint32_t hash, const uint8_t *rdata,
	size_t len)
{
	struct dyn_record *r;

	if (set->slots == 0)
		return NULL;
	r = set->table[hash & (set->slots - 1)];
	while (r != NULL && (r->hash != hash
			|| !rdata_is_equal(set->type, r->rdata, rdata, len)))
		r = r->chain;
	return r;
}

/* ---- records that are there ---------------------------------------------- */

/* Puts a record among those that are there; there is room. */
static void
set_insert(struct dyn_set *set, struct dyn_record *r)
{
	assert(r->at == DYN_ABSENT && set->count < set->room);
	r->at = set->count;
	set->records[set->count++] = r;
	if (set->count == 1)
		dyn_name_use(set);
}

static void
set_take_out(struct dyn_set *set, struct dyn_record *r)
{
	struct dyn_record *last = set->records[set->count - 1];

	assert(r->at < set->count);
	last->at = r->at;
	set->records[r->at] = last;
	r->at = DYN_ABSENT;
	if (--set->count == 0)
		dyn_name_cease(set);
}

static enum nsd_err
set_reserve(struct dynupdate *d, struct dyn_set *set)
{
	struct dyn_record **records = grow_arena(&d->arena, set->records,
		set->count, &set->room, sizeof(struct dyn_record *));

	if (records == NULL)
		return NSD_E_MEMORY;
	set->records = records;
	return NSD_OK;
}

static const struct dyn_rdata *
rdata_copy(struct dynupdate *d, const uint8_t *octets, size_t len)
{
	struct dyn_rdata *rdata = arena_alloc(&d->arena, sizeof(*rdata) + len);

	if (rdata == NULL)
		return NULL;
	rdata->len = (uint16_t)len;
	memcpy(rdata->octets, octets, len);
	return rdata;
}

/* Makes a record that is not there yet. */
static struct dyn_record *
set_make_record(struct dynupdate *d, struct dyn_set *set, uint32_t hash,
	const uint8_t *octets, size_t len)
{
	const struct dyn_rdata *rdata = rdata_copy(d, octets, len);
	struct dyn_record *r = arena_alloc_zero(&d->arena, sizeof(*r));

	if (rdata == NULL || r == NULL)
		return NULL;
	if (!type_is_single(set->type) && set->known >= set->slots
		&& (set->slots == 0 || set->known >= TABLE_MIN)
		&& known_grow(d, set) != NSD_OK)
		return NULL;
	r->hash = hash;
	r->at = DYN_ABSENT;
	r->rdata = rdata;
	if (type_is_single(set->type)) {
		set->single = r;
	} else {
		known_put(set, r);
		set->known++;
	}
	return r;
}

/* ---- from the store ------------------------------------------------------ */

static enum nsd_err
load_add(struct dynupdate *d, struct dyn_set *set, size_t len)
{
	uint32_t hash = type_is_single(set->type) ? 0
		: hash_rdata(d, set->type, d->scratch, len);
	struct dyn_record *r;
	enum nsd_err err = set_reserve(d, set);

	if (err != NSD_OK)
		return err;
	r = set_make_record(d, set, hash, d->scratch, len);
	if (r == NULL)
		return NSD_E_MEMORY;
	r->at = set->count;
	set->records[set->count++] = r;
	return NSD_OK;
}

static enum nsd_err
load_rrset(struct dynupdate *d, struct dyn_set *set)
{
	const struct rrset *rrset = set->rrset;
	const uint8_t *at = rrset->data, *end = at + rrset_len(rrset);
	enum nsd_err err = NSD_OK;

	for (; at < end && err == NSD_OK; at += 2u + octets_get_u16(at))
		err = load_add(d, set, unpack_rdata(rrset, at, d->apex,
			d->scratch));
	return err;
}

static enum nsd_err
load_sigs(struct dynupdate *d, struct dyn_set *set)
{
	const uint8_t *at = set->sigs->data;
	enum nsd_err err = NSD_OK;

	for (unsigned i = 0; i < set->sigs->count && err == NSD_OK; i++) {
		const struct sig *sig = (const struct sig *)at;

		err = load_add(d, set, unpack_sig_rdata(d->view, sig,
			d->scratch));
		at += sig_size(sig);
	}
	return err;
}

static enum nsd_err
load_from_store(struct dynupdate *d, struct dyn_set *set)
{
	if (set->rrset != NULL)
		return load_rrset(d, set);
	if (set->sigs != NULL)
		return load_sigs(d, set);
	return load_add(d, set, nsec3_unpack_rdata(d->view, set->hashed,
		set->next_hash, d->scratch));
}

enum nsd_err
dyn_set_load(struct dynupdate *d, struct dyn_set *set)
{
	uint32_t count = set->count;
	enum nsd_err err;

	if (set->is_loaded)
		return NSD_OK;
	set->count = 0;
	err = load_from_store(d, set);
	if (err == NSD_OK) {
		assert(set->count == count);
		set->is_loaded = true;
		return NSD_OK;
	}
	/* As it was; what has been read is left to the arena. */
	set->count = count;
	set->records = NULL;
	set->room = 0;
	set->table = NULL;
	set->slots = 0;
	set->known = 0;
	set->single = NULL;
	return err;
}

/* ---- changes ------------------------------------------------------------- */

static void
set_touch(struct dynupdate *d, struct dyn_set *set)
{
	struct dyn_name *name = set->name;

	assert(set->is_loaded);
	if (name->message != d->message) {
		name->message = d->message;
		name->used_before = name->used_count;
		name->touched = d->touched_names;
		d->touched_names = name;
	}
	if (set->message == d->message)
		return;
	set->message = d->message;
	set->ttl_before = set->ttl_sec;
	set->count_before = set->count;
	set->changed = NULL;
	set->touched = d->touched;
	d->touched = set;
}

static void
record_touch(struct dynupdate *d, struct dyn_set *set, struct dyn_record *r)
{
	if (r->message == d->message)
		return;
	r->message = d->message;
	r->was_there = r->at != DYN_ABSENT;
	r->before = r->rdata;
	r->touched = set->changed;
	set->changed = r;
}

struct dyn_record *
dyn_set_find(struct dynupdate *d, const struct dyn_set *set,
	const uint8_t *rdata, size_t len)
{
	struct dyn_record *r;

	assert(set->is_loaded);
	if (!type_is_single(set->type)) {
		r = known_find(set, hash_rdata(d, set->type, rdata, len),
			rdata, len);
		if (r == NULL || r->at == DYN_ABSENT)
			return NULL;
		return set->type != TYPE_WKS || (r->rdata->len == len
				&& memcmp(r->rdata->octets, rdata, len) == 0)
			? r : NULL;
	}
	for (uint32_t i = 0; i < set->count; i++)
		if (rdata_is_equal(set->type, set->records[i]->rdata, rdata,
				len))
			return set->records[i];
	return NULL;
}

/* Finds the record that one takes the place of, or makes one. Of a type of
 * which a name has one record, no other stays. */
static struct dyn_record *
set_find_place(struct dynupdate *d, struct dyn_set *set, const uint8_t *rdata,
	size_t len)
{
	struct dyn_record *r;
	uint32_t hash = 0;

	if (type_is_single(set->type)) {
		r = set->single;
		while (set->count > 1)
			dyn_set_remove(d, set, set->records[
				set->records[0] == r ? set->count - 1 : 0]);
		if (set->count == 1 && set->records[0] != r)
			dyn_set_remove(d, set, set->records[0]);
	} else {
		hash = hash_rdata(d, set->type, rdata, len);
		r = known_find(set, hash, rdata, len);
	}
	return r != NULL ? r : set_make_record(d, set, hash, rdata, len);
}

enum nsd_err
dyn_set_add(struct dynupdate *d, struct dyn_set *set, const uint8_t *rdata,
	size_t len, uint32_t ttl_sec)
{
	struct dyn_record *r;
	enum nsd_err err = dyn_set_load(d, set);

	if (err == NSD_OK)
		err = set_reserve(d, set);
	if (err != NSD_OK)
		return err;
	set_touch(d, set);
	r = set_find_place(d, set, rdata, len);
	if (r == NULL)
		return NSD_E_MEMORY;
	record_touch(d, set, r);
	if (r->rdata->len != len || memcmp(r->rdata->octets, rdata, len) != 0) {
		const struct dyn_rdata *copy = rdata_copy(d, rdata, len);

		if (copy == NULL)
			return NSD_E_MEMORY;
		r->rdata = copy;
	}
	if (r->at == DYN_ABSENT)
		set_insert(set, r);
	set->ttl_sec = ttl_sec;
	return NSD_OK;
}

void
dyn_set_remove(struct dynupdate *d, struct dyn_set *set,
	struct dyn_record *record)
{
	set_touch(d, set);
	record_touch(d, set, record);
	set_take_out(set, record);
}

void
dyn_set_clear(struct dynupdate *d, struct dyn_set *set)
{
	while (set->count > 0)
		dyn_set_remove(d, set, set->records[set->count - 1]);
}

void
dyn_set_undo(struct dynupdate *d, struct dyn_set *set)
{
	assert(set->message == d->message);
	for (struct dyn_record *r = set->changed; r != NULL; r = r->touched) {
		if (r->at != DYN_ABSENT && !r->was_there)
			set_take_out(set, r);
		r->rdata = r->before;
	}
	/* Room is left: these were there at once. */
	for (struct dyn_record *r = set->changed; r != NULL; r = r->touched) {
		if (r->at == DYN_ABSENT && r->was_there)
			set_insert(set, r);
		r->message = 0;
	}
	set->ttl_sec = set->ttl_before;
	set->message = 0;
}

bool
dyn_set_differs(const struct dyn_set *set)
{
	if (set->ttl_sec != set->ttl_before && set->count > 0
		&& set->count_before > 0)
		return true;
	for (const struct dyn_record *r = set->changed; r != NULL;
		r = r->touched)
		if (dyn_record_differs(r))
			return true;
	return false;
}
