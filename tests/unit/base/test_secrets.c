/* test_secrets.c - secrets are kept, cannot be altered, and are not dumped. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/secrets.h"

static struct secrets_octets
octets(const char *text)
{
	return (struct secrets_octets){(const uint8_t *)text, strlen(text)};
}

static struct secrets *
make(void)
{
	struct secrets *s;

	assert_int_equal(secrets_create(3, 6, &s), NSD_OK);
	secrets_add(s, octets("one"));
	secrets_add(s, (struct secrets_octets){NULL, 0});
	secrets_add(s, octets("two"));
	secrets_seal(s);
	return s;
}

static void
secrets_are_kept(void **state)
{
	struct secrets *s = make();
	size_t len;

	assert_int_equal(secrets_count(s), 3);
	assert_memory_equal(secrets_get(s, 0, &len), "one", 3);
	assert_int_equal(len, 3);
	(void)secrets_get(s, 1, &len);
	assert_int_equal(len, 0);
	assert_memory_equal(secrets_get(s, 2, &len), "two", 3);
	assert_int_equal(len, 3);
	secrets_drop(s);
	assert_int_equal(secrets_count(NULL), 0);
	secrets_drop(NULL);
}

static void
sealed_secrets_cannot_be_altered(void **state)
{
	struct secrets *s = make();
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		size_t len;
		volatile uint8_t *octets =
			(uint8_t *)(uintptr_t)secrets_get(s, 0, &len);

		/* Undo a sanitizer's handler. */
		signal(SIGSEGV, SIG_DFL);
		octets[0] = 'x';
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_memory_equal(secrets_get(s, 0, &(size_t){0}), "one", 3);
	secrets_drop(s);
}

/* The kernel's word for what is not dumped is "dd". */
static void
secrets_are_not_in_core_files(void **state)
{
	struct secrets *s = make();
	FILE *maps = fopen("/proc/self/smaps", "r");
	char line[512];
	unsigned long first, last;
	int inside = 0, found = 0;

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps) != NULL) {
		if (sscanf(line, "%lx-%lx ", &first, &last) == 2)
			inside = (uintptr_t)s >= first && (uintptr_t)s < last;
		else if (inside && strncmp(line, "VmFlags:", 8) == 0)
			found = strstr(line, " dd") != NULL;
	}
	fclose(maps);
	assert_true(found);
	secrets_drop(s);
}

static void
room_that_there_cannot_be_is_refused(void **state)
{
	struct secrets *s;

	assert_int_equal(secrets_create(SIZE_MAX / 4, 0, &s), NSD_E_MEMORY);
	assert_int_equal(secrets_create(1, SIZE_MAX - 8, &s), NSD_E_MEMORY);
	assert_int_equal(secrets_create(1, SIZE_MAX / 2, &s), NSD_E_MEMORY);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(secrets_are_kept),
		cmocka_unit_test(sealed_secrets_cannot_be_altered),
		cmocka_unit_test(secrets_are_not_in_core_files),
		cmocka_unit_test(room_that_there_cannot_be_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
