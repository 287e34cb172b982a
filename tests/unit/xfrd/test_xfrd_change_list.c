/* test_xfrd_change_list.c - the zone list at a start and when it is written
 * anew, and what comes between two batches of changes. The disk, the loader and
 * the transfers are played. */
#include "config.h"

#include <errno.h>
#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "changes.h"
#include "fixture.h"
#include "lib/files.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_changes.h"

static char folder[] = "/tmp/test_xfrd_change_list.XXXXXX";

/* ---- a reconfig between two batches -------------------------------------- */

/* A change is asked for, and the loader cannot do it yet. */
static void
make_busy(enum xfrd_change_kind kind, const char *name, const char *pattern)
{
	unsigned number = asked_count;

	change(kind, name, pattern, "busy");
	flush(0);
	assert_int_equal(asked_count, number + 1);
	answer(number, NSD_E_AGAIN);
	assert_string_equal(ended, "");
}

/* Until the loader is asked again. */
static void
wait_until_asked(unsigned number)
{
	while (asked_count == number) {
		event_base_loop(fixture.xfrd.role.base, EVLOOP_ONCE);
		xfrd_changes_on_synced(&fixture.xfrd, flushes, 0);
	}
}

static void
zone_that_goes_by_itself_is_deleted(void **state)
{
	add_three();
	make_busy(XFRD_CHANGE_DELETE, "x", NULL);
	xfrd_detach_purge(&fixture.xfrd, fixture_find("x"));
	wait_until_asked(4);
	answer(4, NSD_E_NOT_FOUND);
	assert_string_equal(ended, "busy:0 ");
	assert_null(fixture_find("x"));
	assert_true(has("y", "p"));
}

static void
zone_that_goes_by_itself_comes_with_its_pattern(void **state)
{
	add_three();
	make_busy(XFRD_CHANGE_PATTERN, "x", "q");
	xfrd_detach_purge(&fixture.xfrd, fixture_find("x"));
	assert_int_equal(fixture_list("x", NULL), NSD_OK);
	wait_until_asked(4);
	answer(4, NSD_OK);
	assert_string_equal(ended, "busy:0 ");
	assert_true(has("x", "q"));
	files_assert(list_path, HEAD "add x q\nadd y p\nadd z p\n");
	/* xfrd knows where its line is. */
	change(XFRD_CHANGE_DELETE, "x", NULL, "del");
	flush(0);
	files_assert(list_path, HEAD "del x q\nadd y p\nadd z p\n");
}

/* A loader has died of another zone of its message. */
static void
zone_that_comes_by_itself_is_added(void **state)
{
	struct xfrd_walk walk = {.has_last = false};

	make_busy(XFRD_CHANGE_ADD, "x", "p");
	assert_int_equal(fixture_list("x", "p"), NSD_OK);
	assert_int_equal(xfrd_walk(&fixture.xfrd, &walk, 100, NULL), NSD_OK);
	assert_true(walk.is_over);
	assert_int_equal(fixture_find("x")->listed_at, 0);
	wait_until_asked(1);
	answer(1, NSD_OK);
	assert_string_equal(ended, "busy:0 ");
	assert_true(has("x", "p"));
	change(XFRD_CHANGE_DELETE, "x", NULL, "del");
	flush(0);
	files_assert(list_path, HEAD "del x p\n");
}

/* ---- zones of which the store that xfrd reads has nothing ---------------- */

/* Makes a zone known to xfrd and absent from the store that xfrd reads: another
 * store has it. */
static void
hide(const char *name)
{
	assert_int_equal(fixture_list(name, NULL), NSD_OK);
	assert_non_null(fixture_find(name));
	assert_false(has(name, "p"));
}

static void
line_of_a_hidden_zone_is_in_a_list_that_is_written_anew(void **state)
{
	add_three();
	hide("y");
	fixture.xfrd.changes->list->renew = true;
	change(XFRD_CHANGE_ADD, "a", "p", "a");
	flush(0); /* anew, */
	flush(0); /* rename, */
	flush(0); /* and the line */
	files_assert(list_path, HEAD "add x p\nadd y p\nadd z p\nadd a p\n");
	answer(3, NSD_OK);
	change(XFRD_CHANGE_DELETE, "y", NULL, "del");
	flush(0);
	files_assert(list_path, HEAD "add x p\ndel y p\nadd z p\nadd a p\n");
}

/* The line alone has the zone's old pattern. */
static void
hidden_zone_that_cannot_change_keeps_its_line(void **state)
{
	add_three();
	hide("y");
	change(XFRD_CHANGE_PATTERN, "y", "q", "q");
	flush(0);
	files_assert(list_path, HEAD "add x p\ndel y p\nadd z p\nadd y q\n");
	answer(3, NSD_E_LIMIT);
	flush(0);
	assert_string_equal(ended, "q:7 ");
	files_assert(list_path, HEAD "add x p\nadd y p\nadd z p\ndel y q\n");
}

/* A dead loader has published the zone, and its line is not in the list that
 * was written anew since. */
