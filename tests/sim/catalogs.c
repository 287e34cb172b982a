/*
 * catalogs.c - member zones of two sources come, go, change and move between
 * them, while an operator adds and deletes zones of the same names by hand;
 * among the fates of changes.c.
 *
 * usage: catalogs [SEED [STEPS [tell]]]
 * See fate.h; STEPS: 8000.
 *
 * What is checked:
 * - A zone that was added by hand stays as it is until the operator has it
 *   changed; and no other zone is ever without the ID of its source.
 * - A member stays, with its ID, until its source has ended a whole round of a
 *   version without it, has dropped it, wants it with another label, or lets
 *   the other source take it. So rounds that are stopped, or that are not begun
 *   as the version is not valid, delete nothing.
 * - Once nothing goes wrong any more, and after a last whole round, each source
 *   has the members that it wants, with their IDs and patterns; and the zone
 *   list, what is published and what xfrd knows are the same, also of the next
 *   xfrd.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/zonelist.h"
#include "sim/catalogs.h"
#include "xfrd/xfrd_changes.h"

#define STEPS 8000u
#define TURNS_MAX 6000u /* until all is quiet */
#define LAST_ROUNDS 3u
#define PLANS 8u
#define WAITS -1

/* The linker puts it in front of the real one (--wrap). */
void __wrap_xfrd_catalog_hear(struct xfrd *xfrd, struct xfrd_zone *zone);

struct version served[SOURCES];
bool lies[SOURCES];
struct must musts[NAMES];
const char *const patterns[] = {"", "p", "q", "a-long-pattern", "none"};

/* A change that the operator has asked for: at most one of a zone. */
static struct ask {
	bool waits;
	enum xfrd_change_kind kind;
	unsigned pattern;
	struct must before;
} asks[NAMES];

static char names[NAMES][80];
static bool doubted; /* the disk has failed */
static unsigned long long by_hand;

/* The sources are played: the catalogs have no versions in the store. */
void
__wrap_xfrd_catalog_hear(struct xfrd *xfrd, struct xfrd_zone *zone)
{
}

const char *
model_name(unsigned zone)
{
	return names[zone];
}

const char *
catalogs_id(unsigned source, unsigned label)
{
	static const char *const ids[SOURCES][LABELS] = {
		{"m0.zones.one.", "m1.zones.one.", "m2.zones.one.",
			"a-label-that-is-quite-long.zones.one."},
		{"m0.zones.two.", "m1.zones.two.", "m2.zones.two.",
			"a-label-that-is-quite-long.zones.two."},
	};

	return ids[source][label];
}

void
catalogs_let_go(unsigned zone, unsigned source)
{
	if (musts[zone].owner == (int)source)
		musts[zone].owner = NOBODY;
}

/* ---- the operator -------------------------------------------------------- */

/* Takes a change that was refused. */
static void
hand_refuse(unsigned zone, struct ask *ask, enum xfrd_changed outcome)
{
	bool was = ask->before.is_hand;

	switch (outcome) {
	case XFRD_CHANGED_ABSENT:
	case XFRD_CHANGED_MEMBER:
		if (was)
			fail("%s was added by hand: %d", names[zone], outcome);
		break;
	case XFRD_CHANGED_EXISTS:
	case XFRD_CHANGED_FIXED:
		break;
	case XFRD_CHANGED_UNLISTED:
	case XFRD_CHANGED_FAILED:
		if (doubted)
			return; /* the change may come again */
		break;
	default:
		fail("%s: the operator is answered %d", names[zone], outcome);
	}
	musts[zone].is_hand = was;
	musts[zone].pattern = ask->before.pattern;
	musts[zone].may_hand = ask->before.may_hand;
}

static void
hand_on_end(void *ctx, const struct xfrd_change_end *end)
{
	struct ask *ask = ctx;
	unsigned zone = (unsigned)(ask - asks);

	if (!ask->waits)
		fail("%s was answered twice", names[zone]);
	ask->waits = false;
	note("%s: by hand %d to %u is answered %d", names[zone], ask->kind,
		ask->pattern, end->outcome);
	if (end->outcome != XFRD_CHANGED && end->outcome != XFRD_CHANGED_UNREAD)
		hand_refuse(zone, ask, end->outcome);
	else if (ask->kind != XFRD_CHANGE_DELETE) {
		musts[zone].is_hand = true;
		musts[zone].pattern = ask->pattern;
		by_hand++;
	}
	disk_note();
	may_die(16);
}

