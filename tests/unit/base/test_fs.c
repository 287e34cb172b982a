/* test_fs.c - files that are opened to be read, or replaced whole or not at
 * all. */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fs.h"
#include "lib/files.h"

static char test_dir[64];

static int
setup(void **state)
{
	strcpy(test_dir, "/tmp/test_fs.XXXXXX");
	return mkdtemp(test_dir) != NULL ? chdir(test_dir) : -1;
}

static int
teardown(void **state)
{
	if (chdir("/") == -1)
		return -1;
	return rmdir(test_dir);
}

static unsigned
count_files(void)
{
	DIR *dir = opendir(".");
	unsigned count = 0;

	while (readdir(dir) != NULL)
		count++;
	closedir(dir);
	return count - 2;
}

static void
commit_replaces_the_file_and_its_mode(void **state)
{
	struct fs_replace r;
	struct stat st;
	int fd;

	files_write("f", "old");
	assert_int_equal(fs_replace_open(&r, "f", 0644), NSD_OK);
	assert_int_equal(fs_write_all(r.fd, "new", 3), NSD_OK);
	files_assert("f", "old");
	assert_int_equal(fs_replace_commit(&r, &fd), NSD_OK);
	files_assert("f", "new");
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	close(fd);
	assert_int_equal(count_files(), 1);
	unlink("f");
}

/* faults 50 */
static void
commit_over_a_symbolic_link_leaves_its_target(void **state)
{
	struct fs_replace r;
	struct stat st;
	int fd;

	files_write("target", "precious");
	assert_int_equal(symlink("target", "f"), 0);
	assert_int_equal(fs_replace_open(&r, "f", 0600), NSD_OK);
	assert_int_equal(fs_write_all(r.fd, "new", 3), NSD_OK);
	assert_int_equal(fs_replace_commit(&r, &fd), NSD_OK);
	close(fd);
	files_assert("target", "precious");
	files_assert("f", "new");
	assert_int_equal(lstat("f", &st), 0);
	assert_true(S_ISREG(st.st_mode));
	unlink("f");
	unlink("target");
}

static void
abort_leaves_everything_as_it_was(void **state)
{
	struct fs_replace r;

	files_write("f", "old");
	assert_int_equal(fs_replace_open(&r, "f", 0600), NSD_OK);
	assert_int_equal(fs_write_all(r.fd, "new", 3), NSD_OK);
	fs_replace_abort(&r);
	files_assert("f", "old");
	assert_int_equal(count_files(), 1);
	unlink("f");
}

static void
commit_that_fails_leaves_nothing_behind(void **state)
{
	struct fs_replace r;
	int fd = -1;

	assert_int_equal(fs_replace_open(&r, "f", 0600), NSD_OK);
	/* A directory cannot be replaced by a file. */
	assert_int_equal(mkdir("f", 0700), 0);
	assert_int_equal(fs_replace_commit(&r, &fd), NSD_E_SYSTEM);
	assert_int_equal(errno, EISDIR);
	assert_int_equal(fd, -1);
	assert_int_equal(count_files(), 1);
	rmdir("f");
}

static void
open_in_an_absent_directory_fails(void **state)
{
	struct fs_replace r;

	assert_int_equal(fs_replace_open(&r, "no/f", 0600), NSD_E_SYSTEM);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(fs_replace_open_tilde(&r, "no/f", O_WRONLY, 0600),
		NSD_E_SYSTEM);
	assert_int_equal(errno, ENOENT);
}

static void
tilde_takes_the_place_of_what_has_its_name(void **state)
{
	struct fs_replace r;
	FILE *out;
	int fd;

	files_write("f", "old");
	files_write("target", "precious");
	assert_int_equal(symlink("target", "f~"), 0);
	assert_int_equal(fs_replace_open_tilde(&r, "f", O_WRONLY, 0600),
		NSD_OK);
	assert_string_equal(r.temp, "f~");
	assert_int_equal(fs_replace_open_stream(&r, &out), NSD_OK);
	assert_int_equal(r.fd, -1);
	assert_int_equal(fputs("new", out) >= 0, 1);
	assert_int_equal(fs_replace_close_stream(out), NSD_OK);
	files_assert("f", "old");
	assert_int_equal(fs_replace_take(&r, &fd), NSD_OK);
	assert_int_equal(fd, -1);
	assert_null(r.path);
	files_assert("f", "new");
	files_assert("target", "precious");
	assert_int_equal(count_files(), 2);
	unlink("f");
	unlink("target");
}

