/* test_xfrd_edit.c - versions that are made here: which go together, and how
 * they end; and zones that are written to the journal whole. The journal is a
 * real one, the loader is played. */
#include "config.h"

#include <event2/event.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "edits.h"
#include "fixture.h"
#include "journal/journal.h"
#include "lib/zone_fixture.h"
#include "xfrd/xfrd_edit.h"

static const uint8_t apex[] = "\1c";
/* A zone with primaries. */
static const uint8_t secondary[] = "\1s";

/* The loader's request; on_end NULL: there is none. */
static request_on_end *asked_on_end;
static void *asked_ctx;
static uint8_t asked_text[65536];
static uint64_t asked_len;

static char ended[256];

/* ---- stand-ins ----------------------------------------------------------- */

enum nsd_err
xfrd_loader_update(struct xfrd *one, const struct load_text *text,
	request_on_end *on_end, void *ctx)
{
	assert_null(asked_on_end);
	assert_true(text->len <= sizeof(asked_text));
	assert_int_equal(pread(text->fd, asked_text, text->len,
		(off_t)text->offset), (ssize_t)text->len);
	asked_len = text->len;
	asked_on_end = on_end;
	asked_ctx = ctx;
	return NSD_OK;
}

bool
xfrd_shorten(struct xfrd *one, struct xfrd_zone *zone, uint64_t least,
	uint64_t *octets)
{
	return false;
}

/* ---- helpers ------------------------------------------------------------- */

static void
on_end(void *ctx, const struct xfrd_edit_end *end)
{
	size_t at = strlen(ended);

	snprintf(ended + at, sizeof(ended) - at, "%s:%d ", (const char *)ctx,
		(int)end->err);
}

/* Asks for a version that has nothing but its octets: the loader, which would
 * read them, is played. */
static void
ask_of(const uint8_t *zone, enum changes_kind kind, uint32_t from, uint32_t to,
	const char *octets)
{
	const struct xfrd_edit_ask what = {
		.apex = zone,
		.kind = kind,
		.from = from,
		.to = to,
		.records = (const uint8_t *)octets,
		.len = strlen(octets),
		.source = "a test",
		.on_end = on_end,
		.ctx = (void *)octets,
	};

	assert_int_equal(xfrd_edit(&fixture.xfrd, &what), NSD_OK);
}

static void
ask(enum changes_kind kind, uint32_t from, uint32_t to, const char *octets)
{
	ask_of(apex, kind, from, to, octets);
}

/* Goes on until the loader is asked. */
static void
run_until_asked(void)
{
	struct xfrd *xfrd = &fixture.xfrd;
	struct journal_done done;

	while (asked_on_end == NULL) {
		struct pollfd p = {.fd = journal_fd(xfrd->journal),
			.events = POLLIN};

		event_base_loop(xfrd->role.base, EVLOOP_NONBLOCK);
		if (asked_on_end != NULL || poll(&p, 1, 10) == 0)
			continue;
		while (journal_next(xfrd->journal, &done))
			assert_true(xfrd_edit_on_durable(xfrd, &done));
	}
}

static void
answer(enum nsd_err err)
{
	struct ipc_updated updated = {.err = (uint32_t)err};
	struct ipc_message message = {.len = sizeof(updated)};
	request_on_end *end = asked_on_end;

	memcpy(message.payload, &updated, sizeof(updated));
	asked_on_end = NULL;
	end(asked_ctx, &message);
}

/* The loader was asked for an entry of this kind with these octets. */
static void
assert_asked(enum changes_kind kind, const char *octets)
{
	uint8_t head[CHANGES_HEAD_MAX];
	size_t len = changes_write_head(head, kind, apex, sizeof(apex));

	assert_int_equal(asked_len, len + strlen(octets));
	assert_memory_equal(asked_text, head, len);
	assert_memory_equal(asked_text + len, octets, strlen(octets));
}

static int
begin(void **state)
{
	edits_begin(state, "zone: name: c catalog: producer\n"
		"zone: name: s request-xfr: 192.0.2.1 NOKEY\n");
	asked_on_end = NULL;
	*ended = '\0';
	return 0;
}

static bool
has_entry(uint32_t serial)
{
	struct journal_entry entry;

	return journal_find_serial(fixture.xfrd.journal, apex, serial, &entry);
}

/* ---- tests --------------------------------------------------------------- */