static void
hand_ask(void)
{
	unsigned zone = below(one_in(12) ? NAMES : ZONES);
	struct ask *ask = &asks[zone];
	struct xfrd_change_ask how = {
		.name = names[zone],
		.on_end = hand_on_end,
		.ctx = ask,
		.no_wait = one_in(5),
	};

	if (ask->waits)
		return;
	*ask = (struct ask){
		.waits = true,
		.kind = (enum xfrd_change_kind)below(3),
		.pattern = 1 + below(3),
		.before = musts[zone],
	};
	how.kind = ask->kind;
	if (ask->kind != XFRD_CHANGE_DELETE) {
		how.pattern = patterns[ask->pattern];
		musts[zone].may_hand = true;
	}
	musts[zone].is_hand = false;
	sim.asked++;
	note("%s: by hand %d to %u is asked for", names[zone], ask->kind,
		ask->pattern);
	xfrd_change_zone(sim.xfrd, &how);
}

static bool
hand_is_quiet(void)
{
	for (unsigned i = 0; i < NAMES; i++)
		if (asks[i].waits)
			return false;
	return true;
}

/* ---- deaths and failures ------------------------------------------------- */

void
model_doubt(void)
{
	doubted = true;
}

void
model_on_death(void)
{
	sources_lose();
	for (unsigned i = 0; i < NAMES; i++) {
		asks[i].waits = false;
		/* Changes that have failed may come again. */
		if (doubted)
			musts[i].is_hand = false;
	}
}

static void
on_start(void)
{
	sources_begin();
}

/* ---- versions ------------------------------------------------------------ */

static void
serve_node(unsigned source, unsigned zone)
{
	struct member_node *node = &served[source].nodes[zone];
	struct member_node *other = &served[1 - source].nodes[zone];

	node->wanted = !one_in(3);
	node->denied = one_in(12);
	node->coo = one_in(6);
	if (one_in(3))
		node->label = below(LABELS);
	node->pattern = 1 + below(3);
	if (!node->coo)
		return;
	/* A zone moves to the other source. */
	node->wanted = true;
	other->coo = false;
	if (one_in(4))
		return;
	other->wanted = true;
	other->denied = false;
	other->pattern = 1 + below(3);
	if (one_in(2))
		other->label = node->label;
}

static void
serve_version(void)
{
	unsigned source = below(SOURCES);

	for (unsigned i = 1 + below(one_in(10) ? NAMES : 4); i > 0; i--)
		serve_node(source, below(one_in(12) ? NAMES : ZONES));
}

/* ---- checks -------------------------------------------------------------- */

/* The ID of a zone that xfrd knows of. NULL: none. */
static const char *
known_id(unsigned number)
{
	struct xfrd_zone_table *table = &sim.xfrd->zones.table;
	struct xfrd_zone *zone = xfrd_zone_find_text(table, names[number]);

	return zone != NULL ? xfrd_zone_member(table, zone) : NULL;
}

static bool
id_is(const char *id, unsigned source, unsigned label)
{
	return id != NULL && strcmp(id, catalogs_id(source, label)) == 0;
}

/* Checks what must be so at any time. */
static void
check_always(unsigned zone)
{
	const struct must *must = &musts[zone];
	unsigned state = loader_state(zone);

	if (must->is_hand && state != 1u << must->pattern)
		fail("%s was added by hand with pattern %u, and is in state %u",
			names[zone], must->pattern, state);
	if (must->owner != NOBODY && state == STATE_NONE)
		fail("%s is a member of source %d, and has gone", names[zone],
			must->owner);
	if (sim.xfrd == NULL)
		return;
	if (must->is_hand && known_id(zone) != NULL)
		fail("%s was added by hand, and has the ID %s", names[zone],
			known_id(zone));
	if (must->owner != NOBODY
		&& !id_is(known_id(zone), (unsigned)must->owner, must->label))
		fail("%s has not the ID %u of source %d", names[zone],
			must->label, must->owner);
}

static void
turn(void)
{
	sim_turn();
	if (sim.xfrd != NULL && one_in(3))
		(void)xfrd_call(sources_turn);
	for (unsigned i = 0; i < NAMES; i++)
		check_always(i);
}

