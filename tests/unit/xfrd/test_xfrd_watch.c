/* test_xfrd_watch.c - zone files of a folder as they come, change and go. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "base/clock.h"
#include "xfrd/xfrd_watch.h"

#define WAIT_MSEC 20000

/* Calls as text, a word each: ?NAME found, +NAME a file, -NAME gone, ( reading
 * begins, ) ends, ! empty, ~ events lost, and why reading has failed. */
static struct {
	struct event_base *base;
	struct xfrd_watch watch;
	char folder[64];
	char said[65536];
	size_t len;
	bool busy;
	bool mute;      /* files that have gone are counted: */
	unsigned gone;
	uint64_t count; /* files that are known */
	const char *missed; /* one-letter names of files that the next reading
			     * misses */
} w;

static void
say(const char *what, const char *name)
{
	w.len += (size_t)snprintf(w.said + w.len, sizeof(w.said) - w.len,
		"%s%s ", what, name);
	assert_true(w.len < sizeof(w.said));
}

static bool
on_busy(void *ctx)
{
	return w.busy;
}

static bool
on_begin(void *ctx)
{
	if (!w.busy)
		say("(", "");
	return !w.busy;
}

static bool
is_name(void *ctx, const char *name)
{
	return *name != 'X';
}

static uint64_t
count(void *ctx)
{
	return w.count;
}

static bool
on_found(void *ctx, const char *name)
{
	say("?", name);
	return is_name(ctx, name);
}

static void
on_read(void *ctx, const char *why)
{
	char missed[] = {'\0', '\0'};

	say(")", why != NULL ? why : "");
	for (; *w.missed != '\0' && why == NULL; w.missed++) {
		missed[0] = *w.missed;
		xfrd_watch_pause(&w.watch, missed, XFRD_PAUSE_GONE);
	}
}

static void
on_file(void *ctx, const char *name)
{
	say("+", name);
}

static void
on_gone(void *ctx, const char *name)
{
	w.gone++;
	if (!w.mute)
		say("-", name);
}

static void
on_empty(void *ctx)
{
	say("!", "");
}

static void
on_turn(void *ctx)
{
}

static void
on_lost(void *ctx)
{
	say("~", "");
}

static const struct xfrd_watch_hooks hooks = {
	.is_busy = on_busy, .is_name = is_name, .count = count,
	.on_begin = on_begin, .on_found = on_found,
	.on_read = on_read, .on_file = on_file, .on_gone = on_gone,
	.on_empty = on_empty, .on_turn = on_turn, .on_lost = on_lost,
};

/* ---- files --------------------------------------------------------------- */

static const char *
path_of(const char *file)
{
	static char paths[2][256];
	static unsigned next;
	char *path = paths[next++ % 2];

	snprintf(path, sizeof(paths[0]), "%s/%s", w.folder, file);
	return path;
}

static void
write_file(const char *file)
{
	FILE *f = fopen(path_of(file), "w");

	assert_non_null(f);
	fputs("text\n", f);
	assert_int_equal(fclose(f), 0);
}

static void
move_file(const char *from, const char *to)
{
	assert_int_equal(rename(path_of(from), path_of(to)), 0);
}

static void
remove_file(const char *file)
{
	assert_int_equal(unlink(path_of(file)), 0);
}

/* ---- turns --------------------------------------------------------------- */

static void
begin(void)
{
	assert_int_equal(xfrd_watch_init(&w.watch, w.base, w.folder, &hooks,
		NULL), NSD_OK);
	w.watch.pauses_msec[XFRD_PAUSE_READY] = 20;
	w.watch.pauses_msec[XFRD_PAUSE_QUIET] = 60;
	w.watch.pauses_msec[XFRD_PAUSE_OPEN] = 2000;
	w.watch.pauses_msec[XFRD_PAUSE_GONE] = 300;
	w.watch.check_msec = 50;
}

static void
turn(void)
{
	assert_int_not_equal(event_base_loop(w.base, EVLOOP_ONCE), -1);
}

/* The same without waiting. */
static void
turn_once(void)
{
	assert_int_not_equal(event_base_loop(w.base, EVLOOP_NONBLOCK), -1);
}

/* Turns the loop until the calls end with a text. */
static void
wait_for_end(const char *end)
{
	int64_t last = clock_now_msec() + WAIT_MSEC;
	size_t len = strlen(end);

	while (w.len < len || strcmp(w.said + w.len - len, end) != 0) {
		if (clock_now_msec() > last)
			fail_msg("%s does not end with %s", w.said, end);
		turn();
	}
}

/* Expects these calls, and no others while all that rests is looked at. */
static void
wait_for(const char *calls)
{
	wait_for_end(calls);
	while (w.watch.paused_count > 0)
		turn();
	assert_string_equal(w.said, calls);
	w.len = 0;
	w.said[0] = '\0';
}

