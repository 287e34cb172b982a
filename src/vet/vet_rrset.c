/* vet_rrset.c - RRsets: their records, the cells of compressed names, and
 * targets. */
#include "base/assert.h"
#include "dns/rdata.h"
#include "vet/vet_part.h"
#include "zone/objects.h"
#include "zone/unpack.h"

#define SENT_MAX 65535u

/* An RRset while it is read. */
struct reading {
	struct vet_part *p;
	struct vet_scratch *s;
	const struct rrset *rrset;
	store_ref ref;
	const struct rrset_tail *tail; /* or NULL */
	const struct rrtype *row;
	unsigned fields;    /* up to the last name that may be compressed */
	const struct node *node; /* its holder; NULL: the chain */
	unsigned fixup;     /* index of the next one */
	unsigned target;    /* index of the next one */
	size_t sent;        /* sent offset of `at` */
	const uint8_t *at;  /* read up to here */
	const uint8_t *end; /* of the RDATA */
	uint8_t *out;       /* RDATA without cells is written here */
};

static bool
reading_fail(struct reading *r, const char *text)
{
	return vet_fail(r->p, VET_RRSET, r->ref, text);
}

/* ---- names ------------------------------------------------------------- */

/* Notes the labels from `at` to end: pointers of later names may lead there. */
static void
starts_add(struct vet_scratch *s, const uint8_t *at, const uint8_t *end,
	size_t sent)
{
	while (at < end && *at != 0 && !rrset_octet_is_cell(*at)
		&& sent < RRSET_CELL_REACH) {
		ASSERT_HOT(s->marked_count < RRSET_CELL_REACH);
		s->starts[sent] = at;
		s->marked[s->marked_count++] = (uint16_t)sent;
		sent += *at + 1u;
		at += *at + 1u;
	}
}

static void
starts_clear(struct vet_scratch *s)
{
	for (unsigned i = 0; i < s->marked_count; i++)
		s->starts[s->marked[i]] = NULL;
	s->marked_count = 0;
}

/* The label that a cell leads to; NULL: none. What stands there was read
 * before. */
static const uint8_t *
cell_follow(const struct reading *r, unsigned cell)
{
	const uint8_t *apex = r->p->zone->entry->name;
	unsigned to = cell & RRSET_CELL_OFFSET, at = 0;

	if ((cell & RRSET_CELL_INNER) != 0)
		return to < RRSET_CELL_REACH ? r->s->starts[to] : NULL;
	while (at < to && apex[at] != 0)
		at += apex[at] + 1u;
	return at == to && apex[at] != 0 ? apex + at : NULL;
}

/* Reads a cell, which has to be the next fixup of the RRset. Returns what it
 * leads to; NULL: it is wrong. */
static const uint8_t *
read_cell(struct reading *r)
{
	unsigned cell;

	if (r->end - r->at < 2 || r->tail == NULL
		|| r->fixup == r->tail->fixup_count
		|| r->tail->fixups[r->fixup] != r->sent)
		return NULL;
	r->fixup++;
	cell = octets_get_u16(r->at);
	r->at += 2;
	r->sent += 2;
	return (cell & RRSET_CELL) != 0 ? cell_follow(r, cell) : NULL;
}

/* Reads a name, and writes it without cells. False if it is malformed. */
static bool
read_name(struct reading *r)
{
	const uint8_t *start = r->at, *from = r->at, *limit = r->end;
	size_t start_sent = r->sent, len = 0;
	bool inside = true; /* of this RDATA; false behind a cell */

	for (;;) {
		unsigned octet;

		if (from == limit)
			return false;
		octet = *from;
		if (octet > 63 && inside) {
			r->at = from;
			r->sent = start_sent + (size_t)(from - start);
			from = read_cell(r);
			if (from == NULL)
				return false;
			inside = false;
			limit = NULL;
			continue;
		}
		if (octet > 63) {
			/* A cell of an earlier name, which was read and found
			 * right. */
			from = cell_follow(r, octets_get_u16(from));
			continue;
		}
		len += octet + 1u;
		if (len > NAME_MAX_LEN
			|| (inside && (size_t)(limit - from) < octet + 1u))
			return false;
		memcpy(r->out, from, octet + 1u);
		r->out += octet + 1u;
		from += octet + 1u;
		if (octet == 0)
			break;
	}
	if (inside) {
		r->at = from;
		r->sent = start_sent + (size_t)(from - start);
	}
	starts_add(r->s, start, r->at, start_sent);
	return true;
}

