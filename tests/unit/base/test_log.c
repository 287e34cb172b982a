/* test_log.c - the lines of the log: formats, escapes, rotation. */
#include "config.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/diag.h"
#include "base/log.h"

static char test_path[64];

static int
setup(void **state)
{
	int fd;

	strcpy(test_path, "/tmp/test_log.XXXXXX");
	fd = mkstemp(test_path);
	if (fd == -1)
		return -1;
	close(fd);
	return 0;
}

static int
teardown(void **state)
{
	log_close();
	unlink(test_path);
	return 0;
}

static const char *
read_file(const char *path)
{
	static char text[65536];
	int fd = open(path, O_RDONLY);
	ssize_t n;

	assert_true(fd >= 0);
	n = read(fd, text, sizeof(text) - 1);
	assert_true(n >= 0);
	text[n] = '\0';
	close(fd);
	return text;
}

static void
open_log(bool ascii, bool iso)
{
	struct log_options options = {
		.program = "nsd",
		.file = test_path,
		.time_ascii = ascii,
		.time_iso = iso,
		.facility = LOG_DAEMON,
	};

	assert_int_equal(log_open(&options), NSD_OK);
}

static void
line_has_time_with_milliseconds_program_pid_and_level(void **state)
{
	int year, month, day, hour, minute, second, msec, pid, end = 0;

	open_log(true, false);
	log_error("boo %d", 7);
	assert_int_equal(sscanf(read_file(test_path),
				 "[%4d-%2d-%2d %2d:%2d:%2d.%3d] nsd[%d]: "
				 "error: boo 7\n%n",
				 &year, &month, &day, &hour, &minute, &second,
				 &msec, &pid, &end),
		8);
	assert_int_equal(end, (int)strlen(read_file(test_path)));
	assert_int_equal(pid, getpid());
}

static void
line_with_iso_time_has_zone(void **state)
{
	int year, month, day, hour, minute, second, msec, zh, zm, pid, end = 0;
	char sign;

	open_log(true, true);
	log_notice("boo");
	assert_int_equal(sscanf(read_file(test_path),
				 "%4d-%2d-%2dT%2d:%2d:%2d.%3d%c%2d:%2d "
				 "nsd[%d]: notice: boo\n%n",
				 &year, &month, &day, &hour, &minute, &second,
				 &msec, &sign, &zh, &zm, &pid, &end),
		11);
	assert_true(sign == '+' || sign == '-');
	assert_int_equal(end, (int)strlen(read_file(test_path)));
}

static void
line_without_ascii_time_has_epoch_seconds(void **state)
{
	long long when;
	int pid, end = 0;

	open_log(false, true);
	log_warning("boo");
	assert_int_equal(sscanf(read_file(test_path),
				 "[%lld] nsd[%d]: warning: boo\n%n", &when,
				 &pid, &end),
		2);
	assert_int_equal(end, (int)strlen(read_file(test_path)));
}

static void
control_characters_are_escaped(void **state)
{
	open_log(true, false);
	log_info("a\nb\x1b[31m\x7f\xc3\xa9");
	assert_non_null(strstr(read_file(test_path),
		"info: a\\012b\\033[31m\\177\xc3\xa9\n"));
}

static void
long_text_is_cut_and_ends_in_a_newline(void **state)
{
	static char text[10000];
	const char *line;

	memset(text, '\n', sizeof(text) - 1);
	open_log(true, false);
	log_info("%s", text);
	line = read_file(test_path);
	assert_int_equal(line[strlen(line) - 1], '\n');
	assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
	assert_true(strlen(line) > 4 * 4095);
}

