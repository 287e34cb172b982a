/* test_xfrd_edit_renew.c - a zone of more records than a turn of the loop has
 * is written to the journal whole, while other versions of it come. The journal
 * is a real one, the loader is played. */
#include "config.h"

#include <event2/event.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "edits.h"
#include "fixture.h"
#include "journal/journal.h"
#include "xfrd/xfrd_edit.h"
#include "zone/table.h"
#include "zone/walk.h"

/* More records than two turns have. */
#define RECORDS 2500u

static const uint8_t apex[] = "\1c";

/* The loader's request; on_end NULL: there is none. */
static request_on_end *asked_on_end;
static void *asked_ctx;

/* The text of a whole zone. */
struct text {
	size_t len;
	uint8_t octets[256u << 10];
};

static struct text wanted, got;

/* The disk has no room for the zone. */
static bool is_too_large;

/* Too many octets wait for the disk. */
static bool is_full;

/* The linker puts these in front of the real ones (--wrap). */
bool __wrap_journal_is_full(const struct journal *journal);
bool __wrap_journal_fills_disk(const struct journal *journal, uint64_t before,
	uint64_t after);

/* ---- stand-ins ----------------------------------------------------------- */

enum nsd_err
xfrd_loader_update(struct xfrd *one, const struct load_text *text,
	request_on_end *on_end, void *ctx)
{
	assert_null(asked_on_end);
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

bool
__wrap_journal_is_full(const struct journal *journal)
{
	return is_full;
}

bool
__wrap_journal_fills_disk(const struct journal *journal, uint64_t before,
	uint64_t after)
{
	assert_true(before > 0 && after > before);
	return is_too_large && after > sizeof(wanted.octets) / 8;
}

/* ---- helpers ------------------------------------------------------------- */

/* Serves a version: SOA, NS and records with a text. */
static void
serve(const char *serial, const char *what)
{
	char *text = malloc(RECORDS * 40 + 100), *at = text;

	assert_non_null(text);
	at += sprintf(at, "@ 0 NS invalid.\n");
	for (unsigned i = 0; i < RECORDS; i++)
		at += sprintf(at, "n%u 0 TXT %s\n", i, what);
	fixture_serve("c", serial, text);
	free(text);
}

static enum nsd_err
want_rr(void *ctx, const struct zone_rr *rr)
{
	const struct changes_rr record = {
		.action = XFR_ADD,
		.ttl_sec = rr->ttl_sec,
		.type = rr->type,
		.rdlen = rr->rdlen,
		.owner_len = (uint8_t)name_len(rr->owner),
		.owner = rr->owner,
		.rdata = rr->rdata,
	};

	assert_true(wanted.len + 1024 <= sizeof(wanted.octets));
	wanted.len += changes_write(wanted.octets + wanted.len, &record);
	return NSD_OK;
}

/* The journal is to get the version that is served now. */
static void
want_served(void)
{
	const struct store_view *view = fixture.store.view;
	const struct zone_entry *entry;
	store_ref ref;

	assert_int_equal(table_find_apex(view, apex, &ref), NSD_OK);
	entry = store_get(view, ref);
	wanted.len = changes_write_head(wanted.octets, XFR_WHOLE, apex,
		sizeof(apex));
	assert_int_equal(zone_walk(view, store_get(view,
		store_load_ref(&entry->zone)), apex, want_rr, NULL), NSD_OK);
}

/* Does what can be done, then waits for the journal for a little while. */
static void
run(void)
{
	struct xfrd *xfrd = &fixture.xfrd;
	struct pollfd p = {.fd = journal_fd(xfrd->journal), .events = POLLIN};
	struct journal_done done;

	event_base_loop(xfrd->role.base, EVLOOP_NONBLOCK);
	if (poll(&p, 1, 10) != 1)
		return;
	while (journal_next(xfrd->journal, &done))
		assert_true(xfrd_edit_on_durable(xfrd, &done));
}

static void
on_end(void *ctx, const struct xfrd_edit_end *end)
{
	assert_int_equal(end->err, NSD_OK);
}

/* An edit leads to the served version, and ends. As the zone has no file, it is
 * written to the journal whole then; a turn of that is done. */
static void
begin_renewal(uint32_t serial)
{
	const struct xfrd_edit_ask ask = {
		.apex = apex,
		.kind = XFR_DIFFS,
		.from = serial - 1,
		.to = serial,
		.records = (const uint8_t *)"a",
		.len = 1,
		.source = "a test",
		.on_end = on_end,
	};
	struct ipc_updated updated = {.err = NSD_OK};
	struct ipc_message message = {.len = sizeof(updated)};
	request_on_end *answer;

	assert_int_equal(xfrd_edit(&fixture.xfrd, &ask), NSD_OK);
	while (asked_on_end == NULL)
		run();
	answer = asked_on_end;
	asked_on_end = NULL;
	memcpy(message.payload, &updated, sizeof(updated));
	answer(asked_ctx, &message);
	event_base_loop(fixture.xfrd.role.base,
		EVLOOP_NONBLOCK | EVLOOP_ONCE);
}

/* Until no zone has edits, nor is written to the journal. */
static void
run_to_end(void)
{
	while (fixture.xfrd.edits.zones != NULL)
		run();
}

/* Reads the newest entry of the journal, which is a whole zone. */
static void
read_newest(uint32_t serial)
{
	struct journal *journal = fixture.xfrd.journal;
	char source[JOURNAL_SOURCE_MAX + 1];
	struct journal_entry entry;
	uint64_t octets, offset;
	int fd;

	assert_true(journal_find_newest(journal, apex, &entry, &octets));
	assert_int_equal(entry.kind, JOURNAL_WHOLE);
	assert_int_equal(entry.to, serial);
	assert_int_equal(journal_read_source(journal, apex, entry.id, source),
		NSD_OK);
	assert_string_equal(source, "a test");
	assert_true(entry.text_len <= sizeof(got.octets));
	got.len = entry.text_len;
	assert_int_equal(journal_open_text(journal, apex,
		entry.id, &fd, &offset), NSD_OK);
	assert_int_equal(pread(fd, got.octets, got.len, (off_t)offset),
		(ssize_t)got.len);
	close(fd);
}

static int
begin(void **state)
{
	edits_begin(state, "zone: name: c catalog: producer\n");
	asked_on_end = NULL;
	is_too_large = is_full = false;
	return 0;
}

/* ---- tests --------------------------------------------------------------- */

/* A file is read over the version, which frees what is not pinned. */
static void
version_that_is_replaced_is_written_to_its_end(void **state)
{
	serve("2", "old");
	want_served();
	begin_renewal(2);
	serve("3", "new");
	run_to_end();
	read_newest(2);
	assert_int_equal(got.len, wanted.len);
	assert_memory_equal(got.octets, wanted.octets, wanted.len);
}

/* The differences stay: they are all there is. */
static void
zone_that_would_fill_the_disk_is_not_written(void **state)
{
	struct journal_entry entry;
	uint64_t octets;

	is_too_large = true;
	serve("2", "new");
	begin_renewal(2);
	run_to_end();
	assert_true(journal_find_newest(fixture.xfrd.journal, apex, &entry,
		&octets));
	assert_int_equal(entry.kind, JOURNAL_DIFFS);
	assert_int_equal(entry.to, 2);
}

/* Main waits for that, however long the disk takes. */
static void
version_is_let_go_while_the_journal_is_full(void **state)
{
	serve("2", "new");
	begin_renewal(2);
	is_full = true;
	event_base_loop(fixture.xfrd.role.base, EVLOOP_NONBLOCK);
	assert_int_equal(fixture_count_pins(), 1);
	xfrd_edit_renew_let_go(&fixture.xfrd, UINT64_MAX);
	assert_int_equal(fixture_count_pins(), 0);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, edits_end)
	const struct CMUnitTest tests[] = {
		TEST(version_that_is_replaced_is_written_to_its_end),
		TEST(zone_that_would_fill_the_disk_is_not_written),
		TEST(version_is_let_go_while_the_journal_is_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