static void
zone_that_is_published_is_not_done_before_it_is_durable(void **state)
{
	const struct xfrd_changes *changes = fixture.xfrd.changes;

	no_wait = true;
	change(XFRD_CHANGE_ADD, "x", "p", "x");
	flush(0);
	answer(0, NSD_E_AGAIN);
	assert_int_equal(fixture_list("x", "p"), NSD_OK);
	fixture.xfrd.changes->list->renew = true;
	while (changes->step == XFRD_CHANGES_NONE)
		event_base_loop(fixture.xfrd.role.base, EVLOOP_ONCE);
	flush(0); /* anew, */
	files_assert(list_path, HEAD);
	flush(0); /* rename, */
	files_assert(list_path, HEAD "add x p\n");
	flush(EIO);
	assert_string_equal(ended, "");
	flush(0);
	while (changes->step == XFRD_CHANGES_NONE)
		event_base_loop(fixture.xfrd.role.base, EVLOOP_ONCE);
	files_assert(list_path, HEAD "add x p\n");
	flush(0);
	assert_string_equal(ended, "");
	answer(1, NSD_E_ZONE);
	assert_string_equal(ended, "x:0 ");
}

/* ---- a start ------------------------------------------------------------- */

/* Starts xfrd with x, y and z published, and a list. */
static void
start_with(const char *list)
{
	close_list();
	fixture_close();
	for (const char *name = "x\0y\0z\0"; *name != '\0'; name += 2)
		assert_int_equal(fixture_list(name, "long"), NSD_OK);
	files_write(list_path, list);
	fixture_open();
	open_list();
}

static void
zone_goes_if_the_list_says_so(void **state)
{
	start_with(HEAD "add x long\ndel y long id\nadd z long\n");
	flush(0);
	assert_true(has("x", "long") && has("z", "long"));
	assert_int_equal(asked_count, 1);
	assert_string_equal(asked[0].text, "y ");
	answer(0, NSD_OK);
	assert_false(has("y", "long"));
}

/* The zone is gone in the store that is being filled, and so is its line. */
static void
zone_that_is_gone_elsewhere_gets_no_line(void **state)
{
	fixture.behind = true;
	start_with(HEAD "add x long\nadd z long\n");
	fixture.behind = false;
	flush(0);
	assert_int_equal(asked_count, 0);
	assert_int_equal(fixture.xfrd.changes->step, XFRD_CHANGES_NONE);
	files_assert(list_path, HEAD "add x long\nadd z long\n");
	assert_non_null(fixture_find("y"));
	assert_false(has("y", "long"));
}

static void
zone_comes_if_the_list_says_so(void **state)
{
	start_with(HEAD "add x long\nadd y long\nadd z q\ncat v p id\n"
		"add v q\n");
	assert_true(fixture.xfrd.changes->odd);
	flush(0); /* the list is written anew, */
	flush(0); /* and has its name */
	flush(0);
	assert_int_equal(asked_count, 2);
	assert_string_equal(asked[0].text, "z q!");
	assert_string_equal(asked[1].text, "v p");
	answer(0, NSD_OK);
	/* The previous xfrd had asked the loader for it already. */
	answer(1, NSD_E_ZONE);
	assert_true(has("z", "q") && has("v", "p"));
	assert_string_equal(member("v"), "id");
}

/* The pattern of these lines is not known. They go when their zone has come
 * with another one, and that is durable; they stay if it cannot come. */
static void
lines_that_were_skipped_go_when_their_zone_comes(void **state)
{
	start_with(HEAD "add x long\nadd y long\nadd z long\nadd w gone\n"
		"mem w gone i.\nadd v gone\n");
	assert_int_equal(fixture.xfrd.changes->step, XFRD_CHANGES_NONE);
	change(XFRD_CHANGE_ADD, "w", "p", "w");
	event_base_loop(fixture.xfrd.role.base, EVLOOP_NONBLOCK);
	files_assert(list_path, HEAD "add x long\nadd y long\nadd z long\n"
		"add w gone\nmem w gone i.\nadd v gone\nadd w p\n");
	flush(0);
	assert_int_equal(asked_count, 1);
	files_assert(list_path, HEAD "add x long\nadd y long\nadd z long\n"
		"del w gone\ndel w gone i.\nadd v gone\nadd w p\n");
	answer(0, NSD_E_LIMIT);
	flush(0);
	assert_string_equal(ended, "w:7 ");
	files_assert(list_path, HEAD "add x long\nadd y long\nadd z long\n"
		"add w gone\nmem w gone i.\nadd v gone\ndel w p\n");
	change(XFRD_CHANGE_ADD, "w", "q", "w");
	flush(0);
	answer(1, NSD_OK);
	change(XFRD_CHANGE_DELETE, "w", NULL, "w");
	flush(0);
	answer(2, NSD_OK);
	assert_string_equal(ended, "w:7 w:0 w:0 ");
	files_assert(list_path, HEAD "add x long\nadd y long\nadd z long\n"
		"del w gone\ndel w gone i.\nadd v gone\ndel w q\n");
	assert_int_equal(fixture.xfrd.changes->unused, 1);
	/* The places of lines that have gone are free. */
	change(XFRD_CHANGE_ADD, "u", "long", "u");
	flush(0);
	files_assert(list_path, HEAD "add x long\nadd y long\nadd z long\n"
		"add u long\ndel w gone i.\nadd v gone\ndel w q\n");
}

