/*
 * test_parts.c - zones that are built in parts, from a stream of records that
 * are in order or are sorted: each equals the one that is built from all
 * records at once, object for object, with the same findings, wherever the
 * parts begin; and nothing is left when memory runs out.
 * NSD_PARTS_ZONES=N and NSD_PARTS_SEED=S make it longer.
 */
#include "parts_world.h"

#include "compile/stream.h"
#include "lib/failing.h"
#include "lib/table_remove.h"
#include "lib/zone_check.h"
#include "store/writer.h"
#include "zonedb/release.h"
#include "zonedb/table_edit.h"

#define ZONES 400u
#define MEMORY_ZONES 12u

/* ---- building ------------------------------------------------------------ */

static enum nsd_err
build_from_stream(struct world *w, const struct zone_stream_options *options,
	struct diag_sink *sink, store_ref *zone)
{
	struct zone_stream *stream;
	enum nsd_err err = stream_begin(&w->input, options, w->s.writer,
		w->s.heap, &stream);

	if (err != NSD_OK)
		return err;
	for (const struct rrbatch *b = w->batches; b != NULL && err == NSD_OK;
		b = b->next) {
		struct rrbatch *copy = copy_batch(b);

		err = copy != NULL ? stream_take(stream, copy) : NSD_E_MEMORY;
	}
	if (err == NSD_OK)
		return stream_finish(stream, files, 2, sink, zone);
	stream_abandon(stream);
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
	/* Templates are shared within a thread only. */
	check(w, a.rrsets == b.rrsets && (w->many || (a.templates
				== b.templates
				&& a.nsec3_templates == b.nsec3_templates)),
		"contents are not shared as in one part");
}

static int
compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorts the lines of a report: what several threads say of one line has no
 * order. */
static void
report_sort(struct report *r)
{
	static char text[FINDINGS_MAX];
	char *lines[FINDINGS_MAX / 20], *save;
	size_t count = 0;

	strcpy(text, r->text);
	for (char *line = strtok_r(text, "\n", &save); line != NULL;
		line = strtok_r(NULL, "\n", &save))
		lines[count++] = line;
	qsort(lines, count, sizeof(lines[0]), compare_lines);
	r->len = 0;
	for (size_t i = 0; i < count; i++)
		r->len += (size_t)sprintf(r->text + r->len, "%s\n", lines[i]);
}

static void
check_reports(struct world *w)
{
	if (w->many) {
		report_sort(&w->report[0]);
		report_sort(&w->report[1]);
	}
	if (strcmp(w->report[0].text, w->report[1].text) != 0)
		fprintf(stderr, "at once:\n%s\nin parts:\n%s\n",
			w->report[0].text, w->report[1].text);
	check(w, strcmp(w->report[0].text, w->report[1].text) == 0,
		"has something else to say");
}

static bool
apex_has(const struct world *w, uint16_t type)
{
	for (size_t i = 0; i < w->model.count; i++)
		if (w->model.rrs[i].type == type
			&& name_equal(w->model.rrs[i].owner, apex))
			return true;
	return false;
}

/* The stream gave up, and told nothing. */
static void
check_not_streamed(struct world *w, bool sort, enum nsd_err err)
{
	check(w, w->report[1].len == 0, "told of what was given up");
	check(w, err == NSD_E_LIMIT || !sort, "out of order");
	if (err == NSD_E_AGAIN && !w->sorted)
		return;
	check(w, w->model.nsec3 || w->model.signatures
			|| w->outside || !apex_has(w, TYPE_SOA)
			|| !apex_has(w, TYPE_NS),
		"given up without need");
	w->odd++;
}

