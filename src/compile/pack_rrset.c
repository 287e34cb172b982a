/*
 * pack_rrset.c - packs an RRset into its form in the store. Names are
 * compressed; the offsets of their pointers, and of names whose addresses are
 * wanted, are listed. Equal contents are stored once.
 */
#include <string.h>

#include "base/assert.h"
#include "compile/pack_parts.h"
#include "dns/rdata.h"
#include "store/writer.h"
#include "zone/objects.h"

#define SUFFIXES_MAX 8192u    /* a label has two octets or more, so no more are
			       * within the reach of cells */
#define SUFFIXES_SEARCHED 64u /* the most suffixes that have no index */
#define SUFFIX_INDEX 2048u    /* slots at least; a power of two */
/* The most slots that are looked at: the names of a zone file decide how their
 * hashes collide. A suffix that is not found is written in full. */
#define SUFFIX_PROBES 64u
#define SENT_OFFSET_MAX 65535u

/* An RRset while it is packed. */
struct packing {
	struct packer *packer;
	struct rrset_scratch *scratch; /* the packer's */
	const struct item_group *group;
	const struct owner *owner;
	bool of_root;         /* the owner is the root */
	bool compress;        /* the type has names that may be */
	bool additional;      /* the type has a name that asks for addresses */
	uint8_t *out;         /* where the next octet goes */
	size_t sent;          /* sent offset of the next octet */
	unsigned fixup_count;
	unsigned target_count;
	unsigned suffix_count;
	uint32_t index_mask;  /* slots of the index of suffixes, less one */
};

/* Reads properties of a type from its row of the table. */
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

/* Finds where the labels of a name stand, and hashes its suffixes. Returns the
 * number of labels. */
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

/* If there are many suffixes, they have an index by hash: open addressing, with
 * the number of a suffix plus one. A few are searched one by one. */
static void
suffixes_index(const struct packing *p, unsigned number)
{
	uint16_t *index = p->scratch->suffix_index;
	uint32_t at = p->scratch->suffixes[number].hash;

	ASSERT_HOT(number < SUFFIXES_MAX);
	for (unsigned n = 0; n < SUFFIX_PROBES; n++, at++) {
		if (index[at & p->index_mask] != 0)
			continue;
		index[at & p->index_mask] = (uint16_t)(number + 1);
		return;
	}
}

