/* test_pidfile.c - the pid file: written safely, removed only if ours. */
#include "config.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "lib/log_folder.h"
#include "main/pidfile.h"

static void
put(const char *path, const char *text, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), len);
	close(fd);
}

static pid_t
dead_pid(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return pid;
}

static bool
log_has(const char *what)
{
	static char text[65536];
	int fd = open("log", O_RDONLY);
	ssize_t n = read(fd, text, sizeof(text) - 1);

	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return strstr(text, what) != NULL;
}

static void
stale_and_live_pids_are_told_apart(void **state)
{
	char text[64], expected[64];
	pid_t dead = dead_pid(), child;

	snprintf(text, sizeof(text), "%d\n", dead);
	put("pid", text, strlen(text));
	assert_int_equal(pidfile_check("pid"), dead);
	snprintf(expected, sizeof(expected),
		"error: ...stale pid file from process %d\n", dead);
	assert_true(log_has(expected));

	child = fork();
	if (child == 0) {
		pause();
		_exit(0);
	}
	snprintf(text, sizeof(text), "%d", child);
	put("pid", text, strlen(text));
	assert_int_equal(pidfile_check("pid"), child);
	snprintf(expected, sizeof(expected),
		"nsd is already running as %d, continuing\n", child);
	assert_true(log_has(expected));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	unlink("pid");
}

static void
text_cut_at_each_length_is_read_or_refused(void **state)
{
	static const char text[] = "2147483648\n";

	for (size_t len = 0; len < sizeof(text); len++) {
		put("pid", text, len);
		/* 2147483648 is one too many for a pid. */
		assert_int_equal(pidfile_check("pid") > 0,
			len > 0 && len < 10);
	}
	for (int c = 0; c < 256; c++) {
		char one[3] = {'9', (char)c, '9'};

		put("pid", one, 3);
		assert_int_equal(pidfile_check("pid") != 0,
			(c >= '0' && c <= '9') || c == '\n' || c == '\0');
	}
	unlink("pid");
}

static void
what_is_no_file_is_not_waited_for(void **state)
{
	assert_int_equal(pidfile_check("absent"), 0);
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_int_equal(pidfile_check("fifo"), 0);
	assert_int_equal(pidfile_check("."), 0);
	put("target", "1\n", 2);
	assert_int_equal(symlink("target", "link"), 0);
	assert_int_equal(pidfile_check("link"), 0);
	assert_true(log_has("cannot read pid file link"));
	unlink("fifo");
	unlink("link");
	unlink("target");
}

static void
written_file_is_emptied_and_removed(void **state)
{
	struct pidfile pidfile = {.fd = -1};
	struct stat st;
	char text[32] = "", expected[32];
	int fd;

	assert_int_equal(pidfile_write(&pidfile, "pid"), NSD_OK);
	fd = open("pid", O_RDONLY);
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	snprintf(expected, sizeof(expected), "%d\n", getpid());
	assert_string_equal(text, expected);
	pidfile_remove(&pidfile);
	assert_int_equal(access("pid", F_OK), -1);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, 0);
	close(fd);
	pidfile_remove(&pidfile); /* once is enough */
}

static void
file_that_replaced_ours_stays(void **state)
{
	struct pidfile pidfile = {.fd = -1};

	assert_int_equal(pidfile_write(&pidfile, "pid"), NSD_OK);
	assert_int_equal(unlink("pid"), 0);
	put("pid", "7\n", 2);
	pidfile_remove(&pidfile);
	assert_int_equal(access("pid", F_OK), 0);
	unlink("pid");
}

static void
file_that_cannot_be_written_is_an_error(void **state)
{
	struct pidfile pidfile = {.fd = -1};

	assert_int_equal(pidfile_write(&pidfile, "no/pid"), NSD_E_SYSTEM);
	assert_true(log_has("error: cannot overwrite the pidfile no/pid: No such"));
	assert_int_equal(pidfile.fd, -1);
	pidfile_remove(&pidfile);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stale_and_live_pids_are_told_apart),
		cmocka_unit_test(text_cut_at_each_length_is_read_or_refused),
		cmocka_unit_test(what_is_no_file_is_not_waited_for),
		cmocka_unit_test(written_file_is_emptied_and_removed),
		cmocka_unit_test(file_that_replaced_ours_stays),
		cmocka_unit_test(file_that_cannot_be_written_is_an_error),
	};

	return cmocka_run_group_tests(tests, log_folder_setup,
		log_folder_teardown);
}
