/* test_xfrd_change_member.c - changes of zones that are members of catalogs or
 * folders: who may change them, and the IDs in their lines. The disk and the
 * loader are played. */
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
#include "xfrd/xfrd_member_id.h"
#include "xfrd/xfrd_members.h"

#define ONE "m1.zones.one."
#define TWO "m1.zones.two."

static char folder[] = "/tmp/test_xfrd_change_member.XXXXXX";

/* Adds x as a member. */
static void
add_member_with(const char *id, const char *pattern)
{
	given_id = id;
	change(XFRD_CHANGE_ADD, "x", pattern, "add");
	given_id = NULL;
	flush(0);
	answer(0, NSD_OK);
	assert_string_equal(member("x"), id);
}

static void
add_member(const char *id)
{
	add_member_with(id, "p");
}

static void
line_of_a_member_has_its_id(void **state)
{
	add_member(ONE);
	files_assert(list_path, HEAD "mem x p " ONE "\n");
	assert_string_equal(ended, "add:0 ");
	assert_true(has("x", "p"));
}

/* Asks for a change that is refused before it has a line. */
static void
assert_refused(enum xfrd_change_kind kind, const char *name,
	enum xfrd_changed outcome)
{
	char text[64];

	ended[0] = '\0';
	change(kind, name, kind == XFRD_CHANGE_DELETE ? NULL : "q", "no");
	flush(0);
	snprintf(text, sizeof(text), "no:%d ", outcome);
	assert_string_equal(ended, text);
}

static void
source_changes_its_own_members_only(void **state)
{
	add_member(ONE);
	expected_id = TWO;
	assert_refused(XFRD_CHANGE_DELETE, "x", XFRD_CHANGED_OTHER);
	assert_refused(XFRD_CHANGE_PATTERN, "x", XFRD_CHANGED_OTHER);
	assert_refused(XFRD_CHANGE_PATTERN, "none", XFRD_CHANGED_ABSENT);
	assert_int_equal(asked_count, 1);
	expected_id = ONE;
	change(XFRD_CHANGE_DELETE, "x", NULL, "del");
	flush(0);
	answer(1, NSD_OK);
	assert_null(fixture_find("x"));
	files_assert(list_path, HEAD "del x p " ONE "\n");
}

static void
source_leaves_zones_added_by_hand(void **state)
{
	change(XFRD_CHANGE_ADD, "x", "p", "add");
	flush(0);
	answer(0, NSD_OK);
	expected_id = ONE;
	assert_refused(XFRD_CHANGE_DELETE, "x", XFRD_CHANGED_OTHER);
	assert_refused(XFRD_CHANGE_PATTERN, "x", XFRD_CHANGED_OTHER);
	assert_true(has("x", "p"));
}

static void
member_of_a_folder_is_not_changed_by_hand(void **state)
{
	add_member_with(XFRD_MEMBER_OF_FOLDER, "f");
	assert_refused(XFRD_CHANGE_DELETE, "x", XFRD_CHANGED_MEMBER);
	assert_refused(XFRD_CHANGE_PATTERN, "x", XFRD_CHANGED_MEMBER);
	assert_refused(XFRD_CHANGE_ADD, "x", XFRD_CHANGED_EXISTS);
	files_assert(list_path, HEAD "mem x f " XFRD_MEMBER_OF_FOLDER "\n");
}

/* The pattern has no folder any more. */
static void
member_that_a_folder_has_left_is_changed_by_hand(void **state)
{
	add_member(XFRD_MEMBER_OF_FOLDER);
	change(XFRD_CHANGE_DELETE, "x", NULL, "del");
	flush(0);
	answer(1, NSD_OK);
	assert_null(fixture_find("x"));
}

/* The catalog is not configured any more, or produced here. */
static void
member_without_a_source_is_changed_by_hand(void **state)
{
	add_member(ONE);
	change(XFRD_CHANGE_PATTERN, "x", "q", "pattern");
	flush(0);
	answer(1, NSD_OK);
	assert_true(has("x", "q"));
	assert_string_equal(member("x"), ONE);
	files_assert(list_path, HEAD "mem x q " ONE "\n");
	change(XFRD_CHANGE_DELETE, "x", NULL, "del");
	flush(0);
	answer(2, NSD_OK);
	assert_null(fixture_find("x"));
}

static void
count_free(void *ctx, const struct xfrd_refused_member *refused)
{
	(*(unsigned *)ctx)++;
}