static void
edits_of_a_turn_are_one_entry(void **state)
{
	ask(XFR_DIFFS, 1, 2, "a");
	ask(XFR_DIFFS, 2, 3, "bb");
	ask(XFR_DIFFS, 3, 5, "c");
	run_until_asked();
	assert_asked(XFR_DIFFS, "abbc");
	assert_string_equal(ended, "");
	assert_true(has_entry(5));
	assert_false(has_entry(2));
	answer(NSD_OK);
	assert_string_equal(ended, "a:0 bb:0 c:0 ");
}

static void
edits_that_come_later_wait_and_go_together(void **state)
{
	ask(XFR_DIFFS, 1, 2, "a");
	run_until_asked();
	ask(XFR_DIFFS, 2, 3, "b");
	ask(XFR_DIFFS, 3, 4, "c");
	event_base_loop(fixture.xfrd.role.base, EVLOOP_NONBLOCK);
	assert_asked(XFR_DIFFS, "a");
	answer(NSD_OK);
	assert_string_equal(ended, "a:0 ");
	run_until_asked();
	assert_asked(XFR_DIFFS, "bc");
	answer(NSD_OK);
	assert_string_equal(ended, "a:0 b:0 c:0 ");
}

static void
edits_behind_one_that_fails_do_not_fit(void **state)
{
	char wanted[64];

	ask(XFR_DIFFS, 1, 2, "a");
	run_until_asked();
	ask(XFR_DIFFS, 2, 3, "b");
	answer(NSD_E_ZONE);
	snprintf(wanted, sizeof(wanted), "a:%d b:%d ", NSD_E_ZONE,
		NSD_E_INEXACT);
	assert_string_equal(ended, wanted);
	assert_false(has_entry(2));
	*ended = '\0';
	ask(XFR_DIFFS, 1, 2, "c");
	run_until_asked();
	assert_asked(XFR_DIFFS, "c");
	answer(NSD_OK);
	assert_string_equal(ended, "c:0 ");
}

/* Only differences that lead on are joined. */
static void
whole_zone_goes_alone(void **state)
{
	ask(XFR_WHOLE, 0, 2, "w");
	ask(XFR_DIFFS, 2, 3, "a");
	ask(XFR_DIFFS, 7, 8, "b");
	run_until_asked();
	assert_asked(XFR_WHOLE, "w");
	answer(NSD_OK);
	run_until_asked();
	assert_asked(XFR_DIFFS, "a");
	answer(NSD_OK);
	run_until_asked();
	assert_asked(XFR_DIFFS, "b");
	answer(NSD_OK);
	assert_string_equal(ended, "w:0 a:0 b:0 ");
}

/* Entries that looks at zones find wait for these. */
static void
edit_leaves_requests_to_others(void **state)
{
	struct xfrd *xfrd = &fixture.xfrd;
	struct pollfd p = {.fd = journal_fd(xfrd->journal), .events = POLLIN};
	struct journal_done done;

	xfrd->requests.count = REQUESTS_MAX - REQUESTS_SPARE;
	ask(XFR_DIFFS, 1, 2, "a");
	event_base_loop(xfrd->role.base, EVLOOP_NONBLOCK);
	while (!journal_next(xfrd->journal, &done))
		assert_int_equal(poll(&p, 1, 60000), 1);
	assert_true(xfrd_edit_on_durable(xfrd, &done));
	event_base_loop(xfrd->role.base, EVLOOP_NONBLOCK);
	assert_null(asked_on_end);
	xfrd->requests.count--;
	run_until_asked();
	answer(NSD_OK);
	assert_string_equal(ended, "a:0 ");
	xfrd->requests.count = 0;
}

/* The loader has the zone in hand, and is asked again. */
static void
edit_that_must_wait_is_tried_again(void **state)
{
	ask(XFR_DIFFS, 1, 2, "a");
	run_until_asked();
	answer(NSD_E_AGAIN);
	assert_string_equal(ended, "");
	run_until_asked();
	assert_asked(XFR_DIFFS, "a");
	answer(NSD_OK);
	assert_string_equal(ended, "a:0 ");
}

/* ---- renewals ------------------------------------------------------------ */

static unsigned renewed_count;
static char renewed_why[100];

static void
on_renewed(struct xfrd *one, const uint8_t *name, const char *why)
{
	assert_memory_equal(name, secondary, sizeof(secondary));
	renewed_count++;
	snprintf(renewed_why, sizeof(renewed_why), "%s", why != NULL ? why
								     : "");
}

