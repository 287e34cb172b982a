/* test_order.c - which files seem to be in canonical order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "zonefile/order.h"
#include "zonefile/order_compare.h"

#define LINES 20000u

static int
compare(const char *a, const char *b)
{
	return order_compare(a, strlen(a), b, strlen(b));
}

/* RFC 4034 section 6.1 */
static void
names_have_canonical_order(void **state)
{
	static const char *const names[] = {"example", "a.example",
		"yljkjljk.a.example", "Z.a.example", "zABC.a.EXAMPLE",
		"z.example", "*.z.example", "z0.example", "zz.example"};
	size_t count = sizeof(names) / sizeof(names[0]);

	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < count; j++)
			assert_int_equal((compare(names[i], names[j]) > 0)
					- (compare(names[i], names[j]) < 0),
				(i > j) - (i < j));
	assert_int_equal(compare("Foo.Example", "fOO.eXAMPLE"), 0);
}

/* ---- files --------------------------------------------------------------- */

enum look {
	IN_ORDER,
	HASHES_AMONG,  /* NSEC3 records, in an order of their own */
	HASHES_BEHIND,
	GLUE_BEHIND,   /* the names once more */
	SHUFFLED,
	RELATIVE,      /* names without the dot at the end */
	MIXED,         /* names with the dot and without */
	NO_NAMES,
};

static void
write_line(FILE *f, enum look look, unsigned i)
{
	unsigned n = look == SHUFFLED ? i * 7919u % LINES
		: look == GLUE_BEHIND ? i * 2 % LINES : i;
	const char *end = look == RELATIVE || (look == MIXED && i % 3 == 0)
		? "" : ".example.";

	if (look == NO_NAMES) {
		fprintf(f, "\tTXT \"%05u\" ; a line without an owner\n", i);
		return;
	}
	if ((look == HASHES_AMONG && i % 2 == 0)
		|| (look == HASHES_BEHIND && i > LINES / 2)) {
		fprintf(f, "%c7t9b1h4gd5e6rs0m2jk8lqnapc3fuvo%s NSEC3 1 0 0 -"
			" (\n\tabc A )\n", "0123456789ABCDEFGHIJKLMNOPQRSTUV"
			[i * 7919u % 32], ".example.");
		return;
	}
	fprintf(f, "N%05u%s 3600 IN NS ( ns1.other.\n\t ) ; b\n$TTL 1\n", n,
		end);
}

static bool
is_likely(enum look look)
{
	char path[] = "/tmp/test_order.XXXXXX";
	FILE *f = fdopen(mkstemp(path), "w");
	bool likely;

	assert_non_null(f);
	fprintf(f, "$ORIGIN example.\n@ SOA ns host (\n\t1 2 3 4 5 )\n");
	for (unsigned i = 0; i < LINES; i++)
		write_line(f, look, i);
	assert_int_equal(fclose(f), 0);
	likely = order_is_likely(path);
	unlink(path);
	return likely;
}

static void
order_of_a_file_is_seen(void **state)
{
	assert_true(is_likely(IN_ORDER));
	assert_true(is_likely(RELATIVE));
	assert_true(is_likely(MIXED));
	assert_false(is_likely(GLUE_BEHIND));
	assert_false(is_likely(SHUFFLED));
	assert_false(is_likely(NO_NAMES));
}

static void
hashes_have_an_order_of_their_own(void **state)
{
	assert_true(is_likely(HASHES_AMONG));
	assert_true(is_likely(HASHES_BEHIND));
}

static void
what_is_no_file_is_in_no_order(void **state)
{
	assert_false(order_is_likely("/dev/null"));
	assert_false(order_is_likely("/"));
	assert_false(order_is_likely("/tmp/test_order-is-not-there"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_have_canonical_order),
		cmocka_unit_test(order_of_a_file_is_seen),
		cmocka_unit_test(hashes_have_an_order_of_their_own),
		cmocka_unit_test(what_is_no_file_is_in_no_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
