/* test_xfrd_said.c - a failure is said once for each way, until it is well. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "xfrd/xfrd_said.h"

static const struct xfrd_said_way refused = {.server = 1, .rcode = 5,
	.outcome = XFR_RCODE, .is_final = true};
static const struct xfrd_said_way silent = {.server = 1,
	.outcome = XFR_TIMEOUT, .is_final = true};

static void
each_way_is_said_once_though_they_alternate(void **state)
{
	struct xfrd_said_way *said = NULL;
	struct xfrd_said_way other = refused;

	for (int i = 0; i < 3; i++) {
		assert_int_equal(xfrd_said_add(&said, &refused), i == 0);
		assert_int_equal(xfrd_said_add(&said, &silent), i == 0);
	}
	other.server = 2;
	assert_true(xfrd_said_add(&said, &other));
	other = refused;
	other.is_notify = true;
	assert_true(xfrd_said_add(&said, &other));
	xfrd_said_forget(&said);
	assert_null(said);
}

static void
a_try_becomes_an_error_once(void **state)
{
	struct xfrd_said_way *said = NULL;
	struct xfrd_said_way try = refused;

	try.is_final = false;
	assert_true(xfrd_said_add(&said, &try));
	assert_true(xfrd_said_add(&said, &refused));
	assert_false(xfrd_said_add(&said, &try));
	assert_false(xfrd_said_add(&said, &refused));
	assert_true(xfrd_said_clear(&said, false, 1));
	assert_true(xfrd_said_add(&said, &try));
	assert_false(xfrd_said_clear(&said, false, 1));
	assert_null(said);
}

static void
only_the_server_that_answers_is_well(void **state)
{
	struct xfrd_said_way *said = NULL;
	struct xfrd_said_way other = refused;

	other.server = 2;
	assert_true(xfrd_said_add(&said, &refused));
	assert_true(xfrd_said_add(&said, &other));
	assert_false(xfrd_said_clear(&said, true, 1));
	assert_true(xfrd_said_clear(&said, false, 1));
	assert_false(xfrd_said_add(&said, &other));
	assert_int_equal(said->server, 2);
	xfrd_said_forget(&said);
	assert_null(said);
}

/* A server may answer with another code each time. */
static void
ways_of_a_server_have_an_end(void **state)
{
	struct xfrd_said_way *said = NULL;
	struct xfrd_said_way way = refused;

	for (uint32_t i = 0; i < 2 * XFRD_SAID_MAX; i++) {
		way.reason = i;
		assert_int_equal(xfrd_said_add(&said, &way),
			i < XFRD_SAID_MAX);
	}
	way.server = 2;
	assert_true(xfrd_said_add(&said, &way));
	way.server = 1;
	assert_true(xfrd_said_clear(&said, false, 1));
	assert_true(xfrd_said_add(&said, &way));
	xfrd_said_forget(&said);
	assert_null(said);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_way_is_said_once_though_they_alternate),
		cmocka_unit_test(a_try_becomes_an_error_once),
		cmocka_unit_test(only_the_server_that_answers_is_well),
		cmocka_unit_test(ways_of_a_server_have_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
