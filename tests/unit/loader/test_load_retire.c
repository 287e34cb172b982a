/* test_load_retire.c - makers of versions wait until the one before that was
 * served is retired: whoever reads a file, a transfer or what the journal has,
 * in a thread or in the loop. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>
#include <pthread.h>

#include "conf/conf.h"
#include "lib/one_fixture.h"
#include "loader/load_loop.h"
#include "loader/load_read.h"
#include "loader/load_retire.h"
#include "loader/load_text.h"
#include "loader/load_versions.h"
#include "store/writer.h"
#include "zonedb/table_edit.h"

#define NAMES 3000u
#define TEXT_MAX 262144u
#define WAIT_USEC 20000u

static store_ref entry;
static struct load_retire retire;
static pthread_mutex_t busy_lock = PTHREAD_MUTEX_INITIALIZER;
static struct load_context context = {
	.threads_max = 1,
	.retire = &retire,
	.busy_lock = &busy_lock,
};
static unsigned told;
static bool ended; /* atomic */

/* ---- versions ------------------------------------------------------------ */

static const char *
make_text(unsigned names)
{
	static char text[TEXT_MAX];
	size_t len = (size_t)snprintf(text, sizeof(text),
		"$TTL 60\n@ SOA ns x 1 2 3 4 5\n@ NS ns\nns A 192.0.2.1\n");

	for (unsigned i = 0; i < names; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
			"h%u TXT %u\n", i, i);
	assert_true(len < sizeof(text));
	return text;
}

static const uint8_t *
apex(void)
{
	return zone_fixture_name("z.");
}

static void
load(unsigned names)
{
	assert_int_equal(zone_fixture_load(&f, "z.", make_text(names), &entry),
		NSD_OK);
}

/* Publishes another version of the served zone. */
static void
replace(void)
{
	store_ref zone;

	assert_int_equal(zone_fixture_build(&f, "z.", make_text(NAMES), &zone),
		NSD_OK);
	load_retire_add(&retire, f.writer, apex(),
		table_swap_zone(f.writer, entry, zone));
}

static void
on_work(void *ctx)
{
	told++;
}

static int
set_up(void **state)
{
	zone_fixture_init(&f);
	retire = (struct load_retire){.on_work = on_work};
	context.writer = f.writer;
	context.of_transfers = false;
	told = 0;
	ended = false;
	return 0;
}

static int
tear_down(void **state)
{
	while (load_retire_step(&retire, f.writer))
		;
	zone_fixture_fini(&f);
	return 0;
}

/* ---- the tests ----------------------------------------------------------- */

static void
what_is_added_is_told_and_remembered(void **state)
{
	load(NAMES);
	assert_false(load_retire_has(&retire, apex()));
	load_retire_add(&retire, f.writer, apex(), STORE_NONE);
	assert_int_equal(told, 0);
	replace();
	assert_int_equal(told, 1);
	assert_true(load_retire_has(&retire, apex()));
	assert_false(load_retire_has(&retire, zone_fixture_name("y.")));
	while (load_retire_step(&retire, f.writer))
		;
	assert_false(load_retire_has(&retire, apex()));
}

static void
small_version_goes_at_once(void **state)
{
	load(10);
	replace();
	assert_false(load_retire_has(&retire, apex()));
}

/* The first that came is the first that is done with. */
static void
versions_go_in_the_order_they_came(void **state)
{
	store_ref old;

	load(NAMES);
	replace();
	assert_int_equal(zone_fixture_build(&f, "z.", make_text(NAMES), &old),
		NSD_OK);
	load_retire_add(&retire, f.writer, zone_fixture_name("other."),
		table_swap_zone(f.writer, entry, old));
	while (load_retire_has(&retire, apex())) {
		assert_true(load_retire_has(&retire,
			zone_fixture_name("other.")));
		(void)load_retire_step(&retire, f.writer);
	}
}

static void
loop_does_it_itself(void **state)
{
	load(NAMES);
	replace();
	load_retire_await(&context, apex());
	assert_false(load_retire_has(&retire, apex()));
}

/* ---- readers ------------------------------------------------------------- */

/* The sources of a version. */
enum source {
	A_FILE,
	A_TRANSFER,
	THE_JOURNAL,
};

