/* test_log.c - the lines of the log: formats, escapes, rotation. */
#include "config.h"

#include <errno.h>
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
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/log.h"

#define PATIENCE 5

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

/* A nearly full FIFO may take a part of a longer line. */
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

/* ---- another log --------------------------------------------------------- */

static void
change_leaves_the_old_file_until_it_is_taken(void **state)
{
	char other[80];
	struct log_options options = {.file = other, .time_ascii = true,
		.verbosity = 3};
	struct log_files files;
	int number;

	snprintf(other, sizeof(other), "%s.2", test_path);
	open_log(true, false);
	number = log_fd();
	assert_int_equal(log_open_files(&options, &files), NSD_OK);
	log_info("first");
	log_change(&options, &files);
	log_close_files(&files);
	log_info("second");
	assert_int_equal(log_verbosity(), 3);
	/* Threads that write know it by its number. */
	assert_int_equal(log_fd(), number);
	assert_non_null(strstr(read_file(test_path), "first"));
	assert_null(strstr(read_file(test_path), "second"));
	assert_non_null(strstr(read_file(other), "second"));
	/* Of the same file: it is not opened, but its name is another one. */
	options.file = test_path;
	options.time_ascii = false;
	log_change(&options, NULL);
	log_info("third");
	assert_non_null(strstr(read_file(other), "third"));
	assert_int_equal(log_reopen(), NSD_OK);
	log_info("fourth");
	assert_null(strstr(read_file(other), "fourth"));
	assert_non_null(strstr(read_file(test_path), "fourth"));
	unlink(other);
}

/* The process may open nothing, and its log file is gone. */
static void
log_of_another_process_is_taken_over(void **state)
{
	struct log_share share;
	int fds[LOG_FDS_MAX], pipe_ends[2];
	char line[1000] = "";

	open_log(true, true);
	log_set_verbosity(4);
	assert_int_equal(log_get_share(&share, fds), 1);
	assert_int_equal(pipe(pipe_ends), 0);
	share.time_iso = 0;
	log_set_verbosity(0);
	/* A share with fewer descriptors than it says is ignored. */
	log_use_share(&share, &pipe_ends[1], 0);
	assert_int_equal(log_verbosity(), 0);
	log_use_share(&share, &pipe_ends[1], 1);
	close(pipe_ends[1]);
	assert_int_equal(log_verbosity(), 4);
	log_info("over there");
	assert_string_equal(read_file(test_path), "");
	assert_true(read(pipe_ends[0], line, sizeof(line) - 1) > 0);
	assert_int_equal(line[0], '[');
	assert_non_null(strstr(line, "info: over there\n"));
	close(pipe_ends[0]);
}

/* ---- no room ------------------------------------------------------------- */

/* Reads the next octets of a descriptor without blocking; "" if there are
 * none. */
static const char *
read_some(int fd)
{
	static char text[1 << 20];
	ssize_t n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);

	if (n == -1 && errno == ENOTSOCK)
		n = read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

/* Writes lines until one is lost, and a few more. Returns how many are. */
static unsigned
fill_log(void)
{
	static char filler[1000];
	int64_t began = clock_now_msec();

	memset(filler, 'x', sizeof(filler) - 1);
	for (unsigned i = 0; i < 2000; i++)
		log_info("line %u %s", i, filler);
	/* Only the first full write waited. */
	assert_in_range(clock_now_msec() - began, PATIENCE, 10000);
	return 2000;
}

/* Reads what is there, and what is said of the rest. Returns how many lines are
 * there or told. */
static unsigned
drain_log(int fd)
{
	unsigned told = 0, count = 0, lost = 0, n;
	const char *text, *line;

	while (*(text = read_some(fd)) != '\0') {
		for (line = text; (line = strstr(line, ": line ")); line++)
			count++;
		log_tell_lost();
		line = strstr(text, " lines of the log are lost here: nobody");
		if (line == NULL)
			continue;
		while (line > text && line[-1] != ' ')
			line--;
		assert_int_equal(sscanf(line, "%u", &n), 1);
		lost += n;
		told++;
	}
	assert_int_equal(told, 1);
	assert_in_range(lost, 1, 1999);
	return count + lost;
}

