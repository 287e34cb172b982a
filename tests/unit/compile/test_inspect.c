/*
 * test_inspect.c - zones that are looked at while they are read: what is told
 * of them, and the records that are handed on, are those of a build, wherever
 * the parts begin.
 * NSD_INSPECT_ZONES=N and NSD_INSPECT_SEED=S make it longer.
 */
#include "parts_world.h"

#include "compile/inspect.h"
#include "lib/failing.h"
#include "store/writer.h"
#include "zonedb/release.h"

#define ZONES 600u
#define TEXT_MAX 2000000u

/* ---- records as text ----------------------------------------------------- */

struct listing {
	size_t len;
	unsigned parts;
	uint64_t records; /* in them */
	char text[TEXT_MAX];
};

static enum nsd_err
list_rr(void *ctx, const struct zone_rr *rr)
{
	struct listing *l = ctx;
	size_t len = name_len(rr->owner);

	assert_true(l->len + 2u * (len + rr->rdlen) + 40 < TEXT_MAX);
	for (size_t i = 0; i < len; i++)
		l->len += (size_t)sprintf(l->text + l->len, "%02x",
			rr->owner[i]);
	l->len += (size_t)sprintf(l->text + l->len, " %u %u ",
		(unsigned)rr->ttl_sec, (unsigned)rr->type);
	for (size_t i = 0; i < rr->rdlen; i++)
		l->len += (size_t)sprintf(l->text + l->len, "%02x",
			rr->rdata[i]);
	l->text[l->len++] = '\n';
	l->text[l->len] = '\0';
	return NSD_OK;
}

static uint8_t owner_seen[NAME_MAX_LEN];

static enum nsd_err
note_owner(void *ctx, const uint8_t *owner, size_t len)
{
	assert_int_equal(len, name_len(owner));
	memcpy(owner_seen, owner, len);
	return NSD_OK;
}

static enum nsd_err
list_rr_of_owner(void *ctx, const struct zone_rr *rr)
{
	assert_true(name_equal(rr->owner, owner_seen));
	return list_rr(ctx, rr);
}

static enum nsd_err
count_part(void *ctx, const struct rrbatch *batches)
{
	struct listing *l = ctx;

	l->parts++;
	for (; batches != NULL; batches = batches->next)
		l->records += batches->count;
	return NSD_OK;
}

static void
listing_init(struct listing *l)
{
	l->len = 0;
	l->parts = 0;
	l->records = 0;
	l->text[0] = '\0';
}

/* ---- looking ------------------------------------------------------------- */

static struct listing seen, walked;

static enum nsd_err
look(struct world *w, size_t octets, bool sort, struct diag_sink *sink)
{
	const struct zone_inspect_input input = {
		.apex = apex,
		.part_octets = octets,
		.sort = sort,
		.on_owner = note_owner,
		.on_rr = list_rr_of_owner,
		.on_part = count_part,
		.ctx = &seen,
	};
	struct zone_inspect *s;
	enum nsd_err err = inspect_begin(&input, &s);

	if (err != NSD_OK)
		return err;
	listing_init(&seen);
	for (const struct rrbatch *b = w->batches; b != NULL && err == NSD_OK;
		b = b->next) {
		struct rrbatch *copy = copy_batch(b);

		err = copy != NULL ? inspect_take(s, copy) : NSD_E_MEMORY;
	}
	if (err == NSD_OK)
		err = inspect_finish(s);
	if (err == NSD_OK)
		inspect_tell(s, files, 2, sink);
	inspect_destroy(s);
	return err;
}

static void
check_look(struct world *w, size_t octets, bool sort, enum nsd_err built)
{
	enum nsd_err err;

	report_init(&w->report[1], false);
	err = look(w, octets, sort, &w->report[1].sink);
	if (err == NSD_E_LIMIT) {
		w->odd++;
		check_given_up(w, built, sort || w->sorted);
		return;
	}
	check(w, err == NSD_OK && built == NSD_OK, "another outcome");
	if (strcmp(w->report[0].text, w->report[1].text) != 0)
		fprintf(stderr, "built:\n%s\nlooked at:\n%s\n",
			w->report[0].text, w->report[1].text);
	check(w, strcmp(w->report[0].text, w->report[1].text) == 0,
		"has something else to say");
	check(w, strcmp(seen.text, walked.text) == 0, "hands on otherwise");
	check(w, seen.records == w->model.count, "lacks records in parts");
	w->streamed++;
	w->sorts += sort && !w->sorted;
	w->parts += seen.parts;
}

static void
make_world(struct world *w, unsigned kind)
{
	set_up_model(w, kind);
	w->input.secondary = false;
	/* Which of equal RRsets comes first, goes by threads. */
	w->input.threads = 1;
	w->order = kind % 8 > 2;
	model_start(&w->model, model_random(&w->model, 80));
	if (w->model.nsec3)
		one_salt(&w->model);
	w->batches = file_make(w);
}

static void
run_zone(struct world *w, unsigned kind)
{
	static const size_t sizes[] = {1, 60, 150, 400, 1000, 4000, 0};
	store_ref zone = STORE_NONE;
	enum nsd_err err;

	make_world(w, kind);
	err = build_at_once(w, false, &zone);
	assert_true(err == NSD_OK || err == NSD_E_ZONE);
	listing_init(&walked);
	if (err == NSD_OK) {
		assert_int_equal(zone_walk(w->s.view, store_get(w->s.view,
			zone), apex, list_rr, &walked), NSD_OK);
		release_zone(w->s.heap, zone);
	}
	w->built += err == NSD_OK;
	for (size_t i = 0; i < 2 * sizeof(sizes) / sizeof(sizes[0]); i++)
		check_look(w, sizes[i / 2], i % 2 > 0, err);
	rrbatch_destroy_all(w->batches);
}

static void
what_is_looked_at_is_told_as_by_a_build(void **state)
{
	struct world *w = *state;
	unsigned zones = chance_setting("NSD_INSPECT_ZONES", ZONES);
	unsigned seed = chance_setting("NSD_INSPECT_SEED", 1);

	for (unsigned i = 0; i < zones; i++) {
		w->seed = seed + i;
		run_zone(w, (unsigned)w->seed);
	}
	printf("seeds %u to %u: %u built; %u times looked at, in %u parts, %u "
		"times not\n", seed, seed + zones - 1, w->built, w->streamed,
		w->parts, w->odd);
	assert_true(w->streamed > zones && w->sorts > zones / 4);
	assert_true(w->parts > 2 * w->streamed);
}

static void
looks_without_memory_leave_nothing(void **state)
{
	struct world *w = *state;
	unsigned failed = 0;

	for (unsigned i = 0; i < 8; i++) {
		enum nsd_err err = NSD_E_MEMORY;

		w->seed = 1000 + i;
		make_world(w, 8 * i + 2);
		for (int n = 0; err == NSD_E_MEMORY; n++) {
			report_init(&w->report[1], false);
			err = FAILING_FROM(n,
				look(w, 300, i % 2 > 0, &w->report[1].sink));
			failed++;
		}
		check(w, err == NSD_OK || err == NSD_E_LIMIT, "another error");
		rrbatch_destroy_all(w->batches);
	}
	printf("%u looks ran out of memory\n", failed);
	assert_true(failed > 100);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_looked_at_is_told_as_by_a_build),
		cmocka_unit_test(looks_without_memory_leave_nothing),
	};

	return cmocka_run_group_tests(tests, open_world, close_world);
}
