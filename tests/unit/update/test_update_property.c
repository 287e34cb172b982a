/*
 * test_update_property.c - random changes of random zones: each version equals
 * a zone built from the same records, and older ones do not change before
 * their readers. NSD_UPDATE_ZONES=N, NSD_UPDATE_STEPS=M (changes of each) and
 * NSD_UPDATE_SEED=S make it longer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/chance.h"
#include "lib/failing.h"
#include "lib/store_fixture.h"
#include "lib/update_model.h"
#include "lib/zone_check.h"
#include "store/writer.h"
#include "zonedb/mark.h"
#include "zonedb/release.h"
#include "zonedb/table_edit.h"

#define ZONES 150u
#define MEMORY_ZONES 24u
#define MEMORY_STEPS 4u
#define STEPS 20u
#define CHANGES_MAX 12u
#define WORDS_MAX 8u

static const uint8_t apex[NAME_MAX_LEN] = MODEL_APEX;

struct world {
	struct model model;
	struct model after; /* the expected result of the transaction */
	struct model adds;  /* of the transaction */
	struct store_fixture s;
	struct store_reader *reader;
	store_ref entry;
	uint64_t seed;
	uint64_t empty; /* octets of a table with a zone not loaded */
	unsigned step;
	unsigned commits, refused, in_place, chains;
	struct zone_prepare prepare;
	bool preparing; /* the index is being made in steps */
	bool unshared;  /* and a change came meanwhile */
	/* The reader's version until it is quiescent. */
	store_ref seen;
	char *seen_text;
};

static void
check(const struct world *w, bool ok, const char *what)
{
	if (!ok)
		fail_msg("seed %llu, step %u: %s",
			(unsigned long long)w->seed, w->step, what);
}

static uint64_t
live(const struct world *w)
{
	return store_fixture_live(w->s.writer);
}

static store_ref
served(const struct world *w)
{
	const struct zone_entry *e = store_get(w->s.view, w->entry);

	return e->zone;
}

/* ---- readers ----------------------------------------------------------- */

static void
reader_leave(struct world *w)
{
	char *text;

	if (w->seen == STORE_NONE)
		return;
	text = zone_check_print(w->s.view, w->seen, apex);
	if (strcmp(text, w->seen_text) != 0)
		fprintf(stderr, "was:\n%s\nis:\n%s", w->seen_text, text);
	check(w, strcmp(text, w->seen_text) == 0,
		"a version has changed before its reader");
	free(text);
	free(w->seen_text);
	w->seen = STORE_NONE;
	store_reader_offline(w->reader);
}

/* A reader sometimes keeps its version while several newer ones come. */
static void
reader_look(struct world *w)
{
	if (w->seen != STORE_NONE && model_random(&w->model, 3) == 0)
		return;
	reader_leave(w);
	if (model_random(&w->model, 3) == 0)
		return;
	store_reader_online(w->reader);
	w->seen = served(w);
	w->seen_text = zone_check_print(w->s.view, w->seen, apex);
}

/* ---- a transaction ----------------------------------------------------- */

static struct zone_rr
rr_of(const struct model_rr *rr)
{
	return (struct zone_rr){.owner = rr->owner, .ttl_sec = rr->ttl_sec,
		.type = rr->type, .rdlen = rr->rdlen, .rdata = rr->rdata};
}

static void
ask_add(struct world *w, struct zone_update *u, const struct model_rr *rr)
{
	struct zone_rr r = rr_of(rr);

	assert_int_equal(update_add(u, &r), NSD_OK);
	model_add(&w->adds, rr);
}

static void
ask_remove(struct world *w, struct zone_update *u, const struct model_rr *rr)
{
	struct zone_rr r = rr_of(rr);

	assert_int_equal(update_remove(u, &r), NSD_OK);
	model_remove(&w->after, rr);
}

static void
ask_remove_set(struct world *w, struct zone_update *u, const uint8_t *owner,
	uint16_t type)
{
	assert_int_equal(update_remove_rrset(u, owner, type), NSD_OK);
	model_remove_set(&w->after, owner, type);
}