/* Lines of the zone list: patterns, and IDs or "". */
static struct listed {
	unsigned state;
	char id[64];
} lines[NAMES];

static enum nsd_err
on_line(void *ctx, const struct zonelist_line *line)
{
	unsigned i = 0;

	while (i < NAMES && strcmp(line->name, names[i]) != 0)
		i++;
	if (i == NAMES || lines[i].state != STATE_NONE)
		fail("the list has %s, or has it twice", line->name);
	for (unsigned p = 1; p <= 3; p++)
		if (strcmp(line->pattern, patterns[p]) == 0)
			lines[i].state = 1u << p;
	/* The word `mem` is that of an ID with a final dot. */
	snprintf(lines[i].id, sizeof(lines[i].id), "%s",
		line->id != NULL ? line->id : "");
	return NSD_OK;
}

static void
read_list(void)
{
	const struct zonelist_reader reader = {.on_zone = on_line};
	struct diag_sink sink = {.on_diag = NULL};
	struct zonelist *list;

	for (unsigned i = 0; i < NAMES; i++)
		lines[i] = (struct listed){.state = STATE_NONE};
	if (zonelist_open(disk_list(), -1, &reader, &sink, &list) != NSD_OK)
		fail("the list cannot be read");
	zonelist_close(list);
}

static bool
is_taken(unsigned source, unsigned zone)
{
	const struct member_node *node = &served[source].nodes[zone];

	return node->wanted && !node->denied;
}

/* Checks a member against the version of its source. */
static void
check_member(unsigned zone, unsigned source, unsigned state)
{
	const struct member_node *node = &served[source].nodes[zone];

	if (!is_taken(source, zone))
		fail("%s is not wanted by source %u", names[zone], source);
	if (!id_is(lines[zone].id, source, node->label)
		|| state != 1u << node->pattern)
		fail("%s is %s with state %u, but source %u wants label %u and"
		     " pattern %u", names[zone], lines[zone].id, state, source,
			node->label, node->pattern);
	if (node->coo && is_taken(1 - source, zone))
		fail("%s has not moved from source %u", names[zone], source);
	musts[zone] = (struct must){.owner = (int)source,
		.label = node->label};
}

/* Checks a zone when all is quiet, and notes how it must be from now on. */
static void
check_zone(unsigned zone)
{
	const char *id = known_id(zone);
	unsigned state = loader_state(zone);
	int owner = NOBODY;

	if (sim.fixed[zone]) {
		if (state != STATE_FIXED || lines[zone].state != STATE_NONE)
			fail("%s is in nsd.conf", names[zone]);
		return;
	}
	if (lines[zone].state != state
		|| strcmp(lines[zone].id, id != NULL ? id : "") != 0
		|| (state == STATE_NONE) != (xfrd_zone_find_text(
			&sim.xfrd->zones.table, names[zone]) == NULL))
		fail("%s is published in state %u, its line has %u and '%s',"
		     " and xfrd has '%s'", names[zone], state,
			lines[zone].state, lines[zone].id,
			id != NULL ? id : "");
	for (unsigned i = 0; i < SOURCES; i++)
		for (unsigned l = 0; l < LABELS; l++)
			if (id_is(id, i, l))
				owner = (int)i;
	if (owner != NOBODY) {
		check_member(zone, (unsigned)owner, state);
	} else if (state != STATE_NONE) {
		if (!musts[zone].may_hand || id != NULL)
			fail("%s was not added by hand", names[zone]);
		musts[zone] = (struct must){.owner = NOBODY, .is_hand = true,
			.may_hand = true};
		while (state != 1u << musts[zone].pattern)
			musts[zone].pattern++;
	} else {
		if (is_taken(0, zone) || is_taken(1, zone))
			fail("%s is wanted", names[zone]);
		musts[zone] = (struct must){.owner = NOBODY};
	}
}

/* ---- quiet times --------------------------------------------------------- */

static void
settle_once(void)
{
	for (unsigned i = 0; sim.xfrd == NULL || !hand_is_quiet()
		|| !sources_are_quiet() || !sim_is_quiet(); i++) {
		if (i == TURNS_MAX)
			fail("it hangs: xfrd's step is %d, sources are quiet:"
			     " %d, the operator: %d",
				(int)sim.xfrd->changes->step,
				sources_are_quiet(), hand_is_quiet());
		turn();
	}
}

