/* test_key_store.c - secrets that one process changes while others read
 * them. */
#include "config.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/key_store.h"

static struct key_store *
make(void)
{
	struct key_store *v;

	assert_int_equal(key_store_create(2, 100, &v), NSD_OK);
	return v;
}

static struct key_handle
add(struct key_store *v, const char *secret)
{
	struct key_handle handle;

	assert_int_equal(key_store_add(v, (const uint8_t *)secret,
		strlen(secret),
				 &handle),
		NSD_OK);
	return handle;
}

static bool
has(const struct key_store *v, struct key_handle handle, const char *secret)
{
	size_t len;
	const uint8_t *octets = key_store_get(v, handle, &len);

	return octets != NULL && len == strlen(secret)
		&& memcmp(octets, secret, len) == 0;
}

static bool
is_gone(const struct key_store *v, struct key_handle handle)
{
	size_t len;

	return key_store_get(v, handle, &len) == NULL;
}

static void
secrets_stay_until_they_are_removed(void **state)
{
	struct key_store *v = make();
	struct key_handle one = add(v, "one"), two = add(v, "two"), empty;

	assert_int_equal(key_store_add(v, NULL, 0, &empty), NSD_OK);
	assert_true(has(v, one, "one"));
	assert_true(has(v, two, "two"));
	assert_true(has(v, empty, ""));
	key_store_remove(v, one);
	assert_true(is_gone(v, one));
	assert_true(has(v, two, "two"));
	key_store_remove(v, one);
	key_store_remove(v, (struct key_handle){0, 0});
	key_store_remove(v, (struct key_handle){UINT32_MAX, 2});
	assert_true(is_gone(v, (struct key_handle){0, 0}));
	assert_true(is_gone(v, (struct key_handle){UINT32_MAX, 2}));
	assert_true(is_gone(NULL, two));
	key_store_destroy(v);
}

/* The slot is used again, and the handle is not. */
static void
handle_is_never_that_of_another_secret(void **state)
{
	struct key_store *v = make();
	struct key_handle old = add(v, "old"), now;

	key_store_remove(v, old);
	now = add(v, "new");
	assert_int_equal(now.at, old.at);
	assert_true(is_gone(v, old));
	key_store_remove(v, old);
	key_store_mark(v, old);
	assert_true(has(v, now, "new"));
	key_store_sweep(v);
	assert_true(is_gone(v, now));
	key_store_destroy(v);
}

static void
long_secrets_take_several_slots(void **state)
{
	static char text[1000];
	struct key_handle handles[3], small;
	struct key_store *v = make();

	for (unsigned i = 0; i < 3; i++) {
		memset(text, 'a' + (int)i, sizeof(text) - 1);
		handles[i] = add(v, text);
	}
	key_store_remove(v, handles[1]);
	/* The small secret lies in the middle now, and a long one does not fit
	 * there. */
	small = add(v, "small");
	assert_int_equal(small.at, handles[1].at);
	handles[1] = add(v, text);
	assert_true(handles[1].at > handles[2].at);
	assert_true(has(v, handles[1], text));
	memset(text, 'a', sizeof(text) - 1);
	assert_true(has(v, handles[0], text));
	key_store_destroy(v);
}

static void
sweep_leaves_what_is_marked(void **state)
{
	struct key_store *v = make();
	struct key_handle a = add(v, "a"), b = add(v, "b"), c = add(v, "c");

	key_store_mark(v, a);
	key_store_mark(v, c);
	key_store_sweep(v);
	assert_true(has(v, a, "a"));
	assert_true(is_gone(v, b));
	assert_true(has(v, c, "c"));
	/* Marks are for one sweep. */
	key_store_sweep(v);
	assert_true(is_gone(v, a));
	key_store_destroy(v);
}