/* Asks for a new SOA, in one of the ways to do that. */
static void
ask_soa(struct world *w, struct zone_update *u)
{
	struct model *m = &w->model;
	struct model_rr rr = {.ttl_sec = 3600, .type = TYPE_SOA};

	memcpy(rr.owner, apex, sizeof(rr.owner));
	rr.rdlen = (uint16_t)model_make_rdata(m, TYPE_SOA, 0, rr.rdata);
	if (model_random(m, 2) == 0) {
		ask_remove_set(w, u, apex, TYPE_SOA);
	} else {
		for (size_t i = 0; i < w->after.count; i++)
			if (w->after.rrs[i].type == TYPE_SOA) {
				struct model_rr old = w->after.rrs[i];

				ask_remove(w, u, &old);
				break;
			}
	}
	if (model_random(m, 40) > 0)
		ask_add(w, u, &rr);
}

static void
ask_something(struct world *w, struct zone_update *u)
{
	struct model *m = &w->model;
	struct model_rr rr, some;

	model_make_rr(m, &rr);
	some = w->after.count == 0 ? rr
		: w->after.rrs[model_random(m, (uint32_t)w->after.count)];
	switch (model_random(m, 12)) {
	case 0: case 1: case 2: case 3:
		ask_add(w, u, &rr);
		break;
	case 4: case 5: case 6:
		if (some.type != TYPE_SOA)
			ask_remove(w, u, &some);
		break;
	case 7:
		ask_remove(w, u, &rr);
		break;
	case 8:
		if (some.type != TYPE_SOA)
			ask_remove_set(w, u, some.owner, some.type);
		break;
	case 9:
		if (!name_equal(some.owner, apex) && model_random(m, 3) == 0)
			ask_remove_set(w, u, some.owner, TYPE_ANY);
		break;
	case 10: /* again, with another TTL perhaps */
		if (some.type == TYPE_SOA)
			break;
		some.ttl_sec = model_random(m, 2) == 0 ? 60 : 3600;
		if (model_random(m, 2) == 0)
			ask_remove(w, u, &some);
		ask_add(w, u, &some);
		break;
	default:
		ask_soa(w, u);
		break;
	}
}

/* Additions count more than removals, in whatever order. */
static void
world_add_all(struct world *w)
{
	for (size_t i = 0; i < w->adds.count; i++)
		model_remove(&w->after, &w->adds.rrs[i]);
	for (size_t i = 0; i < w->adds.count; i++)
		model_add(&w->after, &w->adds.rrs[i]);
	model_settle_ttls(&w->after);
	/* The first of equal records stays. */
	for (size_t i = 0; i < w->after.count; i++)
		for (size_t j = i + 1; j < w->after.count; j++)
			if (model_equal(&w->after.rrs[i], &w->after.rrs[j])) {
				memmove(&w->after.rrs[j], &w->after.rrs[j + 1],
					(w->after.count - j - 1)
					* sizeof(w->after.rrs[0]));
				w->after.count--;
				j--;
			}
}

/* ---- results ----------------------------------------------------------- */

static void
print_both(const struct world *w, store_ref fresh)
{
	char *a = zone_check_print(w->s.view, served(w), apex);
	char *b = zone_check_print(w->s.view, fresh, apex);

	fprintf(stderr, "updated:\n%s\nfresh:\n%s", a, b);
	free(a);
	free(b);
}

static void
check_text(struct world *w, store_ref fresh)
{
	char *is = zone_check_print(w->s.view, served(w), apex);
	char *was = zone_check_print(w->s.view, fresh, apex);

	check(w, strcmp(is, was) == 0, "not what a fresh zone has");
	free(is);
	free(was);
}

static void
check_against_fresh(struct world *w, store_ref fresh)
{
	const char *wrong = zone_check_sound(w->s.view, served(w), apex);
	struct zone_check_shared is, was;

	/* With more copies of equal contents than a fresh zone has. */
	w->unshared |= w->preparing;
	if (w->unshared) {
		check(w, wrong == NULL, wrong);
		check_text(w, fresh);
		return;
	}
	if (wrong == NULL)
		wrong = zone_check_equal(w->s.view, served(w), fresh);
	if (wrong != NULL)
		print_both(w, fresh);
	check(w, wrong == NULL, wrong);
	(void)zone_check_octets(w->s.view, served(w), &is);
	(void)zone_check_octets(w->s.view, fresh, &was);
	if (is.rrsets != was.rrsets || is.templates != was.templates)
		fprintf(stderr, "%zu and %zu RRsets, %zu and %zu templates\n",
			is.rrsets, was.rrsets, is.templates, was.templates);
	check(w, is.rrsets == was.rrsets && is.templates == was.templates,
		"contents are not shared as in a fresh zone");
	/* A template is only looked for near by. */
	check(w, is.nsec3_templates <= was.nsec3_templates
		+ 2 * was.nsec3_templates / 3 + 2,
		"NSEC3 templates are not shared");
}