/* Lets nothing go wrong until all is quiet, and compares. */
static void
settle(void)
{
	sim.calm = true;
	disk_fail(false);
	memset(lies, 0, sizeof(lies));
	for (unsigned i = 0; i < LAST_ROUNDS; i++) {
		sources_force();
		settle_once();
	}
	for (unsigned times = one_in(2) ? 2 : 1;; times--) {
		disk_settle();
		disk_note();
		read_list();
		for (unsigned i = 0; i < NAMES; i++)
			check_zone(i);
		doubted = false;
		if (times == 1)
			break;
		sim_bury(false);
		settle_once();
	}
	sim.calm = false;
}

/* ---- a run --------------------------------------------------------------- */

static void
act(void)
{
	if (sim.xfrd != NULL && one_in(4))
		(void)xfrd_call(hand_ask);
	if (one_in(10))
		serve_version();
	if (one_in(80))
		lies[below(SOURCES)] = one_in(2);
	/* A list whose first octets cannot be written, nor the file removed,
	 * hinders all until another xfrd begins. */
	if (sim.plan.disk_fails && access(disk_list(), F_OK) == 0
		&& one_in(60))
		disk_fail(!one_in(3));
	if (sim.plan.loader_dies && one_in(200))
		loader_die();
	if (sim.plan.xfrd_dies && sim.xfrd != NULL && one_in(200))
		sim_bury(sim.plan.power_fails && one_in(2));
	turn();
	if (one_in(150))
		settle();
}

/* Each fault by itself, none, and all together. */
static void
make_plan(void)
{
	unsigned kind = (unsigned)(fate.seed % PLANS);

	sim.plan = (struct plan){
		.loader_dies = kind == 1 || kind >= 6,
		.xfrd_dies = kind == 2 || kind == 3 || kind >= 6,
		.power_fails = kind == 3 || kind >= 6,
		.disk_fails = kind == 4 || kind == 7,
		.memory_fails = kind == 5 || kind == 7,
	};
}

/* As in changes.c, names of several lengths. */
static void
begin(void)
{
	memset(served, 0, sizeof(served));
	memset(lies, 0, sizeof(lies));
	memset(asks, 0, sizeof(asks));
	doubted = false;
	by_hand = sources_rounds = sources_stopped = 0;
	for (unsigned i = 0; i < NAMES; i++) {
		snprintf(names[i], sizeof(names[i]), "%c%02u.%.*s",
			i < ZONES ? 'z' : 'f', i, i % 3 == 2 ? 45 : 5,
			"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn");
		musts[i] = (struct must){.owner = NOBODY};
		sim.fixed[i] = i >= ZONES;
	}
}

static void
run(unsigned steps)
{
	unsigned lives = sim.lives;

	memset(&sim, 0, sizeof(sim));
	sim.lives = lives;
	sim.on_start = on_start;
	sim.conf = "zone: name: one zonefile: c catalog: consumer\n"
		   "zone: name: two zonefile: c catalog: consumer\n";
	make_plan();
	sim.server.list = -1;
	sim.peer.link.channel.peer = ROLE_LOADER;
	begin();
	disk_begin();
	loader_begin();
	if (conf_load_text("t", "server: zonefiles-write: 0\n", 27, false, NULL,
		&sim.server.conf) != NSD_OK)
		abort();
	sim.server.conf->server.zonelistfile = disk_list();
	for (; fate.step < steps; fate.step++)
		act();
	settle();
	sources_end();
	sim_bury(false);
	loader_end();
	conf_destroy(sim.server.conf);
	disk_end();
}

/* An xfrd that dies leaves what its functions were about to free. */
static void
run_and_tell(unsigned steps)
{
	make_plan();
	fate_allow_leaks(sim.plan.xfrd_dies);
	run(steps);
	fate_allow_leaks(false);
	printf("%llu rounds, %llu stopped, %llu changes by hand, %llu done, "
	       "%llu deaths of xfrd, %llu of the computer, %llu of loaders\n",
		sources_rounds, sources_stopped, sim.asked, by_hand,
		sim.deaths, sim.cuts, sim.loaders);
}

int
main(int argc, char **argv)
{
	return fate_main(argc, argv, "catalogs", STEPS, run_and_tell);
}
