/* test_xfrd_shorten.c - when the journal has too many differences of a zone.
 * The journal is a real one. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "fixture.h"
#include "lib/journal_fixture.h"
#include "xfrd/xfrd.h"

#define LEAST 10000u
/* More than LEAST, and what the records of the zone add to it. */
#define DIFFS_LEN (LEAST + 5000u)
#define WHOLE_LEN 5000u

static char folder[JOURNAL_FIXTURE_PATH];

static int
begin(void **state)
{
	(void)fixture_begin(state);
	fixture_publish("zone: name: z0 request-xfr: 192.0.2.1 NOKEY\n");
	fixture_open();
	fixture_serve("z0", "5", "@ 0 NS invalid.\n");
	journal_fixture_folder(folder);
	fixture.xfrd.journal = journal_fixture_open(folder, 0, NULL);
	return 0;
}

static int
end(void **state)
{
	journal_close(fixture.xfrd.journal);
	journal_fixture_remove(folder);
	fixture_close();
	return fixture_end(state);
}

/* from 0: a whole zone. */
static void
keep(uint32_t from, uint32_t to, uint64_t len)
{
	struct journal *journal = fixture.xfrd.journal;
	struct journal_done done;

	assert_true(journal_fixture_send(journal, 0, from, to, len) != 0);
	journal_fixture_wait(journal, &done);
	assert_int_equal(done.err, NSD_OK);
}

static bool
is_at_bound(void)
{
	uint64_t octets;

	return xfrd_shorten(&fixture.xfrd, fixture_find("z0"), LEAST, &octets);
}

static void
differences_are_bounded(void **state)
{
	keep(3, 4, LEAST / 2);
	assert_false(is_at_bound());
	keep(4, 5, DIFFS_LEN - LEAST / 2);
	assert_true(is_at_bound());
}

/* A zone of large records would be written whole for each transfer. */
static void
as_many_as_a_whole_zone_may_follow_it(void **state)
{
	keep(0, 4, WHOLE_LEN);
	assert_false(is_at_bound());
	keep(4, 5, DIFFS_LEN);
	assert_false(is_at_bound());
	keep(5, 6, WHOLE_LEN);
	assert_true(is_at_bound());
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(differences_are_bounded),
		TEST(as_many_as_a_whole_zone_may_follow_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
