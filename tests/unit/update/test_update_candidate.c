/*
 * test_update_candidate.c - random versions that are shown as candidates: only
 * a view with candidates has them, then they are published, or withdrawn, or
 * their loader dies. NSD_UPDATE_ZONES=N and NSD_UPDATE_SEED=S make it longer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "lib/chance.h"
#include "lib/store_fixture.h"
#include "lib/update_model.h"
#include "lib/zone_check.h"
#include "store/writer.h"
#include "zonedb/mark.h"
#include "zonedb/release.h"
#include "zonedb/retire.h"
#include "zonedb/table_edit.h"

#define ZONES 60u
#define STEPS 30u
#define CHANGES_MAX 12u

static const uint8_t apex[NAME_MAX_LEN] = MODEL_APEX;

static struct model model, after;
static struct store_fixture s;
static struct store_reader *reader;
static store_ref entry;
static uint64_t seed;
static unsigned published, withdrawn, swept, in_place;

static const struct zone_entry *
get_entry(void)
{
	return store_get(s.view, entry);
}

static void
check(bool ok, const char *what)
{
	if (!ok)
		fail_msg("seed %llu: %s", (unsigned long long)seed, what);
}

/* ---- a change ----------------------------------------------------------- */

static void
ask(struct zone_update *u, const struct model_rr *rr, bool add)
{
	const struct zone_rr r = {.owner = rr->owner, .ttl_sec = rr->ttl_sec,
		.type = rr->type, .rdlen = rr->rdlen, .rdata = rr->rdata};

	assert_int_equal(add ? update_add(u, &r) : update_remove(u, &r),
		NSD_OK);
	model_remove(&after, rr);
}

/* The first of equal records stays. */
static void
drop_doubles(void)
{
	for (size_t i = 0; i < after.count; i++)
		for (size_t j = i + 1; j < after.count; j++)
			if (model_equal(&after.rrs[i], &after.rrs[j])) {
				memmove(&after.rrs[j], &after.rrs[j + 1],
					(after.count - j - 1)
					* sizeof(after.rrs[0]));
				after.count--;
				j--;
			}
}

/* Removals come first, so that the model's order is the one that counts. */
static struct zone_update *
begin(void)
{
	const struct zone_update_options options = {.threads = 1};
	unsigned n = 1 + model_random(&model, CHANGES_MAX), count = 0;
	struct model_rr adds[CHANGES_MAX + 1];
	struct zone_update *u;

	assert_int_equal(update_begin(s.writer, entry, &options, &u), NSD_OK);
	memcpy(after.rrs, model.rrs, model.count * sizeof(model.rrs[0]));
	after.count = model.count;
	for (unsigned i = 0; i < n && after.count > 0; i++) {
		struct model_rr some = after.rrs[model_random(&model,
			(uint32_t)after.count)];

		if (some.type != TYPE_SOA)
			ask(u, &some, false);
	}
	for (unsigned i = 0; i < n; i++) {
		model_make_rr(&model, &adds[count]);
		if (adds[count].type != TYPE_SOA)
			ask(u, &adds[count++], true);
	}
	for (unsigned i = 0; i < count; i++)
		model_add(&after, &adds[i]);
	model_settle_ttls(&after);
	drop_doubles();
	return u;
}

static void
accept_model(void)
{
	struct model_rr *moved = model.rrs;

	model.rrs = after.rrs;
	model.count = after.count;
	after.rrs = moved;
}

/* ---- the end ------------------------------------------------------------ */

static void
sweep(void)
{
	struct store_sweep *sweep;
	uint64_t octets;

	store_reclaim(s.writer);
	assert_int_equal(store_sweep_begin(s.writer, &sweep), NSD_OK);
	mark_roots(s.writer, sweep);
	assert_int_equal(store_sweep_end(sweep, &octets), NSD_OK);
}

/* Checks that a view with candidates has the new version as a fresh build of
 * it, addresses included, and that no other view does. */
static void
check_shown(store_ref made, const char *was)
{
	char *is = zone_check_print(s.view, get_entry()->zone, apex);
	const char *wrong;
	store_ref fresh;

	check(strcmp(is, was) == 0, "what is served has changed");
	free(is);
	assert_int_equal(zone_entry_version(get_entry(), true), made);
	assert_int_equal(zone_entry_version(get_entry(), false),
		get_entry()->zone);
	assert_int_not_equal(made, get_entry()->zone);
	assert_int_equal(model_build(&after, s.writer, &fresh), NSD_OK);
	wrong = zone_check_equal(s.view, made, fresh);
	release_zone(store_writer_heap(s.writer), fresh);
	check(wrong == NULL, wrong);
}

static enum nsd_err
print_record(void *ctx, const struct zone_rr *rr)
{
	char text[NAME_TEXT_MAX];

	name_print_text(rr->owner, text);
	fprintf(ctx, "%s %u %u ", text, (unsigned)rr->ttl_sec, rr->type);
	for (unsigned i = 0; i < rr->rdlen; i++)
		fprintf(ctx, "%02x", rr->rdata[i]);
	fputc('\n', ctx);
	return NSD_OK;
}

