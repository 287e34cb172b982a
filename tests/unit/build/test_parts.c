/*
 * test_parts.c - zones that are built in parts: each equals the one that is
 * built from all records at once, object for object, with the same findings,
 * wherever the parts begin; and nothing is left when memory runs out.
 * NSD_PARTS_ZONES=N and NSD_PARTS_SEED=S make it longer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "build/parts.h"
#include "keep/release.h"
#include "keep/table_edit.h"
#include "lib/chance.h"
#include "lib/failing.h"
#include "lib/store_fixture.h"
#include "lib/zone_check.h"
#include "lib/update_model.h"
#include "store/writer.h"

#define ZONES 400u
#define MEMORY_ZONES 12u
#define FINDINGS_MAX 200000u

static const uint8_t apex[NAME_MAX_LEN] = MODEL_APEX;
static const char *const files[] = {"z", "y"};

/* ---- findings ------------------------------------------------------------ */

struct report {
	struct diag_sink sink; /* first */
	size_t len;
	bool errors_alone;
	char text[FINDINGS_MAX];
};

static void
report_on_diag(struct diag_sink *sink, const struct diag *d)
{
	struct report *r = (struct report *)sink;

	assert_true(r->len < FINDINGS_MAX - 1000);
	if (r->errors_alone && d->severity != DIAG_ERROR)
		return;
	r->len += (size_t)snprintf(r->text + r->len, 1000, "%s:%u: %d %s\n",
		d->file != NULL ? d->file : "-", (unsigned)d->line,
		(int)d->severity, d->text);
}

static void
report_init(struct report *r, bool errors_alone)
{
	r->errors_alone = errors_alone;
	memset(&r->sink, 0, sizeof(r->sink));
	r->sink.on_diag = report_on_diag;
	r->len = 0;
	r->text[0] = '\0';
}

/* ---- a file -------------------------------------------------------------- */

struct world {
	struct model model;
	struct store_fixture s;
	uint64_t seed;
	uint64_t empty;
	struct rrbatch *batches; /* the file's */
	struct zone_build_input input;
	struct report report[2];
	unsigned built, refused, odd, parts, chains;
};

static uint64_t
live(const struct world *w)
{
	return store_fixture_live(w->s.writer);
}

static void
check(const struct world *w, bool ok, const char *what)
{
	if (!ok)
		fail_msg("seed %llu: %s", (unsigned long long)w->seed, what);
}

/* Leaves the records as they are, or puts them out of order: then RRsets stand
 * in several places. */
static void
file_shuffle(struct model *m)
{
	for (size_t i = m->count; i > 1; i--) {
		size_t j = model_random(m, (uint32_t)i);
		struct model_rr swap = m->rrs[i - 1];

		m->rrs[i - 1] = m->rrs[j];
		m->rrs[j] = swap;
	}
}

static int
compare_rrs(const void *a, const void *b)
{
	return model_compare(&a, &b);
}

/* Cuts the records into batches anywhere. A record may have the owner of the
 * one before it. */
static struct rrbatch *
file_make(struct model *m)
{
	struct rrbatch *first = NULL, **end = &first, *batch = NULL;
	unsigned order = model_random(m, 3);
	const uint8_t *owner = NULL;

	if (order == 0)
		qsort(m->rrs, m->count, sizeof(m->rrs[0]), compare_rrs);
	else if (order == 1)
		file_shuffle(m);
	for (size_t i = 0; i < m->count; i++) {
		const struct model_rr *rr = &m->rrs[i];
		struct rrbatch_rr head = {
			.line = (uint32_t)i + 1,
			.file = (uint16_t)(i > m->count / 2),
			.ttl_sec = rr->ttl_sec,
			.type = rr->type,
			.rdlen = rr->rdlen,
		};
		bool same;

		if (batch == NULL || model_random(m, 8) == 0) {
			batch = rrbatch_create(65536);
			assert_non_null(batch);
			*end = batch;
			end = &batch->next;
			owner = NULL;
		}
		same = owner != NULL && name_equal(owner, rr->owner);
		owner = rr->owner;
		if (rrbatch_append(batch, &head, same ? NULL : owner,
			    rr->rdata) != NSD_OK) {
			batch = NULL;
			i--;
		}
	}
	return first;
}

/* ---- building ------------------------------------------------------------ */

