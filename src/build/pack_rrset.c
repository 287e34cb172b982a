/*
 * pack_rrset.c - an RRset to its form in the store: names compressed, offsets
 * of cells and of names that want addresses listed; the same contents once.
 */
#include <string.h>

#include "build/build_pass.h"
#include "dns/rdata.h"
#include "store/writer.h"
#include "zone/objects.h"

#define SENT_POINTER_MAX 8191u
#define SENT_OFFSET_MAX 65535u
#define RR_BEFORE_RDATA (RRSET_RR_HEAD + 2u) /* sent octets */

/* An RRset while it is packed. */
struct packing {
	struct worker *w;
	const struct group *group;
	const struct owner *owner;
	bool compress;        /* the type has names that may be */
	bool additional;      /* the type has a name that asks for addresses */
	uint8_t *out;         /* where the next octet goes */
	size_t sent;          /* sent offset of the next octet */
	unsigned fixup_count;
	unsigned target_count;
	unsigned suffix_count;
};

/* What is known of a type from its row of the table. */
static void
packing_read_type(struct packing *p)
{
	const struct rrtype *row = rrtype_get(p->group->type);

	p->additional = (row->flags & RR_ADDITIONAL) != 0;
	for (unsigned i = 0; i < RDATA_FIELDS_MAX
		&& row->fields[i] != FIELD_END; i++)
		if (row->fields[i] == FIELD_NAME_COMPRESSED)
			p->compress = true;
}

/* ---- compression ------------------------------------------------------- */

static inline uint32_t
suffix_hash_label(uint32_t hash, const uint8_t *label)
{
	for (unsigned i = 0; i <= label[0]; i++)
		hash = (hash ^ label[i]) * 0x01000193u;
	return hash;
}

/* Where the labels of a name stand, and the hashes of the suffixes. Returns
 * how many labels. */
static unsigned
suffixes_measure(const uint8_t *name, uint8_t at[NAME_MAX_LABELS + 1],
	uint32_t hash[NAME_MAX_LABELS + 1])
{
	unsigned n = 0, p = 0;

	for (; name[p] != 0; p += name[p] + 1u)
		at[n++] = (uint8_t)p;
	at[n] = (uint8_t)p;
	hash[n] = 0x811c9dc5u;
	for (unsigned i = n; i-- > 0;)
		hash[i] = suffix_hash_label(hash[i + 1], name + at[i]);
	return n;
}

/* Few suffixes are looked through, many have an index by hash: open
 * addressing with the number of a suffix, one added. */
static void
suffixes_index(struct worker *w, unsigned number)
{
	uint32_t i = w->suffixes[number].hash;

	while (w->suffix_index[i % SUFFIX_INDEX] != 0)
		i++;
	w->suffix_index[i % SUFFIX_INDEX] = (uint16_t)(number + 1);
}

static void
suffixes_index_new(struct packing *p)
{
	unsigned count = p->suffix_count++;

	if (count > SUFFIXES_SEARCHED) {
		suffixes_index(p->w, count);
	} else if (count == SUFFIXES_SEARCHED) {
		memset(p->w->suffix_index, 0,
			SUFFIX_INDEX * sizeof(*p->w->suffix_index));
		for (unsigned i = 0; i <= count; i++)
			suffixes_index(p->w, i);
	}
}

static bool
suffix_matches(const struct suffix *s, const uint8_t *suffix, size_t len,
	uint32_t hash)
{
	return s->hash == hash && s->len == len
		&& memcmp(s->name, suffix, len) == 0;
}

static const struct suffix *
suffixes_find(const struct packing *p, const uint8_t *suffix, size_t len,
	uint32_t hash)
{
	const struct worker *w = p->w;
	unsigned number;

	if (p->suffix_count <= SUFFIXES_SEARCHED) {
		for (unsigned i = 0; i < p->suffix_count; i++)
			if (suffix_matches(&w->suffixes[i], suffix, len, hash))
				return &w->suffixes[i];
		return NULL;
	}
	for (uint32_t i = hash; (number = w->suffix_index[i % SUFFIX_INDEX])
		!= 0; i++)
		if (suffix_matches(&w->suffixes[number - 1], suffix, len,
			    hash))
			return &w->suffixes[number - 1];
	return NULL;
}

/* The pointer cell for a suffix (len octets without the root label) in the
 * apex or in an earlier name of the RRset; 0 if there is none. */
static uint16_t
suffix_find(const struct packing *p, const uint8_t *suffix, size_t len,
	uint32_t hash)
{
	const struct build *b = p->w->build;
	const struct suffix *s;

	if (len < b->apex_len) {
		size_t at = b->apex_len - 1u - len;

		if (memcmp(b->apex + at, suffix, len) == 0)
			return (uint16_t)(0xc000u | RRSET_CELL_APEX | at);
	}
	s = suffixes_find(p, suffix, len, hash);
	return s == NULL ? 0 : (uint16_t)(0xc000u | s->sent);
}

