/* test_xfrd_change.c - changes of zones that fail, and what is left of them.
 * The disk, the loader and the transfers are played. */
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

static char folder[] = "/tmp/test_xfrd_change.XXXXXX";

/* ---- batches ------------------------------------------------------------- */

static void
what_comes_in_a_turn_is_a_batch(void **state)
{
	uint64_t before = flushes;

	change(XFRD_CHANGE_ADD, "x", "p", "x");
	change(XFRD_CHANGE_ADD, "y", "p", "y");
	change(XFRD_CHANGE_ADD, "y", "none", "none");
	assert_int_equal(flushes, before);
	event_base_loop(fixture.xfrd.role.base, EVLOOP_NONBLOCK);
	assert_int_equal(flushes, before + 1);
	assert_int_equal(asked_count, 0);
	xfrd_changes_on_synced(&fixture.xfrd, flushes, 0);
	assert_int_equal(asked_count, 2);
	assert_false(has("x", "p"));
	answer(0, NSD_OK);
	answer(1, NSD_OK);
	assert_true(has("y", "p"));
	assert_int_equal(message_count, 1);
	assert_string_equal(ended, "none:4 x:0 y:0 ");
	assert_int_equal(flushes, before + 1);
}

static void
what_comes_while_a_batch_is_done_is_the_next_one(void **state)
{
	uint64_t before = flushes;

	change(XFRD_CHANGE_ADD, "x", "p", "x");
	event_base_loop(fixture.xfrd.role.base, EVLOOP_NONBLOCK);
	change(XFRD_CHANGE_ADD, "y", "p", "y");
	event_base_loop(fixture.xfrd.role.base, EVLOOP_NONBLOCK);
	files_assert(list_path, HEAD "add x p\n");
	/* A flush of something before it is none. */
	xfrd_changes_on_synced(&fixture.xfrd, before, 0);
	assert_int_equal(asked_count, 0);
	xfrd_changes_on_synced(&fixture.xfrd, before + 1, 0);
	event_base_loop(fixture.xfrd.role.base, EVLOOP_NONBLOCK);
	assert_int_equal(asked_count, 1);
	assert_int_equal(flushes, before + 1);
	answer(0, NSD_OK);
	flush(0);
	assert_int_equal(flushes, before + 2);
	answer(1, NSD_OK);
	assert_string_equal(ended, "x:0 y:0 ");
}

/* The zones of a reconfig are looked at when all zones of the list that are
 * published are known. */
static void
reconfig_is_followed_between_two_batches(void **state)
{
	change(XFRD_CHANGE_ADD, "x", "p", "x");
	flush(0);
	fixture.xfrd.follow.step = XFRD_FOLLOW_WANTED;
	change(XFRD_CHANGE_ADD, "y", "p", "y");
	event_base_loop(fixture.xfrd.role.base, EVLOOP_NONBLOCK);
	assert_int_equal(fixture.xfrd.follow.step, XFRD_FOLLOW_WANTED);
	answer(0, NSD_OK);
	event_base_loop(fixture.xfrd.role.base, EVLOOP_NONBLOCK);
	assert_int_equal(fixture.xfrd.follow.step, XFRD_FOLLOW_ZONES);
	files_assert(list_path, HEAD "add x p\n");
	fixture.xfrd.follow.step = XFRD_FOLLOW_NONE;
	event_active(fixture.xfrd.changes->begin_event, EV_TIMEOUT, 0);
	flush(0);
	files_assert(list_path, HEAD "add x p\nadd y p\n");
	answer(1, NSD_OK);
	assert_string_equal(ended, "x:0 y:0 ");
}