static struct zone_plan *
make_plan(struct world *w)
{
	struct zone_plan *plan;

	if (parts_plan_create(apex, &plan) != NSD_OK)
		return NULL;
	for (const struct rrbatch *b = w->batches; b != NULL; b = b->next)
		parts_plan_add(plan, b);
	return plan;
}

static enum nsd_err
read_parts(struct world *w, struct zone_parts *parts)
{
	enum nsd_err err = NSD_OK;

	while (err == NSD_OK && parts_next(parts)) {
		for (const struct rrbatch *b = w->batches;
			b != NULL && err == NSD_OK; b = b->next)
			err = parts_take(parts, b);
		if (err == NSD_OK)
			err = parts_pack(parts);
		w->parts++;
	}
	return err;
}

static enum nsd_err
build_in_parts(struct world *w, size_t octets, struct diag_sink *sink,
	store_ref *zone)
{
	struct zone_plan *plan = make_plan(w);
	struct zone_parts *parts;
	enum nsd_err err = plan == NULL ? NSD_E_MEMORY
		: parts_begin(&w->input, plan, octets, w->s.writer,
			  w->s.heap, &parts);

	if (err == NSD_OK) {
		err = read_parts(w, parts);
		if (err == NSD_OK)
			err = parts_finish(parts, sink, zone);
		else
			parts_abandon(parts);
	}
	parts_plan_destroy(plan);
	return err;
}

static enum nsd_err
build_at_once(struct world *w, bool errors_alone, store_ref *zone)
{
	enum nsd_err err;

	report_init(&w->report[0], errors_alone);
	w->input.batches = w->batches;
	err = build_zone(&w->input, w->s.writer, w->s.heap, &w->report[0].sink,
		zone);
	w->input.batches = NULL;
	return err;
}

static void
check_zones(struct world *w, store_ref whole, store_ref parts)
{
	struct zone_check_shared a, b;
	const char *wrong = zone_check_sound(w->s.view, parts, apex);
	char *text[2];

	check(w, wrong == NULL, wrong);
	wrong = zone_check_equal(w->s.view, parts, whole);
	check(w, wrong == NULL, wrong);
	text[0] = zone_check_print(w->s.view, whole, apex);
	text[1] = zone_check_print(w->s.view, parts, apex);
	check(w, strcmp(text[0], text[1]) == 0, "prints otherwise");
	free(text[0]);
	free(text[1]);
	check(w, live(w) == w->empty
			+ zone_check_octets(w->s.view, whole, &a)
			+ zone_check_octets(w->s.view, parts, &b),
		"octets are lost");
	check(w, a.rrsets == b.rrsets && a.templates == b.templates
			&& a.forms == b.forms,
		"contents are not shared as in one part");
}

static void
check_reports(struct world *w)
{
	if (strcmp(w->report[0].text, w->report[1].text) != 0)
		fprintf(stderr, "at once:\n%s\nin parts:\n%s\n",
			w->report[0].text, w->report[1].text);
	check(w, strcmp(w->report[0].text, w->report[1].text) == 0,
		"has something else to say");
}

/* Builds in parts of so many octets. whole: the zone that was built at once. */
static void
check_parts(struct world *w, size_t octets, enum nsd_err want, store_ref whole)
{
	store_ref parts = STORE_NONE;
	enum nsd_err err;

	/* What else a broken zone is told of goes by how far a build looks. */
	report_init(&w->report[1], want != NSD_OK);
	err = build_in_parts(w, octets, &w->report[1].sink, &parts);
	if (err == NSD_E_LIMIT) {
		w->odd++;
		check(w, w->model.nsec3 || w->model.signatures,
			"not to be built in parts");
		return;
	}
	check(w, err == want, "another outcome");
	check_reports(w);
	if (err != NSD_OK)
		return;
	check_zones(w, whole, parts);
	w->chains += ((const struct zone *)store_get(w->s.view, parts))->chain
		!= STORE_NONE;
	release_zone(w->s.heap, parts);
}

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
	w->input.secondary = kind % 5 > 0;
	w->input.threads = 1 + model_random(m, 3);
}

/* Like most zones: one NSEC3PARAM that can be used, and NSEC3 records only at
 * hashes. */