static int
setup(void **state)
{
	memset(&w, 0, sizeof(w));
	w.count = 1000;
	w.missed = "";
	snprintf(w.folder, sizeof(w.folder), "/tmp/test_watch.XXXXXX");
	w.base = event_base_new();
	return mkdtemp(w.folder) == NULL || w.base == NULL;
}

static int
teardown(void **state)
{
	char command[128];

	xfrd_watch_fini(&w.watch);
	event_base_free(w.base);
	snprintf(command, sizeof(command), "rm -rf %s", w.folder);
	return system(command);
}

/* ---- tests --------------------------------------------------------------- */

static void
names_of_zone_files_are_found(void **state)
{
	write_file("a.zone");
	write_file("b.zone~");
	write_file(".c.zone");
	write_file(".zone");
	write_file("d.zone.AbCdEf");
	write_file(".e.zone.AbCdEf");
	write_file("zone");
	assert_int_equal(mkdir(path_of("f.zone"), 0755), 0);
	begin();
	wait_for("( ?a ) ");
	write_file("..zone");
	wait_for("+. ");
}

static void
files_come_change_and_go(void **state)
{
	write_file("a.zone");
	begin();
	wait_for("( ?a ) ");
	write_file("b.zone");
	wait_for("+b ");
	write_file("a.zone");
	wait_for("+a ");
	assert_int_equal(chmod(path_of("a.zone"), 0600), 0);
	wait_for("+a ");
	assert_int_equal(symlink("a.zone", path_of("l.zone")), 0);
	wait_for("+l ");
	remove_file("b.zone");
	wait_for("-b ");
	move_file("a.zone", "c.zone");
	wait_for("+c -a ");
}

/* vim with backupcopy=no; vim without; sed -i and rsync(1). */
static void
editors_delete_nothing(void **state)
{
	write_file("a.zone");
	begin();
	wait_for("( ?a ) ");
	move_file("a.zone", "a.zone~");
	write_file("a.zone");
	remove_file("a.zone~");
	wait_for("+a ");
	write_file("a.zone~");
	write_file("a.zone");
	remove_file("a.zone~");
	wait_for("+a ");
	write_file(".a.zone.XyZ123");
	move_file(".a.zone.XyZ123", "a.zone");
	wait_for("+a ");
	/* A pause in the middle. */
	remove_file("a.zone");
	while (w.watch.paused_count == 0)
		turn();
	write_file("a.zone");
	wait_for("+a ");
}

static void
half_written_file_is_waited_for(void **state)
{
	enum xfrd_pause pause;
	int64_t left;
	FILE *f;

	write_file("a.zone");
	begin();
	wait_for("( ?a ) ");
	f = fopen(path_of("b.zone"), "w");
	assert_non_null(f);
	fputs("half", f);
	fflush(f);
	while (!xfrd_watch_find(&w.watch, "b", &pause, &left)
		|| pause != XFRD_PAUSE_OPEN)
		turn();
	assert_true(left > 0 && left <= 2000);
	assert_string_equal(w.said, "");
	fclose(f);
	wait_for("+b ");
	assert_false(xfrd_watch_find(&w.watch, "b", &pause, &left));
	/* Not without end. */
	f = fopen(path_of("c.zone"), "w");
	assert_non_null(f);
	fputs("half", f);
	fflush(f);
	wait_for("+c ");
	fclose(f);
	wait_for("+c ");
}

/* A file that is written and closed again and again. */
static void
file_that_is_never_left_alone_is_looked_at(void **state)
{
	int64_t last = clock_now_msec() + WAIT_MSEC;

	begin();
	wait_for("( ) ");
	w.watch.pauses_msec[XFRD_PAUSE_READY] = 400;
	w.watch.pauses_msec[XFRD_PAUSE_OPEN] = 300;
	while (w.len == 0 && clock_now_msec() < last) {
		write_file("a.zone");
		usleep(10000);
		assert_int_not_equal(event_base_loop(w.base,
			EVLOOP_NONBLOCK), -1);
	}
	assert_non_null(strstr(w.said, "+a "));
}

/* A folder that is filled anew. */
static void
file_that_is_gone_waits_for_others_that_come(void **state)
{
	int64_t end;
	FILE *f;

	write_file("a.zone");
	write_file("b.zone");
	begin();
	wait_for_end(") ");
	w.len = 0;
	w.said[0] = '\0';
	f = fopen(path_of("c.zone"), "w");
	assert_non_null(f);
	fputs("half", f);
	fflush(f);
	remove_file("a.zone");
	end = clock_now_msec() + 900;
	while (clock_now_msec() < end)
		turn();
	assert_string_equal(w.said, "");
	fclose(f);
	wait_for("+c -a ");
}

