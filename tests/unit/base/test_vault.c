/* test_vault.c - secrets that one process changes while others read them. */
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

#include "base/vault.h"

static struct vault *
make(void)
{
	struct vault *v;

	assert_int_equal(vault_create(2, 100, &v), NSD_OK);
	return v;
}

static struct vault_place
add(struct vault *v, const char *secret)
{
	struct vault_place place;

	assert_int_equal(vault_add(v, (const uint8_t *)secret, strlen(secret),
				 &place),
		NSD_OK);
	return place;
}

static bool
has(const struct vault *v, struct vault_place place, const char *secret)
{
	size_t len;
	const uint8_t *octets = vault_get(v, place, &len);

	return octets != NULL && len == strlen(secret)
		&& memcmp(octets, secret, len) == 0;
}

static bool
is_gone(const struct vault *v, struct vault_place place)
{
	size_t len;

	return vault_get(v, place, &len) == NULL;
}

static void
secrets_stay_until_they_are_removed(void **state)
{
	struct vault *v = make();
	struct vault_place one = add(v, "one"), two = add(v, "two"), empty;

	assert_int_equal(vault_add(v, NULL, 0, &empty), NSD_OK);
	assert_true(has(v, one, "one"));
	assert_true(has(v, two, "two"));
	assert_true(has(v, empty, ""));
	vault_remove(v, one);
	assert_true(is_gone(v, one));
	assert_true(has(v, two, "two"));
	vault_remove(v, one);
	vault_remove(v, (struct vault_place){0, 0});
	vault_remove(v, (struct vault_place){UINT32_MAX, 2});
	assert_true(is_gone(v, (struct vault_place){0, 0}));
	assert_true(is_gone(v, (struct vault_place){UINT32_MAX, 2}));
	assert_true(is_gone(NULL, two));
	vault_destroy(v);
}

/* The slot is used again, and the place is not. */
static void
place_is_never_that_of_another_secret(void **state)
{
	struct vault *v = make();
	struct vault_place old = add(v, "old"), now;

	vault_remove(v, old);
	now = add(v, "new");
	assert_int_equal(now.at, old.at);
	assert_true(is_gone(v, old));
	vault_remove(v, old);
	vault_mark(v, old);
	assert_true(has(v, now, "new"));
	vault_sweep(v);
	assert_true(is_gone(v, now));
	vault_destroy(v);
}

static void
long_secrets_take_several_slots(void **state)
{
	static char text[1000];
	struct vault_place places[3], small;
	struct vault *v = make();

	for (unsigned i = 0; i < 3; i++) {
		memset(text, 'a' + (int)i, sizeof(text) - 1);
		places[i] = add(v, text);
	}
	vault_remove(v, places[1]);
	/* The small secret lies in the middle now, and a long one does not fit
	 * there. */
	small = add(v, "small");
	assert_int_equal(small.at, places[1].at);
	places[1] = add(v, text);
	assert_true(places[1].at > places[2].at);
	assert_true(has(v, places[1], text));
	memset(text, 'a', sizeof(text) - 1);
	assert_true(has(v, places[0], text));
	vault_destroy(v);
}

static void
sweep_leaves_what_is_marked(void **state)
{
	struct vault *v = make();
	struct vault_place a = add(v, "a"), b = add(v, "b"), c = add(v, "c");

	vault_mark(v, a);
	vault_mark(v, c);
	vault_sweep(v);
	assert_true(has(v, a, "a"));
	assert_true(is_gone(v, b));
	assert_true(has(v, c, "c"));
	/* Marks are for one sweep. */
	vault_sweep(v);
	assert_true(is_gone(v, a));
	vault_destroy(v);
}

static void
room_has_an_end_and_comes_back(void **state)
{
	static uint8_t secret[64];
	struct vault *v = make();
	struct vault_place first, place;
	unsigned count = 1;

	assert_int_equal(vault_add(v, secret, sizeof(secret), &first),
		NSD_OK);
	while (vault_add(v, secret, sizeof(secret), &place) == NSD_OK)
		count++;
	assert_true(count > 10000);
	vault_remove(v, first);
	assert_int_equal(vault_add(v, secret, sizeof(secret), &first),
		NSD_OK);
	assert_int_equal(vault_add(v, secret, sizeof(secret), &place),
		NSD_E_LIMIT);
	vault_destroy(v);
	assert_int_equal(vault_create(SIZE_MAX / 4, 0, &v), NSD_E_MEMORY);
	assert_int_equal(vault_create(0, SIZE_MAX / 2, &v), NSD_E_MEMORY);
}

/* ---- other processes ----------------------------------------------------- */

/* Runs what a child does; its exit code, or -1 if a signal ends it. */
static int
in_child(int (*fn)(struct vault *v, struct vault_place place),
	struct vault *v, struct vault_place place)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		/* Undo a sanitizer's handler. */
		signal(SIGSEGV, SIG_DFL);
		_exit(fn(v, place));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int
child_alters(struct vault *v, struct vault_place place)
{
	size_t len;
	volatile uint8_t *octets =
		(uint8_t *)(uintptr_t)vault_get(v, place, &len);

	octets[0] = 'x';
	return 0;
}

static int
child_makes_writable(struct vault *v, struct vault_place place)
{
	size_t len;
	uintptr_t page = (uintptr_t)vault_get(v, place, &len) & ~4095ul;

	return mprotect((void *)page, 4096, PROT_READ | PROT_WRITE) == 0;
}

static int
child_adds(struct vault *v, struct vault_place place)
{
	return vault_add(v, (const uint8_t *)"x", 1, &place);
}

static int
child_leaves(struct vault *v, struct vault_place place)
{
	vault_leave(v);
	return !is_gone(v, place);
}

static void
children_cannot_write(void **state)
{
	struct vault *v = make();
	struct vault_place place = add(v, "one");

	assert_true(vault_is_sealed(v));
	assert_int_equal(in_child(child_alters, v, place), -1);
	assert_int_equal(in_child(child_makes_writable, v, place), 0);
	assert_int_equal(in_child(child_adds, v, place), -1);
	assert_int_equal(in_child(child_leaves, v, place), 0);
	assert_true(has(v, place, "one"));
	vault_destroy(v);
}

static void
children_see_what_is_changed(void **state)
{
	struct vault *v = make();
	struct vault_place old = add(v, "old"), place;
	int pipes[2], status;
	pid_t pid;

	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	if (pid == 0) {
		if (read(pipes[0], &place, sizeof(place)) != sizeof(place))
			_exit(2);
		_exit(!is_gone(v, old) || !has(v, place, "new"));
	}
	vault_remove(v, old);
	place = add(v, "new");
	assert_int_equal(write(pipes[1], &place, sizeof(place)),
		sizeof(place));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	close(pipes[0]);
	close(pipes[1]);
	vault_destroy(v);
}

/* The kernel's word for what is not dumped is "dd". */
static void
secrets_are_not_in_core_files(void **state)
{
	FILE *maps = fopen("/proc/self/smaps", "r");
	struct vault *v = make();
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
	vault_destroy(v);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(secrets_stay_until_they_are_removed),
		cmocka_unit_test(place_is_never_that_of_another_secret),
		cmocka_unit_test(long_secrets_take_several_slots),
		cmocka_unit_test(sweep_leaves_what_is_marked),
		cmocka_unit_test(room_has_an_end_and_comes_back),
		cmocka_unit_test(children_cannot_write),
		cmocka_unit_test(children_see_what_is_changed),
		cmocka_unit_test(secrets_are_not_in_core_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
