/* audit_change.c - audits the owners that a change has touched, and their place
 * in the NSEC chain. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "audit/audit_change.h"
#include "base/grow.h"
#include "zone/nsec3.h"
#include "zone/zone.h"

/* Steps over names without an NSEC, as below a cut, in all. */
#define STEPS_MAX 1000000u

/* ---- look-ups ------------------------------------------------------------ */

static void
touched_make_name(const struct audit_touched *t, const struct node *node,
	uint8_t out[NAME_MAX_LEN])
{
	memcpy(out, trie_leaf_name(&node->leaf), node->leaf.name_len);
	memcpy(out + node->leaf.name_len, t->audit->options->apex,
		t->audit->apex_len);
}

/* Makes the name of a node that should have an NSEC. False: it should not. */
static bool
touched_take(struct audit_touched *t, store_ref ref, uint8_t out[NAME_MAX_LEN])
{
	const struct node *node = store_get(t->view, ref);

	t->steps++;
	if (!audit_node_is_visible(node))
		return false;
	touched_make_name(t, node, out);
	return true;
}

/* Finds the name before or behind one, among those that should have an NSEC.
 * False: there is none, or it took too many steps. */
static bool
touched_find_before(struct audit_touched *t, const uint8_t *name,
	uint8_t out[NAME_MAX_LEN])
{
	uint8_t label_at[NAME_MAX_LABELS + 1];
	struct trie_name split;
	struct trie_back back;
	store_ref ref;

	if (!audit_touched_split(t, name, &split, label_at))
		return false;
	trie_back_init(&back, t->view, &t->zone->names.root, &split);
	while (t->steps < STEPS_MAX
		&& (ref = trie_back_next(&back)) != STORE_NONE)
		if (touched_take(t, ref, out))
			return true;
	return false;
}

static bool
touched_find_behind(struct audit_touched *t, const uint8_t *name,
	uint8_t out[NAME_MAX_LEN])
{
	uint8_t label_at[NAME_MAX_LABELS + 1];
	struct trie_name split;
	struct trie_iter iter;
	store_ref ref;

	if (!audit_touched_split(t, name, &split, label_at))
		return false;
	trie_iter_init_after(&iter, t->view, &t->zone->names.root, &split);
	while (t->steps < STEPS_MAX
		&& (ref = trie_iter_next(&iter)) != STORE_NONE)
		if (touched_take(t, ref, out))
			return true;
	return false;
}

/* Reads the records of a name into audit->owner. */
static enum nsd_err
touched_read(struct audit_touched *t, const uint8_t *name)
{
	struct audit_owner *o = &t->audit->owner;
	const struct node *node = audit_touched_find(t, t->zone, name);
	enum nsd_err err = NSD_OK;
	struct zone_rr rr;

	audit_owner_begin(o, name, name_len(name));
	zone_cursor_seek(t->cursor, name);
	while (err == NSD_OK && zone_cursor_next(t->cursor, &rr))
		err = audit_owner_add(o, &rr);
	(void)audit_owner_classify(t->audit, o, node != NULL
		&& (node->flags & NODE_OCCLUDED) != 0);
	return err;
}

/* ---- the names ----------------------------------------------------------- */

static int
touched_compare(const void *a, const void *b)
{
	return name_compare(*(const uint8_t *const *)a,
		*(const uint8_t *const *)b);
}

/* Sorts names, and drops those that come again. Returns how many are left. */
static size_t
touched_sort(const uint8_t **names, size_t count)
{
	size_t kept = 0;

	if (count > 1)
		qsort(names, count, sizeof(*names), touched_compare);
	for (size_t i = 0; i < count; i++)
		if (kept == 0 || !name_equal(names[kept - 1], names[i]))
			names[kept++] = names[i];
	return kept;
}

static bool
touched_has(const struct audit_touched *t, const uint8_t *name)
{
	return bsearch(&name, t->names, t->count, sizeof(*t->names),
		touched_compare) != NULL;
}

/* NSD_E_LIMIT: there are too many. */
static enum nsd_err
touched_add(struct audit_touched *t, const uint8_t *name)
{
	const uint8_t **names;

	if (t->count >= AUDIT_CHANGE_NAMES_MAX)
		return NSD_E_LIMIT;
	names = grow_array(t->names, t->count, &t->room, sizeof(*names));
	if (names == NULL)
		return NSD_E_MEMORY;
	t->names = names;
	t->names[t->count++] = name;
	return NSD_OK;
}

