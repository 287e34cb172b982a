/* test_memory.c - reading a configuration when memory runs out at any point. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "lib/failing.h"
#include "reader.h"

/* The linker puts it in front of libc's: arenas have their memory from it. */
void *__real_mmap(void *at, size_t size, int prot, int flags, int fd,
	off_t offset);
void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd,
	off_t offset);

void *
__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	return failing_now() ? MAP_FAILED
		: __real_mmap(at, size, prot, flags, fd, offset);
}

/* Loads with one allocation more each time, until it works. */
static int
load_until_it_works(const char *text)
{
	struct diag_sink sink;
	struct conf *conf = NULL;
	enum nsd_err err;
	int count;

	for (count = 1;; count++) {
		sink = (struct diag_sink){ .on_diag = NULL };
		err = FAILING_FROM(count - 1,
			conf_load_text("t", text, strlen(text), false, &sink,
				&conf));
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
		"pattern: name: p notify: ::1 NOKEY\n"
		"pattern: name: u update-policy: k self A update-policy: k a.*\n"
		"zone: name: u zonefile: u include-pattern: u update-policy: k b\n");
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
		failing_from(0);
		if (conf_add_zone(conf, name, "p", &added) != NSD_OK) {
			assert_null(conf_find_zone_text(conf, name));
			failing_from(-1);
			assert_int_equal(conf_add_zone(conf, name, "p",
				&added), NSD_OK);
		}
		failing_from(-1);
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