/* Without the cells of addresses, which lead to what is served again once a
 * candidate was refused. */
static char *
print_records(store_ref zone)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	assert_int_equal(zone_walk(s.view, store_get(s.view, zone), apex,
		print_record, f), NSD_OK);
	fclose(f);
	return text;
}

/* A reader of the candidate keeps it until after it has gone. */
static char *
read_shown(store_ref made)
{
	store_reader_online(reader);
	return print_records(made);
}

static void
leave_shown(store_ref made, char *text)
{
	char *is = print_records(made);

	check(strcmp(is, text) == 0, "a candidate has changed before its"
		" reader");
	free(is);
	free(text);
	store_reader_offline(reader);
}

static void
end_shown(struct zone_update *u, store_ref made)
{
	const struct zone *zone = store_get(s.view, made);

	in_place += zone->version > 0;
	switch (model_random(&model, 3)) {
	case 0:
		retire_zone(s.writer, update_publish(u));
		update_end(u, NULL);
		assert_int_equal(get_entry()->zone, made);
		accept_model();
		published++;
		break;
	case 1:
		retire_zone(s.writer, update_withdraw(u));
		update_end(u, NULL);
		withdrawn++;
		break;
	default:
		sweep();
		update_abort(u);
		swept++;
	}
	assert_int_equal(get_entry()->candidate, STORE_NONE);
}

static void
run_step(void)
{
	struct zone_update *u = begin();
	struct diag_sink sink = {.on_diag = NULL};
	store_ref made;
	char *was, *text;

	update_settle(s.writer, entry);
	if (update_make(u, &sink) != NSD_OK) {
		update_end(u, NULL);
		return;
	}
	was = zone_check_print(s.view, get_entry()->zone, apex);
	made = update_show(u);
	if (made == STORE_NONE) {
		assert_int_equal(update_publish(u), STORE_NONE);
		update_end(u, NULL);
		free(was);
		return;
	}
	check_shown(made, was);
	/* Changes of cells stay pending under a candidate. */
	update_settle(s.writer, entry);
	store_reclaim(s.writer);
	text = read_shown(made);
	end_shown(u, made);
	store_reclaim(s.writer);
	leave_shown(made, text);
	/* A loader that takes over does not know what waits. */
	store_reclaim(s.writer);
	free(was);
	check(zone_check_sound(s.view, get_entry()->zone, apex) == NULL,
		"what is served is not sound");
}

static void
run_zone(unsigned kind)
{
	uint64_t empty = store_fixture_live(s.writer);
	store_ref zone;

	model.random = seed;
	model.labels = 3 + model_random(&model, 9);
	model.depth = 1 + model_random(&model, 3);
	model.valid = after.valid = true;
	model.signatures = kind % 3 == 1;
	model.nsec3 = kind % 4 == 3;
	do {
		model_start(&model, model_random(&model, 60));
	} while (model_build(&model, s.writer, &zone) != NSD_OK);
	table_set_zone(s.writer, entry, zone);
	for (unsigned i = 0; i < STEPS; i++)
		run_step();
	store_reclaim(s.writer);
	check(store_fixture_live(s.writer) == empty
			+ zone_check_octets(s.view, get_entry()->zone, NULL),
		"octets are lost");
	table_set_zone(s.writer, entry, STORE_NONE);
	store_reclaim(s.writer);
	check(store_fixture_live(s.writer) == empty,
		"something of the zone is left");
}

static void
candidates_are_seen_by_their_own_view_alone(void **state)
{
	unsigned zones = chance_setting("NSD_UPDATE_ZONES", ZONES);
	unsigned first = chance_setting("NSD_UPDATE_SEED", 1);

	for (unsigned i = 0; i < zones; i++) {
		seed = first + i;
		run_zone((unsigned)seed);
	}
	printf("seeds %u to %u: %u published, %u withdrawn, %u swept, %u of"
		" these in place\n", first, first + zones - 1, published,
		withdrawn, swept, in_place);
	assert_true(published > 0 && withdrawn > 0 && swept > 0
		&& in_place > 0);
}

static int
open_world(void **state)
{
	const struct zone_setup setup = {.apex = apex};

	model.rrs = calloc(MODEL_MAX, sizeof(struct model_rr));
	after.rrs = calloc(MODEL_MAX, sizeof(struct model_rr));
	store_fixture_init(&s, 2);
	return store_reader_open(s.store, 0, "reader", &reader) != NSD_OK
			|| table_add(s.writer, &setup, 1, &entry) != NSD_OK
		? -1 : 0;
}

static int
close_world(void **state)
{
	store_reader_close(reader);
	store_fixture_fini(&s);
	free(model.rrs);
	free(after.rrs);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(candidates_are_seen_by_their_own_view_alone),
	};

	return cmocka_run_group_tests(tests, open_world, close_world);
}
