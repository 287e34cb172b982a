/*
 * test_update_merge.c - several versions as one exact update: it comes to what
 * they come to one after the other, and is refused if one of them does not fit.
 * The model is a list of records. NSD_UPDATE_ZONES=N and NSD_UPDATE_SEED=S make
 * it longer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "lib/chance.h"
#include "lib/failing.h"
#include "lib/store_fixture.h"
#include "lib/update_model.h"
#include "lib/zone_check.h"
#include "store/writer.h"
#include "zonedb/release.h"
#include "zonedb/table_edit.h"

#define ZONES 400u
#define MEMORY_ZONES 12u
#define VERSIONS_MAX 12u
#define CHANGES_MAX 8u
/* The share of versions that do not fit: one in so many. */
#define MISFIT_RARE 40u

static const uint8_t apex[NAME_MAX_LEN] = MODEL_APEX;

struct world {
	struct model model;  /* after the versions so far */
	struct model before; /* after the version before */
	struct model added;  /* by this version */
	struct model gone;   /* removed by this version */
	struct store_fixture s;
	store_ref entry;
	uint64_t seed;
	uint64_t empty; /* octets of a table with a zone not loaded */
	bool fits;
	unsigned merged, refused, nothing;
};

static void
check(const struct world *w, bool ok, const char *what)
{
	if (!ok)
		fail_msg("seed %llu: %s", (unsigned long long)w->seed, what);
}

static store_ref
served(const struct world *w)
{
	const struct zone_entry *e = store_get(w->s.view, w->entry);

	return e->zone;
}

static bool
model_has(const struct model *m, const struct model_rr *rr)
{
	for (size_t i = 0; i < m->count; i++)
		if (model_equal(&m->rrs[i], rr))
			return true;
	return false;
}

static void
model_copy(struct model *to, const struct model *from)
{
	memcpy(to->rrs, from->rrs, from->count * sizeof(from->rrs[0]));
	to->count = from->count;
}

/* ---- a version ----------------------------------------------------------- */

static struct zone_rr
rr_of(const struct model_rr *rr)
{
	return (struct zone_rr){.owner = rr->owner, .ttl_sec = rr->ttl_sec,
		.type = rr->type, .rdlen = rr->rdlen, .rdata = rr->rdata};
}

static void
take(struct world *w, struct zone_update *u, const struct model_rr *rr)
{
	struct zone_rr r = rr_of(rr);

	assert_int_equal(update_remove(u, &r), NSD_OK);
	w->fits &= model_has(&w->before, rr) && !model_has(&w->gone, rr);
	model_add(&w->gone, rr);
}

static void
add(struct world *w, struct zone_update *u, const struct model_rr *rr)
{
	struct zone_rr r = rr_of(rr);

	assert_int_equal(update_add(u, &r), NSD_OK);
	w->fits &= (!model_has(&w->before, rr) || model_has(&w->gone, rr))
		&& !model_has(&w->added, rr);
	model_add(&w->added, rr);
}

static void
change_soa(struct world *w, struct zone_update *u)
{
	struct model_rr rr = {.ttl_sec = 3600, .type = TYPE_SOA};

	for (size_t i = 0; i < w->before.count; i++)
		if (w->before.rrs[i].type == TYPE_SOA)
			take(w, u, &w->before.rrs[i]);
	memcpy(rr.owner, apex, sizeof(rr.owner));
	rr.rdlen = (uint16_t)model_make_rdata(&w->model, TYPE_SOA, 0, rr.rdata);
	add(w, u, &rr);
}

static bool
is_taken(const struct world *w, const struct model_rr *rr)
{
	return rr->type == TYPE_SOA || model_has(&w->gone, rr)
		|| model_has(&w->added, rr);
}

/* Removes what is there, adds what is not, or both; mostly. */
static void
change_something(struct world *w, struct zone_update *u)
{
	struct model *m = &w->model;
	bool fit = model_random(m, MISFIT_RARE) > 0;
	struct model_rr rr, some;

	model_make_rr(m, &rr);
	some = w->before.rrs[model_random(m, (uint32_t)w->before.count)];
	if (model_random(m, 2) == 0) {
		if (!fit || (!is_taken(w, &rr) && !model_has(&w->before, &rr)))
			add(w, u, &rr);
		return;
	}
	if (fit && is_taken(w, &some))
		return;
	take(w, u, fit ? &some : &rr);
	if (model_random(m, 4) == 0) { /* another TTL, or as it was */
		some.ttl_sec = model_random(m, 2) == 0 ? 60 : 3600;
		add(w, u, &some);
	}
}

static void
begin_version(struct world *w, struct zone_update *u)
{
	model_copy(&w->before, &w->model);
	w->gone.count = w->added.count = 0;
	change_soa(w, u);
}

static void
end_version(struct world *w)
{
	for (size_t i = 0; i < w->gone.count; i++)
		model_remove(&w->model, &w->gone.rrs[i]);
	for (size_t i = 0; i < w->added.count; i++)
		model_add(&w->model, &w->added.rrs[i]);
}