static void
check_octets(struct world *w)
{
	store_reclaim(w->s.writer);
	/* Objects that wait for a reader are retired, not live. */
	if (live(w) != w->empty + zone_check_octets(w->s.view, served(w), NULL))
		fprintf(stderr, "%llu octets in use, %llu reached\n",
			(unsigned long long)live(w),
			(unsigned long long)(w->empty + zone_check_octets(
				w->s.view, served(w), NULL)));
	check(w, live(w) == w->empty
		+ zone_check_octets(w->s.view, served(w), NULL),
		"octets are lost");
}

/* Of several SOAs a secondary takes the first. */
static void
world_drop_soas(struct world *w)
{
	struct model *m = &w->model;
	bool found = false;
	size_t kept = 0;

	for (size_t i = 0; i < m->count; i++) {
		if (m->rrs[i].type == TYPE_SOA && found)
			continue;
		found = found || m->rrs[i].type == TYPE_SOA;
		if (kept != i)
			m->rrs[kept] = m->rrs[i];
		kept++;
	}
	m->count = kept;
}

static void
world_accept(struct world *w)
{
	struct model_rr *moved = w->model.rrs;

	w->model.rrs = w->after.rrs;
	w->model.count = w->after.count;
	w->after.rrs = moved;
	world_drop_soas(w);
}

static struct zone_update *
begin(struct world *w)
{
	const struct zone_update_options options = {.threads = 1,
		.secondary = !w->model.valid};
	struct zone_update *u;
	unsigned n = 1 + model_random(&w->model, CHANGES_MAX);

	assert_int_equal(update_begin(w->s.writer, w->entry, &options, &u),
		NSD_OK);
	memcpy(w->after.rrs, w->model.rrs,
		w->model.count * sizeof(w->model.rrs[0]));
	w->after.count = w->model.count;
	w->adds.count = 0;
	while (n-- > 0)
		ask_something(w, u);
	world_add_all(w);
	return u;
}

/* A zone that was built anew has version 0. */
static void
note_kind(struct world *w)
{
	const struct zone *zone = store_get(w->s.view, served(w));

	w->in_place += zone->version > 0;
	w->chains += zone->version > 0 && zone->chain != STORE_NONE;
}

static void
run_step(struct world *w)
{
	struct zone_update *u = begin(w);
	struct diag_sink sink = {0};
	struct zone_update_result result;
	store_ref fresh = STORE_NONE, before = served(w);
	enum nsd_err want, err;

	if (model_random(&w->model, 20) == 0) {
		update_abort(u);
		check(w, served(w) == before, "aborted, and yet published");
		check_octets(w);
		return;
	}
	want = model_build(&w->after, w->s.writer, &fresh);
	err = update_commit(u, &sink, &result);
	if (err != want)
		fprintf(stderr, "the build: %s\n", model_said);
	check(w, err == want, err == NSD_OK ? "not refused" : "refused");
	if (err == NSD_OK) {
		check_against_fresh(w, fresh);
		release_zone(store_writer_heap(w->s.writer), fresh);
		world_accept(w);
		w->commits++;
		note_kind(w);
	} else {
		assert_int_equal(err, NSD_E_ZONE);
		assert_true(sink.errors > 0);
		check(w, served(w) == before, "refused, and yet published");
		w->refused++;
	}
	check_octets(w);
}

