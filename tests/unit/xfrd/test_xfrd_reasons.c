/* test_xfrd_reasons.c - texts of failures are kept once, and not without an
 * end. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "xfrd/xfrd_reasons.h"

static void
free_all(struct xfrd_reasons *reasons)
{
	for (uint32_t i = 0; i < reasons->count; i++)
		free(reasons->texts[i]);
}

static void
equal_texts_have_one_number(void **state)
{
	struct xfrd_reasons reasons = {.count = 0};
	char text[] = "timeout";
	uint32_t first = xfrd_reasons_add(&reasons, text);

	assert_int_equal(xfrd_reasons_add(&reasons, "it is too slow"), 2);
	assert_int_equal(xfrd_reasons_add(&reasons, "timeout"), first);
	text[0] = 'T'; /* the table has a copy */
	assert_string_equal(xfrd_reasons_get(&reasons, first), "timeout");
	assert_string_equal(xfrd_reasons_get(&reasons, 2), "it is too slow");
	free_all(&reasons);
}

static void
no_text_has_no_number(void **state)
{
	struct xfrd_reasons reasons = {.count = 0};

	assert_int_equal(xfrd_reasons_add(&reasons, NULL), 0);
	assert_null(xfrd_reasons_get(&reasons, 0));
}

static void
texts_without_an_end_are_not_kept(void **state)
{
	struct xfrd_reasons reasons = {.count = 0};
	char text[16];

	for (unsigned i = 0; i < 2 * XFRD_REASONS_MAX; i++) {
		snprintf(text, sizeof(text), "error %u", i);
		assert_int_equal(xfrd_reasons_add(&reasons, text),
			i < XFRD_REASONS_MAX ? i + 1 : 0);
	}
	assert_int_equal(xfrd_reasons_add(&reasons, "error 7"), 8);
	free_all(&reasons);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_texts_have_one_number),
		cmocka_unit_test(no_text_has_no_number),
		cmocka_unit_test(texts_without_an_end_are_not_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