/* Builds from a stream, with parts of so many octets. */
static void
check_stream(struct world *w, size_t octets, bool sort, enum nsd_err want,
	store_ref whole)
{
	const struct zone_stream_options options = {
		.rr_expected = w->many ? 100000 : 1,
		.part_octets = octets,
		.sort = sort,
	};
	store_ref zone = STORE_NONE;
	enum nsd_err err;

	/* Warnings about a broken zone depend on how far a build gets. */
	report_init(&w->report[1], want != NSD_OK);
	err = build_from_stream(w, &options, &w->report[1].sink, &zone);
	if (err == NSD_E_AGAIN || err == NSD_E_LIMIT) {
		check_not_streamed(w, sort, err);
		return;
	}
	check(w, err == want, "another outcome");
	check_reports(w);
	if (err != NSD_OK)
		return;
	check_zones(w, whole, zone);
	w->streamed++;
	w->sorts += sort && !w->sorted;
	w->streamed_chains += ((const struct zone *)store_get(w->s.view,
		zone))->chain != STORE_NONE;
	release_zone(w->s.heap, zone);
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
	w->outside = kind % 8 == 6;
	w->batches = file_make(w);
	err = build_at_once(w, false, &whole);
	if (err == NSD_E_ZONE)
		(void)build_at_once(w, true, &whole);
	assert_true(err == NSD_OK || err == NSD_E_ZONE);
	w->built += err == NSD_OK;
	w->refused += err != NSD_OK;
	for (size_t i = 0; i < 2 * sizeof(sizes) / sizeof(sizes[0]); i++)
		check_stream(w, sizes[i / 2], i % 2 > 0, err, whole);
	w->many = true;
	check_stream(w, sizes[kind % 7], kind % 2 > 0, err, whole);
	w->many = false;
	if (err == NSD_OK)
		release_zone(w->s.heap, whole);
	check(w, live(w) == w->empty, "something is left");
	rrbatch_destroy_all(w->batches);
	w->outside = false;
}

static void
streams_come_to_what_one_build_does(void **state)
{
	struct world *w = *state;
	unsigned zones = chance_setting("NSD_PARTS_ZONES", ZONES);
	unsigned seed = chance_setting("NSD_PARTS_SEED", 1);

	for (unsigned i = 0; i < zones; i++) {
		w->seed = seed + i;
		run_zone(w, (unsigned)w->seed);
	}
	printf("seeds %u to %u: %u built, %u refused, %u times not from a "
		"stream; %u from a stream, %u of them sorted, %u with a "
		"chain\n", seed, seed + zones - 1, w->built, w->refused,
		w->odd, w->streamed, w->sorts, w->streamed_chains);
	assert_true(w->built > zones / 4 && w->refused > zones / 20);
	assert_true(w->streamed > zones / 4 && w->sorts > zones / 10);
	assert_true(w->streamed_chains > zones / 20);
}

static void
check_without_memory(struct world *w, bool sort)
{
	const struct zone_stream_options options = {.rr_expected = 1,
		.part_octets = 300, .sort = sort};
	unsigned failed = 0, chains = 0;

	w->order = sort ? 2 : 1;

	for (unsigned i = 0; i < MEMORY_ZONES; i++) {
		enum nsd_err err = NSD_E_MEMORY;

		w->seed = 1000 + i;
		set_up_model(w, i);
		w->input.secondary = true;
		w->input.threads = 1;
		model_start(&w->model, w->model.nsec3 ? 100 : 30);
		one_salt(&w->model);
		w->batches = file_make(w);
		for (int n = 0; err == NSD_E_MEMORY; n++) {
			store_ref zone = STORE_NONE;

			report_init(&w->report[1], false);
			err = FAILING_FROM(n,
				build_from_stream(w, &options,
					&w->report[1].sink, &zone));
			if (err == NSD_OK) {
				chains += ((const struct zone *)store_get(
					w->s.view, zone))->chain != STORE_NONE;
				release_zone(w->s.heap, zone);
			}
			check(w, live(w) == w->empty, "something is left");
			failed++;
		}
		check(w, err == NSD_OK || err == NSD_E_LIMIT,
			"another error");
		rrbatch_destroy_all(w->batches);
	}
	w->order = 0;
	printf("%u builds ran out of memory\n", failed);
	assert_true(failed > 1000 && chains > 1);
}

static void
streams_without_memory_leave_nothing(void **state)
{
	check_without_memory(*state, false);
	check_without_memory(*state, true);
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

/* A version is retired in several steps, and none of its objects is freed while
 * a reader holds it. */
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(streams_come_to_what_one_build_does),
		cmocka_unit_test(streams_without_memory_leave_nothing),
		cmocka_unit_test(old_version_stays_for_its_reader),
	};

	return cmocka_run_group_tests(tests, open_world, close_world);
}