static bool
read_octets(struct reading *r, size_t len)
{
	if ((size_t)(r->end - r->at) < len)
		return false;
	memcpy(r->out, r->at, len);
	r->out += len;
	r->at += len;
	r->sent += len;
	return true;
}

/* ---- targets ----------------------------------------------------------- */

/* Is the name at or below the holder of this NS RRset? Such an RRset has one
 * holder only. */
static bool
target_in_domain(const struct reading *r, const uint8_t *name)
{
	const struct zone_entry *entry = r->p->zone->entry;
	uint8_t owner[2 * NAME_MAX_LEN];

	if (r->rrset->type != TYPE_NS || r->node == NULL)
		return false;
	memcpy(owner, r->node->name, r->node->leaf.name_len);
	memcpy(owner + r->node->leaf.name_len, entry->name,
		entry->leaf.name_len + 1u);
	return name_is_within(name, owner);
}

/* True if a cell belongs to that name, which is in the zone. */
static bool
cell_is_of(struct reading *r, store_ref cell, const uint8_t *name)
{
	unsigned len = (unsigned)name_len(name)
		- r->p->zone->entry->leaf.name_len - 1u;
	store_ref ref = cell - GLUE_CELL_GRANULES;
	const struct glue_target *t;

	if (cell == STORE_NONE)
		return false;
	t = vet_get(r->p, VET_TARGET, ref, sizeof(*t) + len);
	if (t == NULL || t->leaf.name_len != len)
		return false;
	for (unsigned i = 0; i < len; i++)
		if (t->name[i] != name_lower_octet(name[i]))
			return false;
	vet_hold(r->p, ref);
	return true;
}

/* The target of the record whose RDATA was read. False if it is not the one
 * that a build would note. */
static bool
read_target(struct reading *r, const uint8_t *rdata, size_t len,
	size_t rdata_sent)
{
	int offset = rdata_additional_offset(r->rrset->type, rdata, len);
	const struct rrset_target *t;
	const uint8_t *name = rdata + offset;
	unsigned flags = 0;

	if (offset < 0 || rdata_sent + (size_t)offset > SENT_MAX)
		return true;
	if (name_is_root(name) && r->rrset->type != TYPE_SVCB
		&& r->rrset->type != TYPE_HTTPS)
		return true;
	if (r->tail == NULL || r->target == r->tail->target_count)
		return false;
	t = &rrset_tail_targets(r->tail)[r->target++];
	if (t->offset != rdata_sent + (size_t)offset)
		return false;
	if (name_is_root(name)
		|| !name_is_within(name, r->p->zone->entry->name))
		return t->flags == 0 && t->glue == STORE_NONE;
	if (target_in_domain(r, name))
		flags = TARGET_IN_DOMAIN;
	/* In-domain for this holder, so no other one may have it. */
	return t->flags == flags && (flags == 0 || r->rrset->refs == 1)
		&& cell_is_of(r, t->glue, name);
}

/* ---- records ----------------------------------------------------------- */

static bool
read_rdata(struct reading *r)
{
	const uint8_t *rdata = r->at;
	size_t len = (size_t)(r->end - r->at), rdata_sent = r->sent;
	const char *why;

	if (r->fields > 0) {
		rdata = r->out = r->s->rdata;
		for (unsigned i = 0; i < r->fields; i++)
			if (!(r->row->fields[i] == FIELD_NAME_COMPRESSED
					? read_name(r)
					: read_octets(r, unpack_field_len(
						r->row->fields[i]))))
				return reading_fail(r,
					"has a name that is none");
		if (!read_octets(r, (size_t)(r->end - r->at)))
			return false;
		len = (size_t)(r->out - rdata);
	} else {
		r->sent += len;
		r->at = r->end;
	}
	if (rdata_check(r->rrset->type, rdata, len, &why) == NSD_E_WIRE)
		return reading_fail(r, "has RDATA that is not of its type");
	return (r->row->flags & RR_ADDITIONAL) == 0
		|| read_target(r, rdata, len, rdata_sent)
		|| reading_fail(r, "has a name that wants addresses, and no"
				   " target for it");
}