static void
second_change_of_a_zone_is_of_the_next_batch(void **state)
{
	change(XFRD_CHANGE_ADD, "x", "p", "add");
	change(XFRD_CHANGE_ADD, "X.", "p", "again");
	change(XFRD_CHANGE_DELETE, "x", NULL, "del");
	change(XFRD_CHANGE_ADD, "y", "p", "y");
	flush(0);
	assert_int_equal(asked_count, 1);
	answer(0, NSD_OK);
	/* Changes of a zone are made in their order. */
	flush(0);
	assert_string_equal(ended, "add:0 again:1 ");
	assert_int_equal(asked_count, 3);
	assert_string_equal(asked[1].text, "x ");
	assert_string_equal(asked[2].text, "y p");
	answer(2, NSD_OK);
	/* A deletion of a zone that is not there succeeds. */
	answer(1, NSD_E_NOT_FOUND);
	assert_string_equal(ended, "add:0 again:1 del:0 y:0 ");
	assert_false(has("x", "p"));
}

/* The line keeps its place until the deletion is done. */
static void
place_of_a_line_is_free_once_its_zone_is_gone(void **state)
{
	change(XFRD_CHANGE_ADD, "x", "p", "x");
	flush(0);
	answer(0, NSD_OK);
	change(XFRD_CHANGE_DELETE, "x", NULL, "del");
	change(XFRD_CHANGE_ADD, "y", "p", "y");
	flush(0);
	files_assert(list_path, HEAD "del x p\nadd y p\n");
	answer(1, NSD_OK);
	answer(2, NSD_OK);
	change(XFRD_CHANGE_ADD, "z", "p", "z");
	flush(0);
	files_assert(list_path, HEAD "add z p\nadd y p\n");
}

/* A zone that is being read delays changes of that zone only. */
static void
zone_that_is_being_read_is_asked_for_again(void **state)
{
	change(XFRD_CHANGE_ADD, "x", "p", "x");
	flush(0);
	answer(0, NSD_OK);
	change(XFRD_CHANGE_DELETE, "x", NULL, "del");
	change(XFRD_CHANGE_ADD, "y", "p", "y");
	flush(0);
	answer(1, NSD_E_AGAIN);
	answer(2, NSD_OK);
	assert_string_equal(ended, "x:0 y:0 ");
	change(XFRD_CHANGE_ADD, "x", "q", "again");
	flush(0);
	assert_int_equal(asked_count, 4);
	assert_string_equal(asked[3].text, "x ");
	answer(3, NSD_E_AGAIN);
	/* By itself, too. */
	while (asked_count == 4) {
		event_base_loop(fixture.xfrd.role.base, EVLOOP_ONCE);
		xfrd_changes_on_synced(&fixture.xfrd, flushes, 0);
	}
	answer(4, NSD_OK);
	flush(0);
	files_assert(list_path, HEAD "add x q\nadd y p\n");
	answer(5, NSD_OK);
	assert_string_equal(ended, "x:0 y:0 del:0 again:0 ");
}

/* The loader's turn may be over, or its answer full. */
static void
what_the_loader_has_not_come_to_is_asked_for_again(void **state)
{
	change(XFRD_CHANGE_ADD, "x", "p", "x");
	change(XFRD_CHANGE_ADD, "y", "p", "y");
	change(XFRD_CHANGE_ADD, "z", "p", "z");
	flush(0);
	assert_int_equal(asked_count, 3);
	answer_first(0, 1);
	assert_string_equal(ended, "x:0 ");
	assert_int_equal(message_count, 2);
	assert_string_equal(asked[3].text, "y p");
	assert_string_equal(asked[4].text, "z p");
	answer(3, NSD_OK);
	answer(4, NSD_OK);
	assert_string_equal(ended, "x:0 y:0 z:0 ");
}

static void
message_has_no_more_than_there_is_room_for(void **state)
{
	char name[200];

	for (int i = 0; i < 7; i++) {
		snprintf(name, sizeof(name), "%060d.%060d.%060d", i, i, i);
		change(XFRD_CHANGE_ADD, name, "p", "z");
	}
	flush(0);
	assert_int_equal(message_count, 2);
	assert_int_equal(messages[0].count, 6);
}

/* Two messages of changes, the second of which has those of the zones 6 to
 * 9. */