/* /dev/full stands for a full disk. */
static void
stream_that_cannot_be_written_is_told(void **state)
{
	FILE *out = fopen("/dev/full", "w");

	assert_int_equal(fputs("new", out) >= 0, 1);
	assert_int_equal(fs_replace_close_stream(out), NSD_E_SYSTEM);
	assert_int_equal(errno, ENOSPC);
}

static void
all_but_the_listed_descriptors_are_closed(void **state)
{
	int fds[5], keep[2];

	/* High numbers, out of the way of the test's own. */
	for (int i = 0; i < 5; i++)
		fds[i] = fcntl(1, F_DUPFD, 50 + 10 * i);
	keep[0] = fds[3];
	keep[1] = fds[1];
	fs_close_all_but(keep, 2);
	for (int i = 0; i < 5; i++)
		assert_int_equal(fcntl(fds[i], F_GETFD) != -1,
			i == 1 || i == 3);
	assert_int_not_equal(fcntl(2, F_GETFD), -1);
	close(fds[1]);
	close(fds[3]);
}

static void
assert_refused(const char *path, bool streams, int error)
{
	struct stat st;
	int fd = 7;

	assert_int_equal(fs_open_to_read(path, streams, &fd, &st),
		NSD_E_SYSTEM);
	assert_int_equal(errno, error);
	assert_int_equal(fd, -1);
}

/* Fault 44, fault 74: an open that would wait, or a read without an end. */
static void
what_is_no_file_is_not_opened_to_be_read(void **state)
{
	struct stat st;
	int fd;

	assert_int_equal(mkfifo("fifo", 0600), 0);
	for (int streams = 0; streams < 2; streams++) {
		assert_refused("fifo", streams, ENOTSUP);
		assert_refused("/dev/zero", streams, ENOTSUP);
		assert_refused(".", streams, EISDIR);
		assert_refused("absent", streams, ENOENT);
	}
	assert_refused("/dev/null", false, ENOTSUP);
	assert_int_equal(fs_open_to_read("/dev/null", true, &fd, &st), NSD_OK);
	close(fd);
	assert_string_equal(fs_open_error_text(ENOTSUP), "not a regular file");
	assert_string_equal(fs_open_error_text(EISDIR), "Is a directory");
	unlink("fifo");
}

/* Opening alone starts a watchdog, or winds a tape back. */
static void
a_device_is_refused_without_being_opened(void **state)
{
	int pty = posix_openpt(O_RDWR | O_NOCTTY);
	int opened = inotify_init1(IN_NONBLOCK);
	char event[512];
	const char *path;

	assert_true(pty != -1 && opened != -1);
	assert_int_equal(grantpt(pty), 0);
	assert_int_equal(unlockpt(pty), 0);
	path = ptsname(pty);
	assert_non_null(path);
	assert_int_not_equal(inotify_add_watch(opened, path, IN_OPEN), -1);
	for (int streams = 0; streams < 2; streams++)
		assert_refused(path, streams, ENOTSUP);
	assert_int_equal(read(opened, event, sizeof(event)), -1);
	assert_int_equal(errno, EAGAIN);
	close(open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK));
	assert_true(read(opened, event, sizeof(event)) > 0);
	close(opened);
	close(pty);
}

static void
assert_seen_refused(const char *path, int error)
{
	struct stat st;
	int fd = 7;

	assert_int_equal(fs_open_seen(path, &fd, &st), NSD_E_SYSTEM);
	assert_int_equal(errno, error);
	assert_int_equal(fd, -1);
}

/* The file that was seen may be gone, or another thing may stand there. */
static void
what_was_seen_is_looked_at_again_when_it_is_open(void **state)
{
	struct stat st;
	int fd;

	files_write("f", "text");
	assert_int_equal(fs_open_seen("f", &fd, &st), NSD_OK);
	assert_int_equal(st.st_size, 4);
	close(fd);
	unlink("f");
	assert_seen_refused("f", ENOENT);
	assert_int_equal(mkfifo("f", 0600), 0);
	assert_seen_refused("f", ENOTSUP);
	unlink("f");
	assert_seen_refused(".", EISDIR);
	assert_seen_refused("/dev/null", ENOTSUP);
}