static bool
read_records(struct reading *r)
{
	const uint8_t *end = r->rrset->data + rrset_len(r->rrset);
	size_t count = 0;

	r->at = r->rrset->data;
	while (r->at < end) {
		size_t len;

		if (end - r->at < 2)
			return reading_fail(r, "ends within a record");
		len = octets_get_u16(r->at);
		r->at += 2;
		r->sent += rrset_rr_head(r->rrset) + 2u;
		if ((size_t)(end - r->at) < len)
			return reading_fail(r, "ends within a record");
		r->end = r->at + len;
		if (!read_rdata(r))
			return false;
		count++;
	}
	r->p->rrs += count;
	if (count == 0
		|| r->rrset->count != (count < UINT16_MAX ? count : UINT16_MAX))
		return reading_fail(r, "has not as many records as it says");
	if (r->tail != NULL
		&& (r->fixup != r->tail->fixup_count
			|| r->target != r->tail->target_count
			|| r->fixup + r->target == 0))
		return reading_fail(r,
			"has offsets where there is nothing for them");
	return true;
}

/* ---- RRsets ------------------------------------------------------------ */

/* The size of an RRset, all of which lies in the store; else 0 and a fault. */
static size_t
rrset_reach(struct vet_part *p, store_ref ref)
{
	const struct rrset *rrset = vet_get(p, VET_RRSET, ref,
		sizeof(*rrset));
	const struct rrset_tail *tail;

	if (rrset == NULL || vet_get(p, VET_RRSET, ref,
			sizeof(*rrset) + rrset_len(rrset)) == NULL)
		return 0;
	tail = rrset_get_tail(rrset);
	if (tail != NULL && vet_get(p, VET_RRSET, ref,
			(size_t)((const uint8_t *)(tail + 1)
				- (const uint8_t *)rrset)) == NULL)
		return 0;
	return vet_get(p, VET_RRSET, ref, rrset_size(rrset)) == NULL
		? 0 : rrset_size(rrset);
}

/* The number of records of an RRset that was looked at. A count of UINT16_MAX
 * means "or more", so they are counted then. */
static size_t
rrset_count(const struct rrset *rrset)
{
	const uint8_t *at = rrset->data, *end = at + rrset_len(rrset);
	size_t count = 0;

	if (rrset->count < UINT16_MAX)
		return rrset->count;
	for (; end - at >= 2; at += 2 + octets_get_u16(at)) {
		count++;
		if (end - at < 2 + octets_get_u16(at))
			break;
	}
	return count;
}

bool
vet_rrset(struct vet_part *p, store_ref ref, uint16_t type,
	const struct node *node)
{
	struct reading r = {.p = p, .s = p->scratch, .ref = ref, .node = node};
	enum store_claim claim = CLAIM_SAME;
	size_t size;
	bool right;

	/* If it is claimed, it lies in the store as a whole. */
	if (!store_claim_is(p->vet->claims, ref, VET_RRSET)) {
		size = rrset_reach(p, ref);
		if (size == 0)
			return false;
		claim = store_claim(p->vet->claims, ref, size, VET_RRSET);
	}
	r.rrset = store_get(p->vet->view, ref);
	if (claim == CLAIM_WRONG)
		return vet_fail(p, VET_RRSET, ref,
			"is not in use, or used twice");
	if (r.rrset->type != type)
		return vet_fail(p, VET_RRSET, ref, "is of another type");
	if (((r.rrset->len_flags & RRSET_OWNER_ROOT) != 0)
		!= (node != NULL && node->leaf.labels == 0
			&& p->zone->entry->leaf.name_len == 0))
		return vet_fail(p, VET_RRSET, ref, "is of another owner");
	vet_hold(p, ref);
	if (claim == CLAIM_SAME) {
		p->rrs += rrset_count(r.rrset);
		return true;
	}
	vet_held(p, ref, r.rrset->refs);
	if ((r.rrset->len_flags & ~(RRSET_LEN_MASK | RRSET_HAS_TAIL
			| RRSET_OWNER_ROOT)) != 0)
		return vet_fail(p, VET_RRSET, ref, "has unknown flags");
	r.tail = rrset_get_tail(r.rrset);
	r.row = rrtype_get(type);
	r.fields = unpack_name_fields(r.row);
	right = read_records(&r);
	starts_clear(r.s);
	if (right)
		vet_index_rrset(p, ref);
	return right;
}