static void
one_salt(struct model *m)
{
	bool found = false;
	size_t kept = 0;

	for (size_t i = 0; i < m->count; i++) {
		bool param = m->rrs[i].type == TYPE_NSEC3PARAM;
		bool hash = m->rrs[i].owner[0] == NSEC3_LABEL_LEN;

		if ((param && found) || (hash
				&& m->rrs[i].type != TYPE_NSEC3
				&& m->rrs[i].type != TYPE_RRSIG))
			continue;
		if (m->rrs[i].type == TYPE_RRSIG && (octets_get_u16(
				m->rrs[i].rdata) == TYPE_NSEC3) != hash)
			continue;
		found = found || param;
		m->rrs[kept++] = m->rrs[i];
	}
	m->count = kept;
}

static void
run_zone(struct world *w, unsigned kind)
{
	static const size_t sizes[] = {1, 60, 150, 400, 1000, 4000, 0};
	store_ref whole = STORE_NONE;
	enum nsd_err err;

	set_up_model(w, kind);
	model_start(&w->model, model_random(&w->model, 80));
	if (model_random(&w->model, 4) > 0)
		one_salt(&w->model);
	w->batches = file_make(&w->model);
	err = build_at_once(w, false, &whole);
	if (err == NSD_E_ZONE)
		(void)build_at_once(w, true, &whole);
	assert_true(err == NSD_OK || err == NSD_E_ZONE);
	w->built += err == NSD_OK;
	w->refused += err != NSD_OK;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		check_parts(w, sizes[i], err, whole);
	if (err == NSD_OK)
		release_zone(w->s.heap, whole);
	check(w, live(w) == w->empty, "something is left");
	rrbatch_destroy_all(w->batches);
}

static void
parts_come_to_what_one_build_does(void **state)
{
	struct world *w = *state;
	unsigned zones = chance_setting("NSD_PARTS_ZONES", ZONES);
	unsigned seed = chance_setting("NSD_PARTS_SEED", 1);

	for (unsigned i = 0; i < zones; i++) {
		w->seed = seed + i;
		run_zone(w, (unsigned)w->seed);
	}
	printf("seeds %u to %u: %u built, %u refused, in %u parts; %u with a "
		"chain, %u times not in parts\n", seed, seed + zones - 1,
		w->built, w->refused, w->parts, w->chains, w->odd);
	assert_true(w->built > zones / 4 && w->refused > zones / 20);
	assert_true(w->chains > zones / 10);
}

static void
parts_without_memory_leave_nothing(void **state)
{
	struct world *w = *state;
	unsigned failed = 0, chains = 0;

	for (unsigned i = 0; i < MEMORY_ZONES; i++) {
		enum nsd_err err = NSD_E_MEMORY;

		w->seed = 1000 + i;
		set_up_model(w, i);
		w->input.secondary = true;
		w->input.threads = 1;
		model_start(&w->model, w->model.nsec3 ? 100 : 30);
		one_salt(&w->model);
		w->batches = file_make(&w->model);
		for (int n = 0; err == NSD_E_MEMORY; n++) {
			store_ref zone = STORE_NONE;

			report_init(&w->report[1], false);
			failing_from(n);
			err = build_in_parts(w, 300, &w->report[1].sink,
				&zone);
			failing_from(-1);
			if (err == NSD_OK) {
				chains += ((const struct zone *)store_get(
					w->s.view, zone))->chain != STORE_NONE;
				release_zone(w->s.heap, zone);
			}
			check(w, live(w) == w->empty, "something is left");
			failed++;
		}
		check(w, err == NSD_OK, "another error");
		rrbatch_destroy_all(w->batches);
	}
	printf("%u builds ran out of memory\n", failed);
	assert_true(failed > 1000 && chains > 1);
}

/* ---- files that change --------------------------------------------------- */

/* The file has records that the plan did not know. The result is an error or a
 * zone, but never a crash or a leak. */
