/* xfrd_catalog_round.c - looks at a version of a catalog: first whether it is
 * valid, then at its members; all of them, or those that have changed. */
#include "config.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/log.h"
#include "journal/journal.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_catalogs.h"
#include "xfrd/xfrd_edit.h"
#include "xfrd/xfrd_member_id.h"
#include "zone/table.h"

/* Names of the catalog that are looked at in a turn of the loop; and nodes that
 * are looked up, or members that are compared with their zones, which takes
 * ten times as long. */
#define TURN_NAMES 2000u
#define TURN_MEMBERS 250u
/* Nodes that have changed, and are found in one turn; if there are more, all
 * members are looked at. */
#define NODES_MAX 20000u

static void
round_unpin(struct xfrd_catalog *catalog)
{
	struct catalog_round *round = catalog->round;

	if (round->is_pinned)
		store_reader_unpin(catalog->xfrd->reader, &round->pin);
	round->is_pinned = false;
}

/* ---- versions ----------------------------------------------------------- */

/* Notes that the version is not valid; the log gets it once. */
static void
round_refuse(struct xfrd_catalog *catalog, const char *why)
{
	const struct catalog_round *round = catalog->round;

	/* NSD's text, and what becomes of the members. */
	if (strcmp(catalog->invalid, why) != 0)
		log_error("invalid catalog consumer zone '%s': %s (serial %u;"
			  " its member zones stay as they are)",
			catalog->name + strlen("catalog "), why,
			(unsigned)round->zone->serial);
	snprintf(catalog->invalid, sizeof(catalog->invalid), "%s", why);
	catalog->invalid_serial = round->zone->serial;
	catalog->invalid_zone = round->ref;
}

/* Prints the fault of a version, beginning with NSD's text if it has one. */
static void
fault_print(const struct xfrd_catalog *catalog, char *out, size_t size)
{
	const struct catalog_round *round = catalog->round;
	char apex[NAME_TEXT_MAX], name[NAME_TEXT_MAX];
	char id[XFRD_MEMBER_ID_MAX] = "";

	name_print_text(catalog->apex, apex);
	if (round->fault_label[0] != 0)
		(void)xfrd_member_id_print(round->fault_label, catalog->apex,
			id);
	switch (round->fault) {
	case CATALOG_FAULT_NONE:
		break;
	case CATALOG_FAULT_NO_VERSION:
		snprintf(out, size, "'version.%s' TXT RRset not found", apex);
		break;
	case CATALOG_FAULT_VERSIONS:
	case CATALOG_FAULT_VERSION:
		snprintf(out, size, "'version.%s' TXT RR with value \"2\" not"
			" found: %s", apex, catalog_fault_text(round->fault));
		break;
	case CATALOG_FAULT_PTRS:
		snprintf(out, size, "only a single PTR RR expected on '%s'",
			id);
		break;
	case CATALOG_FAULT_COOS:
		snprintf(out, size, "only a single PTR RR expected on"
			" 'coo.%s'", id);
		break;
	case CATALOG_FAULT_TWICE:
		name_print_text(round->fault_name, name);
		snprintf(out, size, "'%s' and another member node have the"
			" same name '%s'", id, name);
		break;
	}
}

/* True if the same version was looked at before. */
static bool
version_is_known(const struct xfrd_catalog *catalog)
{
	const struct catalog_round *round = catalog->round;

	if (catalog->whole || catalog->again_count > 0)
		return false;
	if (*catalog->invalid != '\0')
		return catalog->invalid_serial == round->zone->serial
			&& catalog->invalid_zone == round->ref;
	return xfrd_catalog_has_compared(catalog);
}

/* ---- names that come twice ----------------------------------------------- */