/* Each line of a zone that is there, here or in nsd.conf, or whose line comes
 * again. */
static void
second_lines_are_no_zones_that_are_lost(void **state)
{
	start_with(HEAD "add x long\nadd x gone\nadd y long\nadd y long\n"
		"add z long\nadd w p\nadd w q\nadd v gone\nadd fixed0 p\n"
		"add a..b p\n");
	assert_true(fixture.xfrd.changes->odd);
	assert_int_equal(fixture.xfrd.changes->unused, 3);
	flush(0);
	flush(0);
	flush(0);
	files_assert(list_path, HEAD "add x long\nadd y long\nadd z long\n"
		"add w p\n");
}

/* The loader has done what the last xfrd has asked it for, since this one has
 * looked; the list is written anew meanwhile. Here it is not done. */
static void
change_that_was_left_is_done_here_too(void **state)
{
	start_with(HEAD "add x long\nadd y long\nadd z q\nadd z q\n");
	assert_true(fixture.xfrd.changes->odd);
	assert_int_equal(fixture_list("z", "q"), NSD_OK);
	flush(0);
	flush(0);
	flush(0);
	assert_int_equal(asked_count, 1);
	assert_string_equal(asked[0].text, "z q!");
	answer(0, NSD_OK);
	files_assert(list_path, HEAD "add x long\nadd y long\ndel z long\n"
		"add z q\n");
	assert_true(has("z", "q"));
}

/* At each octet. */
static void
zone_stays_if_the_list_was_cut_short(void **state)
{
	static const char text[] = HEAD "add x long\nadd y long\n"
					"add z long\n";
	char cut[sizeof(text)];

	for (size_t len = 0; len < sizeof(text) - 1; len++) {
		if (len > 0 && len < 16)
			continue; /* no list */
		if (len > 0)
			assert_int_equal(changes_end(state), 0);
		if (len > 0)
			assert_int_equal(changes_begin(state), 0);
		memcpy(cut, text, len);
		cut[len] = '\0';
		start_with(cut);
		assert_true(has("x", "long") && has("y", "long")
			&& has("z", "long"));
		assert_int_equal(asked_count, 0);
		assert_int_equal(fixture.xfrd.changes->step,
			XFRD_CHANGES_RENEWAL);
		flush(0);
		flush(0);
		assert_int_equal(fixture.xfrd.changes->step, XFRD_CHANGES_NONE);
		for (unsigned i = 0; i < 3; i++)
			assert_non_null(fixture_find(
				(const char *[]){"x", "y", "z"}[i]));
	}
}

/* NSD writes the list anew then, if it has more free lines than zones while the
 * zone is neither here nor there. */
static void
zone_that_gets_the_pattern_it_has_changes(void **state)
{
	const struct xfrd_zone_table *table = &fixture.xfrd.zones.table;

	for (uint32_t i = 0; table->count > 0; i++)
		xfrd_detach_remove(&fixture.xfrd, xfrd_zone_at(table, i));
	change(XFRD_CHANGE_ADD, "x", "p", "add");
	change(XFRD_CHANGE_ADD, "y", "p", "other");
	flush(0);
	answer(0, NSD_OK);
	answer(1, NSD_OK);
	change(XFRD_CHANGE_DELETE, "y", NULL, "del");
	flush(0);
	answer(2, NSD_OK);
	files_assert(list_path, HEAD "add x p\ndel y p\n");
	change(XFRD_CHANGE_PATTERN, "x", "p", "same");
	event_base_loop(fixture.xfrd.role.base, EVLOOP_NONBLOCK);
	assert_string_equal(ended, "add:0 other:0 del:0 same:0 ");
	assert_int_equal(asked_count, 3);
	flush(0);
	files_assert(list_path, HEAD "add x p\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, changes_begin, \
	changes_end)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(zone_that_goes_by_itself_is_deleted),
		TEST(zone_that_goes_by_itself_comes_with_its_pattern),
		TEST(zone_that_comes_by_itself_is_added),
		TEST(line_of_a_hidden_zone_is_in_a_list_that_is_written_anew),
		TEST(hidden_zone_that_cannot_change_keeps_its_line),
		TEST(zone_that_is_published_is_not_done_before_it_is_durable),
		TEST(change_that_was_left_is_done_here_too),
		TEST(zone_goes_if_the_list_says_so),
		TEST(zone_that_is_gone_elsewhere_gets_no_line),
		TEST(zone_comes_if_the_list_says_so),
		TEST(lines_that_were_skipped_go_when_their_zone_comes),
		TEST(second_lines_are_no_zones_that_are_lost),
		TEST(zone_stays_if_the_list_was_cut_short),
		TEST(zone_that_gets_the_pattern_it_has_changes),
	};
	int result;

	if (mkdtemp(folder) == NULL)
		return 1;
	snprintf(list_path, sizeof(list_path), "%s/zone.list", folder);
	result = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(list_path);
	rmdir(folder);
	return result;
}