/* Remembers where the first labels of a name stand in full. */
static void
suffixes_add(struct packing *p, const uint8_t *name, const uint8_t *at,
	const uint32_t *hash, unsigned labels, unsigned written)
{
	for (unsigned i = 0; i < written; i++) {
		struct suffix *s = &p->w->suffixes[p->suffix_count];

		if (p->suffix_count == p->w->suffixes_room
			|| p->sent + at[i] > SENT_POINTER_MAX)
			return;
		s->hash = hash[i];
		s->sent = (uint16_t)(p->sent + at[i]);
		s->len = (uint16_t)(at[labels] - at[i]);
		s->name = name + at[i];
		suffixes_index_new(p);
	}
}

static void
put_octets(struct packing *p, const uint8_t *octets, size_t len)
{
	memcpy(p->out, octets, len);
	p->out += len;
	p->sent += len;
}

/* Writes a name with the longest suffix that can be as a pointer; returns
 * its octets in the input. */
static size_t
put_name(struct packing *p, const uint8_t *name)
{
	uint8_t at[NAME_MAX_LABELS + 1];
	uint32_t hash[NAME_MAX_LABELS + 1];
	unsigned labels = suffixes_measure(name, at, hash), i;
	uint16_t cell = 0;
	size_t start = p->sent;

	for (i = 0; i < labels && cell == 0; i++)
		if (start + at[i] <= SENT_OFFSET_MAX)
			cell = suffix_find(p, name + at[i],
				at[labels] - (size_t)at[i], hash[i]);
	if (cell == 0) {
		suffixes_add(p, name, at, hash, labels, labels);
		put_octets(p, name, at[labels] + 1u);
		return at[labels] + 1u;
	}
	i--;
	suffixes_add(p, name, at, hash, labels, i);
	put_octets(p, name, at[i]);
	p->w->fixups[p->fixup_count++] = (uint16_t)p->sent;
	octets_put_u16(p->out, cell);
	p->out += 2;
	p->sent += 2;
	return at[labels] + 1u;
}

static void
put_rdata_compressed(struct packing *p, const struct rrbatch_rr *rr)
{
	struct rdata_name names[RDATA_NAMES_MAX];
	const uint8_t *rdata = rrbatch_rr_rdata(rr);
	unsigned n = rdata_list_names(rr->type, rdata, rr->rdlen, names);
	size_t at = 0;

	for (unsigned i = 0; i < n; i++) {
		if (!names[i].compressible)
			continue;
		put_octets(p, rdata + at, names[i].offset - at);
		at = names[i].offset + put_name(p, rdata + names[i].offset);
	}
	put_octets(p, rdata + at, rr->rdlen - at);
}

/* ---- targets ----------------------------------------------------------- */

/* Lower-cases a name only if it has to be; NULL without memory. */
static const uint8_t *
target_lower(struct worker *w, const uint8_t *name, size_t len)
{
	uint8_t *copy;
	size_t i = 0;

	while (i < len && name_lower_octet(name[i]) == name[i])
		i++;
	if (i == len)
		return name;
	copy = arena_alloc(worker_part(w), len);
	if (copy != NULL)
		for (i = 0; i < len; i++)
			copy[i] = name_lower_octet(name[i]);
	return copy;
}

/* True if name is at or below the owner. */
static bool
target_in_domain(const struct build *b, const struct owner *owner,
	const uint8_t *name, size_t len)
{
	size_t owner_len = (size_t)owner->name_len + b->apex_len, at = 0;

	if (len < owner_len)
		return false;
	for (size_t i = 0; i < owner_len; i++)
		if (name_lower_octet(name[len - owner_len + i])
			!= owner->name[i])
			return false;
	while (at < len - owner_len)
		at += name[at] + 1u;
	return at == len - owner_len;
}

static bool
target_in_zone(const struct build *b, const uint8_t *name, size_t len)
{
	const struct owner apex = {.name = b->apex};

	return target_in_domain(b, &apex, name, len);
}