/* Notes the name of a member. False: it was noted before. */
static bool
names_add(struct catalog_round *round, const struct xfrd *xfrd,
	const uint8_t *name)
{
	uint64_t hash = siphash(xfrd->zones.table.key, name, name_len(name), 1,
		3) | 1;
	size_t mask = round->name_room - 1, at = (size_t)(hash >> 1) & mask;

	while (round->names[at] != 0 && round->names[at] != hash)
		at = (at + 1) & mask;
	if (round->names[at] == hash)
		return false;
	round->names[at] = hash;
	return true;
}

/* Makes room for so many names. */
static enum nsd_err
names_init(struct catalog_round *round, uint64_t count)
{
	size_t room = 64;

	while (room / 2 < count)
		room *= 2;
	round->name_room = room;
	round->names = calloc(room, sizeof(*round->names));
	return round->names != NULL ? NSD_OK : NSD_E_MEMORY;
}

/* Returns the ID of the member with a name that is here, or was refused. NULL:
 * there is none. */
static const char *
name_get_id(const struct xfrd_catalog *catalog, const uint8_t *name)
{
	const struct xfrd_zone_table *table = &catalog->xfrd->zones.table;
	const struct xfrd_refused_member *refused = xfrd_members_find_refused(
		&catalog->members, name);
	const struct xfrd_zone *zone;

	if (refused != NULL)
		return refused->id;
	zone = xfrd_zone_find(table, name);
	return zone != NULL ? xfrd_zone_member(table, zone) : NULL;
}

/* True if another node has the name of a member, too. */
static bool
member_is_twice(const struct xfrd_catalog *catalog,
	const struct catalog_member *member)
{
	const struct catalog_round *round = catalog->round;
	const char *id = name_get_id(catalog, member->name);
	uint8_t label[CATALOG_LABEL_SIZE], apex[NAME_MAX_LEN];
	struct catalog_member other;

	return id != NULL && xfrd_member_id_parse(id, label, apex)
		&& name_equal(apex, catalog->apex)
		&& memcmp(label, member->label, 1u + *label) != 0
		&& catalog_find(round->view, round->zone, catalog->apex, label,
			   &other)
			== NSD_OK
		&& name_equal(other.name, member->name);
}

/* ---- the nodes that have changed ----------------------------------------- */

static bool
nodes_add(struct catalog_round *round, const uint8_t *label)
{
	struct catalog_node *nodes;

	if (round->node_count >= NODES_MAX)
		return false;
	nodes = grow_array(round->nodes, round->node_count, &round->node_room,
		sizeof(*nodes));
	if (nodes == NULL)
		return false;
	round->nodes = nodes;
	nodes += round->node_count++;
	memset(nodes, 0, sizeof(*nodes));
	memcpy(nodes->label, label, 1u + *label);
	return true;
}

/* Takes a record that has come or gone. */
static bool
nodes_on_change(void *ctx, const struct catalog_change *change)
{
	struct catalog_round *round = ctx;
	struct catalog_node *node;
	size_t len;

	if (!nodes_add(round, change->label))
		return false;
	node = &round->nodes[round->node_count - 1];
	if (!change->is_ptr)
		return true;
	node->more = change->is_removed ? -1 : 1;
	if (!change->is_removed)
		return true;
	len = name_len(change->target);
	node->gone = arena_alloc(&round->arena, sizeof(*node->gone) + len);
	if (node->gone == NULL)
		return false;
	node->gone->next = NULL;
	memcpy(node->gone->name, change->target, len);
	return true;
}

static int
nodes_compare(const void *a, const void *b)
{
	const struct catalog_node *one = a, *other = b;
	int order = memcmp(one->label, other->label, sizeof(one->label));

	/* In the order in which they came. */
	return order != 0 ? order
		: (one->order > other->order) - (one->order < other->order);
}

