/* test_candidates.c - views with candidates: answers come from the version of a
 * zone that is being verified, and of other zones from what is served. */
#include "store/writer.h"
#include "transfer_client.h"
#include "zonedb/table_edit.h"

#define APEX(name, serial)                                                   \
	name ". 60 SOA ns." name ". m." name ". " serial " 2 3 4 5\n"        \
	name ". 60 NS ns." name ".\n"                                        \
	"ns." name ". 60 A 192.0.2.53\n"

static struct world w;

/* The name of the second zone is as long as that of the first, whose candidate
 * its version can be. */
static void
start(bool candidates, uint32_t expires_sec, bool not_loaded)
{
	struct world_zone *zone;
	const struct zone_entry *other;

	world_init(&w);
	w.query_options.candidates = candidates;
	zone = world_add_zone(&w, "a.test.", APEX("a.test", "1")
		"www.a.test. 60 A 192.0.2.1\n");
	zone->expires_sec = expires_sec;
	zone->not_loaded = not_loaded;
	world_add_zone(&w, "b.test.", APEX("b.test", "2")
		"www.b.test. 60 A 192.0.2.2\nnew.b.test. 60 A 192.0.2.3\n");
	world_start(&w);
	query_set_time(w.ctx, 0, 10);
	other = store_get(store_writer_view(w.writer), w.zones[1].entry);
	table_set_candidate(w.writer, w.zones[0].entry, other->zone);
}

/* The other zone lends its version. */
static void
stop(void)
{
	table_set_candidate(w.writer, w.zones[0].entry, STORE_NONE);
	world_fini(&w);
}

static void
expect_address(const char *name, const char *record)
{
	struct reply_parts *p = ask_for(&w, name, TYPE_A);

	expect_rcode(p, RCODE_NOERROR);
	expect_rr(p, AN, record);
	done(p);
}

static void
expect_failure(const char *name, unsigned rcode)
{
	struct reply_parts *p = ask_for(&w, name, TYPE_A);

	expect_rcode(p, rcode);
	done(p);
}

static void
only_a_view_with_candidates_has_them(void **state)
{
	start(false, 0, false);
	expect_address("www.a.test.", "www.a.test. 60 A 192.0.2.1");
	expect_failure("new.a.test.", RCODE_NXDOMAIN);
	stop();
	start(true, 0, false);
	expect_address("www.a.test.", "www.a.test. 60 A 192.0.2.2");
	expect_address("new.a.test.", "new.a.test. 60 A 192.0.2.3");
	expect_address("www.b.test.", "www.b.test. 60 A 192.0.2.2");
	table_set_candidate(w.writer, w.zones[0].entry, STORE_NONE);
	expect_address("www.a.test.", "www.a.test. 60 A 192.0.2.1");
	stop();
}

/* A zone that has expired, or has no version yet, may have a candidate. */
static void
a_candidate_needs_no_version_before_it(void **state)
{
	for (unsigned i = 0; i < 2; i++) {
		start(false, i == 0, i == 1);
		expect_failure("www.a.test.", RCODE_SERVFAIL);
		stop();
		start(true, i == 0, i == 1);
		expect_address("www.a.test.", "www.a.test. 60 A 192.0.2.2");
		table_set_candidate(w.writer, w.zones[0].entry, STORE_NONE);
		expect_failure("www.a.test.", RCODE_SERVFAIL);
		stop();
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_a_view_with_candidates_has_them),
		cmocka_unit_test(a_candidate_needs_no_version_before_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
