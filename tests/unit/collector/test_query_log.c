/* test_query_log.c - lines of the query log in files, pipes and sockets that
 * have room or none: what is written and what is dropped add up. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/query_log.h"

static const char query[] = "\x12\x34\0\0\0\1\0\0\0\0\0\0" "\1a\0\0\1\0\1";

static const struct tap_record record = {
	.kind = TAP_AUTH,
	.parts = TAP_QUERY,
	.protocol = TAP_UDP,
	.query = (const uint8_t *)query,
	.query_len = sizeof(query) - 1,
};

/* The format, and the line of the record in it. */
#define FORMAT "qname qtype protocol"
#define LINE "a. A udp\n"
#define LINE_LEN (sizeof(LINE) - 1)

static int
file_make(char path[32])
{
	int fd;

	strcpy(path, "/tmp/query-log-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd != -1);
	assert_int_equal(fcntl(fd, F_SETFL, O_APPEND), 0);
	return fd;
}

static size_t
file_read(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, out, size - 1);

	assert_true(n >= 0);
	out[n] = '\0';
	close(fd);
	return (size_t)n;
}

static void
lines_are_gathered_and_written(void **state)
{
	struct query_log log;
	char path[32], text[256];

	assert_true(query_log_init(&log, FORMAT));
	query_log_set_file(&log, file_make(path));
	query_log_add(&log, &record);
	query_log_add(&log, &record);
	assert_int_equal(file_read(path, text, sizeof(text)), 0);
	query_log_flush(&log);
	query_log_flush(&log); /* no line is left */
	file_read(path, text, sizeof(text));
	assert_string_equal(text, LINE LINE);
	assert_int_equal(log.written, 2);
	assert_int_equal(log.dropped, 0);
	query_log_fini(&log);
	unlink(path);
}

/* The room is full many times over, without a flush. */
static void
room_that_is_full_is_written(void **state)
{
	const unsigned count = 4 * QUERY_LOG_ROOM / LINE_LEN;
	struct query_log log;
	char path[32];
	int fd;

	assert_true(query_log_init(&log, FORMAT));
	fd = file_make(path);
	query_log_set_file(&log, fd);
	for (unsigned i = 0; i < count; i++)
		query_log_add(&log, &record);
	assert_true(log.written > 0);
	query_log_flush(&log);
	assert_int_equal(log.written, count);
	assert_int_equal(lseek(fd, 0, SEEK_END), count * LINE_LEN);
	query_log_fini(&log);
	unlink(path);
}

/* After log_reopen, lines go to the file that has the name now. */
static void
lines_before_another_file_go_to_the_first(void **state)
{
	struct query_log log;
	char first[32], second[32], text[256];

	assert_true(query_log_init(&log, FORMAT));
	query_log_set_file(&log, file_make(first));
	query_log_add(&log, &record);
	query_log_set_file(&log, file_make(second));
	query_log_add(&log, &record);
	query_log_fini(&log);
	file_read(first, text, sizeof(text));
	assert_string_equal(text, LINE);
	file_read(second, text, sizeof(text));
	assert_string_equal(text, LINE);
	unlink(first);
	unlink(second);
}

static void
lines_without_a_file_are_dropped(void **state)
{
	struct query_log log;

	assert_true(query_log_init(&log, FORMAT));
	query_log_set_file(&log, -1);
	query_log_add(&log, &record);
	query_log_flush(&log);
	assert_int_equal(log.written, 0);
	assert_int_equal(log.dropped, 1);
	assert_int_equal(log.error, ENOTCONN);
	query_log_fini(&log);
}

/* The collector begins before main has opened the file. */
static void
lines_wait_for_the_first_file(void **state)
{
	const unsigned room = QUERY_LOG_ROOM / LINE_LEN;
	struct query_log log;
	char path[32], text[256];

	assert_true(query_log_init(&log, FORMAT));
	query_log_add(&log, &record);
	query_log_flush(&log);
	assert_int_equal(log.dropped, 0);
	query_log_set_file(&log, file_make(path));
	query_log_flush(&log);
	file_read(path, text, sizeof(text));
	assert_string_equal(text, LINE);
	query_log_fini(&log);
	unlink(path);
	/* As long as there is room for them. */
	assert_true(query_log_init(&log, FORMAT));
	for (unsigned i = 0; i < room; i++)
		query_log_add(&log, &record);
	assert_true(log.dropped > 0 && log.dropped < room);
	query_log_fini(&log);
}

