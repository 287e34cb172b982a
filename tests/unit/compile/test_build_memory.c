/*
 * test_build_memory.c - memory that runs out at each place in turn: a clear
 * error, and nothing is left behind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compile/build.h"
#include "dns/name.h"
#include "lib/failing.h"
#include "lib/one_store.h"
#include "store/writer.h"
#include "zone/table.h"
#include "zonedb/release.h"
#include "zonedb/settings_edit.h"
#include "zonedb/table_edit.h"

/* ---- a zone with something of everything ------------------------------- */

#define APEX "\7example"

static void
add(struct rrbatch *batch, const char *owner, uint16_t type,
	const char *rdata, size_t rdlen)
{
	struct rrbatch_rr head = {
		.line = (uint32_t)batch->count + 1,
		.ttl_sec = 3600,
		.type = type,
		.rdlen = (uint16_t)rdlen,
		.owner_len = (uint8_t)name_len((const uint8_t *)owner),
	};

	assert_int_equal(rrbatch_append(batch, &head, (const uint8_t *)owner,
		(const uint8_t *)rdata), NSD_OK);
}

#define ADD(owner, type, rdata) \
	add(batch, owner, type, rdata, sizeof(rdata) - 1)
#define RRSIG(covered, key)                                              \
	"\0" covered "\15\1\0\0\16\20\0\0\0\1\0\0\0\1\0" key APEX "\0sig"

#define TIMES_4(text) text text text text
#define HASH_A TIMES_4("\x52\x94\xa5\x29\x4a")
#define HASH_B TIMES_4("\x5a\xd6\xb5\xad\x6b")
#define OWNER(label) "\40" TIMES_4(label) APEX
#define NSEC3(next) "\1\0\0\0\0\24" next "\0\1\100"

/* A chain with a record like others, two at one owner, a name with other data
 * whose record leads astray, and enough of them for two levels of pages. */
static void
add_chain(struct rrbatch *batch)
{
	ADD(APEX, TYPE_NSEC3PARAM, "\1\0\0\0\0");
	ADD(OWNER("aaaaaaaa"), TYPE_NSEC3, NSEC3(HASH_B));
	ADD(OWNER("aaaaaaaa"), TYPE_RRSIG, RRSIG("\62", "\7"));
	ADD(OWNER("bbbbbbbb"), TYPE_NSEC3, NSEC3(HASH_A));
	ADD(OWNER("bbbbbbbb"), TYPE_NSEC3, NSEC3(HASH_B));
	ADD(OWNER("cccccccc"), TYPE_NSEC3, NSEC3(HASH_B));
	ADD(OWNER("cccccccc"), TYPE_TXT, "\1x");
	for (char c = '0'; c <= 'v'; c++) {
		char owner[] = OWNER("dddddddd");

		if (c > '9' && c < 'a')
			continue;
		owner[9] = c;
		ADD(owner, TYPE_NSEC3, NSEC3(HASH_A));
	}
}

static struct rrbatch *
make_batch(void)
{
	struct rrbatch *batch = rrbatch_create(16384);

	assert_non_null(batch);
	ADD(APEX, TYPE_SOA, "\3ns1" APEX "\0\4host" APEX "\0"
			    "\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\5");
	ADD(APEX, TYPE_NS, "\3ns1" APEX "\0");
	ADD(APEX, TYPE_NS, "\3ns2" APEX "\0");
	ADD(APEX, TYPE_RRSIG, RRSIG("\2", "\7"));
	ADD("\3ns2" APEX, TYPE_A, "\1\2\3\4");
	ADD("\3ns1" APEX, TYPE_A, "\1\2\3\4");
	ADD("\3ns1" APEX, TYPE_A, "\1\2\3\4");
	ADD("\3ns1" APEX, TYPE_RRSIG, RRSIG("\1", "\7"));
	ADD("\3ns1" APEX, TYPE_RRSIG, RRSIG("\1", "\10"));
	ADD("\1a\1b\1c\1d" APEX, TYPE_MX, "\0\1\4MAIL\1d" APEX "\0");
	ADD("\1*\1d" APEX, TYPE_TXT, "\1x");
	ADD("\3sub" APEX, TYPE_NS, "\2ns\3sub" APEX "\0");
	ADD("\2ns\3sub" APEX, TYPE_AAAA, "0123456789abcdef");
	ADD("\5abcde" APEX, TYPE_NSEC3, "\1\0\0\1\0\4abcd");
	ADD("\5abcde" APEX, TYPE_RRSIG, RRSIG("\62", "\7"));
	ADD("\3sub" APEX, TYPE_DS, "\1\2\3\4digest");
	ADD("\3ns1" APEX, TYPE_NSEC3, "\1\0\0\1\0\4abcd");
	add_chain(batch);
	return batch;
}

static void
build_that_runs_out_leaves_nothing(void **state)
{
	struct store_writer *writer = s.writer;
	struct store_heap *heap = store_writer_heap(writer);
	struct rrbatch *batch = make_batch();
	struct zone_build_input input = {.apex = (const uint8_t *)APEX,
		.batches = batch, .threads = 1, .secondary = true};
	uint64_t before = store_fixture_live(writer);
	enum nsd_err err = NSD_E_MEMORY;
	int n;

	for (n = 0; err != NSD_OK; n++) {
		struct diag_sink sink = {0};
		store_ref zone;

		err = FAILING_ONCE(n,
			build_zone(&input, writer, heap, &sink, &zone));
		/* Findings that cannot be kept are no reason to fail. */
		if (err == NSD_OK) {
			bool survived = failing_has_failed();

			release_zone(heap, zone);
			if (survived)
				err = NSD_E_MEMORY;
		} else {
			assert_int_equal(err, NSD_E_MEMORY);
			assert_true(failing_has_failed());
		}
		assert_int_equal(store_fixture_live(writer), before);
	}
	assert_true(n > 40);
	rrbatch_destroy(batch);
}

static void
table_that_runs_out_stays_as_it_was(void **state)
{
	struct store_writer *writer = s.writer;
	static const struct acl_element acl[2];
	const struct settings_lists lists = {.lists = {acl}, .counts = {2}};
	struct zone_setup setups[3] = {
		{.apex = (const uint8_t *)"\1a"},
		{.apex = (const uint8_t *)"\1b\1a"},
		{.apex = (const uint8_t *)"\1c"},
	};
	const struct settings_options *options;
	struct settings_edit *edit;
	store_ref entries[3];
	enum nsd_err err = NSD_E_MEMORY;
	uint64_t before;
	int n;

	assert_int_equal(settings_edit_begin(writer, &edit), NSD_OK);
	assert_int_equal(settings_edit_options(edit, &lists,
				 &setups[0].options),
		NSD_OK);
	setups[2].options = setups[0].options;
	options = store_get(s.view, setups[0].options);
	before = store_fixture_live(writer);
	for (n = 0; err != NSD_OK; n++) {
		err = FAILING_ONCE(n, table_add(writer, setups, 3, entries));
		if (err == NSD_OK)
			break;
		assert_int_equal(err, NSD_E_MEMORY);
		assert_int_equal(store_fixture_live(writer), before);
		assert_null(table_get(store_writer_view(writer)));
		assert_int_equal(options->refs, 1);
	}
	assert_true(n > 3);
	settings_edit_end(edit);
	assert_int_equal(options->refs, 2);
	assert_int_equal(table_get(store_writer_view(writer))->zone_count, 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(build_that_runs_out_leaves_nothing),
		cmocka_unit_test(table_that_runs_out_stays_as_it_was),
	};

	return cmocka_run_group_tests(tests, open_store, close_store);
}