/* Sorts the nodes, and leaves one of each label. */
static void
nodes_join(struct catalog_round *round)
{
	size_t kept = 0;

	for (size_t i = 0; i < round->node_count; i++)
		round->nodes[i].order = i;
	if (round->node_count > 1)
		qsort(round->nodes, round->node_count, sizeof(*round->nodes),
			nodes_compare);
	for (size_t i = 0; i < round->node_count; i++) {
		struct catalog_node *node = &round->nodes[i];
		struct catalog_node *last = &round->nodes[kept - (kept > 0)];

		if (kept == 0 || memcmp(last->label, node->label,
				sizeof(node->label)) != 0) {
			round->nodes[kept++] = *node;
			continue;
		}
		last->more += node->more;
		if (node->gone != NULL) {
			node->gone->next = last->gone;
			last->gone = node->gone;
		}
	}
	round->node_count = kept;
}

/* Finds the nodes that are to be looked at. False: all members are. */
static bool
round_find_nodes(struct xfrd_catalog *catalog, const struct zone_entry *entry)
{
	struct catalog_round *round = catalog->round;
	enum nsd_err err = NSD_OK;

	if (catalog->whole || catalog->all || catalog->is_back
		|| !catalog->is_compared)
		return false;
	if (catalog->serial != round->zone->serial)
		err = catalog_changes(round->view, entry, catalog->apex,
			catalog->serial, round->zone->serial, nodes_on_change,
			round);
	else if (catalog->zone != round->ref)
		return false; /* the serial stays, and the records do not */
	for (size_t i = 0; i < catalog->again_count && err == NSD_OK; i++)
		if (!nodes_add(round, catalog->again[i]))
			err = NSD_E_LIMIT;
	if (err == NSD_OK)
		nodes_join(round);
	return err == NSD_OK;
}

/* Begins to count the members, which stay, as no version says which there are.
 * False: that is not needed. */
static bool
round_count_members(struct xfrd_catalog *catalog)
{
	struct catalog_round *round = catalog->round;

	if (catalog->is_compared || catalog->is_counted)
		return false;
	round->step = CATALOG_WAIT;
	round->is_broken = true;
	round_unpin(catalog);
	xfrd_members_begin(&catalog->members, XFRD_ROUND_COUNT);
	xfrd_members_end(&catalog->members);
	return true;
}

/* ---- the check of a version ---------------------------------------------- */

/* Takes a member of the check. False: the version is not valid. */
static bool
check_member(struct xfrd_catalog *catalog, const struct catalog_member *member)
{
	enum catalog_fault fault = member->fault;

	catalog->steps++;
	if (fault == CATALOG_FAULT_NONE
		&& !names_add(catalog->round, catalog->xfrd, member->name))
		fault = CATALOG_FAULT_TWICE;
	if (fault == CATALOG_FAULT_NONE && catalog->round->is_part
		&& member_is_twice(catalog, member))
		fault = CATALOG_FAULT_TWICE;
	catalog->round->fault = fault;
	memcpy(catalog->round->fault_label, member->label,
		sizeof(member->label));
	memcpy(catalog->round->fault_name, member->name,
		sizeof(member->name));
	return fault == CATALOG_FAULT_NONE;
}

static bool
check_on_member(void *ctx, const struct catalog_member *member)
{
	struct xfrd_catalog *catalog = ctx;

	catalog->round->count++;
	return check_member(catalog, member);
}

/* Checks a node, and counts how many members more there are with it. */
static void
round_check_node(struct xfrd_catalog *catalog, struct catalog_node *node)
{
	struct catalog_round *round = catalog->round;
	struct catalog_member member;
	bool is_there = catalog_find(round->view, round->zone, catalog->apex,
		node->label, &member) == NSD_OK;
	bool was_there;

	/* PTR records before the changes: versions that were not valid may
	 * lie between. */
	was_there = (is_there ? 1 : 0) - node->more > 0;
	round->count += is_there;
	round->count -= was_there && round->count > 0;
	if (is_there)
		(void)check_member(catalog, &member);
	else
		catalog->steps++;
}