static void
make_version(struct world *w, struct zone_update *u)
{
	begin_version(w, u);
	for (unsigned n = model_random(&w->model, CHANGES_MAX); n > 0; n--)
		change_something(w, u);
	end_version(w);
}

static struct zone_update *
begin_exact(struct world *w, uint32_t names_max)
{
	const struct zone_update_options options = {.threads = 1,
		.secondary = true, .exact = true, .names_max = names_max};
	struct zone_update *u;

	assert_int_equal(update_begin(w->s.writer, w->entry, &options, &u),
		NSD_OK);
	w->fits = true;
	return u;
}

static struct zone_update *
make_versions(struct world *w)
{
	unsigned count = 1 + model_random(&w->model, VERSIONS_MAX);
	struct zone_update *u = begin_exact(w, 0);

	for (unsigned i = 0; i < count; i++) {
		if (i > 0)
			update_next_version(u);
		make_version(w, u);
	}
	return u;
}

/* ---- a zone -------------------------------------------------------------- */

static void
load(struct world *w, unsigned kind)
{
	struct model *m = &w->model;
	store_ref zone;

	m->random = w->seed;
	m->labels = 3 + model_random(m, 9);
	m->depth = 1 + model_random(m, 3);
	m->signatures = kind % 3 == 1;
	m->nsec3 = kind % 4 == 3;
	m->serial = 0;
	model_start(m, model_random(m, 60));
	assert_int_equal(model_build(m, w->s.writer, &zone), NSD_OK);
	table_set_zone(w->s.writer, w->entry, zone);
}

static void
unload(struct world *w)
{
	table_set_zone(w->s.writer, w->entry, STORE_NONE);
	store_reclaim(w->s.writer);
	check(w, store_fixture_live(w->s.writer) == w->empty,
		"something of the zone is left");
}

static void
check_as_built(struct world *w)
{
	store_ref fresh;
	char *is, *ought;

	model_settle_ttls(&w->model);
	assert_int_equal(model_build(&w->model, w->s.writer, &fresh), NSD_OK);
	is = zone_check_print(w->s.view, served(w), apex);
	ought = zone_check_print(w->s.view, fresh, apex);
	if (strcmp(is, ought) != 0)
		fprintf(stderr, "merged:\n%s\nfresh:\n%s", is, ought);
	check(w, strcmp(is, ought) == 0, "not what the versions come to");
	check(w, zone_check_sound(w->s.view, served(w), apex) == NULL,
		"not sound");
	free(is);
	free(ought);
	release_zone(store_writer_heap(w->s.writer), fresh);
}

static void
versions_come_to_what_they_do_one_by_one(void **state)
{
	struct world *w = *state;
	unsigned zones = chance_setting("NSD_UPDATE_ZONES", ZONES);
	unsigned seed = chance_setting("NSD_UPDATE_SEED", 1);

	for (unsigned i = 0; i < zones; i++) {
		struct diag_sink sink = {.on_diag = NULL};
		store_ref before;
		enum nsd_err err;

		w->seed = seed + i;
		load(w, seed + i);
		before = served(w);
		err = update_commit(make_versions(w), &sink, NULL);
		check(w, err == (w->fits ? NSD_OK : NSD_E_INEXACT),
			w->fits ? "refused" : "not refused");
		if (w->fits)
			check_as_built(w);
		else
			check(w, served(w) == before, "refused, and changed");
		w->merged += w->fits;
		w->refused += !w->fits;
		unload(w);
	}
	printf("%u merged, %u refused\n", w->merged, w->refused);
	assert_true(w->merged > zones / 4 && w->refused > zones / 20);
}

static void
memory_that_runs_out_changes_nothing(void **state)
{
	struct world *w = *state;
	unsigned failed = 0;

	for (unsigned i = 0; i < MEMORY_ZONES; i++) {
		enum nsd_err err = NSD_E_MEMORY;

		for (int n = 0; err == NSD_E_MEMORY; n++) {
			struct diag_sink sink = {.on_diag = NULL};
			struct zone_update *u;

			w->seed = i + 1;
			load(w, i);
			u = make_versions(w);
			err = FAILING_ONCE(n, update_commit(u, &sink, NULL));
			failed += err == NSD_E_MEMORY;
			unload(w);
		}
	}
	assert_true(failed > 100);
}

/* ---- changes between the first and the last ------------------------------ */

/* NAMES names below "sub", which a bound on those that are made anew would not
 * allow. */
#define NAMES 500u
#define NAMES_BOUND 40u

static void
load_many(struct world *w)
{
	store_ref zone;

	load(w, 0);
	for (unsigned i = 0; i < NAMES; i++) {
		struct model_rr a = {.ttl_sec = 3600, .type = TYPE_A,
			.rdlen = 4};

		memcpy(a.owner, "\3x00\3sub" MODEL_APEX,
			8 + sizeof(MODEL_APEX));
		a.owner[2] = (uint8_t)('a' + i % 26);
		a.owner[3] = (uint8_t)('a' + i / 26);
		model_add(&w->model, &a);
	}
	assert_int_equal(model_build(&w->model, w->s.writer, &zone), NSD_OK);
	table_set_zone(w->s.writer, w->entry, zone);
}

