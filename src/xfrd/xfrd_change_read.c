/* xfrd_change_read.c - waits until the large file of an added zone was read. */
#include "config.h"

#include <assert.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "dns/name.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_changes.h"

/* The pause when the loader's requests are full. */
#define AGAIN_MSEC 100

/* The wait for a file. The change itself is done with: others of the same zone
 * may come. */
struct change_read {
	struct xfrd *xfrd;
	struct event *event;
	xfrd_change_on_end *on_end;
	void *ctx;
	bool created;
	uint8_t apex[NAME_MAX_LEN]; /* in lower case */
};

/* Ends a wait. why: lines; NULL: the file is served. */
static void
change_read_end(struct change_read *read, const char *why)
{
	const struct xfrd_change_end end = {
		.outcome = why == NULL ? XFRD_CHANGED : XFRD_CHANGED_UNREAD,
		.created = read->created,
		.why = why,
	};
	xfrd_change_on_end *on_end = read->on_end;
	void *ctx = read->ctx;

	if (read->event != NULL)
		event_free(read->event);
	free(read);
	on_end(ctx, &end);
}

static void
change_read_on_done(void *ctx, const struct ipc_message *answer)
{
	struct change_read *read = ctx;
	char reasons[IPC_REASONS_MAX + 1];
	struct ipc_read_done done;
	size_t len;

	if (answer == NULL) {
		change_read_end(read, "the loader died while it read it\n");
		return;
	}
	memcpy(&done, answer->payload, answer->len);
	len = answer->len - IPC_READ_DONE_MIN;
	memcpy(reasons, done.reasons, len);
	reasons[len] = '\0';
	if (done.err == NSD_OK)
		change_read_end(read, NULL);
	else if (done.err == NSD_E_NOT_FOUND)
		change_read_end(read, "the zone was removed meanwhile\n");
	else
		change_read_end(read, len > 0 ? reasons : "");
}

static void
change_read_ask(struct change_read *read)
{
	static const struct timeval wait = {.tv_usec = AGAIN_MSEC * 1000};
	enum nsd_err err = xfrd_loader_read(read->xfrd, read->apex,
		change_read_on_done, read);

	if (err == NSD_OK)
		return;
	if (err != NSD_E_AGAIN || event_add(read->event, &wait) == -1)
		change_read_end(read, "");
}

static void
change_read_on_time(evutil_socket_t fd, short what, void *arg)
{
	change_read_ask(arg);
}

void
xfrd_change_await_file(struct xfrd_change *change)
{
	const struct change_read all = {
		.xfrd = change->xfrd,
		.on_end = change->on_end,
		.ctx = change->ctx,
		.created = change->created,
	};
	struct change_read *read = malloc(sizeof(*read));
	const struct xfrd_change_end end = {
		.outcome = XFRD_CHANGED_UNREAD,
		.created = change->created,
		.why = "",
	};

	assert(change->on_end != NULL);
	if (read != NULL) {
		*read = all;
		memcpy(read->apex, change->wire, sizeof(read->apex));
		name_lower(read->apex);
		read->event = event_new(change->xfrd->role.base, -1, 0,
			change_read_on_time, read);
	}
	xfrd_change_free(change);
	if (read == NULL) {
		all.on_end(all.ctx, &end);
		return;
	}
	if (read->event == NULL)
		change_read_end(read, "");
	else
		change_read_ask(read);
}