/* Adds the names below one. */
static enum nsd_err
touched_add_below(struct audit_touched *t, const uint8_t *name)
{
	uint8_t label_at[NAME_MAX_LABELS + 1], owner[NAME_MAX_LEN];
	struct trie_name split;
	struct trie_iter iter;
	store_ref ref;
	enum nsd_err err = NSD_OK;

	if (!audit_touched_split(t, name, &split, label_at))
		return NSD_OK;
	trie_iter_init_below(&iter, t->view, &t->zone->names.root, &split);
	while (err == NSD_OK && (ref = trie_iter_next(&iter)) != STORE_NONE) {
		uint8_t *copy;

		touched_make_name(t, store_get(t->view, ref), owner);
		copy = arena_copy(&t->arena, owner, name_len(owner));
		err = copy != NULL ? touched_add(t, copy) : NSD_E_MEMORY;
	}
	return err;
}

static bool
node_hides(const struct node *node)
{
	return node != NULL && (node->flags & NODE_OCCLUDED) == 0
		&& (node->flags & (NODE_CUT | NODE_DNAME)) != 0;
}

/* Gathers the names: those of the change, and those that it hides or shows. */
static enum nsd_err
touched_gather(struct audit_touched *t, const struct audit_change *change)
{
	size_t count = touched_sort(change->owners, change->count);
	enum nsd_err err = NSD_OK;

	for (size_t i = 0; i < count && err == NSD_OK; i++) {
		const uint8_t *name = change->owners[i];

		err = touched_add(t, name);
		if (err == NSD_OK
			&& node_hides(audit_touched_find(t, t->served, name))
				!= node_hides(audit_touched_find(t, t->zone,
					name)))
			err = touched_add_below(t, name);
	}
	if (t->count > count)
		t->count = touched_sort(t->names, t->count);
	return err;
}

/* ---- changes that concern all of the zone ---------------------------------*/

static bool
touched_apex_has_same(const struct audit_touched *t, uint16_t type)
{
	const struct node *a = store_get(t->view, t->served->apex);
	const struct node *b = store_get(t->view, t->zone->apex);
	const struct node_rrset *x = node_find_entry(a, type);
	const struct node_rrset *y = node_find_entry(b, type);
	const struct rrset *r, *s;

	if (x == NULL || y == NULL)
		return x == y;
	r = store_get(t->view, x->ref);
	s = store_get(t->view, y->ref);
	return r == s || (rrset_len(r) == rrset_len(s)
		&& memcmp(r->data, s->data, rrset_len(r)) == 0);
}

static bool
touched_apex_has(const struct audit_touched *t, uint16_t type)
{
	const struct node *apex = store_get(t->view, t->zone->apex);

	return node_find_entry(apex, type) != NULL;
}

/* True if the NSEC3 chain in use is the one that the apex names, and only
 * that. */
static bool
chain_is_simple(const struct audit_touched *t)
{
	const struct audit_nsec3 *n = &t->audit->nsec3;
	const struct nsec3_chain *chain;

	if (t->zone->chain == STORE_NONE || t->served->chain == STORE_NONE
		|| t->audit->nsec.wanted)
		return false;
	chain = store_get(t->view, t->zone->chain);
	return (chain->flags & NSEC3_CHAIN_COSTLY) == 0
		&& chain->iterations == n->params[0].iterations
		&& chain->iterations <= AUDIT_ITERATIONS_MAX
		&& chain->salt_len == n->params[0].salt_len
		&& memcmp(chain->salt, n->params[0].salt, chain->salt_len)
			== 0;
}

/* Finds the algorithms that sign the DNSKEY RRset of a version. */
static enum nsd_err
touched_find_algorithms(const struct audit_touched *t, const struct zone *zone,
	uint8_t bits[32])
{
	const uint8_t *apex = t->audit->options->apex;
	struct zone_cursor *cursor;
	struct zone_rr rr;
	enum nsd_err err = zone_cursor_create(t->view, zone, apex, &cursor);

	if (err != NSD_OK)
		return err;
	memset(bits, 0, 32);
	zone_cursor_seek(cursor, apex);
	while (zone_cursor_next(cursor, &rr))
		if (rr.type == TYPE_RRSIG && rr.rdlen >= RRSIG_HEAD
			&& octets_get_u16(rr.rdata) == TYPE_DNSKEY)
			bits[rr.rdata[2] / 8] |=
				(uint8_t)(1u << rr.rdata[2] % 8);
	zone_cursor_destroy(cursor);
	return NSD_OK;
}

/* NSD_E_LIMIT: other algorithms sign the DNSKEY RRset than before, so that
 * other RRSIGs are needed. */
static enum nsd_err
touched_check_algorithms(const struct audit_touched *t)
{
	uint8_t before[32], now[32];
	enum nsd_err err = touched_find_algorithms(t, t->served, before);

	if (err == NSD_OK)
		err = touched_find_algorithms(t, t->zone, now);
	return err == NSD_OK && memcmp(before, now, sizeof(now)) != 0
		? NSD_E_LIMIT : err;
}

