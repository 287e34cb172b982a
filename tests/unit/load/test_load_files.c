/* test_load_files.c - what is known of the files that a zone was read from. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "load/load_files.h"

/* A pipe has an inode and no size. A place where an included file was looked
 * for first and was not has neither, and can be looked at again. */
static void
files_are_rereadable_but_for_pipes(void **state)
{
	struct zonefile_source sources[] = {
		{ .path = (char *)"zone", .size = 10, .inode = 1 },
		{ .path = (char *)"absent" },
		{ .path = (char *)"pipe", .inode = 2 },
	};
	struct zonefile_result files = { .sources = sources };

	files.source_count = 2;
	assert_true(load_files_are_rereadable(&files));
	files.source_count = 3;
	assert_false(load_files_are_rereadable(&files));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_rereadable_but_for_pipes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