static void
suffixes_index_new(struct packing *p)
{
	unsigned count = p->suffix_count++;

	if (count > SUFFIXES_SEARCHED) {
		suffixes_index(p, count);
	} else if (count == SUFFIXES_SEARCHED) {
		memset(p->scratch->suffix_index, 0, (p->index_mask + 1)
			* sizeof(*p->scratch->suffix_index));
		for (unsigned i = 0; i <= count; i++)
			suffixes_index(p, i);
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
	const struct rrset_scratch *scratch = p->scratch;
	unsigned number;

	if (p->suffix_count <= SUFFIXES_SEARCHED) {
		for (unsigned i = 0; i < p->suffix_count; i++)
			if (suffix_matches(&scratch->suffixes[i], suffix, len,
				    hash))
				return &scratch->suffixes[i];
		return NULL;
	}
	for (unsigned n = 0; n < SUFFIX_PROBES; n++) {
		number = scratch->suffix_index[(hash + n) & p->index_mask];
		if (number == 0)
			return NULL;
		if (suffix_matches(&scratch->suffixes[number - 1], suffix, len,
			    hash))
			return &scratch->suffixes[number - 1];
	}
	return NULL;
}

/* The pointer cell for a suffix (len octets without the root label) in the
 * apex or in an earlier name of the RRset; 0 if there is none. */
static uint16_t
suffix_find(const struct packing *p, const uint8_t *suffix, size_t len,
	uint32_t hash)
{
	const struct packer_zone *zone = p->packer->zone;
	const struct suffix *s;

	if (len < zone->apex_len) {
		size_t at = zone->apex_len - 1u - len;

		if (memcmp(zone->apex + at, suffix, len) == 0)
			return (uint16_t)(RRSET_CELL | at);
	}
	s = suffixes_find(p, suffix, len, hash);
	return s == NULL ? 0
		: (uint16_t)(RRSET_CELL | RRSET_CELL_INNER | s->sent);
}

/* Remembers where the suffixes of a name stand that begin with one of its first
 * `written` labels, which are written in full. */
static void
suffixes_add(struct packing *p, const uint8_t *name, const uint8_t *at,
	const uint32_t *hash, unsigned labels, unsigned written)
{
	for (unsigned i = 0; i < written; i++) {
		struct suffix *s = &p->scratch->suffixes[p->suffix_count];

		if (p->suffix_count == p->scratch->suffixes_room
			|| p->sent + at[i] >= RRSET_CELL_REACH)
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

/* Writes a name, its longest known suffix as a pointer. Returns its length in
 * the input. */
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
	ASSERT_HOT(p->fixup_count < p->scratch->names_room);
	p->scratch->fixups[p->fixup_count++] = (uint16_t)p->sent;
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

/* The name in lower case: a copy only if it is not so already. NULL without
 * memory. */
static const uint8_t *
target_lower(struct packer *packer, const uint8_t *name, size_t len)
{
	uint8_t *copy;
	size_t i = 0;

	while (i < len && name_lower_octet(name[i]) == name[i])
		i++;
	if (i == len)
		return name;
	copy = arena_alloc(packer->uses_arena, len);
	if (copy != NULL)
		for (i = 0; i < len; i++)
			copy[i] = name_lower_octet(name[i]);
	return copy;
}

/* True if name is at or below the owner. */
static bool
target_in_domain(const struct packer_zone *zone, const struct owner *owner,
	const uint8_t *name, size_t len)
{
	size_t owner_len = (size_t)owner->name_len + zone->apex_len, at = 0;

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
target_in_zone(const struct packer_zone *zone, const uint8_t *name, size_t len)
{
	const struct owner apex = {.name = zone->apex};

	return target_in_domain(zone, &apex, name, len);
}

static void
targets_note(struct packing *p, const struct rrbatch_rr *rr)
{
	const uint8_t *rdata = rrbatch_rr_rdata(rr), *name;
	int offset = rdata_additional_offset(rr->type, rdata, rr->rdlen);
	struct rrset_target *t = &p->scratch->targets[p->target_count];
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
	if (name_is_root(name) || !target_in_zone(p->packer->zone, name, len))
		rr = NULL;
	else if (rr->type == TYPE_NS
		&& target_in_domain(p->packer->zone, p->owner, name, len))
		t->flags |= TARGET_IN_DOMAIN;
	ASSERT_HOT(p->target_count < p->scratch->names_room);
	p->scratch->target_rrs[p->target_count++] = rr;
}

/* ---- the RRset --------------------------------------------------------- */

/* Makes room for the suffixes of names, and for their index if there may be
 * many. raw_len bounds their number. */
static enum nsd_err
packing_reserve_suffixes(struct packing *p, size_t raw_len)
{
	struct rrset_scratch *s = p->scratch;
	size_t suffixes = raw_len / 2 < SUFFIXES_MAX ? raw_len / 2
		: SUFFIXES_MAX;
	size_t slots = SUFFIX_INDEX;

	if (!p->compress)
		return NSD_OK;
	s->suffixes = packer_reserve(p->packer, s->suffixes,
		&s->suffixes_room, suffixes, sizeof(*s->suffixes));
	if (s->suffixes == NULL)
		return NSD_E_MEMORY;
	if (suffixes <= SUFFIXES_SEARCHED)
		return NSD_OK;
	while (slots < suffixes * 2)
		slots *= 2;
	s->suffix_index = packer_reserve(p->packer, s->suffix_index,
		&s->index_room, slots, sizeof(*s->suffix_index));
	p->index_mask = (uint32_t)slots - 1;
	return s->suffix_index == NULL ? NSD_E_MEMORY : NSD_OK;
}

/* Room for the names of the RRset. */
static enum nsd_err
packing_reserve_names(struct packing *p, size_t raw_len)
{
	struct rrset_scratch *s = p->scratch;
	size_t names = p->group->count * (size_t)RDATA_NAMES_MAX;
	size_t room = s->names_room;

	if (names > s->names_room) {
		s->fixups = packer_reserve(p->packer, s->fixups, &room, names,
			sizeof(*s->fixups));
		room = s->names_room;
		s->targets = packer_reserve(p->packer, s->targets, &room,
			names, sizeof(*s->targets));
		s->target_rrs = packer_reserve(p->packer, s->target_rrs,
			&s->names_room, names, sizeof(*s->target_rrs));
	}
	if (s->fixups == NULL || s->targets == NULL || s->target_rrs == NULL) {
		s->names_room = 0;
		return NSD_E_MEMORY;
	}
	return packing_reserve_suffixes(p, raw_len);
}

static enum nsd_err
packing_reserve(struct packing *p, size_t raw_len)
{
	struct rrset_scratch *s = p->scratch;

	if (raw_len > s->out_room) {
		s->out = packer_reserve(p->packer, s->out, &s->out_room,
			raw_len, 1);
		if (s->out == NULL)
			return NSD_E_MEMORY;
	}
	return p->compress || p->additional
		? packing_reserve_names(p, raw_len) : NSD_OK;
}

static void
packing_write(struct packing *p)
{
	/* Octets before RDATA. */
	size_t head = RRSET_RR_HEAD + 2u - p->of_root;

	p->out = p->scratch->out;
	for (size_t i = 0; i < p->group->count; i++) {
		const struct rrbatch_rr *rr = p->group->items[i].rr;
		uint8_t *length = p->out;

		p->out += 2;
		p->sent += head;
		if (p->additional)
			targets_note(p, rr);
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
	size_t len = (size_t)(p->out - p->scratch->out);
	size_t padded = (len + 3) & ~3u;
	size_t fixups = (p->fixup_count + 1u) & ~1u;
	size_t size = sizeof(struct rrset) + len;
	bool tail = p->fixup_count > 0 || p->target_count > 0;
	struct rrset_tail *t;
	struct rrset *r;

	if (tail)
		size = sizeof(*r) + padded + sizeof(*t) + fixups * 2
			+ p->target_count * sizeof(struct rrset_target);
	r = store_alloc(p->packer->heap, size, ref);
	if (r == NULL)
		return NULL;
	r->ttl_sec = p->group->ttl_sec;
	r->refs = 1;
	r->len_flags = (uint32_t)len | (tail ? RRSET_HAS_TAIL : 0)
		| (p->of_root ? RRSET_OWNER_ROOT : 0);
	r->type = p->group->type;
	r->count = (uint16_t)(p->group->count < UINT16_MAX ? p->group->count
							   : UINT16_MAX);
	memcpy(r->data, p->scratch->out, len);
	if (!tail)
		return r;
	memset(r->data + len, 0, padded - len);
	t = (struct rrset_tail *)(r->data + padded);
	t->fixup_count = (uint16_t)p->fixup_count;
	t->target_count = (uint16_t)p->target_count;
	if (fixups > p->fixup_count)
		t->fixups[p->fixup_count] = 0;
	memcpy(t->fixups, p->scratch->fixups, p->fixup_count * 2);
	memcpy(t->fixups + fixups, p->scratch->targets,
		p->target_count * sizeof(struct rrset_target));
	return r;
}

/* Puts targets that are in the zone on the list of uses. */
static enum nsd_err
packing_note_uses(struct packing *p, store_ref rrset)
{
	struct packer *packer = p->packer;

	for (unsigned i = 0; i < p->target_count; i++) {
		const struct rrbatch_rr *rr = p->scratch->target_rrs[i];
		struct target_use *use;
		const uint8_t *name;
		size_t len;

		if (rr == NULL)
			continue;
		name = rrbatch_rr_rdata(rr);
		name += rdata_additional_offset(rr->type, name, rr->rdlen);
		len = name_len(name);
		name = target_lower(packer, name, len);
		use = arena_alloc_zero(packer->uses_arena, sizeof(*use));
		if (use == NULL || name == NULL)
			return NSD_E_MEMORY;
		if (!owner_measure(&use->name, name, len, packer->zone->apex,
			    packer->zone->apex_len))
			continue;
		use->rr = rr;
		use->owner = p->owner;
		use->rrset = rrset;
		use->index = (uint16_t)i;
		use->next = packer->uses;
		packer->uses = use;
		packer->use_count++;
	}
	return NSD_OK;
}

/* Writes the RRset uncompressed, as the key for sharing. False: the RRset
 * is too large, or of a kind that is not shared. */
static bool
packing_make_key(struct packing *p, size_t raw_len, struct share_key *key,
	uint8_t *raw)
{
	uint8_t *at = raw;

	if (raw_len > SHARE_RAW_MAX || p->of_root
		|| !share_wants_type(p->group->type))
		return false;
	for (size_t i = 0; i < p->group->count; i++) {
		const struct rrbatch_rr *rr = p->group->items[i].rr;
		const uint8_t *rdata = rrbatch_rr_rdata(rr);

		/* A name server at or below the owner: no RRset is equal. */
		if (rr->type == TYPE_NS && target_in_domain(p->packer->zone,
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
	key->hash = share_hash(&p->packer->zone->share, key);
	return true;
}

void
pack_hold_rrset(struct packer *packer, store_ref ref)
{
	struct rrset *r = store_edit(packer->heap, ref);

	__atomic_fetch_add(&r->refs, 1, __ATOMIC_RELAXED);
}

static size_t
group_raw_len(const struct item_group *group)
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
	struct packer *packer = p->packer;
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
		if (share_add(&packer->zone->share, key, *ref, &found)
			!= NSD_OK) {
			store_free(packer->heap, *ref, rrset_size(rrset));
			return NSD_E_MEMORY;
		}
		if (found != *ref) {
			store_free(packer->heap, *ref, rrset_size(rrset));
			pack_hold_rrset(packer, found);
			*ref = found;
			return NSD_OK;
		}
	}
	/* No failure from here on: the node that gets the RRset frees it. */
	if (packing_note_uses(p, *ref) != NSD_OK)
		packer->err = NSD_E_MEMORY;
	return NSD_OK;
}

enum nsd_err
pack_rrset(struct packer *packer, const struct owner *owner,
	const struct item_group *group, store_ref *ref)
{
	struct packing p = {.packer = packer, .scratch = &packer->rrset,
		.group = group, .owner = owner,
		.of_root = owner->name_len == 0 && packer->zone->apex_len == 1};
	size_t raw_len = group_raw_len(group);
	uint8_t raw[SHARE_RAW_MAX];
	struct share_key key;

	if (raw_len > RRSET_LEN_MASK - 65536) {
		char text[NAME_TEXT_MAX];

		findings_add(&packer->findings, DIAG_ERROR, group->items[0].rr,
			"RRset at %s is too large",
			findings_name_text(owner->name, text));
		*ref = STORE_NONE;
		return NSD_OK;
	}
	if (!packing_make_key(&p, raw_len, &key, raw))
		return rrset_pack_new(&p, raw_len, NULL, ref);
	*ref = share_find(&packer->zone->share, &key);
	if (*ref == STORE_NONE)
		return rrset_pack_new(&p, raw_len, &key, ref);
	pack_hold_rrset(packer, *ref);
	return NSD_OK;
}