static void
standard_error_that_nobody_reads_holds_nobody_up(void **state)
{
	int old = dup(STDERR_FILENO), ends[2], other;
	unsigned count;

	assert_int_equal(pipe(ends), 0);
	assert_int_not_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), -1);
	assert_int_not_equal(fcntl(ends[1], F_SETPIPE_SZ, 16384), -1);
	assert_int_not_equal(dup2(ends[1], STDERR_FILENO), -1);
	log_set_patience(PATIENCE);
	log_own_stderr();
	count = fill_log();
	other = fcntl(ends[1], F_GETFL);
	assert_int_equal(count, drain_log(ends[0]));
	log_info("and on");
	assert_non_null(strstr(read_some(ends[0]), "info: and on\n"));
	log_set_patience(-1);
	assert_int_not_equal(dup2(old, STDERR_FILENO), -1);
	/* The flags of the other descriptor of the terminal are unchanged. */
	assert_false(other & O_NONBLOCK);
	close(old);
	close(ends[0]);
	close(ends[1]);
}

/* A service manager gives a socket, whose flags must not change. */
static void
socket_at_standard_error_holds_nobody_up(void **state)
{
	int old = dup(STDERR_FILENO), ends[2];
	unsigned count;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_not_equal(dup2(ends[1], STDERR_FILENO), -1);
	log_set_patience(PATIENCE);
	count = fill_log();
	assert_false(fcntl(ends[1], F_GETFL) & O_NONBLOCK);
	assert_int_equal(count, drain_log(ends[0]));
	log_set_patience(-1);
	assert_int_not_equal(dup2(old, STDERR_FILENO), -1);
	close(old);
	close(ends[0]);
	close(ends[1]);
}

static void
lines_that_a_parent_has_lost_are_told_by_it_alone(void **state)
{
	int fifo, status;
	pid_t pid;

	assert_int_equal(unlink(test_path), 0);
	assert_int_equal(mkfifo(test_path, 0600), 0);
	fifo = open(test_path, O_RDWR | O_NONBLOCK);
	assert_true(fifo >= 0);
	open_log(true, false);
	log_set_patience(PATIENCE);
	(void)fill_log();
	(void)read_some(fifo);
	pid = fork();
	if (pid == 0) {
		log_tell_lost();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_string_equal(read_some(fifo), "");
	log_tell_lost();
	assert_non_null(strstr(read_some(fifo), " are lost here: nobody"));
	log_set_patience(-1);
	close(fifo);
}

/* ---- syslog -------------------------------------------------------------- */

static char daemon_path[80];

/* A syslog daemon. */
static int
daemon_open(int type)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, type, 0);

	snprintf(daemon_path, sizeof(daemon_path), "%s.s", test_path);
	unlink(daemon_path);
	strcpy(address.sun_path, daemon_path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address,
				 sizeof(address)), 0);
	if (type == SOCK_STREAM)
		assert_int_equal(listen(fd, 5), 0);
	return fd;
}

static void
daemon_close(int fd)
{
	close(fd);
	unlink(daemon_path);
}

static const char *
daemon_read(int fd)
{
	static char line[2000];
	ssize_t n = recv(fd, line, sizeof(line) - 1, MSG_DONTWAIT);

	line[n > 0 ? n : 0] = '\0';
	return line;
}

static void
open_syslog(const char *file)
{
	struct log_options options = {
		.program = "nsd",
		.file = file,
		.only_syslog = file == NULL,
		.facility = LOG_DAEMON,
		.syslog = daemon_path,
	};

	assert_int_equal(log_open(&options), NSD_OK);
}

/* RFC 3164 section 4.1 */
static void
line_for_syslog_has_priority_time_program_and_pid(void **state)
{
	int fd = daemon_open(SOCK_DGRAM), priority, day, pid, end = 0;
	char month[4];
	const char *line;

	open_syslog(NULL);
	log_warning("boo\n%d", 7);
	line = daemon_read(fd);
	assert_int_equal(sscanf(line, "<%d>%3s %2d %*2d:%*2d:%*2d nsd[%d]: "
				      "boo\\0127%n",
				 &priority, month, &day, &pid, &end),
		4);
	assert_int_equal(end, (int)strlen(line));
	assert_int_equal(priority, LOG_DAEMON | LOG_WARNING);
	assert_int_equal(pid, getpid());
	daemon_close(fd);
}