/* A record that comes and goes, a version each. */
static struct zone_update *
make_flapping(struct world *w, const struct model_rr *rr)
{
	struct zone_update *u = begin_exact(w, NAMES_BOUND);

	for (unsigned i = 0; i < 100; i++) {
		if (i > 0)
			update_next_version(u);
		begin_version(w, u);
		if (i % 2 == 0)
			add(w, u, rr);
		else
			take(w, u, rr);
		end_version(w);
	}
	assert_true(w->fits);
	return u;
}

/* An NS or a DNAME above many names, the parameters of a chain. */
static void
what_comes_and_goes_costs_nothing(void **state)
{
	struct world *w = *state;
	static const struct {
		uint16_t type, rdlen;
		const char *owner, *rdata;
	} rows[] = {
		{TYPE_NS, 4, "\3sub" MODEL_APEX, "\2ns"},
		{TYPE_DNAME, 4, "\3sub" MODEL_APEX, "\2ns"},
		{TYPE_NSEC3PARAM, 6, MODEL_APEX, "\1\0\0\144\1\7"},
	};

	for (size_t row = 0; row < sizeof(rows) / sizeof(*rows); row++) {
		struct diag_sink sink = {.on_diag = NULL};
		struct zone_update_result result;
		struct model_rr rr = {.ttl_sec = 60, .type = rows[row].type,
			.rdlen = rows[row].rdlen};

		memcpy(rr.owner, rows[row].owner,
			name_len((const uint8_t *)rows[row].owner));
		memcpy(rr.rdata, rows[row].rdata, rr.rdlen);
		w->seed = row;
		load_many(w);
		assert_int_equal(update_commit(make_flapping(w, &rr), &sink,
					 &result), NSD_OK);
		assert_int_equal(result.added, 1);
		assert_int_equal(result.removed, 1);
		assert_int_equal(result.names, 1);
		check_as_built(w);
		unload(w);
	}
}

/* Chance seldom does the same twice. */
static void
record_is_as_the_version_before_has_left_it(void **state)
{
	static const struct {
		const char *versions; /* +, -: adds it, removes it */
		enum nsd_err err;
	} rows[] = {
		{"+-+", NSD_OK}, {"++", NSD_E_INEXACT}, {"+--", NSD_E_INEXACT},
		{"-", NSD_E_INEXACT}, {"+-++", NSD_E_INEXACT},
	};
	struct world *w = *state;
	struct model_rr rr = {.ttl_sec = 60, .type = TYPE_A, .rdlen = 4};

	memcpy(rr.owner, "\3new" MODEL_APEX, 4 + sizeof(MODEL_APEX));
	for (size_t row = 0; row < sizeof(rows) / sizeof(*rows); row++) {
		struct diag_sink sink = {.on_diag = NULL};
		struct zone_update *u;

		w->seed = row;
		load(w, 0);
		u = begin_exact(w, 0);
		for (const char *at = rows[row].versions; *at != '\0'; at++) {
			if (at != rows[row].versions)
				update_next_version(u);
			begin_version(w, u);
			if (*at == '+')
				add(w, u, &rr);
			else
				take(w, u, &rr);
			end_version(w);
		}
		assert_int_equal(update_commit(u, &sink, NULL), rows[row].err);
		assert_int_equal(w->fits, rows[row].err == NSD_OK);
		unload(w);
	}
}

static int
open_world(void **state)
{
	const struct zone_setup setup = {.apex = apex};
	struct world *w = calloc(1, sizeof(*w));

	w->model.rrs = calloc(MODEL_MAX, sizeof(struct model_rr));
	w->before.rrs = calloc(MODEL_MAX, sizeof(struct model_rr));
	w->added.rrs = calloc(MODEL_MAX, sizeof(struct model_rr));
	w->gone.rrs = calloc(MODEL_MAX, sizeof(struct model_rr));
	store_fixture_init(&w->s, 1);
	if (table_add(w->s.writer, &setup, 1, &w->entry) != NSD_OK)
		return -1;
	w->empty = store_fixture_live(w->s.writer);
	*state = w;
	return 0;
}

static int
close_world(void **state)
{
	struct world *w = *state;

	store_fixture_fini(&w->s);
	free(w->model.rrs);
	free(w->before.rrs);
	free(w->added.rrs);
	free(w->gone.rrs);
	free(w);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions_come_to_what_they_do_one_by_one),
		cmocka_unit_test(memory_that_runs_out_changes_nothing),
		cmocka_unit_test(what_comes_and_goes_costs_nothing),
		cmocka_unit_test(record_is_as_the_version_before_has_left_it),
	};

	return cmocka_run_group_tests(tests, open_world, close_world);
}
