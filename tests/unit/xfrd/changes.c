/* changes.c - the disk, the loader and the transfers, as they are played. */
#include "config.h"

#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "changes.h"
#include "fixture.h"
#include "lib/files.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_changes.h"
#include "xfrd/xfrd_save.h"

/* ---- stand-ins ----------------------------------------------------------- */

uint64_t flushes;
struct message messages[ASKED_MAX];
unsigned message_count;
bool unpublished;
struct asked asked[ASKED_MAX];
unsigned asked_count;
enum nsd_err read_error;
char ended[256];
bool no_wait, comes_anew;
const char *given_id, *expected_id;
char list_path[64];

enum nsd_err
syncer_create(struct event_base *base, syncer_on_done *on_done, void *ctx,
	struct syncer **made)
{
	*made = (struct syncer *)&flushes;
	return NSD_OK;
}

uint64_t
syncer_ask(struct syncer *syncer, int fd, int at)
{
	return ++flushes;
}

void
xfrd_turn_add(struct xfrd *one, struct xfrd_zone *zone)
{
}

void
xfrd_write_look(struct xfrd *one)
{
}

void
xfrd_produce_note(struct xfrd *one, const struct xfrd_zone *zone)
{
}

void
xfrd_client_update_forget(struct xfrd *one, const uint8_t *apex)
{
}

void
xfrd_freeze_forget(struct xfrd *one, const uint8_t *apex)
{
}

void
xfrd_client_update_release(struct xfrd *one, const uint8_t *apex)
{
}

/* Zones of these tests take no updates. */
bool
xfrd_save_is_needed(const struct xfrd *one, const uint8_t *apex)
{
	return false;
}

enum nsd_err
xfrd_save(struct xfrd *one, const uint8_t *apex, xfrd_save_on_end *on_end,
	void *ctx)
{
	return NSD_E_BUG;
}

/* Labels of members of a producer stay. */
bool
xfrd_produce_has_pattern(struct xfrd *one, const char *pattern)
{
	return true;
}

bool
xfrd_produce_make_id(struct xfrd *one, const char *pattern,
	const uint8_t *apex, const char *old, char id[XFRD_MEMBER_ID_MAX])
{
	return false;
}

/* Begins to follow, and goes on until a test ends it. */
void
xfrd_follow_begin(struct xfrd *one)
{
	one->follow.step = XFRD_FOLLOW_ZONES;
}

enum nsd_err
xfrd_loader_change_zones(struct xfrd *one, const struct zone_message *message,
	request_on_end *on_end, void *ctx)
{
	struct zone_message copy = *message;
	struct zone_change change;
	unsigned number = message_count++;

	assert_true(number < ASKED_MAX);
	messages[number].on_end = on_end;
	messages[number].ctx = ctx;
	messages[number].first = asked_count;
	messages[number].more = message->payload.more != 0;
	while (zone_message_next(&copy, &change)) {
		struct asked *ask = &asked[asked_count++];

		assert_true(asked_count <= ASKED_MAX);
		ask->message = number;
		ask->on_end = NULL;
		ask->err = NSD_OK;
		ask->file = IPC_ZONE_NO_FILE;
		snprintf(ask->text, sizeof(ask->text), "%s %s%s", change.name,
			change.pattern, change.anew ? "!" : "");
		snprintf(ask->name, sizeof(ask->name), "%s", change.name);
		snprintf(ask->pattern, sizeof(ask->pattern), "%s",
			change.pattern);
	}
	messages[number].count = asked_count - messages[number].first;
	messages[number].left = messages[number].count;
	return NSD_OK;
}

/* Notes a request to read a zone: "read NAME". */
enum nsd_err
xfrd_loader_read(struct xfrd *one, const uint8_t *apex, request_on_end *on_end,
	void *ctx)
{
	struct asked *ask = &asked[asked_count];

	if (read_error != NSD_OK)
		return read_error;
	assert_true(++asked_count <= ASKED_MAX);
	snprintf(ask->text, sizeof(ask->text), "read %c", apex[1]);
	ask->on_end = on_end;
	ask->ctx = ctx;
	return NSD_OK;
}

/* ---- helpers ------------------------------------------------------------- */

static void
on_end(void *ctx, const struct xfrd_change_end *end)
{
	size_t at = strlen(ended);

	snprintf(ended + at, sizeof(ended) - at, "%s:%d ", (const char *)ctx,
		(int)end->outcome);
	if (end->outcome == XFRD_CHANGED_UNREAD) {
		at = strlen(ended);
		snprintf(ended + at, sizeof(ended) - at, "%s", end->why);
	}
}

void
change(enum xfrd_change_kind kind, const char *name, const char *pattern,
	const char *mark)
{
	const struct xfrd_change_ask ask = {
		.kind = kind,
		.name = name,
		.pattern = pattern,
		.member = given_id,
		.expect = expected_id,
		.on_end = on_end,
		.ctx = (void *)mark,
		.no_wait = no_wait,
		.comes_anew = comes_anew,
	};

	xfrd_change_zone(&fixture.xfrd, &ask);
}

/* A batch begins, or what has failed is taken back; it is flushed, or that
 * fails. */
void
flush(int error)
{
	const struct xfrd_changes *changes = fixture.xfrd.changes;

	event_base_loop(fixture.xfrd.role.base, EVLOOP_NONBLOCK);
	xfrd_changes_on_synced(&fixture.xfrd, flushes, error);
	if (changes->step == XFRD_CHANGES_MOVE
		|| changes->step == XFRD_CHANGES_MOVE_BACK)
		xfrd_changes_on_synced(&fixture.xfrd, flushes, error);
}