static void
note_target(struct packing *p, const struct rrbatch_rr *rr)
{
	const uint8_t *rdata = rrbatch_rr_rdata(rr), *name;
	int offset = rdata_additional_offset(rr->type, rdata, rr->rdlen);
	struct rrset_target *t = &p->w->targets[p->target_count];
	size_t len;

	if (offset < 0 || p->sent + (size_t)offset > SENT_OFFSET_MAX)
		return;
	name = rdata + offset;
	/* "." means none (RFC 7505, RFC 2782), but with these the owner
	 * (RFC 9460 section 2.5). */
	if (name_is_root(name) && rr->type != TYPE_SVCB
		&& rr->type != TYPE_HTTPS)
		return;
	len = name_len(name);
	t->offset = (uint16_t)(p->sent + (size_t)offset);
	t->flags = 0;
	t->glue = STORE_NONE;
	if (name_is_root(name) || !target_in_zone(p->w->build, name, len))
		rr = NULL;
	else if (rr->type == TYPE_NS
		&& target_in_domain(p->w->build, p->owner, name, len))
		t->flags |= TARGET_IN_DOMAIN;
	p->w->target_rrs[p->target_count++] = rr;
}

/* ---- the RRset --------------------------------------------------------- */

static enum nsd_err
packing_reserve(struct packing *p, size_t raw_len)
{
	struct worker *w = p->w;
	size_t names = p->group->count * (size_t)RDATA_NAMES_MAX, suffixes;

	if (raw_len > w->out_room) {
		w->out = packer_reserve(w, w->out, &w->out_room, raw_len, 1);
		if (w->out == NULL)
			return NSD_E_MEMORY;
	}
	if (!p->compress && !p->additional)
		return NSD_OK;
	if (names > w->names_room) {
		size_t room = w->names_room;

		w->fixups = packer_reserve(w, w->fixups, &room, names,
			sizeof(*w->fixups));
		room = w->names_room;
		w->targets = packer_reserve(w, w->targets, &room, names,
			sizeof(*w->targets));
		w->target_rrs = packer_reserve(w, w->target_rrs,
			&w->names_room, names, sizeof(*w->target_rrs));
	}
	/* A label has two octets or more. */
	suffixes = raw_len / 2 < SUFFIXES_MAX ? raw_len / 2 : SUFFIXES_MAX;
	if (p->compress)
		w->suffixes = packer_reserve(w, w->suffixes,
			&w->suffixes_room, suffixes, sizeof(*w->suffixes));
	if (w->suffixes_room > SUFFIXES_SEARCHED && w->suffix_index == NULL)
		w->suffix_index = arena_alloc(&w->arena,
			SUFFIX_INDEX * sizeof(*w->suffix_index));
	if (w->fixups == NULL || w->targets == NULL || w->target_rrs == NULL
		|| (p->compress && w->suffixes == NULL)
		|| (w->suffixes_room > SUFFIXES_SEARCHED
			&& w->suffix_index == NULL)) {
		w->names_room = 0;
		return NSD_E_MEMORY;
	}
	return NSD_OK;
}

static void
packing_write(struct packing *p)
{
	p->out = p->w->out;
	for (size_t i = 0; i < p->group->count; i++) {
		const struct rrbatch_rr *rr = p->group->items[i].rr;
		uint8_t *length = p->out;

		p->out += 2;
		p->sent += RR_BEFORE_RDATA;
		if (p->additional)
			note_target(p, rr);
		if (p->compress)
			put_rdata_compressed(p, rr);
		else
			put_octets(p, rrbatch_rr_rdata(rr), rr->rdlen);
		octets_put_u16(length, (uint16_t)(p->out - length - 2));
	}
}

static struct rrset *
packing_store(struct packing *p, store_ref *ref)
{
	size_t len = (size_t)(p->out - p->w->out), padded = (len + 3) & ~3u;
	size_t fixups = (p->fixup_count + 1u) & ~1u;
	size_t size = sizeof(struct rrset) + len;
	bool tail = p->fixup_count > 0 || p->target_count > 0;
	struct rrset_tail *t;
	struct rrset *r;

	if (tail)
		size = sizeof(*r) + padded + sizeof(*t) + fixups * 2
			+ p->target_count * sizeof(struct rrset_target);
	r = store_alloc(p->w->heap, size, ref);
	if (r == NULL)
		return NULL;
	r->ttl_sec = p->group->ttl_sec;
	r->refs = 1;
	r->len_flags = (uint32_t)len | (tail ? RRSET_HAS_TAIL : 0);
	r->type = p->group->type;
	r->count = (uint16_t)(p->group->count < UINT16_MAX ? p->group->count
							   : UINT16_MAX);
	memcpy(r->data, p->w->out, len);
	if (!tail)
		return r;
	memset(r->data + len, 0, padded - len);
	t = (struct rrset_tail *)(r->data + padded);
	t->fixup_count = (uint16_t)p->fixup_count;
	t->target_count = (uint16_t)p->target_count;
	if (fixups > p->fixup_count)
		t->fixups[p->fixup_count] = 0;
	memcpy(t->fixups, p->w->fixups, p->fixup_count * 2);
	memcpy(t->fixups + fixups, p->w->targets,
		p->target_count * sizeof(struct rrset_target));
	return r;
}

