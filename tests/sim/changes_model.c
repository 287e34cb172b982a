/*
 * changes_model.c - states that zones may be in, by what was asked for and
 * answered.
 *
 * Each zone has a set of states that it may be in, and the changes that were
 * asked for since, in order. A change that is answered as done was made, one
 * that is answered otherwise was not, and one that is not answered may have
 * been. Changes of a zone are made in the order in which they are asked for.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "sim/changes.h"

#define WAITS -1

struct model_ask {
	enum xfrd_change_kind kind;
	unsigned to;     /* the state that it asks for; 0: no such pattern */
	int outcome;     /* enum xfrd_changed; WAITS */
	bool created;
	unsigned zone;
};

struct model_zone {
	char name[128];
	unsigned states;
	unsigned ghosts; /* may come when xfrd begins anew */
	struct model_ask asks[PENDING_MAX];
	bool used[PENDING_MAX];    /* these places */
	unsigned order[PENDING_MAX];
	unsigned count;
};

static struct model_zone zones[NAMES];
static bool doubted;

const char *const patterns[] = {"", "p", "q", "a-long-pattern", "none"};

const char *
model_name(unsigned zone)
{
	return zones[zone].name;
}

/* Several of a length, so that they take each other's places in the list, and
 * some that do not fit into a sector. */
void
model_begin(void)
{
	static const unsigned pads[] = {1, 5, 60};

	memset(zones, 0, sizeof(zones));
	doubted = false;
	for (unsigned i = 0; i < NAMES; i++) {
		struct model_zone *zone = &zones[i];
		unsigned pad = pads[i % 3];

		snprintf(zone->name, sizeof(zone->name), "%c%02u.%.*s",
			i < ZONES ? 'z' : 'f', i, (int)pad,
			"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
			"nnnnnnnnnn");
		zone->states = i < ZONES ? STATE_NONE : STATE_FIXED;
	}
}

/* ---- sets of states ------------------------------------------------------ */

/* The states that one change may lead to, from one. 0: it cannot be done. */
static unsigned
model_apply(const struct model_ask *ask, unsigned state)
{
	if (state == STATE_FIXED)
		return 0;
	switch (ask->kind) {
	case XFRD_CHANGE_ADD:
		return state == STATE_NONE ? ask->to : 0;
	case XFRD_CHANGE_DELETE:
		return state != STATE_NONE ? STATE_NONE : 0;
	default:
		return ask->to;
	}
}

static unsigned
model_apply_all(const struct model_ask *ask, unsigned states, bool done)
{
	unsigned out = 0;

	for (unsigned state = 1; state <= STATE_FIXED; state <<= 1) {
		if ((states & state) == 0)
			continue;
		if (done && ask->kind == XFRD_CHANGE_PATTERN
			&& ask->created != (state == STATE_NONE))
			continue;
		out |= model_apply(ask, state);
	}
	return out;
}

static unsigned
model_fold_one(const struct model_ask *ask, unsigned states)
{
	switch (ask->outcome) {
	case WAITS:
		return states | model_apply_all(ask, states, false);
	case XFRD_CHANGED:
	case XFRD_CHANGED_UNREAD:
		return model_apply_all(ask, states, true);
	case XFRD_CHANGED_EXISTS:
		return states & ~(unsigned)STATE_NONE;
	case XFRD_CHANGED_ABSENT:
		return states & STATE_NONE;
	case XFRD_CHANGED_FIXED:
		return states & STATE_FIXED;
	default:
		return states;
	}
}

static unsigned
model_fold(const struct model_zone *zone)
{
	unsigned states = zone->states;

	for (unsigned i = 0; i < zone->count; i++)
		states = model_fold_one(&zone->asks[zone->order[i]], states);
	return states;
}

/* Takes answered changes, with no waiting one before them, into the set. */
static void
model_compress(struct model_zone *zone)
{
	while (zone->count > 0
		&& zone->asks[zone->order[0]].outcome != WAITS) {
		zone->states = model_fold_one(&zone->asks[zone->order[0]],
			zone->states);
		zone->used[zone->order[0]] = false;
		memmove(zone->order, zone->order + 1,
			(PENDING_MAX - 1) * sizeof(zone->order[0]));
		zone->count--;
	}
}

/* ---- changes ------------------------------------------------------------- */

/* Checks the reason of a refusal. */
static void
model_check_reason(const struct model_zone *zone, const struct model_ask *ask)
{
	switch (ask->outcome) {
	case XFRD_CHANGED_NO_NAME:
		fail("%s is a name", zone->name);
	case XFRD_CHANGED_NO_PATTERN:
		if (ask->to != 0 || ask->kind == XFRD_CHANGE_DELETE)
			fail("%s: there is that pattern", zone->name);
		break;
	case XFRD_CHANGED:
	case XFRD_CHANGED_UNREAD:
		if (ask->to == 0)
			fail("%s got a pattern that is none", zone->name);
		break;
	case XFRD_CHANGED_UNLISTED:
		if (!sim.plan.disk_fails && !sim.plan.memory_fails)
			fail("%s: the disk is well", zone->name);
		break;
	}
}

