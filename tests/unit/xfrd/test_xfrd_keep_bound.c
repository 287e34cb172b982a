/* test_xfrd_keep_bound.c - which transfers wait until their zone is in the
 * journal whole, and what becomes of these. The rest of xfrd is played. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "xfrd/xfrd.h"

#define TOO_MANY "the journal has too many differences, and cannot take the" \
		 " whole zone: "

static struct xfrd xfrd;
static struct xfrd_job job;

/* The answers of the rest of xfrd: the journal takes no more differences of the
 * zone; the zone is being written there whole; whether that can begin. */
static bool is_full, is_renewed;
static enum nsd_err renew_error;

/* The calls to it. */
static unsigned renewals, ends;
static enum xfr_outcome outcome;
static char why[256];

/* The linker puts these in front of the real ones (--wrap). */
bool __wrap_xfrd_shorten(struct xfrd *one, struct xfrd_zone *zone,
	uint64_t least, uint64_t *octets);
bool __wrap_xfrd_edit_renews(const struct xfrd *one, const uint8_t *apex);
enum nsd_err __wrap_xfrd_edit_renew(struct xfrd *one, struct xfrd_zone *zone,
	xfrd_edit_on_renewed *on_renewed);
void __wrap_xfrd_job_end(struct xfrd_job *one, const struct xfr_reply *reply,
	const char *text);

bool
__wrap_xfrd_shorten(struct xfrd *one, struct xfrd_zone *zone, uint64_t least,
	uint64_t *octets)
{
	return is_full;
}

bool
__wrap_xfrd_edit_renews(const struct xfrd *one, const uint8_t *apex)
{
	return is_renewed;
}

enum nsd_err
__wrap_xfrd_edit_renew(struct xfrd *one, struct xfrd_zone *zone,
	xfrd_edit_on_renewed *on_renewed)
{
	renewals++;
	return renew_error;
}

void
__wrap_xfrd_job_end(struct xfrd_job *one, const struct xfr_reply *reply,
	const char *text)
{
	assert_ptr_equal(one, &job);
	assert_true(cds_list_empty(&one->keep_node));
	ends++;
	outcome = reply->outcome;
	strcpy(why, text);
}

/* ---- helpers ------------------------------------------------------------- */

static void
on_renewed(struct xfrd *one, const uint8_t *apex, const char *text)
{
	fail();
}

/* A transfer is complete. Returns whether it waits, or has ended. */
static bool
hold(enum changes_kind kind)
{
	job.reader.result.kind = kind;
	return xfrd_keep_hold(&job, on_renewed);
}

static struct xfrd_job *
take(const char *apex, const char *text)
{
	return xfrd_keep_take_held(&xfrd, (const uint8_t *)apex, text);
}

static int
begin(void **state)
{
	memset(&xfrd, 0, sizeof(xfrd));
	memset(&job, 0, sizeof(job));
	CDS_INIT_LIST_HEAD(&xfrd.held);
	CDS_INIT_LIST_HEAD(&job.keep_node);
	job.xfrd = &xfrd;
	job.apex = (const uint8_t *)"\1c";
	job.name = "c";
	is_full = is_renewed = false;
	renew_error = NSD_OK;
	renewals = ends = 0;
	return 0;
}

/* ---- tests --------------------------------------------------------------- */

static void
transfers_below_the_bound_do_not_wait(void **state)
{
	assert_false(hold(XFR_DIFFS));
	is_full = true;
	assert_false(hold(XFR_WHOLE));
	assert_int_equal(renewals, 0);
}

static void
differences_wait_at_the_bound(void **state)
{
	is_full = true;
	assert_true(hold(XFR_DIFFS));
	assert_int_equal(renewals, 1);
	assert_null(take("\1d", NULL));
	assert_ptr_equal(take("\1c", NULL), &job);
	assert_null(take("\1c", NULL));
	assert_int_equal(ends, 0);
}

/* The whole zone would take the place of what is put there meanwhile. */
static void
transfers_wait_while_their_zone_is_written(void **state)
{
	is_renewed = true;
	assert_true(hold(XFR_DIFFS));
	/* There is room for them all the same. */
	assert_ptr_equal(take("\1c", "no"), &job);
	assert_true(hold(XFR_WHOLE));
	is_full = true;
	assert_ptr_equal(take("\1c", "no"), &job);
	assert_int_equal(ends, 0);
}

static void
differences_end_if_their_zone_cannot_be_written(void **state)
{
	is_full = true;
	assert_true(hold(XFR_DIFFS));
	assert_null(take("\1c", "no"));
	assert_int_equal(ends, 1);
	assert_int_equal(outcome, XFR_NO_FIT);
	assert_string_equal(why, TOO_MANY "no");
	renew_error = NSD_E_MEMORY;
	assert_true(hold(XFR_DIFFS));
	assert_int_equal(ends, 2);
	assert_int_equal(outcome, XFR_NO_FIT);
	assert_string_equal(why, TOO_MANY "out of memory");
	assert_null(take("\1c", NULL));
}

/* Another version is on its way to the journal. */
static void
differences_go_on_where_the_version_is_another(void **state)
{
	is_full = true;
	renew_error = NSD_E_AGAIN;
	assert_false(hold(XFR_DIFFS));
	assert_int_equal(ends, 0);
	assert_null(take("\1c", NULL));
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, begin)
	const struct CMUnitTest tests[] = {
		TEST(transfers_below_the_bound_do_not_wait),
		TEST(differences_wait_at_the_bound),
		TEST(transfers_wait_while_their_zone_is_written),
		TEST(differences_end_if_their_zone_cannot_be_written),
		TEST(differences_go_on_where_the_version_is_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