/* A source waits for names, which it has not kept. */
static void
name_is_free_unless_its_zone_comes_anew(void **state)
{
	static const struct xfrd_source_hooks hooks = {.on_free = count_free};
	struct xfrd_members source;
	unsigned count = 0;

	assert_int_equal(xfrd_members_init(&source, &fixture.xfrd, &hooks,
				 &count, "catalog one"),
		NSD_OK);
	source.refused_more = 1;
	add_three();
	comes_anew = true;
	change(XFRD_CHANGE_DELETE, "x", NULL, "anew");
	comes_anew = false;
	flush(0);
	answer(3, NSD_OK);
	assert_string_equal(ended, "anew:0 ");
	assert_int_equal(count, 0);
	change(XFRD_CHANGE_DELETE, "y", NULL, "gone");
	flush(0);
	answer(4, NSD_OK);
	assert_int_equal(count, 1);
	xfrd_members_fini(&source);
}

/* Asks for another ID, with a pattern. */
static void
move(const char *pattern, const char *id)
{
	expected_id = ONE;
	given_id = id;
	change(XFRD_CHANGE_PATTERN, "x", pattern, "move");
	expected_id = given_id = NULL;
}

static void
member_moves_with_its_pattern(void **state)
{
	add_member(ONE);
	move("p", TWO);
	flush(0); /* the new line, */
	files_assert(list_path, HEAD "del x p " ONE "\nmem x p " TWO "\n");
	flush(0); /* and the old one goes */
	assert_string_equal(asked[1].text, "x p!");
	answer(1, NSD_OK);
	assert_string_equal(ended, "add:0 move:0 ");
	assert_string_equal(member("x"), TWO);
}

static void
move_to_where_a_member_is_changes_nothing(void **state)
{
	add_member(ONE);
	move("p", ONE);
	flush(0);
	assert_string_equal(ended, "add:0 move:0 ");
	assert_int_equal(asked_count, 1);
}

static void
member_that_cannot_move_keeps_its_id(void **state)
{
	add_member(ONE);
	move("q", TWO);
	flush(0);
	flush(0);
	answer(1, NSD_E_LIMIT);
	flush(0); /* the old line comes again, */
	flush(0); /* and the new one goes */
	assert_true(has("x", "p"));
	assert_string_equal(member("x"), ONE);
	files_assert(list_path, HEAD "mem x p " ONE "\ndel x q " TWO "\n");
}

/* The zone was a member once, and was added by hand since; xfrd has died before
 * its new pattern was published. */
static void
zone_that_was_a_member_once_is_none(void **state)
{
	close_list();
	fixture_close();
	assert_int_equal(fixture_list("x", "p"), NSD_OK);
	files_write(list_path, HEAD "del x p " ONE "\nadd x q\n");
	fixture_open();
	open_list();
	assert_null(member("x"));
	flush(0);
	answer(0, NSD_OK);
	assert_true(has("x", "q"));
	assert_null(member("x"));
}

/* xfrd has died after the line of a move was written. */
static void
move_that_was_left_is_done(void **state)
{
	add_member(ONE);
	close_list();
	fixture_close();
	assert_int_equal(fixture_list("x", "p"), NSD_OK);
	files_write(list_path, HEAD "mem x p " TWO "\n");
	fixture_open();
	open_list();
	flush(0);
	assert_int_equal(asked_count, 1);
	assert_string_equal(member("x"), TWO);
}

/* The same, of another pattern: the loader refuses it. */
static void
member_whose_new_pattern_was_left_stays_one(void **state)
{
	add_member(ONE);
	close_list();
	fixture_close();
	assert_int_equal(fixture_list("x", "p"), NSD_OK);
	files_write(list_path, HEAD "mem x q " ONE "\n");
	fixture_open();
	open_list();
	assert_string_equal(member("x"), ONE);
	flush(0);
	answer(1, NSD_E_LIMIT);
	flush(0);
	assert_true(has("x", "p"));
	assert_string_equal(member("x"), ONE);
	files_assert(list_path, HEAD "mem x p " ONE "\n");
}

/* xfrd has died after the line of a deletion was marked, and the loader refuses
 * it: the list, which is written anew, has no zone that was added by hand. */
static void
member_whose_deletion_was_left_and_fails_stays_one(void **state)
{
	add_member(ONE);
	close_list();
	fixture_close();
	assert_int_equal(fixture_list("x", "p"), NSD_OK);
	files_write(list_path, HEAD "del x p " ONE "\n");
	fixture_open();
	open_list();
	flush(0);
	assert_string_equal(asked[1].text, "x ");
	answer(1, NSD_E_MEMORY);
	for (unsigned i = 0; i < 4; i++)
		flush(0);
	files_assert(list_path, HEAD "mem x p " ONE "\n");
	assert_string_equal(member("x"), ONE);
}

