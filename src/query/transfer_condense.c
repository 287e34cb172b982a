/*
 * transfer_condense.c - makes one difference of several (RFC 1995 section 6):
 * without the SOAs between them, and without records that come and go.
 *
 * A record is told by owner, type and RDATA. Of all that happens to it, only
 * the first and the last change count. Where it is not certain what a client
 * would take for the same record, the differences are sent as they are.
 */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "query/transfer_state.h"
#include "zone/unpack.h"

/* Places that are looked at for a record, on average. The author of a zone
 * could have all its records share one. */
#define CONDENSE_PROBES 8u

struct step_change {
	struct history_rr rr;
	bool is_added;
	uint16_t first; /* change of the same record */
	uint16_t last;  /* in the first one */
};

struct condensing {
	struct history_rr old_soa, new_soa;
	struct step_change *changes; /* without those of SOAs, in order */
	size_t count, room;
	uint16_t *slots;        /* 1 + a first change, by hash; 0: none */
	uint32_t slot_mask;
	size_t probes;          /* probes that are left */
};

/* ---- records ------------------------------------------------------------- */

static uint32_t
condense_hash_octets(uint32_t hash, const uint8_t *octets, size_t len)
{
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ name_lower_octet(octets[i])) * 16777619u;
	return hash;
}

static uint32_t
condense_hash_record(const struct history_rr *rr)
{
	uint32_t hash = condense_hash_octets(2166136261u ^ rr->type, rr->labels,
		rr->labels_len);

	hash = condense_hash_octets(hash, rr->rdata, rr->rdlen);
	return hash ^ hash >> 15;
}

static bool
is_same_but_for_case(const struct history_rr *a, const struct history_rr *b)
{
	if (a->type != b->type || a->labels_len != b->labels_len
		|| a->rdlen != b->rdlen
		|| memcmp(a->labels, b->labels, a->labels_len) != 0)
		return false;
	for (size_t i = 0; i < a->rdlen; i++)
		if (name_lower_octet(a->rdata[i])
			!= name_lower_octet(b->rdata[i]))
			return false;
	return true;
}

/* True if a name in the RDATA may have a capital letter, and be there with a
 * pointer in one record and without in another that is equal. */
static bool
has_capitals(const struct history_rr *rr)
{
	if (unpack_name_fields(rrtype_get(rr->type)) == 0)
		return false;
	for (size_t i = 0; i < rr->rdlen; i++)
		if (rr->rdata[i] >= 'A' && rr->rdata[i] <= 'Z')
			return true;
	return false;
}

/* Finds the first change of the record of change i, which may be i itself.
 * False: it is not certain which that is, or takes too long. */
static bool
find_first(struct condensing *c, size_t i, size_t *first)
{
	const struct history_rr *rr = &c->changes[i].rr, *other;
	uint32_t slot = condense_hash_record(rr);

	if (has_capitals(rr))
		return false;
	for (; c->probes > 0; c->probes--, slot++) {
		uint16_t *at = &c->slots[slot & c->slot_mask];

		if (*at == 0) {
			*at = (uint16_t)(i + 1);
			*first = i;
			return true;
		}
		other = &c->changes[*at - 1].rr;
		if (is_same_but_for_case(rr, other)) {
			*first = *at - 1u;
			return memcmp(rr->rdata, other->rdata, rr->rdlen) == 0;
		}
	}
	return false;
}

/* ---- differences --------------------------------------------------------- */

static bool
add_change(struct condensing *c, const struct history_rr *rr, bool is_added)
{
	struct step_change *changes = grow_array(c->changes, c->count, &c->room,
		sizeof(*changes));

	if (changes == NULL)
		return false;
	c->changes = changes;
	c->changes[c->count++] = (struct step_change){
		.rr = *rr,
		.is_added = is_added,
	};
	return true;
}

