/* test_history.c - differences between versions of a zone: which are kept, and
 * which are found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dns/name.h"
#include "lib/history_fixture.h"
#include "lib/one_fixture.h"
#include "lib/store_check.h"
#include "lib/table_remove.h"
#include "store/writer.h"
#include "zone/history.h"
#include "zone/measure.h"
#include "zone/table.h"
#include "zonedb/history_edit.h"
#include "zonedb/mark.h"
#include "zonedb/table_edit.h"

#define APEX "z.example."

static const struct history_limits five = {5, 1u << 20};
static store_ref entry;

static const char *
soa(uint32_t serial)
{
	static char texts[4][100];
	static unsigned next;
	char *text = texts[next++ % 4];

	sprintf(text, "@ 60 SOA ns.z.example. host.example. %u 2 3 4 5\n",
		(unsigned)serial);
	return text;
}

/* Publishes a version. */
static void
serve(uint32_t serial)
{
	char text[300];

	sprintf(text, "%s@ 60 NS ns\nns 60 A 192.0.2.1\n", soa(serial));
	assert_int_equal(zone_fixture_load(&f, APEX, text, &entry), NSD_OK);
}

/* Pushes a changeset that has a record of so many octets besides. */
static void
push(uint32_t from, uint32_t to, unsigned octets,
	const struct history_limits *limits)
{
	char *text = malloc(octets * 2 + 200);

	assert_non_null(text);
	sprintf(text, "%sa 60 TYPE999 \\# %u %0*d\n", soa(to), octets,
		(int)octets * 2, 0);
	history_fixture_push(f.writer, entry, limits, soa(from), text);
	free(text);
}

/* Goes from a version to the next, as the loader does. */
static void
advance(uint32_t from, uint32_t to, unsigned octets,
	const struct history_limits *limits)
{
	push(from, to, octets, limits);
	serve(to);
	history_prune(f.writer, entry, limits);
}

/* How many changesets lead from one serial to another; 0: none do. Looks at
 * each. */
static size_t
find(uint32_t from, uint32_t to)
{
	const struct zone_entry *e = store_get(f.view, entry);
	struct history_path path;
	enum nsd_err err = history_find(f.view, e, from, to, &path);
	uint32_t at = from;
	size_t count;

	assert_true(err == NSD_OK || err == NSD_E_NOT_FOUND);
	if (err != NSD_OK)
		return 0;
	count = path.count;
	while (path.count > 0) {
		const struct zone_changeset *changeset = store_get(f.view,
			path.changesets[--path.count]);

		assert_int_equal(changeset->from, at);
		at = changeset->to;
	}
	assert_int_equal(at, to);
	free(path.changesets);
	return count;
}

static const struct zone_changeset *
newest(void)
{
	const struct zone_entry *e = store_get(f.view, entry);

	return e->history == STORE_NONE ? NULL : store_get(f.view, e->history);
}

static int
begin(void **state)
{
	open_fixture(state);
	serve(1);
	return 0;
}

/* Checks that the store is sound, before the zone is removed and after. */
static int
end(void **state)
{
	const char *wrong = store_check(f.writer, mark_roots);

	if (wrong != NULL)
		fail_msg("%s", wrong);
	assert_int_equal(table_remove(f.writer, zone_fixture_name(APEX)),
		NSD_OK);
	(void)store_fixture_reclaimed(f.writer);
	wrong = store_check(f.writer, mark_roots);
	if (wrong != NULL)
		fail_msg("%s", wrong);
	return close_fixture(state);
}

/* ---- octets -------------------------------------------------------------- */

static const char removed_text[] =
	"@ 60 SOA ns.z.example. host.example. 1 2 3 4 5\n"
	"@ 60 NS ns.z.example.\n"
	"www 30 A 192.0.2.1\n"
	"www 30 MX 7 example.\n";
static const char added_text[] =
	"@ 60 SOA a.b.z.example. Z.Example. 2 2 3 4 5\n"
	"a.b 10 CNAME z.example.\n"
	"a.b 10 SRV 1 2 3 ns.z.example.\n"
	"a.b 10 PTR .\n";

/* Names that end as the apex does have a pointer to the question; RFC 3597
 * section 4: those of newer types do not. */
