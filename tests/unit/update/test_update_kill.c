/*
 * test_update_kill.c - a writer is killed at random points of updates: readers
 * keep the version they have, and its successor finds a sound zone, equal to
 * one that is built from its records, and no octets lost.
 * NSD_UPDATE_KILLS=N and NSD_UPDATE_SEED=S make it longer.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/chance.h"
#include "lib/store_fixture.h"
#include "lib/update_model.h"
#include "lib/zone_check.h"
#include "store/writer.h"
#include "zonedb/mark.h"
#include "zonedb/release.h"
#include "zonedb/table_edit.h"

#define KILLS 80u
#define LIVES_USEC 4000u /* at most */

static const uint8_t apex[NAME_MAX_LEN] = MODEL_APEX;

struct world {
	struct model model;
	struct store *store;
	struct store_reader *reader;
	const struct store_view *view;
	store_ref entry;
	uint64_t empty; /* octets of a table with a zone not loaded */
};

static store_ref
served(const struct world *w)
{
	const struct zone_entry *e = store_get(w->view, w->entry);

	return store_load_ref(&e->zone);
}

/* ---- the writer that is killed ----------------------------------------- */

static void
ask_something(struct model *m, struct zone_update *u)
{
	struct model_rr r;
	struct zone_rr rr;
	enum nsd_err err;

	model_make_rr(m, &r);
	if (model_random(m, 8) == 0) {
		memcpy(r.owner, apex, sizeof(r.owner));
		r.type = TYPE_SOA;
		r.rdlen = (uint16_t)model_make_rdata(m, TYPE_SOA, 0, r.rdata);
		if (update_remove_rrset(u, apex, TYPE_SOA) != NSD_OK)
			_exit(3);
	}
	rr = (struct zone_rr){.owner = r.owner, .ttl_sec = r.ttl_sec,
		.type = r.type, .rdlen = r.rdlen, .rdata = r.rdata};
	if (r.type != TYPE_SOA && model_random(m, 2) == 0)
		err = model_random(m, 3) > 0
			? update_remove_rrset(u, r.owner, r.type)
			: update_remove(u, &rr);
	else
		err = update_add(u, &rr);
	if (err != NSD_OK)
		_exit(3);
}

static void
write_until_killed(struct world *w)
{
	const struct zone_update_options options = {.threads = 1,
		.secondary = true};
	struct store_writer *writer;

	if (store_writer_open(w->store, &writer) != NSD_OK)
		_exit(2);
	for (;;) {
		struct diag_sink sink = {0};
		struct zone_update *u;
		enum nsd_err err;

		if (update_begin(writer, w->entry, &options, &u)
			!= NSD_OK)
			_exit(4);
		for (unsigned n = 1 + model_random(&w->model, 6); n > 0; n--)
			ask_something(&w->model, u);
		err = update_commit(u, &sink, NULL);
		if (err != NSD_OK && err != NSD_E_ZONE)
			_exit(5);
		store_reclaim(writer);
	}
}

static void
live_and_die(struct world *w)
{
	struct timespec life = {0, 1000 * (long)model_random(&w->model,
		LIVES_USEC)};
	pid_t pid = fork();
	int status;

	if (pid == 0)
		write_until_killed(w);
	assert_true(pid > 0);
	nanosleep(&life, NULL);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
}

/* ---- the successor ----------------------------------------------------- */

static enum nsd_err
take_record(void *ctx, const struct zone_rr *rr)
{
	struct model_rr r = {.ttl_sec = rr->ttl_sec, .type = rr->type,
		.rdlen = rr->rdlen};

	assert_true(rr->rdlen <= sizeof(r.rdata));
	memcpy(r.owner, rr->owner, name_len(rr->owner));
	memcpy(r.rdata, rr->rdata, rr->rdlen);
	model_add(ctx, &r);
	return NSD_OK;
}

static void
take_over(struct world *w, unsigned kill_number)
{
	struct store_writer *writer;
	struct store_sweep *sweep;
	struct store_stats stats;
	const char *wrong;
	uint64_t octets;
	store_ref fresh;

	assert_int_equal(store_writer_open(w->store, &writer), NSD_OK);
	assert_int_equal(store_sweep_begin(writer, &sweep), NSD_OK);
	mark_roots(writer, sweep);
	assert_int_equal(store_sweep_end(sweep, &octets), NSD_OK);
	store_reclaim(writer);
	wrong = zone_check_sound(w->view, served(w), apex);
	store_get_stats(writer, &stats);
	if (wrong == NULL && stats.live != w->empty + zone_check_octets(
			w->view, served(w), NULL))
		wrong = "octets are lost";
	if (wrong != NULL)
		fail_msg("kill %u: %s", kill_number, wrong);
	w->model.count = 0;
	assert_int_equal(zone_walk(w->view, store_get(w->view, served(w)),
		apex, take_record, &w->model), NSD_OK);
	assert_int_equal(model_build(&w->model, writer, &fresh), NSD_OK);
	wrong = zone_check_equal(w->view, served(w), fresh);
	if (wrong != NULL)
		fail_msg("kill %u: %s", kill_number, wrong);
	release_zone(store_writer_heap(writer), fresh);
	store_writer_close(writer);
}

static void
a_killed_writer_leaves_a_sound_zone(void **state)
{
	struct world *w = *state;
	unsigned kills = chance_setting("NSD_UPDATE_KILLS", KILLS);
	unsigned versions = 0;

	printf("seed %" PRIu64 "\n", chance_setting("NSD_UPDATE_SEED", 1));
	for (unsigned i = 0; i < kills; i++) {
		char *before, *after;
		store_ref seen;

		store_reader_online(w->reader);
		seen = served(w);
		before = zone_check_print(w->view, seen, apex);
		live_and_die(w);
		after = zone_check_print(w->view, seen, apex);
		assert_string_equal(before, after);
		versions += served(w) != seen;
		store_reader_offline(w->reader);
		free(before);
		free(after);
		take_over(w, i);
	}
	printf("%u kills, %u after a version was published\n", kills,
		versions);
	assert_true(versions > 0);
}

static int
open_world(void **state)
{
	const struct store_options options = {.reservation = 1u << 30,
		.reader_max = 1, .poison = true};
	const struct zone_setup setup = {.apex = apex};
	struct world *w = calloc(1, sizeof(*w));
	struct store_writer *writer;
	store_ref zone;

	w->model.rrs = calloc(MODEL_MAX, sizeof(struct model_rr));
	w->model.random = chance_setting("NSD_UPDATE_SEED", 1);
	w->model.labels = 8;
	w->model.depth = 3;
	w->model.signatures = w->model.nsec3 = true;
	if (store_create(&options, &w->store) != NSD_OK
		|| store_reader_open(w->store, 0, "reader", &w->reader)
			!= NSD_OK
		|| store_writer_open(w->store, &writer) != NSD_OK
		|| table_add(writer, &setup, 1, &w->entry) != NSD_OK)
		return -1;
	w->view = store_reader_view(w->reader);
	w->empty = store_fixture_live(writer);
	model_start(&w->model, 60);
	if (model_build(&w->model, writer, &zone) != NSD_OK)
		return -1;
	table_set_zone(writer, w->entry, zone);
	store_writer_close(writer);
	*state = w;
	return 0;
}

static int
close_world(void **state)
{
	struct world *w = *state;

	store_reader_close(w->reader);
	store_destroy(w->store);
	free(w->model.rrs);
	free(w);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_killed_writer_leaves_a_sound_zone),
	};

	return cmocka_run_group_tests(tests, open_world, close_world);
}