/* Has files come until the pause of one that is gone is over. */
static void
fill(void)
{
	int64_t end = clock_now_msec() + 700;
	char file[16], said[16];

	for (unsigned i = 0; clock_now_msec() < end; i++) {
		snprintf(file, sizeof(file), "f%u.zone", i);
		snprintf(said, sizeof(said), "+f%u ", i);
		write_file(file);
		wait_for_end(said);
		/* No other file is in a pause for a moment. */
		for (unsigned k = 0; k < 5; k++)
			turn_once();
	}
	assert_null(strchr(w.said, '-'));
}

/* No others come. */
static void
wait_for_gone(unsigned gone)
{
	w.mute = true;
	assert_int_equal(w.gone, 0);
	w.watch.fill_msec = 100;
	xfrd_watch_go_on(&w.watch);
	while (w.watch.paused_count > 0)
		turn();
	assert_int_equal(w.gone, gone);
}

static void
replace_folder(void)
{
	char command[256];

	snprintf(command, sizeof(command), "rm -r %s && mkdir %s", w.folder,
		w.folder);
	assert_int_equal(system(command), 0);
}

static void
folder_that_is_replaced_may_be_filled_slowly(void **state)
{
	enum xfrd_pause pause;
	int64_t left;

	write_file("a.zone");
	begin();
	wait_for("( ?a ) ");
	w.watch.fill_msec = 5000;
	w.missed = "a";
	replace_folder();
	wait_for_end("( ) ");
	w.len = 0;
	fill();
	assert_true(xfrd_watch_is_filled(&w.watch));
	assert_true(xfrd_watch_find(&w.watch, "a", &pause, &left));
	assert_int_equal(xfrd_watch_count_gone(&w.watch, &left), 1);
	assert_true(left > 300 && left <= 5000);
	w.len = 0;
	/* Not without end. */
	w.watch.fill_max_msec = 1;
	wait_for("-a ");
	assert_false(xfrd_watch_is_filled(&w.watch));
}

static void
folder_that_was_empty_may_be_filled_slowly(void **state)
{
	write_file("a.zone");
	write_file("b.zone");
	begin();
	wait_for_end(") ");
	w.len = 0;
	remove_file("a.zone");
	remove_file("b.zone");
	wait_for("! ");
	w.watch.fill_msec = 5000;
	w.missed = "ab";
	write_file("c.zone");
	wait_for_end("+c ( ?c ) ");
	fill();
	wait_for_gone(2);
}

/* The folder was empty for a moment, or nearly. */
static void
folder_whose_files_have_gone_may_be_filled_slowly(void **state)
{
	w.count = 3;
	write_file("a.zone");
	write_file("b.zone");
	write_file("c.zone");
	begin();
	wait_for_end(") ");
	w.len = 0;
	w.said[0] = '\0';
	remove_file("a.zone");
	remove_file("b.zone");
	while (w.watch.gone_count < 2)
		turn();
	w.watch.fill_msec = 5000;
	fill();
	/* A file that was gone for long is looked at when it comes. */
	w.watch.pauses_msec[XFRD_PAUSE_OPEN] = 1;
	write_file("a.zone");
	wait_for_end("+a ");
	wait_for_gone(1);
}

/* One of many, in a folder into which files come all the time. */
static void
file_that_is_gone_waits_for_no_others_elsewhere(void **state)
{
	write_file("a.zone");
	write_file("b.zone");
	begin();
	wait_for_end(") ");
	remove_file("a.zone");
	while (w.watch.gone_count < 1)
		turn();
	write_file("c.zone");
	wait_for_end("-a ");
	assert_false(xfrd_watch_is_filled(&w.watch));
}

static void
too_many_files_that_are_gone_lose_no_events(void **state)
{
	char name[16];

	w.count = UINT64_MAX;
	write_file("a.zone");
	begin();
	wait_for("( ?a ) ");
	w.watch.paused_max = 100;
	for (unsigned i = 0; i <= 100; i++) {
		snprintf(name, sizeof(name), "g%u", i);
		xfrd_watch_pause(&w.watch, name, XFRD_PAUSE_GONE);
	}
	assert_int_equal(w.watch.paused_count, 100);
	w.mute = true;
	/* The one without room is found by a reading. */
	wait_for("( ?a ) ");
	assert_int_equal(w.gone, 100);
}

/* The owner takes other files for none. */
static void
file_with_a_bad_name_alone_is_none(void **state)
{
	write_file("a.zone");
	write_file("X.zone");
	begin();
	wait_for_end(") ");
	assert_int_equal(w.watch.found, 1);
	w.len = 0;
	remove_file("a.zone");
	wait_for("! ");
	remove_file("X.zone");
	wait_for("-X ");
	/* Without zones none is kept. */
	w.count = 0;
	write_file("b.zone");
	wait_for("+b ( ?b ) ");
	remove_file("b.zone");
	wait_for("-b ");
}