/* True if a version that was looked at is taken; else text is the reason. */
static bool
round_check_end(struct xfrd_catalog *catalog, bool *is_empty,
	char text[XFRD_INVALID_MAX])
{
	struct catalog_round *round = catalog->round;
	struct xfrd_zone *zone = xfrd_zone_find(&catalog->xfrd->zones.table,
		catalog->apex);
	struct xfrd_options options;
	bool valid = true;

	if (round->fault != CATALOG_FAULT_NONE) {
		fault_print(catalog, text, XFRD_INVALID_MAX);
		return false;
	}
	assert(zone != NULL);
	options = xfrd_options_begin(catalog->xfrd, zone);
	*is_empty = round->count == 0;
	if (options.pattern != NULL) {
		uint32_t max = options.pattern->catalog.max;

		*is_empty &= options.pattern->catalog.empty_deletes == 0;
		if (max > 0 && round->count > max) {
			snprintf(text, XFRD_INVALID_MAX, "there are more than"
				" %u members (catalog-max)", (unsigned)max);
			valid = false;
		}
	}
	xfrd_read_end(catalog->xfrd);
	return valid;
}

/* Begins to tell of the members, as the version is valid. */
static void
round_apply(struct xfrd_catalog *catalog, bool is_empty)
{
	struct catalog_round *round = catalog->round;

	xfrd_catalog_tell_valid(catalog);
	if (*catalog->invalid != '\0')
		log_notice("%s: the version with serial %u is valid",
			catalog->name, (unsigned)round->zone->serial);
	*catalog->invalid = '\0';
	free(round->names);
	round->names = NULL;
	round->step = CATALOG_APPLY;
	round->next = 0;
	round->walk = (struct catalog_walk){.is_over = is_empty};
	/* Members stay if there are none in the catalog. */
	round->is_kept = is_empty;
	round->is_part &= !is_empty;
	xfrd_members_begin(&catalog->members, is_empty ? XFRD_ROUND_COUNT
		: round->is_part ? XFRD_ROUND_PART : XFRD_ROUND_WHOLE);
}

static void
check_turn(struct xfrd_catalog *catalog)
{
	struct catalog_round *round = catalog->round;
	bool is_empty = false;
	char text[XFRD_INVALID_MAX];

	if (!round->is_part) {
		catalog_next(round->view, round->zone, catalog->apex,
			&round->walk, TURN_NAMES, check_on_member, catalog);
	} else {
		for (unsigned i = 0; i < TURN_MEMBERS
			&& round->next < round->node_count
			&& round->fault == CATALOG_FAULT_NONE; i++)
			round_check_node(catalog, &round->nodes[round->next++]);
		round->walk.is_over = round->next >= round->node_count;
	}
	if (round->fault == CATALOG_FAULT_NONE && !round->walk.is_over)
		return;
	if (round_check_end(catalog, &is_empty, text)) {
		round_apply(catalog, is_empty);
		return;
	}
	round_refuse(catalog, text);
	if (!round_count_members(catalog))
		xfrd_catalog_end(catalog, false);
}

/* ---- members ------------------------------------------------------------- */

static bool
apply_on_member(void *ctx, const struct catalog_member *member)
{
	struct xfrd_catalog *catalog = ctx;

	catalog->steps++;
	xfrd_catalog_apply(catalog, member);
	return !xfrd_members_is_full(&catalog->members);
}

/* Looks at a node that has changed: names that it had are dropped. */
static void
apply_node(struct xfrd_catalog *catalog, const struct catalog_node *node)
{
	struct catalog_round *round = catalog->round;
	const struct catalog_gone *gone;
	struct catalog_member member;
	char id[XFRD_MEMBER_ID_MAX];
	bool is_there = catalog_find(round->view, round->zone, catalog->apex,
		node->label, &member) == NSD_OK;

	(void)xfrd_member_id_print(node->label, catalog->apex, id);
	for (gone = node->gone; gone != NULL; gone = gone->next)
		if (!is_there || !name_equal(gone->name, member.name))
			xfrd_members_drop(&catalog->members, gone->name, id);
	catalog->steps++;
	if (is_there)
		xfrd_catalog_apply(catalog, &member);
}