/* ---- IDs ----------------------------------------------------------------- */

static void
id_is_printed_and_parsed(void **state)
{
	char text[XFRD_MEMBER_ID_MAX];
	uint8_t label[LABEL_MAX_LEN + 1], catalog[NAME_MAX_LEN];

	assert_string_equal(xfrd_member_id_print((const uint8_t *)"\3A b",
		(const uint8_t *)"\3caT\2NL", text),
		"a\\032b.zones.cat.nl.");
	assert_true(xfrd_member_id_parse(text, label, catalog));
	assert_memory_equal(label, "\3a b", 4);
	assert_memory_equal(catalog, "\3cat\2nl", 8);
	assert_true(xfrd_member_id_parse("a.zones.", label, catalog));
	assert_int_equal(catalog[0], 0);
	assert_false(xfrd_member_id_parse("a.zone.cat.", label, catalog));
	assert_false(xfrd_member_id_parse("a.", label, catalog));
	assert_false(xfrd_member_id_parse("9fc90e0a", label, catalog));
	assert_false(xfrd_member_id_parse(".", label, catalog));
	assert_false(xfrd_member_id_parse("", label, catalog));
	assert_false(xfrd_member_id_parse(XFRD_MEMBER_OF_FOLDER, label,
		catalog));
}

static void
id_that_is_no_name_is_empty(void **state)
{
	char text[XFRD_MEMBER_ID_MAX];
	uint8_t catalog[NAME_MAX_LEN] = {0}, label[LABEL_MAX_LEN + 1];

	for (unsigned i = 0; i < 250; i += 2)
		memcpy(catalog + i, "\1x", 2);
	memset(label, 'l', sizeof(label));
	label[0] = LABEL_MAX_LEN;
	assert_string_equal(xfrd_member_id_print(label, catalog, text), "");
}

/* ---- names that a producer chooses --------------------------------------- */

#define CHOSEN 64u
/* By chance no bucket has so many of them. */
#define BUCKET_MAX 16u

/* A sum of a zone's octets, which anybody can compute. */
static uint32_t
sum_without_key(const char *name)
{
	uint32_t sum = (uint32_t)strlen(name);

	for (; *name != '\0'; name++)
		sum = sum * 31 + (uint8_t)*name;
	return sum * 31;
}

static unsigned
count_longest_bucket(const struct xfrd_changes *changes)
{
	unsigned longest = 0;

	for (unsigned i = 0; i < XFRD_CHANGE_BUCKETS; i++) {
		const struct xfrd_change *one;
		unsigned count = 0;

		cds_list_for_each_entry(one, &changes->same[i], same)
			count++;
		if (count > longest)
			longest = count;
	}
	return longest;
}

static void
chosen_names_share_no_bucket(void **state)
{
	uint64_t before = flushes;
	unsigned count = 0;
	char name[32];

	for (unsigned i = 0; count < CHOSEN; i++) {
		snprintf(name, sizeof(name), "z%u", i);
		if (sum_without_key(name) % XFRD_CHANGE_BUCKETS != 0)
			continue;
		change(XFRD_CHANGE_ADD, name, "p", "z");
		count++;
	}
	while (flushes == before)
		event_base_loop(fixture.xfrd.role.base,
			EVLOOP_NONBLOCK | EVLOOP_ONCE);
	assert_int_equal(fixture.xfrd.changes->batch_count, CHOSEN);
	assert_true(count_longest_bucket(fixture.xfrd.changes) < BUCKET_MAX);
	xfrd_changes_on_synced(&fixture.xfrd, flushes, EIO);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, changes_begin, \
	changes_end)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(line_of_a_member_has_its_id),
		TEST(source_changes_its_own_members_only),
		TEST(source_leaves_zones_added_by_hand),
		TEST(member_of_a_folder_is_not_changed_by_hand),
		TEST(member_that_a_folder_has_left_is_changed_by_hand),
		TEST(member_without_a_source_is_changed_by_hand),
		TEST(name_is_free_unless_its_zone_comes_anew),
		TEST(member_moves_with_its_pattern),
		TEST(move_to_where_a_member_is_changes_nothing),
		TEST(member_that_cannot_move_keeps_its_id),
		TEST(move_that_was_left_is_done),
		TEST(member_whose_new_pattern_was_left_stays_one),
		TEST(member_whose_deletion_was_left_and_fails_stays_one),
		TEST(zone_that_was_a_member_once_is_none),
		cmocka_unit_test(id_is_printed_and_parsed),
		cmocka_unit_test(id_that_is_no_name_is_empty),
		TEST(chosen_names_share_no_bucket),
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