static void
ask_in_two_messages(void)
{
	char name[200];

	for (int i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "%060d.%060d.%060d", i, i, i);
		change(XFRD_CHANGE_ADD, name, "p", "z");
	}
	flush(0);
	assert_int_equal(message_count, 2);
	assert_true(messages[0].more && messages[1].more);
}

static void
changes_of_a_batch_are_published_together(void **state)
{
	ask_in_two_messages();
	unpublished = true;
	answer_first(0, 6);
	/* The loader's turn was over. */
	answer_first(1, 3);
	assert_int_equal(message_count, 3);
	assert_int_equal(messages[2].count, 1);
	assert_false(messages[2].more);
	answer_first(2, 1);
	assert_int_equal(messages[3].count, 0);
	assert_false(messages[3].more);
	assert_string_equal(ended, "");
	unpublished = false;
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(fixture_list(asked[i].name, "p"), NSD_OK);
	answer_first(3, 0);
	assert_string_equal(ended, "z:0 z:0 z:0 z:0 z:0 z:0 z:0 z:0 z:0 z:0 ");
}

static void
changes_that_a_dead_loader_has_not_published_come_again(void **state)
{
	ask_in_two_messages();
	unpublished = true;
	answer_first(0, 6);
	xfrd_changes_on_loader_gone(&fixture.xfrd);
	unpublished = false;
	answer_first(1, 4);
	assert_string_equal(ended, "z:0 z:0 z:0 z:0 ");
	assert_int_equal(messages[2].count, 6);
	assert_string_equal(asked[10].name, asked[0].name);
	assert_false(messages[2].more);
	answer_first(2, 6);
	assert_string_equal(ended, "z:0 z:0 z:0 z:0 z:0 z:0 z:0 z:0 z:0 z:0 ");
}

/* Lines of many changes are written in turns, and flushed once. */
static void
long_batch_is_listed_in_turns(void **state)
{
	uint64_t before = flushes;
	char name[32];
	unsigned turns = 0;

	for (unsigned i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "z%u", i);
		change(XFRD_CHANGE_ADD, name, "p", "z");
	}
	while (flushes == before) {
		event_base_loop(fixture.xfrd.role.base,
			EVLOOP_NONBLOCK | EVLOOP_ONCE);
		turns++;
	}
	assert_int_equal(fixture.xfrd.changes->batch_count, 2000);
	assert_true(turns >= 4);
	xfrd_changes_on_synced(&fixture.xfrd, flushes, EIO);
}

/* Answers a message of one change: the zone is there already. */
static void
zone_is_there(unsigned number)
{
	struct ipc_message m = {.type = IPC_ZONE_CHANGED};
	const struct zone_change done = {
		.name = "a",
		.pattern = "p",
		.err = NSD_E_ZONE,
	};
	struct zone_message message;

	zone_message_init(&message);
	assert_int_equal(zone_message_add(&message, &done), NSD_OK);
	memcpy(m.payload, &message.payload, message.len);
	m.len = message.len;
	give(&messages[number].on_end, messages[number].ctx, &m);
}

/* The others of its message are done. */
static void
zone_that_loaders_die_of_fails_alone(void **state)
{
	change(XFRD_CHANGE_ADD, "x", "p", "x");
	change(XFRD_CHANGE_ADD, "y", "p", "y");
	flush(0);
	give(&messages[0].on_end, messages[0].ctx, NULL);
	assert_string_equal(ended, "");
	while (asked_count < 4) {
		event_base_loop(fixture.xfrd.role.base, EVLOOP_ONCE);
		xfrd_changes_on_synced(&fixture.xfrd, flushes, 0);
	}
	assert_int_equal(message_count, 3);
	give(&messages[1].on_end, messages[1].ctx, NULL);
	/* A dead loader had done the change, and told main. */
	answer(3, NSD_E_ZONE);
	flush(0);
	assert_string_equal(ended, "x:7 ");
	/* The state of its file is not known. */
	assert_string_equal(asked[4].text, "read y");
	answer_read(4, NSD_OK, "");
	assert_string_equal(ended, "x:7 y:0 ");
	files_assert(list_path, HEAD "del x p\nadd y p\n");
}