static struct conf *conf;
static struct load_zone zone;

/* One version is served, and the one before it is to be retired. */
static void
prepare(enum source source)
{
	static const char text[] =
		"zone: name: z zonefile: \"/no/such/folder/z\"\n";
	static const struct load_text nothing = {.fd = -1}, rest = {
		.fd = -1, .is_rest = true};

	assert_int_equal(conf_load_text("test", text, strlen(text), false,
				 NULL, &conf), NSD_OK);
	load(NAMES);
	replace();
	/* The journal leads on from nothing, so that none is needed. */
	if (source == THE_JOURNAL)
		load_retire_add(&retire, f.writer, apex(),
			table_swap_zone(f.writer, entry, STORE_NONE));
	zone = (struct load_zone){.conf = conf->zones[0], .entry = entry,
		.transfer = source == THE_JOURNAL ? &rest : &nothing};
	context.of_transfers = source != A_FILE;
}

static void *
read_zone(void *arg)
{
	struct load_result result;

	load_read_zone(&context, &zone, NULL, false, &result);
	free(result.reasons);
	zonefile_result_fini(&result.files);
	__atomic_store_n(&ended, true, __ATOMIC_SEQ_CST);
	return NULL;
}

static bool
has_ended(void)
{
	return __atomic_load_n(&ended, __ATOMIC_SEQ_CST);
}

static void
thread_waits(enum source source)
{
	struct event_base *base = event_base_new();
	pthread_t thread;

	assert_non_null(base);
	assert_int_equal(load_loop_create(base, &context.loop), NSD_OK);
	prepare(source);
	assert_int_equal(pthread_create(&thread, NULL, read_zone, NULL), 0);
	usleep(WAIT_USEC);
	assert_false(has_ended());
	while (load_retire_step(&retire, f.writer))
		assert_false(has_ended());
	pthread_join(thread, NULL);
	load_loop_destroy(context.loop);
	context.loop = NULL;
	event_base_free(base);
	conf_destroy(conf);
}

static void
who_reads_a_file_waits(void **state)
{
	thread_waits(A_FILE);
}

static void
who_reads_a_transfer_waits(void **state)
{
	thread_waits(A_TRANSFER);
}

static void
who_reads_the_journal_waits(void **state)
{
	thread_waits(THE_JOURNAL);
}

/* The loop reads a file itself for a verb that adds a zone, or changes its
 * options. */
static void
loop_that_reads_a_file_does_it_itself(void **state)
{
	prepare(A_FILE);
	(void)read_zone(NULL);
	assert_false(load_retire_has(&retire, apex()));
	conf_destroy(conf);
}

/* ---- differences --------------------------------------------------------- */

#define SOA(action, serial)                                                   \
	action "\1z\0\0\6\0\0\0\x3c\0\x1f\2ns\1z\0\1x\1z\0\0\0\0" serial   \
	"\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\5"

/* From serial 1 to 2. */
static const char differences[] = "\4\1z\0" SOA("\0", "\1") SOA("\1", "\2");

/* Of a transfer, or of the journal: a thread is to do it. */
static void
differences_do_not_wait_in_the_loop(void **state)
{
	const struct load_octets octets = {
		(const uint8_t *)differences, sizeof(differences) - 1};
	struct diag_sink sink = {.on_diag = NULL};
	struct load_versions v = {
		.context = &context,
		.secondary = true,
		.sink = &sink,
	};

	load(NAMES);
	replace();
	v.entry = entry;
	assert_int_equal(load_versions_apply(&v, &octets, 1), NSD_E_LIMIT);
	load_retire_await(&context, apex());
	assert_int_equal(load_versions_apply(&v, &octets, 1), NSD_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_added_is_told_and_remembered),
		TEST(small_version_goes_at_once),
		TEST(versions_go_in_the_order_they_came),
		TEST(loop_does_it_itself),
		TEST(who_reads_a_file_waits),
		TEST(who_reads_a_transfer_waits),
		TEST(who_reads_the_journal_waits),
		TEST(loop_that_reads_a_file_does_it_itself),
		TEST(differences_do_not_wait_in_the_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
