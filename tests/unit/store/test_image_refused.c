/* test_image_refused.c - a store in a file that somebody else has, that may not
 * be touched, or that there is no room for. */
#include "config.h"
#include "store/writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/store/image_fixture.h"

static void
expect_refused(enum store_file_state expected)
{
	struct stat before, after;

	assert_int_equal(lstat(path, &before), 0);
	assert_null(open_expect(expected));
	assert_int_equal(lstat(path, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	assert_int_equal(before.st_mode, after.st_mode);
	assert_int_equal(before.st_size, after.st_size);
	assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
}

static void
image_that_is_no_store_is_left_alone(void **state)
{
	char other[96];

	file_write("server:\n\tdatabase: \"store\"\n", 27);
	expect_refused(STORE_FILE_FOREIGN);
	file_write("x", 1);
	expect_refused(STORE_FILE_FOREIGN);
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	expect_refused(STORE_FILE_KIND);
	rmdir(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	expect_refused(STORE_FILE_KIND);
	unlink(path);
	snprintf(other, sizeof(other), "%s/other", directory);
	file_write(image, image_len);
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(symlink(other, path), 0);
	expect_refused(STORE_FILE_KIND);
	unlink(path);
	assert_int_equal(rename(other, path), 0);
}

static void
image_of_others_is_refused(void **state)
{
	static const mode_t modes[] = { 0620, 0602, 0666, 0777 };
	struct store_file file = { path, geteuid() + 1, CONTENTS };
	struct store_file_report report;
	struct store *store;

	file_write(image, image_len);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(chmod(path, modes[i]), 0);
		expect_refused(STORE_FILE_MODE);
	}
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(store_open_file(&options, &file, &store, &report),
		NSD_E_DENIED);
	assert_int_equal(report.state, STORE_FILE_OWNER);
	if (geteuid() == 0) {
		assert_int_equal(chown(path, 65534, 65534), 0);
		expect_refused(STORE_FILE_OWNER);
		/* Root makes it for the user that it becomes. */
		unlink(path);
		file.owner = 65534;
		assert_int_equal(store_open_file(&options, &file, &store,
					 &report),
			NSD_OK);
		assert_int_equal(report.state, STORE_FILE_CREATED);
		store_writer_close(writer_open(store));
		store_destroy(store);
		expect_refused(STORE_FILE_OWNER);
		/* A store that makes the file anew owns it too. */
		file_write(image, image_len / 2);
		assert_int_equal(store_open_file(&options, &file, &store,
					 &report),
			NSD_OK);
		assert_int_equal(report.state, STORE_FILE_LENGTH);
		store_destroy(store);
		expect_refused(STORE_FILE_OWNER);
	}
	unlink(path);
	file_write(image, image_len);
	store_destroy(open_expect(STORE_FILE_ATTACHED));
}

static void
image_in_no_directory_says_why(void **state)
{
	struct store_file_report report;
	struct store *store;
	char name[128];

	snprintf(name, sizeof(name), "%s/none/store", directory);
	assert_int_equal(open_at(name, CONTENTS, &store, &report),
		NSD_E_SYSTEM);
	assert_int_equal(report.state, STORE_FILE_SYSTEM);
	assert_int_equal(report.error, ENOENT);
}

static void
image_in_use_is_refused(void **state)
{
	struct store *store;
	struct store_writer *writer;
	int status;
	pid_t pid;

	file_write(image, image_len);
	store = open_expect(STORE_FILE_ATTACHED);
	assert_null(open_expect(STORE_FILE_IN_USE));
	writer = writer_open(store);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct store_file_report report;
		struct store *second;

		_exit(open_at(path, CONTENTS, &second, &report) == NSD_E_DENIED
				&& report.state == STORE_FILE_IN_USE
				? 0
				: 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	/* The child's end did not take the lock away. */
	assert_null(open_expect(STORE_FILE_IN_USE));
	assert_int_equal(store_writer_close_clean(writer), NSD_OK);
	assert_null(open_expect(STORE_FILE_IN_USE));
	store_destroy(store);
	store_destroy(open_expect(STORE_FILE_ATTACHED));
}

/* A reader that outlives its server goes on reading the old file; nobody
 * writes into it. */
static void
image_with_readers_is_replaced(void **state)
{
	struct store *store;
	struct store_writer *writer;
	int to[2], from[2], status;
	char c = 0;
	pid_t pid;

	file_write(image, image_len);
	store = open_expect(STORE_FILE_ATTACHED);
	assert_int_equal(pipe(to), 0);
	assert_int_equal(pipe(from), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct store_reader *reader;
		uint64_t octets;

		close(to[1]);
		alarm(60);
		if (store_reader_open(store, 0, "r", &reader) != NSD_OK)
			_exit(1);
		store_reader_online(reader);
		if (write(from[1], &c, 1) != 1 || read(to[0], &c, 1) < 0)
			_exit(2);
		_exit(contents_are_whole(store_reader_view(reader), &octets)
				? 0
				: 3);
	}
	close(to[0]);
	assert_int_equal(read(from[0], &c, 1), 1);
	writer = writer_open(store);
	assert_int_equal(store_writer_close_clean(writer), NSD_OK);
	store_destroy(store);
	store = open_expect(STORE_FILE_READERS);
	check_empty(store);
	writer = writer_open(store);
	for (int i = 0; i < 50; i++)
		fill(writer);
	assert_int_equal(store_writer_close_clean(writer), NSD_OK);
	store_destroy(store);
	close(to[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(from[0]);
	close(from[1]);
	store_destroy(open_expect(STORE_FILE_ATTACHED));
}

/* ---- full */

/* Takes all there is. An error in the end that is called by its name, and no
 * signal. */
static int
fill_up(struct store *store, const char *lack)
{
	char text[STORE_LACK_TEXT_MAX];
	struct store_writer *writer;
	store_ref ref;
	size_t count = 0;
	void *p;

	if (store_writer_open(store, &writer) != NSD_OK)
		return 1;
	fill(writer);
	while ((p = store_alloc(store_writer_heap(writer), 1000, &ref))
		!= NULL) {
		memset(p, 1, 1000);
		if (++count > RESERVATION / 1000)
			return 2;
	}
	if (count < 1000)
		return 3;
	if (store_alloc(store_writer_heap(writer), 100000, &ref) != NULL)
		return 4;
	store_explain_lack(writer, text, sizeof(text));
	if (strstr(text, lack) == NULL) {
		print_message("%s\n", text);
		return 6;
	}
	/* A full store can still be left clean. */
	if (store_writer_close_clean(writer) != NSD_OK)
		return 5;
	store_destroy(store);
	return 0;
}

#define MAY_NOT 77

static int
in_child(int (*part)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		alarm(60);
		_exit(part());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int
file_limited(void)
{
	struct rlimit limit = { 5 << 20, 5 << 20 };

	signal(SIGXFSZ, SIG_IGN);
	if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
		return 10;
	return fill_up(open_expect(STORE_FILE_CREATED),
		"larger than 5 MiB");
}

static void
image_at_the_file_limit_gives_null(void **state)
{
	unlink(path);
	assert_int_equal(in_child(file_limited), 0);
	store_destroy(open_expect(STORE_FILE_ATTACHED));
}

/* A file system of four MiB that is mounted nowhere, so that only who has it
 * sees it, and whatever "/" is. Its directory, or -1. */
static int
disk_make(void)
{
	long context = syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC);
	long fd;

	if (context < 0)
		return -1;
	if (syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, "size", "4m",
		    0) != 0
		|| syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL,
			   NULL, 0) != 0)
		fd = -1;
	else
		fd = syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0);
	close((int)context);
	return (int)fd;
}

static bool
file_says(const char *name, const char *text)
{
	int fd = open(name, O_WRONLY);
	bool done;

	if (fd < 0)
		return false;
	done = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return done;
}

/* In a namespace of its own a process may mount as root does. */
static bool
namespace_enter(void)
{
	char users[64], groups[64];

	snprintf(users, sizeof(users), "%u %u 1", geteuid(), geteuid());
	snprintf(groups, sizeof(groups), "%u %u 1", getegid(), getegid());
	/* Without these maps no user owns a file, nor can own one. */
	return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0
		&& file_says("/proc/self/setgroups", "deny")
		&& file_says("/proc/self/uid_map", users)
		&& file_says("/proc/self/gid_map", groups);
}

static int
disk_full(void)
{
	struct store_file_report report;
	struct store *store;
	int fd = disk_make(), rc;

	if (fd < 0 && errno == EPERM) {
		if (!namespace_enter())
			return MAY_NOT;
		fd = disk_make();
	}
	if (fd < 0)
		return errno == EPERM || errno == ENOSYS ? MAY_NOT : 10;
	if (fchdir(fd) != 0)
		return 11;
	snprintf(path, sizeof(path), "store");
	rc = fill_up(open_expect(STORE_FILE_CREATED),
		"the file system of store is full (tmpfs, size=4 MiB)");
	if (rc != 0)
		return rc;
	if (open_at(path, CONTENTS, &store, &report) != NSD_OK
		|| report.state != STORE_FILE_ATTACHED)
		return 12;
	store_destroy(store);
	return 0;
}

static void
image_on_a_full_disk_gives_null(void **state)
{
	int result = in_child(disk_full);

	if (result == MAY_NOT) {
		print_message("no file system may be made here\n");
		skip();
	}
	assert_int_equal(result, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(image_that_is_no_store_is_left_alone),
		cmocka_unit_test(image_of_others_is_refused),
		cmocka_unit_test(image_in_no_directory_says_why),
		cmocka_unit_test(image_in_use_is_refused),
		cmocka_unit_test(image_with_readers_is_replaced),
		cmocka_unit_test(image_at_the_file_limit_gives_null),
		cmocka_unit_test(image_on_a_full_disk_gives_null),
	};

	return cmocka_run_group_tests(tests, image_setup, image_teardown);
}