/* The loader that has added y has died before it could say so. The next one has
 * done no more of the message than x. */
static void
zone_that_a_dead_loader_has_added_is_there(void **state)
{
	change(XFRD_CHANGE_ADD, "x", "p", "x");
	change(XFRD_CHANGE_ADD, "y", "p", "y");
	flush(0);
	assert_int_equal(fixture_list("y", "p"), NSD_OK);
	answer_first(0, 1);
	assert_int_equal(message_count, 2);
	zone_is_there(1);
	assert_string_equal(asked[3].text, "read y");
	answer_read(3, NSD_E_ZONE, "f:1: why\n");
	assert_string_equal(ended, "x:0 y:8 f:1: why\n");
	files_assert(list_path, HEAD "add x p\nadd y p\n");
	assert_true(has("y", "p"));
}

/* The loader refuses a zone that has another pattern. */
static void
zone_that_is_there_otherwise_is_not_added(void **state)
{
	change(XFRD_CHANGE_ADD, "x", "p", "x");
	flush(0);
	assert_int_equal(fixture_list("x", "q"), NSD_OK);
	zone_is_there(0);
	flush(0);
	assert_string_equal(ended, "x:7 ");
	files_assert(list_path, HEAD "del x p\n");
}

/* The batch in which it is asked for again cannot be flushed. */
static void
change_that_was_published_does_not_fail_with_its_batch(void **state)
{
	no_wait = true;
	change(XFRD_CHANGE_ADD, "x", "p", "x");
	flush(0);
	answer(0, NSD_E_AGAIN);
	assert_int_equal(fixture_list("x", "p"), NSD_OK);
	while (fixture.xfrd.changes->step == XFRD_CHANGES_NONE)
		event_base_loop(fixture.xfrd.role.base, EVLOOP_ONCE);
	xfrd_changes_on_synced(&fixture.xfrd, flushes, EIO);
	assert_string_equal(ended, "x:0 ");
	flush(0);
	files_assert(list_path, HEAD "add x p\n");
}

static void
change_that_was_published_is_not_given_up(void **state)
{
	change(XFRD_CHANGE_ADD, "x", "p", "add");
	flush(0);
	assert_int_equal(fixture_list("x", "p"), NSD_OK);
	give(&messages[0].on_end, messages[0].ctx, NULL);
	/* The state of its file is not known. */
	assert_string_equal(asked[1].text, "read x");
	answer_read(1, NSD_OK, "");
	no_wait = true;
	change(XFRD_CHANGE_DELETE, "x", NULL, "del");
	flush(0);
	assert_int_equal(fixture_list("x", NULL), NSD_OK);
	give(&messages[1].on_end, messages[1].ctx, NULL);
	flush(0);
	assert_string_equal(ended, "add:0 del:0 ");
	files_assert(list_path, HEAD "del x p\n");
}

/* ---- failures ------------------------------------------------------------ */

static void
batch_that_cannot_be_flushed_has_failed(void **state)
{
	add_three();
	change(XFRD_CHANGE_DELETE, "x", NULL, "del");
	change(XFRD_CHANGE_PATTERN, "y", "q", "q");
	change(XFRD_CHANGE_PATTERN, "z", "long", "long");
	change(XFRD_CHANGE_ADD, "v", "p", "v");
	flush(EIO);
	/* A change that is reported as failed is not on the disk. */
	assert_string_equal(ended, "");
	flush(0);
	assert_string_equal(ended, "del:6 q:6 long:6 v:6 ");
	assert_int_equal(asked_count, 3);
	files_assert(list_path, HEAD "add x p\nadd y p\nadd z p\n"
		"del z long\ndel v p\n");
	assert_true(has("x", "p") && has("y", "p") && has("z", "p"));
	assert_false(has("v", "p"));
	/* The places of lines are free. */
	change(XFRD_CHANGE_ADD, "v", "long", "again");
	flush(0);
	files_assert(list_path, HEAD "add x p\nadd y p\nadd z p\n"
		"add v long\ndel v p\n");
}