static void
finding_is_written_with_the_place_it_has(void **state)
{
	struct diag_sink sink = {.on_diag = log_diag};
	const char *text;

	open_log(true, false);
	diag_emit(&sink, DIAG_ERROR, "f.zone", 12, 3, "bad %s", "octet");
	diag_emit(&sink, DIAG_ERROR, "f.zone", 13, 0, "bad line");
	diag_emit(&sink, DIAG_WARNING, "f.zone", 0, 0, "empty");
	diag_emit(&sink, DIAG_WARNING, NULL, 0, 0, "odd");
	text = read_file(test_path);
	assert_non_null(strstr(text,
		"error: f.zone:12: bad octet (column 3)\n"));
	assert_non_null(strstr(text, "error: f.zone:13: bad line\n"));
	assert_non_null(strstr(text, "warning: f.zone: empty\n"));
	assert_non_null(strstr(text, "warning: odd\n"));
}

/* Of a longer line a FIFO that is nearly full takes a part. */
static void
line_to_a_fifo_is_cut_where_writes_stay_whole(void **state)
{
	static char text[4000], got[2 * PIPE_BUF + 1];
	int fifo;

	assert_int_equal(unlink(test_path), 0);
	assert_int_equal(mkfifo(test_path, 0600), 0);
	fifo = open(test_path, O_RDONLY | O_NONBLOCK);
	assert_true(fifo >= 0);
	open_log(true, false);
	memset(text, '\n', sizeof(text) - 1);
	log_info("%s", text);
	log_info("next");
	assert_in_range(read(fifo, got, sizeof(got) - 1), PIPE_BUF + 1,
		PIPE_BUF + 200);
	assert_ptr_equal(strchr(got, '\n'), got + PIPE_BUF - 1);
	assert_non_null(strstr(got + PIPE_BUF, "info: next\n"));
	close(fifo);
}

static void
lines_below_the_verbosity_are_left_out(void **state)
{
	open_log(true, false);
	log_set_verbosity(1);
	log_at(2, LOG_LEVEL_INFO, "quiet");
	log_at(1, LOG_LEVEL_INFO, "loud");
	assert_null(strstr(read_file(test_path), "quiet"));
	assert_non_null(strstr(read_file(test_path), "loud"));
}

static void
reopened_log_goes_to_a_new_file(void **state)
{
	char old[80];

	snprintf(old, sizeof(old), "%s.1", test_path);
	open_log(true, false);
	log_info("first");
	assert_int_equal(rename(test_path, old), 0);
	log_info("second");
	log_reopen();
	log_info("third");
	assert_non_null(strstr(read_file(old), "first"));
	assert_non_null(strstr(read_file(old), "second"));
	assert_null(strstr(read_file(old), "third"));
	assert_non_null(strstr(read_file(test_path), "third"));
	unlink(old);
}

static void
reopen_that_fails_keeps_the_old_file(void **state)
{
	int old = open(test_path, O_RDONLY);
	char text[4096];
	ssize_t n;

	open_log(true, false);
	assert_int_equal(unlink(test_path), 0);
	log_set_file("/nonexistent/nsd.log");
	log_reopen();
	log_info("still here");
	n = read(old, text, sizeof(text) - 1);
	assert_true(n > 0);
	text[n] = '\0';
	assert_non_null(strstr(text, "error: cannot reopen log file"));
	assert_non_null(strstr(text, "still here"));
	close(old);
}

static void
log_that_cannot_be_opened_leaves_the_old_one(void **state)
{
	struct log_options options = {
		.program = "nsd",
		.file = "/nonexistent/nsd.log",
	};

	open_log(true, false);
	assert_int_equal(log_open(&options), NSD_E_SYSTEM);
	log_info("kept");
	assert_non_null(strstr(read_file(test_path), "kept"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		T(line_has_time_with_milliseconds_program_pid_and_level),
		T(line_with_iso_time_has_zone),
		T(line_without_ascii_time_has_epoch_seconds),
		T(control_characters_are_escaped),
		T(long_text_is_cut_and_ends_in_a_newline),
		T(finding_is_written_with_the_place_it_has),
		T(line_to_a_fifo_is_cut_where_writes_stay_whole),
		T(lines_below_the_verbosity_are_left_out),
		T(reopened_log_goes_to_a_new_file),
		T(reopen_that_fails_keeps_the_old_file),
		T(log_that_cannot_be_opened_leaves_the_old_one),
#undef T
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