static void
records_are_found_as_they_were(void **state)
{
	static const struct {
		const char *owner;
		uint16_t type, sent, whole; /* octets of RDATA */
	} rows[] = {
		{APEX, TYPE_SOA, 5 + 7 + 20, 14 + 14 + 20},
		{APEX, TYPE_NS, 5, 14},
		{"www.z.example.", TYPE_A, 4, 4},
		{"www.z.example.", TYPE_MX, 4, 11},
		{APEX, TYPE_SOA, 6 + 11 + 20, 15 + 11 + 20},
		{"a.b.z.example.", TYPE_CNAME, 2, 11},
		{"a.b.z.example.", TYPE_SRV, 6 + 14, 6 + 14},
		{"a.b.z.example.", TYPE_PTR, 1, 1},
	};
	struct history_unpacked *whole = malloc(sizeof(*whole));
	const struct zone_changeset *changeset;
	struct history_rr rr;
	struct cursor c;

	assert_non_null(whole);
	history_fixture_push(f.writer, entry, &five, removed_text, added_text);
	changeset = newest();
	assert_int_equal(changeset->from, 1);
	assert_int_equal(changeset->to, 2);
	cursor_init(&c, changeset->data, changeset->len);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(history_read(&c, &rr), NSD_OK);
		assert_int_equal(rr.type, rows[i].type);
		assert_int_equal(rr.rdlen, rows[i].sent);
		assert_int_equal(history_unpack(
			zone_fixture_name(APEX), &rr, whole), NSD_OK);
		assert_true(name_equal(whole->owner,
			zone_fixture_name(rows[i].owner)));
		assert_int_equal(whole->rdlen, rows[i].whole);
	}
	assert_int_equal(cursor_left(&c), 0);
	assert_int_equal(history_read(&c, &rr), NSD_E_WIRE);
	free(whole);
}

/* A changeset of any octets: cut anywhere, or with a wrong pointer or class. */
static void
octets_that_are_no_records_are_refused(void **state)
{
	const struct zone_changeset *changeset;
	uint8_t octets[400];
	struct history_rr rr;
	struct cursor c;
	unsigned ends = 0;

	history_fixture_push(f.writer, entry, &five, removed_text, added_text);
	changeset = newest();
	assert_true(changeset->len <= sizeof(octets));
	memcpy(octets, changeset->data, changeset->len);
	for (uint32_t len = 0; len <= changeset->len; len++) {
		cursor_init(&c, octets, len);
		while (history_read(&c, &rr) == NSD_OK)
			;
		ends += c.at == octets + len;
		assert_true(c.failed);
	}
	assert_true(ends >= 8 + 1);
	octets[1] = 13; /* where the pointer of the first owner leads to */
	cursor_init(&c, octets, changeset->len);
	assert_int_equal(history_read(&c, &rr), NSD_E_WIRE);
	octets[1] = 12;
	octets[5] = 3; /* CLASS */
	cursor_init(&c, octets, changeset->len);
	assert_int_equal(history_read(&c, &rr), NSD_E_WIRE);
	octets[0] = 0; /* a root label */
	cursor_init(&c, octets, changeset->len);
	assert_int_equal(history_read(&c, &rr), NSD_E_WIRE);
}

/* ---- which are kept ------------------------------------------------------ */

static void
changesets_are_found_from_each_version(void **state)
{
	for (uint32_t i = 1; i < 5; i++)
		advance(i, i + 1, 10, &five);
	for (uint32_t i = 1; i < 5; i++)
		assert_int_equal(find(i, 5), 5 - i);
	assert_int_equal(find(5, 5), 0);
	assert_int_equal(find(0, 5), 0);
	/* Readers of an older version. */
	assert_int_equal(find(2, 4), 2);
	assert_int_equal(find(5, 4), 0);
}

/* ixfr-number */
static void
the_oldest_go_when_there_are_too_many(void **state)
{
	for (uint32_t i = 1; i < 20; i++)
		advance(i, i + 1, 10, &five);
	assert_int_equal(find(15, 20), 5);
	assert_int_equal(find(14, 20), 0);
	history_prune(f.writer, entry, &(struct history_limits){2, 0});
	assert_int_equal(find(18, 20), 2);
	assert_int_equal(find(17, 20), 0);
	history_prune(f.writer, entry, &(struct history_limits){0, 0});
	assert_null(newest());
}

/* ixfr-size */
static void
the_oldest_go_when_they_are_too_large(void **state)
{
	const struct history_limits limits = {100, 10000};

	for (uint32_t i = 1; i < 20; i++)
		advance(i, i + 1, 2900, &limits);
	assert_int_equal(find(17, 20), 3);
	assert_int_equal(find(16, 20), 0);
	/* A difference that fits alone, and one that does not. */
	advance(20, 21, 9800, &limits);
	assert_int_equal(find(20, 21), 1);
	assert_int_equal(find(19, 21), 0);
	advance(21, 22, 10000, &limits);
	assert_null(newest());
	/* 0: any. */
	advance(22, 23, 60000, &(struct history_limits){1, 0});
	assert_int_equal(find(22, 23), 1);
}

static void
there_are_never_more_than_can_be_walked(void **state)
{
	const struct history_limits any = {UINT32_MAX, 0};

	for (uint32_t i = 1; i < HISTORY_CHANGESETS_MAX + 5; i++)
		advance(i, i + 1, 1, &any);
	assert_int_equal(find(5, HISTORY_CHANGESETS_MAX + 5),
		HISTORY_CHANGESETS_MAX);
	assert_int_equal(find(4, HISTORY_CHANGESETS_MAX + 5), 0);
}