/* A refused change of any kind leaves its line as it was. */
static void
what_the_loader_refuses_is_as_before(void **state)
{
	add_three();
	change(XFRD_CHANGE_DELETE, "x", NULL, "del");
	change(XFRD_CHANGE_PATTERN, "y", "q", "q");
	change(XFRD_CHANGE_PATTERN, "z", "long", "long");
	change(XFRD_CHANGE_ADD, "v", "p", "v");
	change(XFRD_CHANGE_ADD, "w", "p", "w");
	flush(0);
	files_assert(list_path, HEAD "del x p\nadd y q\ndel z p\nadd z long\n"
		"add v p\nadd w p\n");
	for (unsigned i = 3; i < 7; i++)
		answer(i, NSD_E_LIMIT);
	assert_string_equal(ended, "");
	answer(7, NSD_OK);
	flush(0);
	assert_string_equal(ended, "w:0 del:7 q:7 long:7 v:7 ");
	files_assert(list_path, HEAD "add x p\nadd y p\nadd z p\ndel z long\n"
		"del v p\nadd w p\n");
	assert_true(has("x", "p") && has("y", "p") && has("z", "p"));
	assert_true(has("w", "p"));
	assert_null(fixture_find("v"));
}

static void
refused_zone_that_is_deleted_was_not_there(void **state)
{
	change(XFRD_CHANGE_ADD, "x", "p", "add");
	change(XFRD_CHANGE_DELETE, "x", NULL, "del");
	change(XFRD_CHANGE_ADD, "x", "q", "again");
	flush(0);
	answer(0, NSD_E_LIMIT);
	flush(0);
	flush(0);
	assert_string_equal(ended, "add:7 del:2 ");
	answer(1, NSD_OK);
	assert_string_equal(ended, "add:7 del:2 again:0 ");
	files_assert(list_path, HEAD "add x q\n");
	assert_true(has("x", "q"));
}

/* A change that is reported as failed must not come back at the next start. */
static void
failure_is_told_when_what_was_taken_back_is_durable(void **state)
{
	uint64_t before;

	change(XFRD_CHANGE_ADD, "x", "p", "add");
	flush(0);
	before = flushes;
	answer(0, NSD_E_LIMIT);
	files_assert(list_path, HEAD "del x p\n");
	assert_int_equal(flushes, before + 1);
	/* A flush that was asked for earlier does not count. */
	xfrd_changes_on_synced(&fixture.xfrd, before, 0);
	assert_string_equal(ended, "");
	change(XFRD_CHANGE_ADD, "x", "p", "again");
	flush(0);
	assert_string_equal(ended, "add:7 ");
	flush(0);
	answer(1, NSD_OK);
	assert_string_equal(ended, "add:7 again:0 ");
	files_assert(list_path, HEAD "add x p\n");
	/* A disk that does not write is not waited for. */
	change(XFRD_CHANGE_DELETE, "x", NULL, "del");
	flush(0);
	answer(2, NSD_E_LIMIT);
	flush(EIO);
	assert_string_equal(ended, "add:7 again:0 del:7 ");
}

/* Whenever the power fails, the list has a line of the zone. */
static void
old_line_goes_when_the_new_one_is_durable(void **state)
{
	uint64_t number;

	change(XFRD_CHANGE_ADD, "x", "p", "add");
	flush(0);
	answer(0, NSD_OK);
	change(XFRD_CHANGE_PATTERN, "x", "long", "long");
	event_base_loop(fixture.xfrd.role.base, EVLOOP_NONBLOCK);
	files_assert(list_path, HEAD "add x p\nadd x long\n");
	number = flushes;
	xfrd_changes_on_synced(&fixture.xfrd, number, 0);
	files_assert(list_path, HEAD "del x p\nadd x long\n");
	assert_int_equal(flushes, number + 1);
	assert_int_equal(asked_count, 1);
	xfrd_changes_on_synced(&fixture.xfrd, number + 1, 0);
	assert_int_equal(asked_count, 2);
	/* And back. */
	answer(1, NSD_E_LIMIT);
	files_assert(list_path, HEAD "add x p\nadd x long\n");
	xfrd_changes_on_synced(&fixture.xfrd, number + 2, 0);
	files_assert(list_path, HEAD "add x p\ndel x long\n");
	assert_string_equal(ended, "add:0 ");
	xfrd_changes_on_synced(&fixture.xfrd, number + 3, 0);
	assert_string_equal(ended, "add:0 long:7 ");
}

