/* test_update_steps.c - a transaction that one thread makes and another
 * publishes, or nobody; what it is refused for before that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/one_fixture.h"
#include "lib/zone_check.h"
#include "store/writer.h"
#include "update/update.h"
#include "zonedb/release.h"

#define HEAD "$TTL 3600\n@ SOA ns1 x 1 2 3 4 5\n@ NS ns1\nns1 A 192.0.2.1\n"

static store_ref entry;
static struct zone_update *update;

static void
load(const char *text)
{
	assert_int_equal(zone_fixture_load(&f, "example.", text, &entry),
		NSD_OK);
}

static enum nsd_err
commit(void)
{
	struct diag_sink sink = {.on_diag = NULL};

	return update_commit(update, &sink, NULL);
}

static void
change(const char *owner, uint8_t last, enum nsd_err (*note)(
	struct zone_update *update, const struct zone_rr *rr))
{
	const uint8_t rdata[] = {192, 0, 2, last};
	const struct zone_rr rr = {.owner = zone_fixture_name(owner),
		.ttl_sec = 60, .type = TYPE_A, .rdlen = 4, .rdata = rdata};

	assert_int_equal(note(update, &rr), NSD_OK);
}

static store_ref
served(void)
{
	return ((const struct zone_entry *)store_get(f.view, entry))->zone;
}

/* Checks that the zone that is served equals one of this text. */
static void
check_text(const char *text)
{
	const char *wrong;
	store_ref fresh;

	assert_int_equal(zone_fixture_build(&f, "example.", text, &fresh),
		NSD_OK);
	wrong = zone_check_equal(f.view, served(), fresh);
	if (wrong != NULL)
		fail_msg("%s", wrong);
	release_zone(store_writer_heap(f.writer), fresh);
}

#define IN_STEPS HEAD "a A 192.0.2.2\nb.sub A 192.0.2.3\n"

/* A heap of the thread that makes the version. */
static void
begin_in_steps(struct store_heap **heap, uint32_t names_max)
{
	struct zone_update_options options = {.threads = 1,
		.names_max = names_max};

	assert_int_equal(store_heap_create(f.writer, heap), NSD_OK);
	options.heap = *heap;
	assert_int_equal(update_begin(f.writer, entry, &options, &update),
		NSD_OK);
}

static void
update_in_steps_is_published_by_one(void **state)
{
	struct diag_sink sink = {.on_diag = NULL};
	struct zone_update_result result;
	struct store_heap *heap;
	store_ref old;

	load(IN_STEPS);
	old = served();
	begin_in_steps(&heap, 0);
	change("c.example.", 4, update_add);
	change("a.example.", 2, update_remove);
	assert_int_equal(update_make(update, &sink), NSD_OK);
	assert_int_equal(served(), old);
	assert_int_equal(update_publish(update), STORE_NONE);
	assert_int_not_equal(served(), old);
	update_end(update, &result);
	store_heap_destroy(heap);
	assert_int_equal(result.added, 1);
	assert_int_equal(result.removed, 1);
	check_text(HEAD "b.sub A 192.0.2.3\nc 60 A 192.0.2.4\n");
}

static void
update_that_is_made_and_not_published_leaves_nothing(void **state)
{
	static const uint8_t param[] = {1, 0, 0, 0, 0};
	const struct zone_rr rr = {.owner = zone_fixture_name("example."),
		.ttl_sec = 60, .type = TYPE_NSEC3PARAM, .rdlen = sizeof(param),
		.rdata = param};
	struct diag_sink sink = {.on_diag = NULL};
	struct store_heap *heap;

	for (unsigned i = 0; i < 4; i++) {
		bool is_again = i % 2 == 1;
		uint64_t before;

		if (!is_again)
			load(IN_STEPS);
		before = live();
		begin_in_steps(&heap, 0);
		change("c.example.", 4, update_add);
		change("a.example.", 2, update_remove);
		if (i >= 2) /* the zone is built anew */
			assert_int_equal(update_add(update, &rr), NSD_OK);
		assert_int_equal(update_make(update, &sink), NSD_OK);
		update_end(update, NULL);
		store_heap_destroy(heap);
		check_text(IN_STEPS);
		/* An index of contents may come the first time. */
		if (is_again)
			assert_int_equal(live(), before);
	}
}

static enum nsd_err
on_check(void *ctx, struct update_candidate *candidate)
{
	*(uint64_t *)ctx = candidate->zone->rr_count;
	return NSD_E_DIGEST;
}

static void
version_that_is_refused_is_not_published(void **state)
{
	uint64_t seen = 0;
	const struct zone_update_options options = {.threads = 1,
		.check = on_check, .check_ctx = &seen};
	store_ref old;

	load(IN_STEPS);
	old = served();
	assert_int_equal(update_begin(f.writer, entry, &options, &update),
		NSD_OK);
	change("c.example.", 4, update_add);
	assert_int_equal(commit(), NSD_E_DIGEST);
	assert_int_equal(seen, 6);
	assert_int_equal(served(), old);
	check_text(IN_STEPS);
}

static void
names_that_a_change_hides_are_counted_first(void **state)
{
	static char text[200000] = HEAD;
	struct zone_update_options options = {.threads = 1, .names_max = 100};
	const struct zone_rr ns = {.owner = zone_fixture_name("sub.example."),
		.ttl_sec = 60, .type = TYPE_NS, .rdlen = 9,
		.rdata = zone_fixture_name("example.")};
	static const uint8_t param[] = {1, 0, 0, 0, 0};
	const struct zone_rr rr = {.owner = zone_fixture_name("example."),
		.ttl_sec = 60, .type = TYPE_NSEC3PARAM, .rdlen = sizeof(param),
		.rdata = param};
	size_t len = strlen(text);
	store_ref old;

	for (unsigned i = 0; i < 2000; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
			"n%u.sub A 192.0.2.1\n", i);
	load(text);
	assert_int_equal(update_prepare(f.writer, entry), NSD_OK);
	old = served();
	for (unsigned i = 0; i < 4; i++) {
		options.names_max = i % 2 == 0 ? 100 : 5000;
		assert_int_equal(update_begin(f.writer, entry, &options,
			&update), NSD_OK);
		assert_int_equal(update_add(update, i < 2 ? &ns : &rr),
			NSD_OK);
		assert_int_equal(commit(), i % 2 == 0 ? NSD_E_LIMIT : NSD_OK);
		assert_int_equal(served() == old, i % 2 == 0);
		old = served();
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(update_in_steps_is_published_by_one),
		cmocka_unit_test(
			update_that_is_made_and_not_published_leaves_nothing),
		cmocka_unit_test(version_that_is_refused_is_not_published),
		cmocka_unit_test(names_that_a_change_hides_are_counted_first),
	};

	return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