static void
apply_turn(struct xfrd_catalog *catalog)
{
	struct catalog_round *round = catalog->round;

	if (!round->is_part) {
		if (!round->walk.is_over)
			catalog_next(round->view, round->zone, catalog->apex,
				&round->walk, TURN_MEMBERS, apply_on_member,
				catalog);
	} else {
		for (unsigned i = 0; i < TURN_MEMBERS
			&& round->next < round->node_count
			&& !xfrd_members_is_full(&catalog->members); i++)
			apply_node(catalog, &round->nodes[round->next++]);
		round->walk.is_over = round->next >= round->node_count;
	}
	if (!round->walk.is_over)
		return;
	round->step = CATALOG_WAIT;
	round->serial = round->zone->serial;
	round_unpin(catalog);
	xfrd_members_end(&catalog->members);
}

/* ---- rounds -------------------------------------------------------------- */

static void
round_free(struct xfrd_catalog *catalog)
{
	struct catalog_round *round = catalog->round;

	round_unpin(catalog);
	free(round->nodes);
	free(round->names);
	arena_fini(&round->arena);
	free(round);
	catalog->round = NULL;
}

/* Finds the version that is served, and pins it. */
static enum nsd_err
round_pin(struct xfrd_catalog *catalog, const struct zone_entry **entry)
{
	struct catalog_round *round = catalog->round;
	store_ref ref, served = STORE_NONE;
	enum nsd_err err;

	if (table_find_apex(round->view, catalog->apex, &ref) == NSD_OK) {
		*entry = store_get(round->view, ref);
		served = store_load_ref(&(*entry)->zone);
	}
	if (served == STORE_NONE)
		return NSD_E_NOT_FOUND;
	round->ref = served;
	round->zone = store_get(round->view, served);
	if (version_is_known(catalog))
		return NSD_E_NOT_FOUND;
	err = store_reader_pin(catalog->xfrd->reader, &round->pin);
	round->is_pinned = err == NSD_OK;
	return err;
}

/* True if this server has made the version that is pinned, when it was the
 * catalog's producer. */
static bool
version_is_ours(const struct xfrd_catalog *catalog)
{
	struct journal *journal = catalog->xfrd->journal;
	char source[JOURNAL_SOURCE_MAX + 1];
	struct journal_entry entry;

	return journal != NULL
		&& journal_find_serial(journal, catalog->apex,
			catalog->round->zone->serial, &entry)
		&& journal_read_source(journal, catalog->apex, entry.id, source)
			== NSD_OK
		&& strcmp(source, XFRD_EDIT_SOURCE) == 0;
}

/* Refuses a version that was made here, and has the primary's transferred,
 * whose serial may be lower. */
static void
round_refuse_ours(struct xfrd_catalog *catalog)
{
	struct xfrd *xfrd = catalog->xfrd;
	const struct xfrd_zone *zone = xfrd_zone_find(&xfrd->zones.table,
		catalog->apex);

	round_refuse(catalog, "this server has made it as the producer, and"
		" waits for that of the primary");
	if (zone == NULL || zone->handle == XFR_NONE
		|| !xfr_is_secondary(xfrd->zones.machine, zone->handle))
		return;
	xfr_on_command(xfrd->zones.machine, zone->handle, clock_now_msec(),
		true);
	xfrd_zones_go_on(xfrd);
}