static void
parts_of_another_file_are_harmless(void **state)
{
	struct world *w = *state;
	struct zone_plan *plan;
	struct zone_parts *parts;
	struct rrbatch *before;
	unsigned again = 0;

	for (unsigned i = 0; i < 200; i++) {
		store_ref zone = STORE_NONE;
		enum nsd_err err;

		w->seed = 5000 + i;
		set_up_model(w, i | 3);
		model_start(&w->model, 20);
		one_salt(&w->model);
		before = w->batches = file_make(&w->model);
		plan = make_plan(w);
		model_start(&w->model, 80);
		one_salt(&w->model);
		w->batches = file_make(&w->model);
		err = parts_begin(&w->input, plan, 200, w->s.writer,
			w->s.heap, &parts);
		if (err == NSD_OK) {
			err = read_parts(w, parts);
			again += err == NSD_E_AGAIN;
			if (err != NSD_OK)
				parts_abandon(parts);
			else if (parts_finish(parts, &w->report[1].sink,
					 &zone) == NSD_OK)
				release_zone(w->s.heap, zone);
		}
		check(w, live(w) == w->empty, "something is left");
		parts_plan_destroy(plan);
		rrbatch_destroy_all(before);
		rrbatch_destroy_all(w->batches);
	}
	assert_true(again > 0);
}

/* ---- the old version ---------------------------------------------------- */

#define NAMES 20000u

static store_ref
build_many_names(struct world *w)
{
	struct rrbatch *batch = rrbatch_create(NAMES * 64);
	struct rrbatch_rr head = {.type = TYPE_SOA, .rdlen = 27};
	uint8_t owner[NAME_MAX_LEN], rdata[64] = "\2ns\0\1x\0";
	struct zone_build_input input = {.apex = apex, .batches = batch,
		.threads = 1};
	struct diag_sink sink = {0};
	store_ref zone;

	assert_int_equal(rrbatch_append(batch, &head, apex, rdata), NSD_OK);
	head.type = TYPE_A;
	head.rdlen = 4;
	for (unsigned i = 0; i < NAMES; i++) {
		owner[0] = 6;
		snprintf((char *)owner + 1, 7, "h%05u", i);
		memcpy(owner + 7, apex, sizeof(MODEL_APEX));
		octets_put_u32(rdata, i);
		assert_int_equal(rrbatch_append(batch, &head, owner, rdata),
			NSD_OK);
	}
	assert_int_equal(build_zone(&input, w->s.writer, w->s.heap, &sink,
		&zone), NSD_OK);
	rrbatch_destroy(batch);
	return zone;
}

/* Its objects are freed in several goes while it is retired, but not before
 * its reader has left it. */
static void
old_version_stays_for_its_reader(void **state)
{
	struct world *w = *state;
	const struct zone_setup setup = {.apex = apex};
	struct store_reader *reader;
	char *before, *after;
	store_ref entry, zone;
	uint64_t empty;

	assert_int_equal(table_add(w->s.writer, &setup, 1, &entry), NSD_OK);
	assert_int_equal(store_reader_open(w->s.store, 0, "reader", &reader),
		NSD_OK);
	empty = live(w);
	for (unsigned busy = 0; busy < 2; busy++) {
		zone = build_many_names(w);
		table_set_zone(w->s.writer, entry, zone);
		if (busy > 0)
			store_reader_online(reader);
		before = zone_check_print(w->s.view, zone, apex);
		table_set_zone(w->s.writer, entry, STORE_NONE);
		if (busy > 0) {
			store_reclaim(w->s.writer);
			after = zone_check_print(w->s.view, zone, apex);
			assert_string_equal(before, after);
			free(after);
			store_reader_offline(reader);
		}
		free(before);
		assert_int_equal(store_reclaim(w->s.writer), 0);
		assert_int_equal(live(w), empty);
	}
	store_reader_close(reader);
	assert_int_equal(table_remove(w->s.writer, apex), NSD_OK);
	store_reclaim(w->s.writer);
}

static int
open_world(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	w->model.rrs = calloc(MODEL_MAX, sizeof(struct model_rr));
	w->input.apex = apex;
	w->input.files = files;
	w->input.file_count = 2;
	store_fixture_init(&w->s, 1);
	w->empty = live(w);
	*state = w;
	return 0;
}

static int
close_world(void **state)
{
	struct world *w = *state;

	store_fixture_fini(&w->s);
	free(w->model.rrs);
	free(w);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_come_to_what_one_build_does),
		cmocka_unit_test(parts_without_memory_leave_nothing),
		cmocka_unit_test(parts_of_another_file_are_harmless),
		cmocka_unit_test(old_version_stays_for_its_reader),
	};

	return cmocka_run_group_tests(tests, open_world, close_world);
}
