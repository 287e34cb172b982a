/* test_xfrd_reasons.c - texts of failures are kept once, and not without an
 * end. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "dns/edns.h"
#include "xfrd/xfrd.h"

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
	char text[24];

	for (unsigned i = 0; i < 2 * XFRD_REASONS_MAX; i++) {
		snprintf(text, sizeof(text), "error %u", i);
		assert_int_equal(xfrd_reasons_add(&reasons, text),
			i < XFRD_REASONS_MAX ? i + 1 : 0);
	}
	assert_int_equal(xfrd_reasons_add(&reasons, "error 7"), 8);
	free_all(&reasons);
}

/* A server chooses the codes of its answers: they are told, and no text is kept
 * of them. */
static void
codes_of_answers_take_no_place(void **state)
{
	static struct xfrd xfrd;
	struct xfrd_job *job = calloc(1, sizeof(*job));
	char why[XFRD_ERROR_MAX], text[XFRD_ERROR_MAX];
	uint32_t reason;

	assert_non_null(job);
	job->xfrd = &xfrd;
	job->heard.fault = XFR_FAULT_RCODE;
	for (unsigned i = 0; i < 2 * XFRD_REASONS_MAX; i++) {
		job->heard.rcode = (uint16_t)(i % 16);
		job->heard.ede = (uint16_t)i;
		(void)xfrd_failure_print_fault(job, why, sizeof(why));
		reason = xfrd_failure_get_reason(job, XFR_RCODE, why);
		assert_string_equal(xfrd_failure_print(&xfrd, XFR_RCODE,
			job->heard.rcode, reason, text, sizeof(text)), why);
	}
	job->heard.rcode = 5;
	job->heard.ede = 18;
	reason = xfrd_failure_get_reason(job, XFR_RCODE, NULL);
	assert_string_equal(xfrd_failure_print(&xfrd, XFR_RCODE, 5, reason,
		text, sizeof(text)), "it answers REFUSED, EDE 18 (Prohibited)");
	job->heard.ede = EDE_NONE;
	reason = xfrd_failure_get_reason(job, XFR_RCODE, NULL);
	assert_string_equal(xfrd_failure_print(&xfrd, XFR_RCODE, 5, reason,
		text, sizeof(text)), "it answers REFUSED");
	assert_int_equal(xfrd.reasons.count, 0);
	reason = xfrd_failure_get_reason(job, XFR_TIMEOUT, "it is too slow");
	assert_string_equal(xfrd_failure_print(&xfrd, XFR_TIMEOUT, 0, reason,
		text, sizeof(text)), "it is too slow");
	free_all(&xfrd.reasons);
	free(job);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_texts_have_one_number),
		cmocka_unit_test(no_text_has_no_number),
		cmocka_unit_test(texts_without_an_end_are_not_kept),
		cmocka_unit_test(codes_of_answers_take_no_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