static void
room_has_an_end_and_comes_back(void **state)
{
	static uint8_t secret[64];
	struct key_store *v = make();
	struct key_handle first, handle;
	unsigned count = 1;

	assert_int_equal(key_store_add(v, secret, sizeof(secret), &first),
		NSD_OK);
	while (key_store_add(v, secret, sizeof(secret), &handle) == NSD_OK)
		count++;
	assert_true(count > 10000);
	key_store_remove(v, first);
	assert_int_equal(key_store_add(v, secret, sizeof(secret), &first),
		NSD_OK);
	assert_int_equal(key_store_add(v, secret, sizeof(secret), &handle),
		NSD_E_LIMIT);
	key_store_destroy(v);
	assert_int_equal(key_store_create(SIZE_MAX / 4, 0, &v), NSD_E_MEMORY);
	assert_int_equal(key_store_create(0, SIZE_MAX / 2, &v), NSD_E_MEMORY);
}

/* ---- other processes ----------------------------------------------------- */

/* Runs what a child does; its exit code, or -1 if a signal ends it. */
static int
in_child(int (*fn)(struct key_store *v, struct key_handle handle),
	struct key_store *v, struct key_handle handle)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		/* Undo a sanitizer's handler. */
		signal(SIGSEGV, SIG_DFL);
		_exit(fn(v, handle));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int
child_alters(struct key_store *v, struct key_handle handle)
{
	size_t len;
	volatile uint8_t *octets =
		(uint8_t *)(uintptr_t)key_store_get(v, handle, &len);

	octets[0] = 'x';
	return 0;
}

static int
child_makes_writable(struct key_store *v, struct key_handle handle)
{
	size_t len;
	uintptr_t page = (uintptr_t)key_store_get(v, handle, &len) & ~4095ul;

	return mprotect((void *)page, 4096, PROT_READ | PROT_WRITE) == 0;
}

static int
child_adds(struct key_store *v, struct key_handle handle)
{
	return key_store_add(v, (const uint8_t *)"x", 1, &handle);
}

static int
child_leaves(struct key_store *v, struct key_handle handle)
{
	key_store_leave(v);
	return !is_gone(v, handle);
}

static void
children_cannot_write(void **state)
{
	struct key_store *v = make();
	struct key_handle handle = add(v, "one");

	assert_true(key_store_is_sealed(v));
	assert_int_equal(in_child(child_alters, v, handle), -1);
	assert_int_equal(in_child(child_makes_writable, v, handle), 0);
	assert_int_equal(in_child(child_adds, v, handle), -1);
	assert_int_equal(in_child(child_leaves, v, handle), 0);
	assert_true(has(v, handle, "one"));
	key_store_destroy(v);
}

static void
children_see_what_is_changed(void **state)
{
	struct key_store *v = make();
	struct key_handle old = add(v, "old"), handle;
	int pipes[2], status;
	pid_t pid;

	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	if (pid == 0) {
		if (read(pipes[0], &handle, sizeof(handle)) != sizeof(handle))
			_exit(2);
		_exit(!is_gone(v, old) || !has(v, handle, "new"));
	}
	key_store_remove(v, old);
	handle = add(v, "new");
	assert_int_equal(write(pipes[1], &handle, sizeof(handle)),
		sizeof(handle));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	close(pipes[0]);
	close(pipes[1]);
	key_store_destroy(v);
}

/* The kernel's word for what is not dumped is "dd". */
static void
secrets_are_not_in_core_files(void **state)
{
	FILE *maps = fopen("/proc/self/smaps", "r");
	struct key_store *v = make();
	unsigned inside = 0, found = 0;
	char line[512];

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps) != NULL) {
		unsigned long first, last;

		if (sscanf(line, "%lx-%lx ", &first, &last) == 2)
			inside = strstr(line, "nsd-secrets") != NULL;
		else if (inside && strncmp(line, "VmFlags:", 8) == 0)
			found += strstr(line, " dd") != NULL;
	}
	fclose(maps);
	assert_int_equal(found, 2);
	key_store_destroy(v);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(secrets_stay_until_they_are_removed),
		cmocka_unit_test(handle_is_never_that_of_another_secret),
		cmocka_unit_test(long_secrets_take_several_slots),
		cmocka_unit_test(sweep_leaves_what_is_marked),
		cmocka_unit_test(room_has_an_end_and_comes_back),
		cmocka_unit_test(children_cannot_write),
		cmocka_unit_test(children_see_what_is_changed),
		cmocka_unit_test(secrets_are_not_in_core_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