static void
model_on_end(void *ctx, const struct xfrd_change_end *end)
{
	struct model_ask *ask = ctx;
	struct model_zone *zone = &zones[ask->zone];
	unsigned could = model_apply_all(ask, zone->states, false);

	if (ask->outcome != WAITS)
		fail("%s was answered twice", zone->name);
	note("%s: %u to %u is answered %u", zone->name, ask->kind, ask->to,
		end->outcome);
	ask->outcome = (int)end->outcome;
	ask->created = end->created;
	model_check_reason(zone, ask);
	if (doubted && end->outcome >= XFRD_CHANGED_UNLISTED
		&& end->outcome <= XFRD_CHANGED_FAILED)
		zone->ghosts |= could;
	if (end->outcome == XFRD_CHANGED || end->outcome == XFRD_CHANGED_UNREAD)
		sim.done++;
	else
		sim.refused++;
	if (model_fold(zone) == 0)
		fail("%s: answer %u to change %u cannot be", zone->name,
			end->outcome, ask->kind);
	model_check(ask->zone, loader_state(ask->zone));
	model_compress(zone);
	disk_note();
	may_die(16);
}

void
model_ask(void)
{
	unsigned number = below(one_in(12) ? NAMES : ZONES);
	struct model_zone *zone = &zones[number];
	struct xfrd_change_ask how = {
		.name = zone->name,
		.on_end = model_on_end,
		.no_wait = one_in(5),
	};
	unsigned place = 0, pattern = one_in(40) ? 4 : 1 + below(3);
	struct model_ask *ask;

	if (zone->count == PENDING_MAX)
		return;
	while (zone->used[place])
		place++;
	ask = &zone->asks[place];
	*ask = (struct model_ask){
		.kind = (enum xfrd_change_kind)below(3),
		.zone = number,
		.outcome = WAITS,
	};
	if (ask->kind == XFRD_CHANGE_DELETE)
		ask->to = STATE_NONE;
	else
		ask->to = pattern == 4 ? 0 : 1u << pattern;
	zone->used[place] = true;
	zone->order[zone->count++] = place;
	note("%s: %u to %u is asked for", zone->name, ask->kind, ask->to);
	sim.asked++;
	how.kind = ask->kind;
	how.pattern = ask->kind != XFRD_CHANGE_DELETE ? patterns[pattern]
						      : NULL;
	how.ctx = ask;
	xfrd_change_zone(sim.xfrd, &how);
}

/* ---- observations -------------------------------------------------------- */

void
model_on_death(void)
{
	for (unsigned i = 0; i < NAMES; i++) {
		struct model_zone *zone = &zones[i];

		zone->states = model_fold(zone) | zone->ghosts;
		/* Changes that the next xfrd finds in the list may
		 * fail, and come again with the one after it. */
		if (sim.plan.disk_fails)
			zone->ghosts = zone->states;
		zone->count = 0;
		memset(zone->used, 0, sizeof(zone->used));
	}
}

bool
model_is_quiet(void)
{
	for (unsigned i = 0; i < NAMES; i++)
		if (zones[i].count > 0)
			return false;
	return true;
}

void
model_check(unsigned zone, unsigned state)
{
	if ((model_fold(&zones[zone]) & state) == 0)
		fail("%s is in state %u, which must be of %u",
			zones[zone].name, state, model_fold(&zones[zone]));
}

void
model_settle(unsigned zone, unsigned state)
{
	model_check(zone, state);
	zones[zone].states = state;
}

void
model_reconfig(void)
{
	for (unsigned i = 0; i < NAMES; i++) {
		if (sim.fixed[i])
			zones[i].states = STATE_FIXED;
		else if (zones[i].states == STATE_FIXED)
			zones[i].states = STATE_NONE;
	}
}

void
model_doubt(void)
{
	doubted = true;
}

void
model_doubt_nothing(void)
{
	doubted = false;
	for (unsigned i = 0; i < NAMES; i++)
		zones[i].ghosts = 0;
}

void
model_print(void)
{
	for (unsigned i = 0; i < NAMES; i++) {
		const struct model_zone *zone = &zones[i];

		if (zone->count > 0)
			printf("%s: %u wait, the first one of kind %u\n",
				zone->name, zone->count,
				zone->asks[zone->order[0]].kind);
	}
}