static void
file_limit(rlim_t octets)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = octets;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* A disk that is full after two lines and a half, and has room again. */
static void
full_disk_drops_and_counts_and_lines_go_on(void **state)
{
	struct query_log log;
	char path[32], text[256];

	signal(SIGXFSZ, SIG_IGN);
	assert_true(query_log_init(&log, FORMAT));
	query_log_set_file(&log, file_make(path));
	file_limit(2 * LINE_LEN + 3);
	for (unsigned i = 0; i < 4; i++)
		query_log_add(&log, &record);
	query_log_flush(&log);
	assert_int_equal(log.written, 2);
	assert_int_equal(log.dropped, 2);
	query_log_add(&log, &record);
	query_log_flush(&log);
	assert_int_equal(log.dropped, 3);
	assert_int_equal(log.error, EFBIG);
	file_limit(RLIM_INFINITY);
	query_log_add(&log, &record);
	query_log_flush(&log);
	file_read(path, text, sizeof(text));
	/* The line that was cut has its end, and the next one is whole. */
	assert_string_equal(text, LINE LINE "a. \n" LINE);
	assert_int_equal(log.written, 3);
	assert_int_equal(log.dropped, 3);
	query_log_fini(&log);
	unlink(path);
}

/* A reader that does not read. */
static void
full_pipe_drops_and_does_not_block(void **state)
{
	const unsigned count = 3 * QUERY_LOG_ROOM / LINE_LEN;
	struct query_log log;
	int ends[2];

	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	assert_true(query_log_init(&log, FORMAT));
	query_log_set_file(&log, ends[1]);
	for (unsigned i = 0; i < count; i++)
		query_log_add(&log, &record);
	query_log_flush(&log);
	assert_true(log.written > 0 && log.dropped > 0);
	assert_int_equal(log.written + log.dropped, count);
	assert_int_equal(log.error, EAGAIN);
	query_log_fini(&log);
	close(ends[0]);
}

static void
syslog_has_a_head_and_a_line_a_message(void **state)
{
	struct query_log log;
	char text[256];
	ssize_t n;
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0,
		ends), 0);
	assert_true(query_log_init(&log, FORMAT));
	query_log_set_syslog(&log, ends[1], false);
	query_log_add(&log, &record);
	query_log_add(&log, &record);
	query_log_flush(&log);
	assert_int_equal(log.written, 2);
	n = recv(ends[0], text, sizeof(text) - 1, 0);
	assert_true(n > 0);
	text[n] = '\0';
	assert_int_equal(text[0], '<');
	assert_non_null(strstr(text, "]: a. A udp"));
	assert_null(strchr(text, '\n'));
	assert_int_equal(recv(ends[0], text, sizeof(text), 0), n);
	/* Without a reader lines are dropped, in no time. */
	for (unsigned i = 0; i < 100000; i++)
		query_log_add(&log, &record);
	query_log_flush(&log);
	assert_true(log.dropped > 0);
	assert_int_equal(log.written + log.dropped, 100002);
	close(ends[0]);
	query_log_add(&log, &record);
	query_log_flush(&log);
	assert_int_equal(log.error, ECONNREFUSED);
	query_log_fini(&log);
}

static void
format_that_is_none_is_refused(void **state)
{
	struct query_log log;

	assert_false(query_log_init(&log, "what"));
	query_log_fini(&log);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_gathered_and_written),
		cmocka_unit_test(room_that_is_full_is_written),
		cmocka_unit_test(lines_before_another_file_go_to_the_first),
		cmocka_unit_test(lines_without_a_file_are_dropped),
		cmocka_unit_test(lines_wait_for_the_first_file),
		cmocka_unit_test(full_disk_drops_and_counts_and_lines_go_on),
		cmocka_unit_test(full_pipe_drops_and_does_not_block),
		cmocka_unit_test(syslog_has_a_head_and_a_line_a_message),
		cmocka_unit_test(format_that_is_none_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