/* A loader takes over from one that died: it counts anew and sweeps. */
static void
take_over(struct world *w)
{
	struct store_sweep *sweep;
	uint64_t octets;

	/* The new loader does not know what the dead one had retired. */
	reader_leave(w);
	store_reclaim(w->s.writer);
	assert_int_equal(store_sweep_begin(w->s.writer, &sweep), NSD_OK);
	mark_roots(w->s.writer, sweep);
	assert_int_equal(store_sweep_end(sweep, &octets), NSD_OK);
	check_octets(w);
	w->preparing = false;
	switch (model_random(&w->model, 3)) {
	case 0:
		assert_int_equal(update_prepare(w->s.writer, w->entry),
			NSD_OK);
		break;
	case 1:
		assert_int_equal(update_prepare_begin(w->s.writer,
					 w->entry, &w->prepare),
			NSD_OK);
		w->preparing = true;
		break;
	default:
		break;
	}
	check_octets(w);
}

/* Prepares some names between two transactions, whatever these do to the
 * zone. */
static void
prepare_some(struct world *w)
{
	enum nsd_err err;

	if (!w->preparing)
		return;
	err = update_prepare_step(w->s.writer, &w->prepare,
		1 + model_random(&w->model, 8));
	w->preparing = err == NSD_E_AGAIN;
	assert_true(err == NSD_OK || err == NSD_E_AGAIN);
	check_octets(w);
}

/* ---- a zone ------------------------------------------------------------ */

static void
set_up_model(struct world *w, unsigned kind)
{
	struct model *m = &w->model;

	m->random = w->seed;
	m->labels = 3 + model_random(m, 9);
	m->depth = 1 + model_random(m, 3);
	m->valid = kind % 2 == 0;
	m->signatures = kind % 3 == 1;
	m->nsec3 = kind % 4 == 3;
	m->serial = 0;
	w->after.valid = m->valid;
}

static void
run_zone(struct world *w, unsigned kind)
{
	store_ref zone;
	enum nsd_err err;

	w->step = 0;
	set_up_model(w, kind);
	do {
		model_start(&w->model, model_random(&w->model, 60));
		err = model_build(&w->model, w->s.writer, &zone);
	} while (err == NSD_E_ZONE);
	assert_int_equal(err, NSD_OK);
	table_set_zone(w->s.writer, w->entry, zone);
	w->preparing = w->unshared = false;
	for (w->step = 1; w->step <= chance_setting("NSD_UPDATE_STEPS", STEPS);
		w->step++) {
		reader_look(w);
		run_step(w);
		prepare_some(w);
		if (model_random(&w->model, 30) == 0)
			take_over(w);
		if (model_random(&w->model, 10) == 0)
			update_settle(w->s.writer, w->entry);
	}
	reader_leave(w);
	table_set_zone(w->s.writer, w->entry, STORE_NONE);
	store_reclaim(w->s.writer);
	check(w, live(w) == w->empty, "something of the zone is left");
}

/* Runs the same transaction again and again; each allocation of the commit
 * fails in turn. */
static void
run_step_without_memory(struct world *w)
{
	uint64_t random = w->model.random;
	uint32_t serial = w->model.serial;
	char *before = zone_check_print(w->s.view, served(w), apex), *after;
	enum nsd_err err = NSD_E_MEMORY;

	for (int n = 0; err == NSD_E_MEMORY; n++) {
		struct diag_sink sink = {0};
		store_ref zone = served(w);
		struct zone_update *u;
		const char *wrong;

		w->model.random = random;
		w->model.serial = serial;
		u = begin(w);
		err = FAILING_ONCE(n, update_commit(u, &sink, NULL));
		if (err == NSD_OK)
			break;
		check(w, served(w) == zone, "failed, and yet published");
		wrong = zone_check_sound(w->s.view, zone, apex);
		check(w, wrong == NULL, wrong);
		check_octets(w);
		after = zone_check_print(w->s.view, zone, apex);
		check(w, strcmp(before, after) == 0, "failed, and changed");
		free(after);
		w->refused++;
	}
	free(before);
	if (err == NSD_OK)
		world_accept(w);
	check_octets(w);
}