/* Reads the apex. NSD_E_LIMIT: all of the zone is to be audited. */
static enum nsd_err
touched_read_apex(struct audit_touched *t)
{
	struct audit *audit = t->audit;
	enum nsd_err err;

	if (!touched_apex_has_same(t, TYPE_DNSKEY)
		|| !touched_apex_has(t, TYPE_DNSKEY)
		|| !touched_apex_has_same(t, TYPE_NSEC3PARAM)
		|| ((t->served->flags ^ t->zone->flags)
			& (ZONE_NSEC | ZONE_NSEC3)) != 0)
		return NSD_E_LIMIT;
	err = touched_check_algorithms(t);
	if (err == NSD_OK)
		err = touched_read(t, audit->options->apex);
	if (err == NSD_OK)
		err = audit_apex_read(audit, &audit->owner);
	if (err != NSD_OK)
		return err;
	switch (audit->nsec3.param_count) {
	case 0:
		/* Without an NSEC in the zone, each name would be told of. */
		return touched_apex_has(t, TYPE_NSEC) ? NSD_OK : NSD_E_LIMIT;
	case 1:
		return chain_is_simple(t) ? NSD_OK : NSD_E_LIMIT;
	default:
		return NSD_E_LIMIT;
	}
}

/* ---- each name ----------------------------------------------------------- */

/* Checks the NSEC of the name in audit->owner, those that lead to it, and over
 * it if it is gone. */
static enum nsd_err
touched_check_nsec(struct audit_touched *t, const uint8_t *name)
{
	struct audit *audit = t->audit;
	const uint8_t *apex = audit->options->apex;
	uint8_t other[NAME_MAX_LEN];
	enum nsd_err err;

	audit->nsec.has_previous = false;
	if (!name_equal(name, apex) && touched_find_before(t, name, other)
		&& !touched_has(t, other)) {
		err = touched_read(t, other);
		if (err != NSD_OK)
			return err;
		audit_nsec_begin(audit, &audit->owner);
		err = touched_read(t, name);
		if (err != NSD_OK)
			return err;
	}
	if (audit->owner.group_count > 0)
		audit_nsec_name(audit, &audit->owner);
	audit_nsec_check_next(audit, touched_find_behind(t, name, other)
		? other : apex);
	audit->nsec.has_previous = false;
	return t->steps < STEPS_MAX ? NSD_OK : NSD_E_LIMIT;
}

static enum nsd_err
touched_check(struct audit_touched *t, const uint8_t *name)
{
	struct audit *audit = t->audit;
	enum nsd_err err = touched_read(t, name);

	if (err == NSD_OK && audit->nsec.wanted)
		err = touched_check_nsec(t, name);
	if (err != NSD_OK)
		return err;
	audit_owner_check_types(audit, &audit->owner);
	err = audit_owner_check_rrsets(audit, &audit->owner);
	if (err == NSD_OK && audit->nsec3.param_count > 0)
		err = audit_hashes_add(t, name);
	return err;
}

static enum nsd_err
touched_run(struct audit_touched *t, const struct audit_change *change)
{
	struct audit *audit = t->audit;
	enum nsd_err err = zone_cursor_create(t->view, t->zone,
		audit->options->apex, &t->cursor);

	if (err == NSD_OK)
		err = touched_read_apex(t);
	if (err == NSD_OK)
		err = touched_gather(t, change);
	for (size_t i = 0; i < t->count && err == NSD_OK; i++)
		err = touched_check(t, t->names[i]);
	if (err != NSD_OK)
		return err;
	/* The owner at hand is checked already. */
	audit->owner.name_len = 0;
	err = audit_settle(audit);
	if (err == NSD_OK && touched_has(t, audit->options->apex))
		audit_keys_finish(audit);
	return err == NSD_OK && audit->nsec3.param_count > 0
		? audit_hashes_check(t) : err;
}

enum nsd_err
audit_change(const struct store_view *view, const struct audit_change *change,
	const struct audit_options *options, struct diag_sink *sink,
	struct audit_report *report)
{
	struct audit_touched t = {.view = view, .served = change->served,
		.zone = change->zone};
	enum nsd_err err;

	assert(options->strict);
	memset(report, 0, sizeof(*report));
	err = audit_create(options, &t.audit);
	if (err != NSD_OK)
		return err;
	arena_init(&t.arena, NULL, 0);
	arena_init(&t.scratch, NULL, 0);
	err = touched_run(&t, change);
	if (err == NSD_OK)
		audit_tell(t.audit, sink, report);
	zone_cursor_destroy(t.cursor);
	free(t.names);
	free(t.hashes);
	arena_fini(&t.scratch);
	arena_fini(&t.arena);
	audit_destroy(t.audit);
	return err;
}