static void
a_gap_ends_the_chain(void **state)
{
	advance(1, 2, 10, &five);
	advance(2, 3, 10, &five);
	advance(4, 5, 10, &five);
	assert_int_equal(find(4, 5), 1);
	assert_int_equal(find(2, 5), 0);
	/* A version without a changeset. */
	history_clear(f.writer, entry);
	serve(6);
	assert_null(newest());
}

/* RFC 1982 */
static void
serials_wrap(void **state)
{
	static const uint32_t serials[] = {1, 0x7fffffff, 0xfffffffe,
		0xffffffff, 0, 1};

	for (unsigned i = 0; i < 5; i++)
		advance(serials[i], serials[i + 1], 10, &five);
	/* The last version with serial 1 is meant. */
	assert_int_equal(find(0x7fffffff, 1), 4);
	assert_int_equal(find(0xffffffff, 1), 2);
	assert_int_equal(find(0, 1), 1);
}

/* The changeset is there before its version; who sees the old version finds
 * what leads there. What is not published leaves nothing. */
static void
a_step_to_a_version_that_is_not_served_is_passed_over(void **state)
{
	advance(1, 2, 10, &five);
	push(2, 3, 10, &five);
	assert_int_equal(find(1, 2), 1);
	assert_int_equal(find(1, 3), 2);
	history_prune(f.writer, entry, &five);
	assert_int_equal(find(1, 2), 1);
	assert_int_equal(find(2, 3), 0);
	assert_int_equal(newest()->to, 2);
	/* A loader died there; the next one pushes it again. */
	push(2, 3, 10, &five);
	advance(2, 3, 10, &five);
	assert_int_equal(find(1, 3), 2);
}

static void
drafts_that_are_not_whole_leave_nothing(void **state)
{
	advance(1, 2, 10, &five);
	history_fixture_push(f.writer, entry, &five, "a 60 A 192.0.2.1\n",
		soa(3));
	assert_null(newest());
	advance(2, 3, 10, &five);
	push(3, 3, 10, &five);
	assert_null(newest());
	push(3, 4, 10, &(struct history_limits){0, 0});
	assert_null(newest());
}

/* ---- take-over, pins and measuring --------------------------------------- */

static void
a_loader_that_takes_over_keeps_them(void **state)
{
	const char *wrong;

	for (uint32_t i = 1; i < 5; i++)
		advance(i, i + 1, 100, &five);
	wrong = store_check_take_over(f.writer, mark_roots);
	if (wrong != NULL)
		fail_msg("%s", wrong);
	assert_int_equal(find(1, 5), 4);
}

/* A transfer that has begun goes on with the changesets it has found. */
static void
pinned_changesets_stay(void **state)
{
	struct store_reader *reader;
	struct history_path path;
	const struct zone_entry *e;
	struct store_pin pin;

	assert_int_equal(store_reader_open(f.store, 1, "test", &reader),
		NSD_OK);
	for (uint32_t i = 1; i < 5; i++)
		advance(i, i + 1, 100, &five);
	store_reader_online(reader);
	e = store_get(f.view, entry);
	assert_int_equal(history_find(f.view, e, 1, 5, &path), NSD_OK);
	assert_int_equal(store_reader_pin(reader, &pin), NSD_OK);
	store_reader_offline(reader);
	for (uint32_t i = 5; i < 50; i++) {
		advance(i, i + 1, 100, &five);
		(void)store_reclaim(f.writer);
	}
	while (path.count > 0) {
		const struct zone_changeset *changeset = store_get(f.view,
			path.changesets[--path.count]);
		struct history_rr rr;
		struct cursor c;

		cursor_init(&c, changeset->data, changeset->len);
		while (cursor_left(&c) > 0)
			assert_int_equal(history_read(&c, &rr), NSD_OK);
	}
	free(path.changesets);
	store_reader_unpin(reader, &pin);
	store_reader_close(reader);
}

static void
their_memory_is_measured(void **state)
{
	struct zone_measure before, after;

	zone_measure(f.view, &before);
	advance(1, 2, 1000, &five);
	zone_measure(f.view, &after);
	assert_int_equal(before.octets[ZONE_KIND_history], 0);
	assert_in_range(after.octets[ZONE_KIND_history], 1100, 1200);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(records_are_found_as_they_were),
		TEST(octets_that_are_no_records_are_refused),
		TEST(changesets_are_found_from_each_version),
		TEST(the_oldest_go_when_there_are_too_many),
		TEST(the_oldest_go_when_they_are_too_large),
		TEST(there_are_never_more_than_can_be_walked),
		TEST(a_gap_ends_the_chain),
		TEST(serials_wrap),
		TEST(a_step_to_a_version_that_is_not_served_is_passed_over),
		TEST(drafts_that_are_not_whole_leave_nothing),
		TEST(a_loader_that_takes_over_keeps_them),
		TEST(pinned_changesets_stay),
		TEST(their_memory_is_measured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
