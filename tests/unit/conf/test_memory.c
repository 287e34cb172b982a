/* test_memory.c - reading a configuration when memory runs out at any point. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "reader.h"

/* The linker puts these in front of libc's (--wrap). */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__real_mmap(void *at, size_t size, int prot, int flags, int fd,
	off_t offset);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd,
	off_t offset);

static long allocations_left = -1; /* before they fail; -1: they do not */

static int
fails(void)
{
	if (allocations_left > 0)
		allocations_left--;
	return allocations_left == 0;
}

void *
__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *
__wrap_calloc(size_t count, size_t size)
{
	return fails() ? NULL : __real_calloc(count, size);
}

void *
__wrap_realloc(void *block, size_t size)
{
	return fails() ? NULL : __real_realloc(block, size);
}

void *
__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	return fails() ? MAP_FAILED
		: __real_mmap(at, size, prot, flags, fd, offset);
}

/* Loads with one allocation more each time, until it works. */
static long
load_until_it_works(const char *text)
{
	struct diag_sink sink;
	struct conf *conf = NULL;
	enum nsd_err err;
	long count;

	for (count = 1;; count++) {
		sink = (struct diag_sink){ .on_diag = NULL };
		allocations_left = count;
		err = conf_load_text("t", text, strlen(text), false, &sink,
			&conf);
		allocations_left = -1;
		if (err == NSD_OK)
			break;
		assert_int_equal(err, NSD_E_MEMORY);
		assert_null(conf);
	}
	conf_destroy(conf);
	return count;
}

static void
each_allocation_may_fail(void **state)
{
	static char text[200000];
	char *at = text;
	unsigned i;

	assert_true(load_until_it_works("") > 5);
	at += sprintf(at, "server: nsid: abcd ip-address: ::1 servers=\"1 2\" "
		"cpu-affinity: 1 2 3\nkey: name: k secret: aGVs\n"
		"tls-auth: name: t auth-domain-name: a\n"
		"pattern: name: p notify: ::1 NOKEY\n");
	for (i = 0; i < 500; i++)
		at += sprintf(at, "zone: name: z%u include-pattern: p "
			"zonefile: %%s provide-xfr: ::1 k t\n"
			"pattern: name: p%u include-pattern: p\n"
			"key: name: k%u secret: aGVs\n", i, i, i);
	assert_true(load_until_it_works(text) > 30);
}

static void
zone_is_not_added_without_memory(void **state)
{
	struct conf *conf = reader_accept("pattern: name: p zonefile: x");
	const struct conf_zone *added = NULL;
	char name[16];
	unsigned i;

	for (i = 0; i < 3000; i++) {
		snprintf(name, sizeof(name), "z%u", i);
		allocations_left = 1;
		if (conf_add_zone(conf, name, "p", &added) != NSD_OK) {
			assert_null(conf_find_zone_text(conf, name));
			allocations_left = -1;
			assert_int_equal(conf_add_zone(conf, name, "p",
				&added), NSD_OK);
		}
		allocations_left = -1;
		assert_int_equal(conf->zone_count, i + 1);
	}
	conf_destroy(conf);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_allocation_may_fail),
		cmocka_unit_test(zone_is_not_added_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