/* A flush has failed: the old line has never gone. */
static void
old_line_stays_if_the_new_one_is_not_durable(void **state)
{
	change(XFRD_CHANGE_ADD, "x", "p", "add");
	flush(0);
	answer(0, NSD_OK);
	change(XFRD_CHANGE_PATTERN, "x", "long", "long");
	event_base_loop(fixture.xfrd.role.base, EVLOOP_NONBLOCK);
	xfrd_changes_on_synced(&fixture.xfrd, flushes, EIO);
	files_assert(list_path, HEAD "add x p\nadd x long\n");
	flush(EIO);
	files_assert(list_path, HEAD "add x p\nadd x long\n");
	assert_true(fixture.xfrd.changes->list->renew);
	assert_string_equal(ended, "add:0 long:6 ");
}

/* The loader refuses the change, and the old line, which comes back, cannot be
 * flushed: a power cut may take it, but not the other one. */
static void
new_line_stays_if_the_old_one_is_not_durable(void **state)
{
	change(XFRD_CHANGE_ADD, "x", "p", "add");
	flush(0);
	answer(0, NSD_OK);
	change(XFRD_CHANGE_PATTERN, "x", "long", "long");
	flush(0);
	flush(0);
	answer(1, NSD_E_LIMIT);
	flush(EIO);
	files_assert(list_path, HEAD "add x p\nadd x long\n");
	assert_true(fixture.xfrd.changes->list->renew);
	assert_string_equal(ended, "add:0 long:7 ");
}

static void
member_that_cannot_go_keeps_its_id(void **state)
{
	change(XFRD_CHANGE_ADD, "x", "p", "add");
	flush(0);
	answer(0, NSD_OK);
	assert_int_equal(xfrd_zone_set_member(&fixture.xfrd.zones.table,
		fixture_find("x"), "id"), NSD_OK);
	change(XFRD_CHANGE_PATTERN, "x", "q", "change");
	flush(0);
	answer(1, NSD_OK);
	files_assert(list_path, HEAD "del x p\ncat x q id\n");
	change(XFRD_CHANGE_DELETE, "x", NULL, "del");
	flush(0);
	answer(2, NSD_E_LIMIT);
	flush(0);
	files_assert(list_path, HEAD "del x p\ncat x q id\n");
	assert_string_equal(member("x"), "id");
}

/* ---- files --------------------------------------------------------------- */

static void
file_that_is_broken_is_told(void **state)
{
	change(XFRD_CHANGE_ADD, "x", "p", "add");
	flush(0);
	answer_file(0, NSD_OK, IPC_ZONE_BROKEN);
	assert_string_equal(ended, "add:8 f:1: why\n");
	assert_true(has("x", "p"));
	files_assert(list_path, HEAD "add x p\n");
}

static void
file_that_takes_long_is_waited_for(void **state)
{
	change(XFRD_CHANGE_ADD, "x", "p", "add");
	flush(0);
	answer_file(0, NSD_OK, IPC_ZONE_LATER);
	assert_string_equal(asked[1].text, "read x");
	assert_string_equal(ended, "");
	/* Later changes of the zone do not wait. */
	change(XFRD_CHANGE_PATTERN, "x", "q", "change");
	flush(0);
	assert_string_equal(asked[2].text, "x q!");
	answer_file(2, NSD_OK, IPC_ZONE_LATER);
	answer_read(1, NSD_OK, "");
	assert_string_equal(ended, "add:0 ");
	answer_read(3, NSD_E_ZONE, "f:2: why\n");
	assert_string_equal(ended, "add:0 change:8 f:2: why\n");
}

