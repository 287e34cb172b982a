/*
 * catalogs_source.c - two sources of member zones, as catalogs are: the real
 * code compares (xfrd_members.c), and these tell it of their versions.
 *
 * A round is a whole one, a part, one that is stopped on its way, or one that
 * only counts, as the version is not valid.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "sim/catalogs.h"
#include "xfrd/xfrd_members.h"

enum round { ROUND_WHOLE, ROUND_PART, ROUND_STOPS, ROUND_COUNT };

struct source {
	struct xfrd_members members; /* must be first: memory of a dead xfrd is
				      * found by it */
	unsigned number;
	struct version last;         /* compared as a whole, if is_done */
	struct version now;          /* of the round */
	bool is_done, again;
	enum round round;
	unsigned next, until;        /* zones to be told of */
};

static struct source *sources[SOURCES];
static unsigned forced[SOURCES];
unsigned long long sources_rounds, sources_stopped;

/* ---- members ------------------------------------------------------------- */

static bool
node_is_same(const struct member_node *a, const struct member_node *b)
{
	if (!a->wanted || !b->wanted)
		return a->wanted == b->wanted;
	return a->denied == b->denied && a->coo == b->coo
		&& a->label == b->label && a->pattern == b->pattern;
}

static bool
version_is_same(const struct version *a, const struct version *b)
{
	for (unsigned i = 0; i < NAMES; i++)
		if (!node_is_same(&a->nodes[i], &b->nodes[i]))
			return false;
	return true;
}

static const uint8_t *
zone_apex(unsigned zone, uint8_t apex[NAME_MAX_LEN])
{
	if (!conf_parse_zone_name(model_name(zone), apex))
		fail("%s is no name", model_name(zone));
	return apex;
}

/* The source whose member a zone is, by an ID. */
static int
id_source(const char *id)
{
	for (unsigned i = 0; id != NULL && i < SOURCES; i++)
		for (unsigned l = 0; l < LABELS; l++)
			if (strcmp(id, catalogs_id(i, l)) == 0)
				return (int)i;
	return NOBODY;
}

static int
zone_source(const uint8_t *apex)
{
	struct xfrd_zone_table *table = &sim.xfrd->zones.table;
	const struct xfrd_zone *zone = xfrd_zone_find(table, apex);

	return zone != NULL ? id_source(xfrd_zone_member(table, zone))
			    : NOBODY;
}

/* As xfrd_catalog_apply of xfrd_catalog_member.c. */
static void
source_want(struct source *source, unsigned zone)
{
	const struct member_node *node = &source->now.nodes[zone];
	uint8_t apex[NAME_MAX_LEN];
	const struct xfrd_member_ask ask = {
		.apex = zone_apex(zone, apex),
		.pattern = patterns[node->pattern],
		.id = catalogs_id(source->number, node->label),
	};
	int owner = zone_source(apex);

	if (node->coo && owner == (int)source->number) {
		xfrd_members_on_gone(sim.xfrd, apex);
	} else if (node->coo && owner != NOBODY) {
		xfrd_members_refuse(&source->members, &ask,
			XFRD_REFUSAL_MOVED, "the other", true);
		return;
	}
	if (node->denied) {
		catalogs_let_go(zone, source->number);
		xfrd_members_refuse(&source->members, &ask, XFRD_REFUSAL_ALLOW,
			NULL, false);
		return;
	}
	if (musts[zone].label != node->label)
		catalogs_let_go(zone, source->number);
	xfrd_members_want(&source->members, &ask);
}

static void
source_drop(struct source *source, unsigned zone)
{
	uint8_t apex[NAME_MAX_LEN];

	catalogs_let_go(zone, source->number);
	xfrd_members_drop(&source->members, zone_apex(zone, apex),
		catalogs_id(source->number, source->last.nodes[zone].label));
}

static void
source_tell(struct source *source, unsigned zone)
{
	const struct member_node *node = &source->now.nodes[zone];
	const struct member_node *last = &source->last.nodes[zone];
	bool drops, first;

	if (source->round != ROUND_PART) {
		if (node->wanted)
			source_want(source, zone);
		return;
	}
	if (node_is_same(node, last))
		return;
	drops = last->wanted && (!node->wanted || node->label != last->label);
	first = one_in(2);
	if (drops && first)
		source_drop(source, zone);
	if (node->wanted)
		source_want(source, zone);
	if (drops && !first)
		source_drop(source, zone);
}

/* ---- rounds -------------------------------------------------------------- */

static void
source_choose(struct source *source)
{
	unsigned number = source->number;

	if (lies[number])
		source->round = ROUND_COUNT;
	else if (source->is_done && !source->again && forced[number] == 0
		&& one_in(2))
		source->round = ROUND_PART;
	else
		source->round = !sim.calm && one_in(4) ? ROUND_STOPS
						       : ROUND_WHOLE;
}