/* Lists the changes of a difference. */
static bool
read_changeset(struct condensing *c, const struct zone_changeset *changeset,
	bool is_first)
{
	struct history_rr rr;
	struct cursor cursor;
	unsigned soas = 0;

	cursor_init(&cursor, changeset->data, changeset->len);
	while (cursor_left(&cursor) > 0) {
		if (history_read(&cursor, &rr) != NSD_OK)
			return false;
		if (rr.type == TYPE_SOA && ++soas == 1 && is_first)
			c->old_soa = rr;
		else if (rr.type == TYPE_SOA && soas == 2)
			c->new_soa = rr;
		else if (rr.type != TYPE_SOA
			&& (soas == 0 || !add_change(c, &rr, soas == 2)))
			return false;
	}
	return soas == 2;
}

static bool
read_changesets(struct condensing *c, const struct transfer *t)
{
	const struct history_path *path = &t->path;

	for (size_t i = path->count; i-- > 0;)
		if (!read_changeset(c, store_get(t->view, path->changesets[i]),
			    i + 1 == path->count))
			return false;
	return true;
}

/* Joins the changes of each record. False: some client might join them
 * otherwise, or there is no memory. */
static bool
join_changes(struct condensing *c)
{
	size_t slots = 16;

	while (slots < 2 * c->count)
		slots *= 2;
	c->slots = calloc(slots, sizeof(*c->slots));
	if (c->slots == NULL)
		return false;
	c->slot_mask = (uint32_t)slots - 1;
	c->probes = CONDENSE_PROBES * (c->count + 1);
	for (size_t i = 0; i < c->count; i++) {
		struct step_change *change = &c->changes[i];
		size_t first;

		if (!find_first(c, i, &first))
			return false;
		change->first = (uint16_t)first;
		/* A record must be added and removed in turn. */
		if (first != i && c->changes[c->changes[first].last].is_added
			== change->is_added)
			return false;
		c->changes[first].last = (uint16_t)i;
	}
	return true;
}

/* ---- the result ---------------------------------------------------------- */

/* True if a change is what remains of all those of its record. */
static bool
is_left(const struct condensing *c, size_t i)
{
	const struct step_change *first = &c->changes[c->changes[i].first];
	const struct step_change *last = &c->changes[first->last];

	/* The record was there and is there still: only a changed TTL is
	 * left. */
	if (!first->is_added && last->is_added
		&& first->rr.ttl_sec == last->rr.ttl_sec)
		return false;
	return c->changes[i].is_added ? &c->changes[i] == last
				      : &c->changes[i] == first;
}

static uint8_t *
put_record(uint8_t *out, const struct history_rr *rr)
{
	size_t len = (size_t)(rr->rdata + rr->rdlen - rr->labels);

	memcpy(out, rr->labels, len);
	return out + len;
}

static uint8_t *
put_changes(const struct condensing *c, uint8_t *out, bool is_added)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->changes[i].is_added == is_added && is_left(c, i))
			out = put_record(out, &c->changes[i].rr);
	return out;
}

/* Octets of all differences together; 0: they are not to be condensed. */
static size_t
count_octets(const struct transfer *t, size_t octets_max)
{
	size_t octets = 0;

	if (t->path.count < 2)
		return 0;
	for (size_t i = 0; i < t->path.count; i++) {
		const struct zone_changeset *changeset = store_get(t->view,
			t->path.changesets[i]);

		octets += changeset->len;
		if (octets > octets_max)
			return 0;
	}
	return octets;
}

size_t
transfer_condense(struct transfer *t, size_t octets_max)
{
	struct condensing c = {.changes = NULL};
	size_t octets = count_octets(t, octets_max);
	uint8_t *out = NULL, *end;

	if (octets > 0 && read_changesets(&c, t) && join_changes(&c))
		out = malloc(octets);
	if (out != NULL) {
		end = put_record(out, &c.old_soa);
		end = put_changes(&c, end, false);
		end = put_record(end, &c.new_soa);
		end = put_changes(&c, end, true);
		t->condensed = out;
		t->path.count = 0;
		cursor_init(&t->changeset, out, (size_t)(end - out));
	}
	free(c.changes);
	free(c.slots);
	return octets;
}