/* Serves the secondary zone, which has four records. */
static void
serve(uint32_t serial)
{
	struct zone_fixture f = {.store = fixture.store.store,
		.writer = fixture.store.writer, .view = fixture.store.view,
		.threads = 1, .secondary = true};
	char text[200];

	snprintf(text, sizeof(text), "s. SOA . . %u 60 60 60 60\ns. NS .\n"
		"a.s. A 192.0.2.1\nb.s. A 192.0.2.1\n", (unsigned)serial);
	assert_int_equal(zone_fixture_load(&f, "s", text, NULL), NSD_OK);
	renewed_count = 0;
}

/* Waits until something of the journal is done; a little while. */
static bool
wait_done(struct journal_done *done)
{
	struct journal *journal = fixture.xfrd.journal;
	struct pollfd p = {.fd = journal_fd(journal), .events = POLLIN};

	return journal_next(journal, done)
		|| (poll(&p, 1, 10) == 1 && journal_next(journal, done));
}

/* Puts a transfer of the secondary zone into the journal. Returns its id. */
static uint64_t
keep(const struct journal_end *end)
{
	struct journal_transfer *text = journal_begin(fixture.xfrd.journal,
		secondary);
	struct journal_done done;
	uint64_t id;

	assert_non_null(text);
	assert_int_equal(journal_put(text, "text", 4), NSD_OK);
	id = journal_end(text, end);
	while (!wait_done(&done))
		;
	assert_int_equal(done.err, NSD_OK);
	journal_accept(fixture.xfrd.journal, secondary, id);
	return id;
}

static uint64_t
keep_diffs(uint32_t from, uint32_t to)
{
	const struct journal_end end = {.kind = JOURNAL_DIFFS, .from = from,
		.to = to, .source = "a test"};

	return keep(&end);
}

static enum nsd_err
renew(void)
{
	return xfrd_edit_renew(&fixture.xfrd, fixture_find("s"), on_renewed);
}

static void
run_until_renewed(void)
{
	struct journal_done done;

	while (renewed_count == 0) {
		event_base_loop(fixture.xfrd.role.base, EVLOOP_NONBLOCK);
		if (renewed_count == 0 && wait_done(&done))
			assert_true(xfrd_edit_on_durable(&fixture.xfrd,
				&done));
	}
}

/* The journal has one entry of the secondary zone, *entry. */
static void
get_only(struct journal_entry *entry)
{
	struct journal_entry oldest;
	uint64_t octets;

	assert_true(journal_find_newest(fixture.xfrd.journal, secondary, entry,
		&octets));
	assert_true(journal_find_oldest(fixture.xfrd.journal, secondary,
		&oldest));
	assert_true(entry->id == oldest.id);
}

static unsigned
count_records(const struct journal_entry *entry)
{
	uint8_t octets[1000];
	struct changes changes;
	struct changes_rr rr;
	unsigned count = 0;
	uint64_t offset;
	int fd;

	assert_true(entry->text_len <= sizeof(octets));
	assert_int_equal(journal_open_text(fixture.xfrd.journal, secondary,
		entry->id, &fd, &offset), NSD_OK);
	assert_int_equal(pread(fd, octets, entry->text_len, (off_t)offset),
		(ssize_t)entry->text_len);
	close(fd);
	assert_int_equal(changes_open(&changes, octets, entry->text_len),
		NSD_OK);
	assert_int_equal(changes.kind, XFR_WHOLE);
	while (changes_read(&changes, &rr) == NSD_OK)
		count++;
	assert_int_equal(changes_close(&changes, NULL), NSD_OK);
	return count;
}

static void
zone_takes_the_place_of_its_differences(void **state)
{
	struct journal_entry entry;

	serve(5);
	(void)keep_diffs(3, 4);
	(void)keep_diffs(4, 5);
	assert_false(xfrd_edit_renews(&fixture.xfrd, secondary));
	assert_int_equal(renew(), NSD_OK);
	assert_true(xfrd_edit_renews(&fixture.xfrd, secondary));
	/* A second asker waits for the same end. */
	assert_int_equal(renew(), NSD_OK);
	run_until_renewed();
	assert_int_equal(renewed_count, 1);
	assert_string_equal(renewed_why, "");
	assert_false(xfrd_edit_renews(&fixture.xfrd, secondary));
	get_only(&entry);
	assert_int_equal(entry.kind, JOURNAL_WHOLE);
	assert_int_equal(entry.to, 5);
	assert_false(entry.is_back || entry.is_taken);
	assert_int_equal(count_records(&entry), 4);
}

/* The zone file may have serial 9, and be older. A version that an operator
 * takes may have a wrong digest. */