static void
source_begin_round(struct source *source)
{
	static const enum xfrd_round kinds[] = {
		[ROUND_WHOLE] = XFRD_ROUND_WHOLE,
		[ROUND_PART] = XFRD_ROUND_PART,
		[ROUND_STOPS] = XFRD_ROUND_WHOLE,
		[ROUND_COUNT] = XFRD_ROUND_COUNT,
	};

	source_choose(source);
	source->next = 0;
	source->until = source->round == ROUND_STOPS ? below(NAMES)
		: source->round == ROUND_COUNT ? 0 : NAMES;
	source->now = served[source->number];
	if (source->round != ROUND_COUNT)
		source->again = false;
	note("source %u begins a round %d", source->number, source->round);
	sources_rounds++;
	xfrd_members_begin(&source->members, kinds[source->round]);
}

static void
source_end_round(struct source *source)
{
	if (source->round == ROUND_STOPS) {
		sources_stopped++;
		xfrd_members_stop(&source->members);
		return;
	}
	for (unsigned i = 0; source->round == ROUND_WHOLE && i < NAMES; i++)
		if (!source->now.nodes[i].wanted)
			catalogs_let_go(i, source->number);
	xfrd_members_end(&source->members);
}

static bool
source_is_quiet(const struct source *source)
{
	unsigned number = source->number;

	return !xfrd_members_is_busy(&source->members) && source->is_done
		&& !source->again && forced[number] == 0
		&& version_is_same(&source->last, &served[number]);
}

static void
source_go_on(struct source *source)
{
	unsigned count = 1 + below(8);

	if (!xfrd_members_is_busy(&source->members)) {
		if (source_is_quiet(source)
			|| (lies[source->number] && !one_in(10)))
			return;
		source_begin_round(source);
	}
	if (source->members.step != XFRD_MEMBERS_WANT)
		return;
	for (; count > 0 && source->next < source->until; count--)
		source_tell(source, source->next++);
	if (source->next == source->until)
		source_end_round(source);
}

/* ---- hooks --------------------------------------------------------------- */

static bool
source_on_owns(void *ctx, const struct xfrd_zone *zone, const char *id)
{
	const struct source *source = ctx;

	return id_source(id) == (int)source->number;
}

/* As xfrd_catalog_may_take. */
static enum xfrd_take
source_may_take(void *ctx, const struct xfrd_zone *zone, const char *id,
	const struct xfrd_member_ask *ask)
{
	const struct source *source = ctx;
	unsigned other = 1 - source->number, number = 0;
	uint8_t apex[NAME_MAX_LEN];
	const struct member_node *node;

	while (!name_equal(zone_apex(number, apex), ask->apex))
		number++;
	node = &served[other].nodes[number];
	if (lies[other] || !node->wanted || !node->coo
		|| strcmp(id, catalogs_id(other, node->label)) != 0)
		return XFRD_TAKE_NOT;
	catalogs_let_go(number, other);
	return node->label == source->now.nodes[number].label
		? XFRD_TAKE_KEEP : XFRD_TAKE_RESET;
}

static void
source_on_free(void *ctx, const struct xfrd_refused_member *refused)
{
	struct source *source = ctx;

	source->again = true;
}

static void
source_on_end(void *ctx, bool failed)
{
	struct source *source = ctx;
	const struct xfrd_members *members = &source->members;

	if (source->round == ROUND_COUNT) {
		if (members->added + members->deleted + members->changed > 0)
			fail("source %u changes zones by a version that is not"
			     " valid", source->number);
		source->is_done = false;
		return;
	}
	source->is_done = !failed && source->round != ROUND_STOPS;
	source->last = source->now;
	if (source->is_done && source->round == ROUND_WHOLE
		&& forced[source->number] > 0)
		forced[source->number]--;
	may_die(16);
}

static const struct xfrd_source_hooks hooks = {
	.owns = source_on_owns,
	.may_take = source_may_take,
	.on_free = source_on_free,
	.on_end = source_on_end,
};

/* ---- all sources --------------------------------------------------------- */

void
sources_begin(void)
{
	static const char *const names[] = {"catalog one", "catalog two"};

	for (unsigned i = 0; i < SOURCES; i++) {
		sources[i] = calloc(1, sizeof(*sources[i]));
		if (sources[i] == NULL)
			abort();
		sources[i]->number = i;
		if (xfrd_members_init(&sources[i]->members, sim.xfrd, &hooks,
			sources[i], names[i]) != NSD_OK)
			fail("a source does not begin");
	}
}

void
sources_end(void)
{
	for (unsigned i = 0; i < SOURCES; i++) {
		xfrd_members_fini(&sources[i]->members);
		free(sources[i]);
		sources[i] = NULL;
	}
}

void
sources_lose(void)
{
	memset(sources, 0, sizeof(sources));
}

void
sources_turn(void)
{
	for (unsigned i = 0; i < SOURCES; i++)
		if (sources[i] != NULL && one_in(2))
			source_go_on(sources[i]);
}

void
sources_force(void)
{
	for (unsigned i = 0; i < SOURCES; i++)
		forced[i]++;
}

bool
sources_are_quiet(void)
{
	for (unsigned i = 0; i < SOURCES; i++)
		if (sources[i] == NULL || !source_is_quiet(sources[i]))
			return false;
	return true;
}