/* Finds what is to be looked at in the version that is pinned. */
static enum nsd_err
round_prepare(struct xfrd_catalog *catalog, const struct zone_entry *entry)
{
	struct catalog_round *round = catalog->round;
	char text[XFRD_INVALID_MAX];

	round->fault = catalog_check(round->view, round->zone, catalog->apex);
	if (round->fault != CATALOG_FAULT_NONE) {
		fault_print(catalog, text, sizeof(text));
		round_refuse(catalog, text);
		return NSD_E_NOT_FOUND;
	}
	if (version_is_ours(catalog)) {
		round_refuse_ours(catalog);
		return NSD_E_NOT_FOUND;
	}
	round->is_part = round_find_nodes(catalog, entry);
	if (round->is_part)
		round->count = catalog->count;
	else
		round->node_count = 0;
	return names_init(round, round->is_part ? round->node_count
						: round->zone->node_count);
}

enum nsd_err
xfrd_catalog_begin(struct xfrd_catalog *catalog)
{
	struct catalog_round *round = calloc(1, sizeof(*round));
	const struct zone_entry *entry = NULL;
	enum nsd_err err;

	assert(catalog->round == NULL
		&& !xfrd_members_is_busy(&catalog->members));
	if (round == NULL)
		return NSD_E_MEMORY;
	catalog->round = round;
	arena_init(&round->arena, NULL, 0);
	round->view = xfrd_read_begin(catalog->xfrd);
	err = round_pin(catalog, &entry);
	if (err == NSD_OK)
		err = round_prepare(catalog, entry);
	xfrd_read_end(catalog->xfrd);
	if (err != NSD_E_MEMORY) {
		/* Until all members were looked at, no part is. */
		catalog->all |= catalog->whole || catalog->is_back
			|| catalog->again_count > 0;
		catalog->heard = catalog->whole = catalog->is_back = false;
		catalog->again_count = 0;
	}
	if (err == NSD_E_NOT_FOUND && round_count_members(catalog))
		err = NSD_OK;
	if (err != NSD_OK)
		round_free(catalog);
	return err;
}

bool
xfrd_catalog_turn(struct xfrd_catalog *catalog)
{
	const struct catalog_round *round = catalog->round;

	switch (round->step) {
	case CATALOG_CHECK:
		check_turn(catalog);
		break;
	case CATALOG_APPLY:
		apply_turn(catalog);
		break;
	case CATALOG_WAIT:
		return false;
	}
	/* The end of a change has it go on where the members are full. */
	round = catalog->round;
	return round != NULL && (round->step == CATALOG_CHECK
		|| (round->step == CATALOG_APPLY
			&& !xfrd_members_is_full(&catalog->members)));
}

void
xfrd_catalog_break(struct xfrd_catalog *catalog)
{
	struct catalog_round *round = catalog->round;

	switch (round->step) {
	case CATALOG_CHECK:
		xfrd_catalog_end(catalog, false);
		break;
	case CATALOG_APPLY:
		round->step = CATALOG_WAIT;
		round->is_broken = true;
		round_unpin(catalog);
		xfrd_members_stop(&catalog->members);
		break;
	case CATALOG_WAIT:
		break;
	}
}

void
xfrd_catalog_end(struct xfrd_catalog *catalog, bool done)
{
	const struct catalog_round *round = catalog->round;
	bool was_kept = catalog->is_kept;

	if (done) {
		catalog->is_compared = true;
		catalog->serial = round->serial;
		catalog->zone = round->ref;
		catalog->count = round->count;
		catalog->is_kept = round->is_kept
			&& catalog->members.unwanted > 0;
		catalog->is_counted = false;
		/* Members that stay go with the next version that has some. */
		catalog->all = catalog->is_kept;
	}
	if (catalog->members.kind == XFRD_ROUND_COUNT) {
		catalog->is_counted |= !catalog->is_compared;
		catalog->kept = catalog->members.unwanted;
	}
	if (catalog->is_kept && !was_kept)
		log_error("%s: the version with serial %u has no members;"
			  " %" PRIu64 " member zones stay (catalog-empty)",
			catalog->name, (unsigned)catalog->serial,
			catalog->kept);
	round_free(catalog);
}