static void
marks_of_entries_that_go_stay(void **state)
{
	const struct journal_end whole = {.kind = JOURNAL_WHOLE, .from = 9,
		.to = 4, .is_back = true, .source = "a test"};
	const struct journal_end diffs = {.kind = JOURNAL_DIFFS, .from = 4,
		.to = 5, .time_sec = 1000, .is_update = true, .is_taken = true,
		.source = "a test"};
	struct journal_entry entry;

	serve(5);
	(void)keep(&whole);
	(void)keep(&diffs);
	assert_int_equal(renew(), NSD_OK);
	run_until_renewed();
	get_only(&entry);
	assert_int_equal(entry.kind, JOURNAL_WHOLE);
	assert_int_equal(entry.from, 9);
	assert_int_equal(entry.to, 5);
	assert_true(entry.is_back && entry.is_taken && entry.is_update);
	assert_int_equal(entry.time_sec, 1000);
}

/* The serial that a zone file may have is older by now. */
static void
mark_of_a_zone_that_went_back_goes(void **state)
{
	const struct journal_end whole = {.kind = JOURNAL_WHOLE, .from = 4,
		.to = 3, .is_back = true, .source = "a test"};
	struct journal_entry entry;

	serve(5);
	(void)keep(&whole);
	(void)keep_diffs(3, 5);
	assert_int_equal(renew(), NSD_OK);
	run_until_renewed();
	get_only(&entry);
	assert_int_equal(entry.kind, JOURNAL_WHOLE);
	assert_false(entry.is_back);
}

/* An entry that is not served yet would go. */
static void
version_on_its_way_stays(void **state)
{
	struct journal_entry entry;

	serve(5);
	(void)keep_diffs(5, 6);
	assert_int_equal(renew(), NSD_E_AGAIN);
	assert_false(xfrd_edit_renews(&fixture.xfrd, secondary));
	get_only(&entry);
	assert_int_equal(entry.to, 6);
}

static void
edit_on_its_way_stays(void **state)
{
	serve(5);
	(void)keep_diffs(4, 5);
	ask_of(secondary, XFR_DIFFS, 5, 6, "a");
	assert_int_equal(renew(), NSD_E_AGAIN);
	run_until_asked();
	assert_int_equal(renew(), NSD_E_AGAIN);
	answer(NSD_OK);
	assert_string_equal(ended, "a:0 ");
}

static void
version_that_comes_meanwhile_stays(void **state)
{
	struct journal_entry entry;
	uint64_t octets;

	serve(5);
	(void)keep_diffs(4, 5);
	assert_int_equal(renew(), NSD_OK);
	(void)keep_diffs(5, 6);
	run_until_renewed();
	assert_string_not_equal(renewed_why, "");
	assert_true(journal_find_newest(fixture.xfrd.journal, secondary, &entry,
		&octets));
	assert_int_equal(entry.to, 6);
	assert_true(journal_find_oldest(fixture.xfrd.journal, secondary,
		&entry));
	assert_int_equal(entry.to, 5);
}

static void
pinned_version_is_let_go(void **state)
{
	struct journal_entry entry;

	serve(5);
	(void)keep_diffs(4, 5);
	assert_int_equal(renew(), NSD_OK);
	xfrd_edit_renew_let_go(&fixture.xfrd, 0);
	assert_int_equal(renewed_count, 0);
	xfrd_edit_renew_let_go(&fixture.xfrd, UINT64_MAX);
	assert_int_equal(renewed_count, 1);
	assert_string_not_equal(renewed_why, "");
	assert_false(xfrd_edit_renews(&fixture.xfrd, secondary));
	get_only(&entry);
	assert_int_equal(entry.kind, JOURNAL_DIFFS);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, edits_end)
	const struct CMUnitTest tests[] = {
		TEST(edits_of_a_turn_are_one_entry),
		TEST(edits_that_come_later_wait_and_go_together),
		TEST(edits_behind_one_that_fails_do_not_fit),
		TEST(whole_zone_goes_alone),
		TEST(edit_leaves_requests_to_others),
		TEST(edit_that_must_wait_is_tried_again),
		TEST(zone_takes_the_place_of_its_differences),
		TEST(marks_of_entries_that_go_stay),
		TEST(mark_of_a_zone_that_went_back_goes),
		TEST(version_on_its_way_stays),
		TEST(edit_on_its_way_stays),
		TEST(version_that_comes_meanwhile_stays),
		TEST(pinned_version_is_let_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