/* Puts the in-zone targets on the list for the glue pass. */
static enum nsd_err
packing_note_uses(struct packing *p, store_ref rrset)
{
	struct worker *w = p->w;

	for (unsigned i = 0; i < p->target_count; i++) {
		const struct rrbatch_rr *rr = w->target_rrs[i];
		struct target_use *use;
		const uint8_t *name;
		size_t len;

		if (rr == NULL)
			continue;
		name = rrbatch_rr_rdata(rr);
		name += rdata_additional_offset(rr->type, name, rr->rdlen);
		len = name_len(name);
		name = target_lower(w, name, len);
		use = arena_alloc_zero(worker_part(w), sizeof(*use));
		if (use == NULL || name == NULL)
			return NSD_E_MEMORY;
		if (!owner_measure(&use->name, name, len, w->build->apex,
			    w->build->apex_len))
			continue;
		use->rr = rr;
		use->owner = p->owner;
		use->rrset = rrset;
		use->index = (uint16_t)i;
		use->next = w->uses;
		w->uses = use;
		w->use_count++;
	}
	return NSD_OK;
}

/* Writes the RRset uncompressed as the key for sharing. False: it is not one
 * that others have too. */
static bool
packing_make_key(struct packing *p, size_t raw_len, struct share_key *key,
	uint8_t *raw)
{
	uint8_t *at = raw;

	if (raw_len > SHARE_RAW_MAX || !share_wants_type(p->group->type))
		return false;
	for (size_t i = 0; i < p->group->count; i++) {
		const struct rrbatch_rr *rr = p->group->items[i].rr;
		const uint8_t *rdata = rrbatch_rr_rdata(rr);

		/* Names at or below the owner make it the owner's. */
		if (rr->type == TYPE_NS && target_in_domain(p->w->build,
			    p->owner, rdata, rr->rdlen))
			return false;
		octets_put_u16(at, rr->rdlen);
		memcpy(at + 2, rdata, rr->rdlen);
		at += 2 + rr->rdlen;
	}
	key->raw = raw;
	key->raw_len = (uint32_t)raw_len;
	key->ttl_sec = p->group->ttl_sec;
	key->type = p->group->type;
	key->hash = share_hash(&p->w->build->share, key);
	return true;
}

void
pack_hold_rrset(struct worker *w, store_ref ref)
{
	struct rrset *r = store_edit(w->heap, ref);

	__atomic_fetch_add(&r->refs, 1, __ATOMIC_RELAXED);
}

static size_t
group_raw_len(const struct group *group)
{
	size_t len = 0;

	for (size_t i = 0; i < group->count; i++)
		len += 2u + group->items[i].rr->rdlen;
	return len;
}

static enum nsd_err
rrset_pack_new(struct packing *p, size_t raw_len, const struct share_key *key,
	store_ref *ref)
{
	struct worker *w = p->w;
	struct rrset *rrset;
	store_ref found;

	packing_read_type(p);
	if (packing_reserve(p, raw_len) != NSD_OK)
		return NSD_E_MEMORY;
	packing_write(p);
	rrset = packing_store(p, ref);
	if (rrset == NULL)
		return NSD_E_MEMORY;
	if (key != NULL) {
		if (share_add(&w->build->share, key, *ref, &found) != NSD_OK) {
			store_free(w->heap, *ref, rrset_size(rrset));
			return NSD_E_MEMORY;
		}
		if (found != *ref) {
			store_free(w->heap, *ref, rrset_size(rrset));
			pack_hold_rrset(w, found);
			*ref = found;
			return NSD_OK;
		}
	}
	/* From here on the node that gets it frees it. */
	if (packing_note_uses(p, *ref) != NSD_OK)
		w->err = NSD_E_MEMORY;
	return NSD_OK;
}

enum nsd_err
pack_rrset(struct worker *w, const struct owner *owner,
	const struct group *group, store_ref *ref)
{
	struct packing p = {.w = w, .group = group, .owner = owner};
	size_t raw_len = group_raw_len(group);
	uint8_t raw[SHARE_RAW_MAX];
	struct share_key key;

	if (raw_len > RRSET_LEN_MASK - 65536) {
		char text[NAME_TEXT_MAX];

		findings_add(&w->findings, DIAG_ERROR, group->items[0].rr,
			"RRset at %s is too large",
			findings_name_text(owner->name, text));
		*ref = STORE_NONE;
		return NSD_OK;
	}
	if (!packing_make_key(&p, raw_len, &key, raw))
		return rrset_pack_new(&p, raw_len, NULL, ref);
	*ref = share_find(&w->build->share, &key);
	if (*ref == STORE_NONE)
		return rrset_pack_new(&p, raw_len, &key, ref);
	pack_hold_rrset(w, *ref);
	return NSD_OK;
}