static void
lines_in_a_stream_to_syslog_end_in_nul(void **state)
{
	int fd = daemon_open(SOCK_STREAM), peer;
	const char *text;

	open_syslog(NULL);
	peer = accept(fd, NULL, NULL);
	assert_true(peer >= 0);
	log_info("one");
	log_info("two");
	text = daemon_read(peer);
	assert_non_null(strstr(text, "]: one"));
	assert_non_null(strstr(text + strlen(text) + 1, "]: two"));
	close(peer);
	daemon_close(fd);
}

static void
syslog_that_comes_later_is_found(void **state)
{
	int fd = daemon_open(SOCK_DGRAM), fds[LOG_FDS_MAX], number;

	daemon_close(fd);
	open_syslog(NULL);
	assert_int_equal(log_list_fds(fds), 0);
	log_info("lost");
	fd = daemon_open(SOCK_DGRAM);
	log_info("first");
	assert_non_null(strstr(daemon_read(fd), "]: first"));
	assert_int_equal(log_list_fds(fds), 1);
	number = fds[0];
	daemon_close(fd);
	log_info("lost");
	fd = daemon_open(SOCK_DGRAM);
	log_info("second");
	assert_non_null(strstr(daemon_read(fd), "]: second"));
	assert_int_equal(log_list_fds(fds), 1);
	assert_int_equal(fds[0], number);
	daemon_close(fd);
}

/* Datagram and stream sockets; the stream is not accepted until later. */
static void
syslog_that_hangs_holds_nobody_up(void **state)
{
	static const int types[] = {SOCK_DGRAM, SOCK_STREAM};

	for (size_t i = 0; i < 2; i++) {
		int fd = daemon_open(types[i]), peer = fd;

		open_syslog(NULL);
		log_set_patience(PATIENCE);
		(void)fill_log();
		if (types[i] == SOCK_STREAM)
			peer = accept(fd, NULL, NULL);
		while (*read_some(peer) != '\0')
			;
		log_info("and on");
		assert_non_null(strstr(read_some(peer),
			" are lost here: nobody reads it"));
		log_set_patience(-1);
		log_close();
		if (peer != fd)
			close(peer);
		daemon_close(fd);
	}
}

static void
log_goes_to_syslog_and_comes_back(void **state)
{
	int fd = daemon_open(SOCK_DGRAM), fds[LOG_FDS_MAX];
	struct log_options options = {.only_syslog = true,
		.syslog = daemon_path};
	struct log_share share;
	struct log_files files;

	open_syslog(test_path);
	log_info("in a file");
	assert_int_equal(log_open_files(&options, &files), NSD_OK);
	log_change(&options, &files);
	log_close_files(&files);
	log_info("in syslog");
	assert_null(strstr(read_file(test_path), "in syslog"));
	assert_non_null(strstr(daemon_read(fd), "in syslog"));
	assert_int_equal(log_fd(), -1);
	/* Another process can use the same syslog. */
	assert_int_equal(log_get_share(&share, fds), 1);
	assert_int_equal(share.to_stderr, 0);
	assert_int_equal(share.has_syslog, 1);
	log_use_share(&share, fds, 1);
	log_info("still there");
	assert_non_null(strstr(daemon_read(fd), "still there"));

	options = (struct log_options){.file = test_path};
	assert_int_equal(log_open_files(&options, &files), NSD_OK);
	log_change(&options, &files);
	log_close_files(&files);
	log_info("back");
	assert_non_null(strstr(read_file(test_path), "back"));
	assert_string_equal(daemon_read(fd), "");
	daemon_close(fd);
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
		T(change_leaves_the_old_file_until_it_is_taken),
		T(log_of_another_process_is_taken_over),
		T(standard_error_that_nobody_reads_holds_nobody_up),
		T(socket_at_standard_error_holds_nobody_up),
		T(lines_that_a_parent_has_lost_are_told_by_it_alone),
		T(line_for_syslog_has_priority_time_program_and_pid),
		T(lines_in_a_stream_to_syslog_end_in_nul),
		T(syslog_that_hangs_holds_nobody_up),
		T(syslog_that_comes_later_is_found),
		T(log_goes_to_syslog_and_comes_back),
#undef T
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