static void
file_that_takes_long_ends_in_any_case(void **state)
{
	change(XFRD_CHANGE_ADD, "x", "p", "x");
	change(XFRD_CHANGE_ADD, "y", "p", "y");
	flush(0);
	answer_file(0, NSD_OK, IPC_ZONE_LATER);
	answer_file(1, NSD_OK, IPC_ZONE_LATER);
	give(&asked[2].on_end, asked[2].ctx, NULL);
	assert_non_null(strstr(ended, "x:8 the loader died"));
	answer_read(3, NSD_E_NOT_FOUND, "");
	assert_non_null(strstr(ended, "y:8 the zone was removed"));
	read_error = NSD_E_MEMORY;
	change(XFRD_CHANGE_ADD, "z", "p", "z");
	flush(0);
	answer_file(4, NSD_OK, IPC_ZONE_LATER);
	assert_non_null(strstr(ended, "z:8 "));
}

static void
reading_that_has_no_room_is_tried_again(void **state)
{
	change(XFRD_CHANGE_ADD, "x", "p", "x");
	flush(0);
	read_error = NSD_E_AGAIN;
	answer_file(0, NSD_OK, IPC_ZONE_LATER);
	read_error = NSD_OK;
	assert_int_equal(asked_count, 1);
	while (asked_count == 1)
		event_base_loop(fixture.xfrd.role.base, EVLOOP_ONCE);
	answer_read(1, NSD_OK, "");
	assert_string_equal(ended, "x:0 ");
}

static void
file_that_takes_long_is_not_waited_for_in_haste(void **state)
{
	no_wait = true;
	change(XFRD_CHANGE_ADD, "x", "p", "x");
	flush(0);
	answer_file(0, NSD_OK, IPC_ZONE_LATER);
	assert_string_equal(ended, "x:0 ");
	assert_int_equal(asked_count, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, changes_begin, \
	changes_end)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_comes_in_a_turn_is_a_batch),
		TEST(what_comes_while_a_batch_is_done_is_the_next_one),
		TEST(reconfig_is_followed_between_two_batches),
		TEST(second_change_of_a_zone_is_of_the_next_batch),
		TEST(place_of_a_line_is_free_once_its_zone_is_gone),
		TEST(zone_that_is_being_read_is_asked_for_again),
		TEST(what_the_loader_has_not_come_to_is_asked_for_again),
		TEST(message_has_no_more_than_there_is_room_for),
		TEST(changes_of_a_batch_are_published_together),
		TEST(changes_that_a_dead_loader_has_not_published_come_again),
		TEST(long_batch_is_listed_in_turns),
		TEST(zone_that_loaders_die_of_fails_alone),
		TEST(zone_that_a_dead_loader_has_added_is_there),
		TEST(zone_that_is_there_otherwise_is_not_added),
		TEST(change_that_was_published_does_not_fail_with_its_batch),
		TEST(change_that_was_published_is_not_given_up),
		TEST(batch_that_cannot_be_flushed_has_failed),
		TEST(what_the_loader_refuses_is_as_before),
		TEST(refused_zone_that_is_deleted_was_not_there),
		TEST(failure_is_told_when_what_was_taken_back_is_durable),
		TEST(old_line_goes_when_the_new_one_is_durable),
		TEST(old_line_stays_if_the_new_one_is_not_durable),
		TEST(new_line_stays_if_the_old_one_is_not_durable),
		TEST(member_that_cannot_go_keeps_its_id),
		TEST(file_that_is_broken_is_told),
		TEST(file_that_takes_long_is_waited_for),
		TEST(file_that_takes_long_ends_in_any_case),
		TEST(reading_that_has_no_room_is_tried_again),
		TEST(file_that_takes_long_is_not_waited_for_in_haste),
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