static void
last_file_is_kept_unless_it_may_go(void **state)
{
	write_file("a.zone");
	write_file("b.zone");
	begin();
	wait_for_end(") ");
	w.len = 0;
	remove_file("a.zone");
	remove_file("b.zone");
	wait_for("! ");
	/* The first one that comes has the others looked for. */
	write_file("b.zone");
	wait_for("+b ( ?b ) ");
	w.watch.may_empty = true;
	remove_file("b.zone");
	wait_for("-b ");
}

static void
folder_that_goes_and_comes_is_read_again(void **state)
{
	char other[80];

	write_file("a.zone");
	begin();
	wait_for("( ?a ) ");
	snprintf(other, sizeof(other), "%s.other", w.folder);
	assert_int_equal(rename(w.folder, other), 0);
	wait_for_end(")No such file or directory ");
	assert_null(strstr(w.said, "-"));
	w.len = 0;
	/* Another folder at this place, as of a file system that was
	 * mounted. */
	assert_int_equal(mkdir(w.folder, 0755), 0);
	write_file("b.zone");
	wait_for_end("( ?b ) ");
	assert_null(strstr(w.said, "-"));
	w.len = 0;
	w.said[0] = '\0';
	write_file("c.zone");
	wait_for("+c ");
	snprintf(other, sizeof(other), "rm -r %s.other", w.folder);
	assert_int_equal(system(other), 0);
	wait_for("");
}

static void
folder_that_is_missing_is_looked_for_soon(void **state)
{
	assert_int_equal(rmdir(w.folder), 0);
	begin();
	w.watch.check_msec = 1000 * WAIT_MSEC;
	wait_for_end("No such file or directory ");
	assert_int_equal(mkdir(w.folder, 0755), 0);
	write_file("a.zone");
	wait_for_end("( ?a ) ");
}

static void
lost_events_have_the_folder_read(void **state)
{
	begin();
	wait_for("( ) ");
	/* More events than the kernel keeps by default. */
	for (unsigned i = 0; i < 40000; i++) {
		write_file("a.zone");
		remove_file("a.zone");
	}
	write_file("b.zone");
	wait_for_end("?b ) ");
	assert_non_null(strstr(w.said, "~"));
	assert_null(strstr(w.said, "-"));
}

static void
busy_owner_hears_of_nothing(void **state)
{
	write_file("a.zone");
	begin();
	w.busy = true;
	turn();
	turn();
	assert_string_equal(w.said, "");
	w.busy = false;
	xfrd_watch_go_on(&w.watch);
	wait_for("( ?a ) ");
	write_file("b.zone");
	w.busy = true;
	while (w.watch.paused_count == 0)
		turn();
	for (unsigned i = 0; i < 5; i++)
		turn();
	assert_string_equal(w.said, "");
	w.busy = false;
	xfrd_watch_go_on(&w.watch);
	wait_for("+b ");
}

static void
file_from_a_moment_ago_rests(void **state)
{
	write_file("a.zone");
	begin();
	wait_for("( ?a ) ");
	w.watch.pauses_msec[XFRD_PAUSE_QUIET] = 1000;
	assert_true(xfrd_watch_is_fresh(&w.watch, "a"));
	wait_for("+a ");
	assert_true(xfrd_watch_has(&w.watch, "a"));
	assert_false(xfrd_watch_has(&w.watch, "b"));
	w.watch.pauses_msec[XFRD_PAUSE_QUIET] = 0;
	assert_false(xfrd_watch_is_fresh(&w.watch, "a"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(names_of_zone_files_are_found),
		TEST(files_come_change_and_go),
		TEST(editors_delete_nothing),
		TEST(half_written_file_is_waited_for),
		TEST(file_that_is_never_left_alone_is_looked_at),
		TEST(file_that_is_gone_waits_for_others_that_come),
		TEST(folder_that_is_replaced_may_be_filled_slowly),
		TEST(folder_that_was_empty_may_be_filled_slowly),
		TEST(folder_whose_files_have_gone_may_be_filled_slowly),
		TEST(file_that_is_gone_waits_for_no_others_elsewhere),
		TEST(too_many_files_that_are_gone_lose_no_events),
		TEST(file_with_a_bad_name_alone_is_none),
		TEST(last_file_is_kept_unless_it_may_go),
		TEST(folder_that_goes_and_comes_is_read_again),
		TEST(folder_that_is_missing_is_looked_for_soon),
		TEST(lost_events_have_the_folder_read),
		TEST(busy_owner_hears_of_nothing),
		TEST(file_from_a_moment_ago_rests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
