/*
 * changes.h - for tests of changes of zones: the disk, the loader and the
 * transfers, as they are played.
 */
#ifndef TESTS_UNIT_XFRD_CHANGES_H
#define TESTS_UNIT_XFRD_CHANGES_H

#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "xfrd/xfrd.h"
#include "xfrd/xfrd_changes.h"

#define ASKED_MAX 32u

static struct server server;
static struct xfrd xfrd;

/* ---- what is played ------------------------------------------------------ */

static uint64_t flushes;
/* A message: the changes of it that have no answer yet. */
static struct {
	request_on_end *on_end;
	void *ctx;
	unsigned first, count, left;
} messages[ASKED_MAX];
static unsigned message_count;
/* A change, or a file that is to be read. */
static struct asked {
	char text[64]; /* "NAME PATTERN", with '!' if it is anew */
	request_on_end *on_end;
	void *ctx;
	unsigned message;
	enum nsd_err err;
	enum ipc_zone_file file;
} asked[ASKED_MAX];
static unsigned asked_count;
static enum nsd_err read_error;

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
xfrd_turn_join(struct xfrd *one, struct xfrd_zone *zone)
{
}

void
xfrd_write_look(struct xfrd *one)
{
}

/* It goes on until a test ends it. */
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
	while (zone_message_next(&copy, &change)) {
		struct asked *ask = &asked[asked_count++];

		assert_true(asked_count <= ASKED_MAX);
		ask->message = number;
		ask->on_end = NULL;
		ask->err = NSD_OK;
		ask->file = IPC_ZONE_NO_FILE;
		snprintf(ask->text, sizeof(ask->text), "%s %s%s", change.name,
			change.pattern, change.anew ? "!" : "");
	}
	messages[number].count = asked_count - messages[number].first;
	messages[number].left = messages[number].count;
	return NSD_OK;
}

/* What the loader is asked to read comes behind that: "read NAME". */
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

static char ended[256];
static bool hasty;

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

static void
change(enum xfrd_change_kind kind, const char *name, const char *pattern,
	const char *mark)
{
	const struct xfrd_change_ask ask = {
		.kind = kind,
		.name = name,
		.pattern = pattern,
		.on_end = on_end,
		.ctx = (void *)mark,
		.hasty = hasty,
	};

	xfrd_change_zone(&xfrd, &ask);
}

/* A batch begins, or what has failed is taken back; it is flushed, or that
 * fails. */
static void
flush(int error)
{
	event_base_loop(xfrd.role.base, EVLOOP_NONBLOCK);
	xfrd_changes_on_synced(&xfrd, flushes, error);
}

/* Ends a request. NULL: loaders died of it. */
static void
give(request_on_end **to, void *ctx, const struct ipc_message *m)
{
	request_on_end *taker = *to;

	*to = NULL;
	taker(ctx, m);
}

/* An answer to the first ones of a message. */
static void
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

		assert_int_equal(zone_message_add(&message, &done), NSD_OK);
	}
	memcpy(m.payload, &message.payload, message.len);
	m.len = message.len;
	give(&messages[number].on_end, messages[number].ctx, &m);
}

/* A message is answered when all of its changes are. */
static void
answer_file(unsigned number, enum nsd_err err, enum ipc_zone_file file)
{
	unsigned message = asked[number].message;

	assert_true(number < asked_count);
	asked[number].err = err;
	asked[number].file = file;
	if (--messages[message].left == 0)
		answer_first(message, messages[message].count);
}

static void
answer(unsigned number, enum nsd_err err)
{
	answer_file(number, err, IPC_ZONE_SERVED);
}

static void
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

#endif
