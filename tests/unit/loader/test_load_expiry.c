/* test_load_expiry.c - when zones expire: what EXPIRY says, as a second of the
 * clock that workers look at. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "ipc/message.h"
#include "lib/one_fixture.h"
#include "loader/load_expiry.h"
#include "store/writer.h"
#include "zonedb/table_edit.h"

static struct load_context context;
static struct load_zone zone;
static struct load_set set = {.zones = &zone, .count = 1};
static store_ref ref;
static const struct zone_entry *entry;

static enum nsd_err
expire(const char *apex, size_t len, uint64_t left_msec)
{
	return load_expiry_set(&context, &set, (const uint8_t *)apex, len,
		left_msec);
}

static uint32_t
now_sec(void)
{
	return (uint32_t)(clock_now_msec() / 1000);
}

static void
load(void)
{
	context.writer = f.writer;
	assert_int_equal(zone_fixture_load(&f, "example.",
				 "@ 60 SOA ns x 1 2 3 4 5\n@ 60 NS ns\n", &ref),
		NSD_OK);
	table_set_expiry(f.writer, ref, 0);
	table_set_flags(f.writer, ref, ZONE_ENTRY_FROM_XFRD);
	entry = store_get(f.view, ref);
	zone = (struct load_zone){.entry = ref};
}

static void
time_left_is_a_second_of_the_clock(void **state)
{
	static const struct {
		uint64_t left_msec;
		uint32_t least, most; /* seconds from now */
	} rows[] = {
		{1, 0, 2}, {1000, 1, 2}, {1001, 1, 3}, {3600000, 3600, 3601},
	};

	load();
	assert_int_equal(entry->expires_sec, 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint32_t before = now_sec();

		assert_int_equal(expire("\7EXample", 9, rows[i].left_msec),
			NSD_OK);
		assert_in_range(entry->expires_sec, before + rows[i].least,
			now_sec() + rows[i].most);
		assert_false(zone_entry_is_expired(entry, before));
	}
	assert_int_equal(expire("\7example", 9, 0), NSD_OK);
	assert_true(zone_entry_is_expired(entry, now_sec()));
	assert_int_equal(expire("\7example", 9, IPC_EXPIRY_NEVER), NSD_OK);
	assert_int_equal(entry->expires_sec, 0);
	/* As good as never. */
	assert_int_equal(expire("\7example", 9, IPC_EXPIRY_NEVER - 1),
		NSD_OK);
	assert_int_equal(entry->expires_sec, UINT32_MAX);
}

static void
transfer_ends_an_expiry_that_has_passed(void **state)
{
	load();
	table_set_expiry(f.writer, ref, 1);
	load_expiry_end(&context, ref);
	assert_int_equal(entry->expires_sec, 0);
	assert_int_equal(expire("\7example", 9, 100000), NSD_OK);
	load_expiry_end(&context, ref);
	assert_int_not_equal(entry->expires_sec, 0);
}

static void
only_zones_expire(void **state)
{
	load();
	/* An xfrd may still have an nsd.conf in which it has primaries. */
	table_set_flags(f.writer, ref, 0);
	assert_int_equal(expire("\7example", 9, 0), NSD_OK);
	assert_int_equal(entry->expires_sec, 0);
	assert_int_equal(expire("\5other", 7, 0), NSD_E_NOT_FOUND);
	assert_int_equal(expire("\7example", 8, 0), NSD_E_WIRE);
	assert_int_equal(expire("\7example\0", 10, 0), NSD_E_WIRE);
	assert_int_equal(expire("\300\0", 2, 0), NSD_E_WIRE);
	assert_int_equal(expire("", 0, 0), NSD_E_WIRE);
	assert_int_equal(entry->expires_sec, 0);
}

static bool
is_expired(void)
{
	return zone_entry_is_expired(entry, now_sec());
}

static void
held_zone_is_expired_until_it_is_let_go(void **state)
{
	uint32_t expires;

	load();
	assert_int_equal(expire("\7example", 9, 100000), NSD_OK);
	expires = entry->expires_sec;
	/* Twice, as where its file has changed while it was read. */
	load_expiry_hold(f.writer, &zone);
	load_expiry_hold(f.writer, &zone);
	assert_true(is_expired());
	load_expiry_let_go(f.writer, &zone);
	assert_int_equal(entry->expires_sec, expires);
	load_expiry_let_go(f.writer, &zone);
	assert_int_equal(entry->expires_sec, expires);
}

static void
what_is_told_meanwhile_is_for_then(void **state)
{
	load();
	load_expiry_hold(f.writer, &zone);
	assert_int_equal(expire("\7example", 9, 100000), NSD_OK);
	assert_true(is_expired());
	load_expiry_let_go(f.writer, &zone);
	assert_false(is_expired());
	assert_int_not_equal(entry->expires_sec, 0);
	/* The value 0 does not count as a time. */
	assert_int_equal(expire("\7example", 9, 0), NSD_OK);
	load_expiry_resume(f.view, &zone);
	load_expiry_let_go(f.writer, &zone);
	assert_true(is_expired());
}

/* Or its successor would not know, and never let it go. */
static void
successor_of_who_held_it_lets_it_go(void **state)
{
	load();
	load_expiry_hold(f.writer, &zone);
	zone = (struct load_zone){.entry = ref};
	load_expiry_resume(f.view, &zone);
	load_expiry_hold(f.writer, &zone);
	assert_true(is_expired());
	load_expiry_let_go(f.writer, &zone);
	assert_int_equal(entry->expires_sec, 0);
}

/* A file of an earlier start, whose clock was another one. */
static void
what_a_file_says_is_forgotten(void **state)
{
	load();
	load_expiry_forget(f.writer);
	assert_int_equal(entry->expires_sec, 0);
	assert_int_equal(expire("\7example", 9, 3600000), NSD_OK);
	assert_int_not_equal(entry->expires_sec, 0);
	load_expiry_forget(f.writer);
	assert_int_equal(entry->expires_sec, 0);
	assert_int_not_equal(entry->zone, STORE_NONE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_left_is_a_second_of_the_clock),
		cmocka_unit_test(transfer_ends_an_expiry_that_has_passed),
		cmocka_unit_test(only_zones_expire),
		cmocka_unit_test(held_zone_is_expired_until_it_is_let_go),
		cmocka_unit_test(what_is_told_meanwhile_is_for_then),
		cmocka_unit_test(successor_of_who_held_it_lets_it_go),
		cmocka_unit_test(what_a_file_says_is_forgotten),
	};

	return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