static void
memory_that_runs_out_changes_nothing(void **state)
{
	struct world *w = *state;
	store_ref zone;

	w->refused = 0;
	for (unsigned i = 0; i < MEMORY_ZONES; i++) {
		w->seed = i + 1;
		w->step = 0;
		set_up_model(w, i);
		do {
			model_start(&w->model, model_random(&w->model, 40));
		} while (model_build(&w->model, w->s.writer, &zone) != NSD_OK);
		table_set_zone(w->s.writer, w->entry, zone);
		for (w->step = 1; w->step <= MEMORY_STEPS; w->step++)
			run_step_without_memory(w);
		table_set_zone(w->s.writer, w->entry, STORE_NONE);
		store_reclaim(w->s.writer);
		check(w, live(w) == w->empty, "something is left");
	}
	printf("%u transactions ran out of memory\n", w->refused);
	assert_true(w->refused > 1000);
}

static void
updates_come_to_what_a_build_does(void **state)
{
	struct world *w = *state;
	unsigned zones = chance_setting("NSD_UPDATE_ZONES", ZONES);
	unsigned seed = chance_setting("NSD_UPDATE_SEED", 1);

	for (unsigned i = 0; i < zones; i++) {
		w->seed = seed + i;
		run_zone(w, (unsigned)w->seed);
	}
	printf("seeds %u to %u: %u transactions, %u refused, %u in place, "
		"%u of these with a chain\n", seed, seed + zones - 1,
		w->commits + w->refused, w->refused, w->in_place, w->chains);
	assert_true(w->in_place > 0);
}

/* A change that its cell leads to, or none. */
static store_ref
find_change(const struct world *w, const struct zone *zone)
{
	store_ref ref = zone->pending_first;

	while (ref != STORE_NONE) {
		const struct glue_change *change = store_get(w->s.view, ref);

		if (change->of != STORE_NONE)
			return ref;
		ref = ref == zone->pending_last ? STORE_NONE : change->next;
	}
	return STORE_NONE;
}

/* The addresses of a damaged store lead back to themselves. */
static void
who_takes_over_comes_to_an_end_in_a_ring(void **state)
{
	struct world *w = *state;
	struct glue_change *change;
	const struct zone *zone;
	store_ref built, ref;

	w->seed = 1;
	w->step = 0;
	set_up_model(w, 1);
	do {
		model_start(&w->model, 40);
	} while (model_build(&w->model, w->s.writer, &built) != NSD_OK);
	table_set_zone(w->s.writer, w->entry, built);
	store_reader_online(w->reader);
	do {
		assert_true(w->step++ < 1000);
		run_step(w);
		zone = store_get(w->s.view, served(w));
		ref = find_change(w, zone);
	} while (ref == STORE_NONE);
	change = store_edit(store_writer_heap(w->s.writer), ref);
	change->cell.link = (uint64_t)zone->version << 32 | ref;
	store_reader_offline(w->reader);
	alarm(60);
	take_over(w);
	alarm(0);
	assert_int_equal((store_ref)change->cell.link, STORE_NONE);
	table_set_zone(w->s.writer, w->entry, STORE_NONE);
	store_reclaim(w->s.writer);
	check(w, live(w) == w->empty, "something of the zone is left");
}

static int
open_world(void **state)
{
	const struct zone_setup setup = {.apex = apex};
	struct world *w = calloc(1, sizeof(*w));

	w->model.rrs = calloc(MODEL_MAX, sizeof(struct model_rr));
	w->after.rrs = calloc(MODEL_MAX, sizeof(struct model_rr));
	w->adds.rrs = calloc(MODEL_MAX, sizeof(struct model_rr));
	store_fixture_init(&w->s, 2);
	if (store_reader_open(w->s.store, 0, "reader", &w->reader)
			!= NSD_OK
		|| table_add(w->s.writer, &setup, 1, &w->entry) != NSD_OK)
		return -1;
	w->empty = live(w);
	*state = w;
	return 0;
}

static int
close_world(void **state)
{
	struct world *w = *state;

	store_reader_close(w->reader);
	store_fixture_fini(&w->s);
	free(w->model.rrs);
	free(w->after.rrs);
	free(w->adds.rrs);
	free(w);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(updates_come_to_what_a_build_does),
		cmocka_unit_test(memory_that_runs_out_changes_nothing),
		cmocka_unit_test(who_takes_over_comes_to_an_end_in_a_ring),
	};

	return cmocka_run_group_tests(tests, open_world, close_world);
}