static void
a_pipe_that_was_handed_over_is_opened(void **state)
{
	char path[32], text[4];
	struct stat st;
	int fds[2], fd;

	assert_int_equal(pipe(fds), 0);
	snprintf(path, sizeof(path), "/dev/fd/%d", fds[0]);
	assert_refused(path, false, ENOTSUP);
	assert_int_equal(fs_open_to_read(path, true, &fd, &st), NSD_OK);
	/* Reads wait for the pipe's writer. */
	assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	assert_int_equal(write(fds[1], "abc", 3), 3);
	assert_int_equal(read(fd, text, sizeof(text)), 3);
	close(fd);
	close(fds[0]);
	close(fds[1]);
}

static void *
let_go(void *ctx)
{
	const struct timespec step = {.tv_nsec = 1000000};
	int fd = *(int *)ctx;

	while (fcntl(fd, F_GETLEASE) == F_WRLCK)
		nanosleep(&step, NULL);
	assert_int_equal(fs_write_all(fd, "late", 4), NSD_OK);
	assert_int_equal(fcntl(fd, F_SETLEASE, F_UNLCK), 0);
	return NULL;
}

static void
the_end_of_a_lease_is_waited_for(void **state)
{
	int fd = open("leased", O_RDWR | O_CREAT, 0600), reader;
	struct stat st;
	pthread_t thread;
	char text[8];

	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_SETSIG, SIGURG), 0);
	assert_int_equal(fcntl(fd, F_SETLEASE, F_WRLCK), 0);
	assert_int_equal(pthread_create(&thread, NULL, let_go, &fd), 0);
	assert_int_equal(fs_open_to_read("leased", false, &reader, &st),
		NSD_OK);
	assert_int_equal(st.st_size, 4);
	assert_int_equal(read(reader, text, sizeof(text)), 4);
	assert_int_equal(pthread_join(thread, NULL), 0);
	close(reader);
	close(fd);
	unlink("leased");
}

static void
folder_of_a_file_is_flushed_or_the_reason_is_told(void **state)
{
	int fd = open("file", O_RDWR | O_CREAT, 0600);
	char path[128];

	assert_true(fd >= 0);
	close(fd);
	snprintf(path, sizeof(path), "%s/file", test_dir);
	assert_int_equal(fs_flush_folder(path), NSD_OK);
	assert_int_equal(fs_flush_folder("file"), NSD_OK);
	assert_int_equal(fs_flush_folder("./file"), NSD_OK);
	assert_int_equal(fs_flush_folder("/file"), NSD_OK);
	assert_int_equal(fs_flush_folder("absent/file"), NSD_E_SYSTEM);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(fs_flush_folder("file/file"), NSD_E_SYSTEM);
	assert_int_equal(errno, ENOTDIR);
	unlink("file");
}

static void
path_from_the_root_keeps_its_links(void **state)
{
	char *path, wanted[128];

	assert_int_equal(symlink("/dev/null", "link"), 0);
	path = fs_path_from_root("link");
	snprintf(wanted, sizeof(wanted), "%s/link", test_dir);
	assert_string_equal(path, wanted);
	free(path);
	unlink("link");
	path = fs_path_from_root("/dev/fd/0");
	assert_string_equal(path, "/dev/fd/0");
	free(path);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commit_replaces_the_file_and_its_mode),
		cmocka_unit_test(commit_over_a_symbolic_link_leaves_its_target),
		cmocka_unit_test(abort_leaves_everything_as_it_was),
		cmocka_unit_test(commit_that_fails_leaves_nothing_behind),
		cmocka_unit_test(open_in_an_absent_directory_fails),
		cmocka_unit_test(tilde_takes_the_place_of_what_has_its_name),
		cmocka_unit_test(stream_that_cannot_be_written_is_told),
		cmocka_unit_test(all_but_the_listed_descriptors_are_closed),
		cmocka_unit_test(what_is_no_file_is_not_opened_to_be_read),
		cmocka_unit_test(a_device_is_refused_without_being_opened),
		cmocka_unit_test(
			what_was_seen_is_looked_at_again_when_it_is_open),
		cmocka_unit_test(a_pipe_that_was_handed_over_is_opened),
		cmocka_unit_test(the_end_of_a_lease_is_waited_for),
		cmocka_unit_test(
			folder_of_a_file_is_flushed_or_the_reason_is_told),
		cmocka_unit_test(path_from_the_root_keeps_its_links),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
