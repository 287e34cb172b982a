/* test_memory.c - dynamic updates without memory, and many in a batch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "batch.h"

#define SOA "@ 3600 SOA ns.example. host.example. 10 2 3 4 5\n"
#define NS "@ 3600 NS ns.example.\n"

static struct batch_message m;

static void
message_of(const char *const *lines)
{
	batch_message_init(&m);
	for (; *lines != NULL; lines++)
		batch_message_add(&m, *lines);
}

#define ZONE SOA NS "many 60 A 192.0.2.1\nmany 60 A 192.0.2.2\n"           \
	"many 60 A 192.0.2.3\nwww 60 CNAME a\ngone 1 A 192.0.2.1\n"       \
	"gone 1 TXT a\n"

/* Gives two messages to a batch, the first of them again if it fails for a lack
 * of memory at its n-th allocation. True if it did. */
static bool
apply_with_failure(int n)
{
	static const char *const first[] = {
		"p in many a 192.0.2.1", "p in many a 192.0.2.2",
		"p in many a 192.0.2.3", "p any www.example. any",
		"u in many 60 a 192.0.2.4", "u none many 0 a 192.0.2.1",
		"u in www 60 cname b", "u any gone.example. any",
		"u in new.x 60 txt a", "u in new.x 60 mx 1 b",
		"u in d 60 dname b", "u in @ 60 SOA a. b. 99 1 1 1 1", NULL};
	static const char *const second[] = {"p none gone.example. any",
		"u in many 70 a 192.0.2.9", "u in www 60 cname c",
		"u any new.x.example. txt", NULL};
	enum nsd_err err;

	batch_load(ZONE);
	assert_int_equal(batch_begin(), NSD_OK);
	message_of(first);
	batch_fail_at = n;
	err = batch_apply(&m);
	batch_fail_at = -1;
	if (err != NSD_OK) {
		assert_int_equal(err, NSD_E_MEMORY);
		assert_int_equal(batch_apply(&m), NSD_OK);
	}
	assert_int_equal(batch_result.rcode, RCODE_NOERROR);
	message_of(second);
	assert_int_equal(batch_apply(&m), NSD_OK);
	assert_int_equal(batch_result.rcode, RCODE_NOERROR);
	return err != NSD_OK;
}

/* A message that fails for a lack of memory leaves all as it was, and can be
 * given again. */
static void
each_allocation_may_fail(void **state)
{
	char expected[4096];
	int n = 0;
	bool has_failed;

	assert_false(apply_with_failure(-1));
	batch_take();
	snprintf(expected, sizeof(expected), "%s", batch_zone());
	assert_true(strlen(expected) < sizeof(expected) - 1);
	do {
		has_failed = apply_with_failure(n++);
		batch_take();
		assert_string_equal(batch_zone(), expected);
	} while (has_failed);
	assert_true(n > 40);
}

static void
beginning_may_fail(void **state)
{
	int n = 0;

	batch_load(SOA NS);
	for (;; n++) {
		assert_true(n < 100);
		batch_fail_at = n;
		if (batch_begin() == NSD_OK)
			break;
	}
	batch_fail_at = -1;
	assert_true(n > 3);
	batch_take();
}

/* ---- many ---------------------------------------------------------------- */

/* Messages of many clients, each of a name of its own, in one batch */
static void
batch_of_many_messages(void **state)
{
	batch_load(SOA NS);
	for (unsigned i = 0; i < 5000; i++) {
		char line[100];

		batch_message_init(&m);
		snprintf(line, sizeof(line), "u in host%u 60 a 192.0.2.1",
			i % 2500);
		if (i >= 2500)
			snprintf(line, sizeof(line),
				"u any host%u.example. any", i % 2500);
		batch_message_add(&m, line);
		assert_int_equal(batch_apply(&m), NSD_OK);
		assert_true(batch_result.changed);
		assert_int_equal(batch_result.serial, 11 + i);
	}
	batch_take();
	assert_int_equal(batch_serial(), 5010);
	assert_string_equal(batch_zone(), "example. 3600 NS ns.example.\n");
}

/* A large RRset is copied once a batch: a message with one record of it costs
 * no more memory than its own octets. */
static void
large_rrset_is_copied_once(void **state)
{
	size_t len = 100000 * 30, at = 0, first;
	char *zone = malloc(len + 200);

	assert_non_null(zone);
	at += (size_t)sprintf(zone, "%s", SOA NS);
	for (unsigned i = 0; i < 100000; i++)
		at += (size_t)sprintf(zone + at, "big 60 A 10.%u.%u.%u\n",
			i >> 16, i >> 8 & 255, i & 255);
	batch_load(zone);
	free(zone);
	assert_string_equal(batch_ask("u in big 60 a 192.0.2.1"), "NOERROR");
	first = batch_memory();
	assert_true(first > 1000000);
	for (unsigned i = 0; i < 1000; i++) {
		char line[100];

		snprintf(line, sizeof(line), "p any big.example. a\n"
			"u in big 60 a 192.0.3.%u\nu none big 0 a 10.0.%u.%u",
			i & 255, i >> 8, i & 255);
		assert_string_equal(batch_ask(line), "NOERROR");
	}
	assert_true(batch_memory() - first < first);
	batch_take();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_allocation_may_fail),
		cmocka_unit_test(beginning_may_fail),
		cmocka_unit_test(batch_of_many_messages),
		cmocka_unit_test(large_rrset_is_copied_once),
	};

	return cmocka_run_group_tests(tests, batch_setup, batch_teardown);
}
