/*
 * test_memory.c - fault 71: each allocation of a parse fails once; the parse
 * says so, and nothing is lost (run under AddressSanitizer to see the latter).
 */
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"
#include "lib/failing.h"
#include "lib/files.h"

static enum nsd_err
parse_failing(const char *path, int at, unsigned threads)
{
	struct zonefile_options options = { .apex = fixture_apex,
		.threads = threads };
	struct parse_tuning tuning = parse_tuning_default;
	struct diag_sink sink = { NULL, 0, 0 };
	struct zonefile_result result;
	enum nsd_err err;

	tuning.chunk_size = 100;
	tuning.head_size = 20;
	tuning.parallel_size = 0;
	err = FAILING_FROM(at,
		parse_path(path, &options, &tuning, &sink, &result));
	zonefile_result_fini(&result);
	return err;
}

static void
each_allocation_that_fails_is_told(void **state)
{
	char directory[] = "/tmp/test_memory.XXXXXX";
	char path[64], inner[64];
	unsigned threads;

	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/zone", directory);
	snprintf(inner, sizeof(inner), "%s/inner", directory);
	files_write(path, "$TTL 5\n@ SOA a b ( 1 2 3\n 4 5 )\n NS a\n"
		"x X\n$INCLUDE inner sub\n$INCLUDE none\n"
		"$GENERATE 1-600 h$ TXT \"a b\" c\n"
		"a TXT \"open\nb A 192.0.2.1\nc A 192.0.2.1\n\" d\ny Y\n"
		"a TXT 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 "
		"22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40\n");
	files_write(inner, "a A 192.0.2.1\nb A x\n");
	for (threads = 1; threads <= 3; threads++) {
		enum nsd_err err = NSD_E_MEMORY;
		int at;

		for (at = 0; at < 1000 && err == NSD_E_MEMORY; at++)
			err = parse_failing(path, at, threads);
		/* With all allocations granted, parsing ends with the text's
		 * own errors. */
		assert_int_equal(err, NSD_E_SYNTAX);
		assert_true(at > 20);
	}
	unlink(path);
	unlink(inner);
	assert_int_equal(rmdir(directory), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_allocation_that_fails_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