/* Ends a request. NULL: loaders died of it. */
void
give(request_on_end **to, void *ctx, const struct ipc_message *m)
{
	request_on_end *taker = *to;

	*to = NULL;
	taker(ctx, m);
}

/* Publishes a change that this loader, or one before it, reports as done. */
static void
publish(const struct asked *one)
{
	if (one->err == NSD_OK || one->err == NSD_E_ZONE)
		assert_int_equal(fixture_list(one->name,
			*one->pattern != '\0' ? one->pattern : NULL), NSD_OK);
}

/* An answer to the first ones of a message. */
void
answer_first(unsigned number, unsigned count)
{
	struct ipc_message m = {.type = IPC_ZONE_CHANGED};
	struct zone_message message;

	zone_message_init(&message);
	for (unsigned i = 0; i < count; i++) {
		const struct asked *one = &asked[messages[number].first + i];
		const struct zone_change done = {
			.name = "a",
			.pattern = "p",
			.err = one->err,
			.file = one->file,
			.reasons = one->file == IPC_ZONE_BROKEN ? "f:1: why\n"
								: NULL,
		};

		if (!unpublished)
			publish(one);
		assert_int_equal(zone_message_add(&message, &done), NSD_OK);
	}
	message.payload.more = unpublished;
	memcpy(m.payload, &message.payload, message.len);
	m.len = message.len;
	give(&messages[number].on_end, messages[number].ctx, &m);
}

/* A message is answered when all of its changes are. */
void
answer_file(unsigned number, enum nsd_err err, enum ipc_zone_file file)
{
	unsigned message = asked[number].message;

	assert_true(number < asked_count);
	asked[number].err = err;
	asked[number].file = file;
	if (--messages[message].left == 0)
		answer_first(message, messages[message].count);
}

void
answer(unsigned number, enum nsd_err err)
{
	answer_file(number, err, IPC_ZONE_SERVED);
}

void
answer_read(unsigned number, enum nsd_err err, const char *reasons)
{
	struct ipc_read_done done = {.err = err};
	struct ipc_message m = {.type = IPC_READ_DONE,
		.len = IPC_READ_DONE_MIN + strlen(reasons)};

	memcpy(done.reasons, reasons, strlen(reasons));
	memcpy(m.payload, &done, m.len);
	give(&asked[number].on_end, asked[number].ctx, &m);
}

/* Refuses all that is asked for, until nothing is. */
static void
settle(void)
{
	for (unsigned turn = 0; turn < 20; turn++) {
		unsigned count = message_count, reads = asked_count;

		message_count = asked_count = 0;
		for (unsigned i = 0; i < reads; i++) {
			asked[i].err = NSD_E_DENIED;
			asked[i].file = IPC_ZONE_NO_FILE;
		}
		for (unsigned i = 0; i < reads; i++)
			if (asked[i].on_end != NULL)
				give(&asked[i].on_end, asked[i].ctx, NULL);
		for (unsigned i = 0; i < count; i++)
			if (messages[i].on_end != NULL)
				answer_first(i, messages[i].count);
		flush(0);
	}
}

#define FIXED(n) "zone: name: fixed" n " zonefile: d\n"
#define CONF "pattern: name: p zonefile: a\npattern: name: q zonefile: b\n" \
	     "pattern: name: f zone-directory: d\n" \
	     "pattern: name: long zonefile: c\nserver: zonelistfile: \"%s\"\n" \
	     FIXED("0") FIXED("1") FIXED("2") FIXED("3") FIXED("4") \
	     FIXED("5") FIXED("6") FIXED("7")

void
open_list(void)
{
	xfrd_change_init(&fixture.xfrd);
	assert_non_null(fixture.xfrd.changes);
}

void
close_list(void)
{
	struct xfrd_changes *changes = fixture.xfrd.changes;

	event_free(changes->begin_event);
	event_free(changes->renew_event);
	xfrd_skipped_drop_all(changes);
	zonelist_close(changes->list);
	free(changes);
}

/* Zones enough for free lines. */
int
changes_begin(void **state)
{
	char text[1024];

	snprintf(text, sizeof(text), CONF, list_path);
	files_write(list_path, HEAD);
	*ended = '\0';
	asked_count = message_count = 0;
	no_wait = comes_anew = unpublished = false;
	given_id = expected_id = NULL;
	read_error = NSD_OK;
	fixture_begin(state);
	fixture_publish(text);
	fixture_open();
	open_list();
	return 0;
}

int
changes_end(void **state)
{
	settle();
	close_list();
	fixture_close();
	return fixture_end(state);
}

bool
has(const char *name, const char *pattern)
{
	const struct xfrd_zone *zone = fixture_find(name);
	struct xfrd_options options;
	const char *published;
	bool same;

	if (zone == NULL || !zone->is_listed)
		return false;
	options = xfrd_options_begin(&fixture.xfrd, zone);
	published = xfrd_options_pattern(&options);
	same = published != NULL && strcmp(published, pattern) == 0;
	xfrd_read_end(&fixture.xfrd);
	return same;
}

void
add_three(void)
{
	change(XFRD_CHANGE_ADD, "x", "p", "x");
	change(XFRD_CHANGE_ADD, "y", "p", "y");
	change(XFRD_CHANGE_ADD, "z", "p", "z");
	flush(0);
	for (unsigned i = 0; i < 3; i++)
		answer(i, NSD_OK);
	*ended = '\0';
}

const char *
member(const char *name)
{
	return xfrd_zone_member(&fixture.xfrd.zones.table, fixture_find(name));
}
