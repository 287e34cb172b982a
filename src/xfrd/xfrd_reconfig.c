/* xfrd_reconfig.c - xfrd has main read nsd.conf anew. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "xfrd/xfrd.h"
#include "xfrd/xfrd_reconfig.h"

struct xfrd_reconfig {
	struct cds_list_head node; /* of xfrd.reconfigs; the first one is main's
				    * turn */
	uint64_t ticket;
	bool hasty;
	xfrd_reconfig_on_end *on_end;
	void *ctx;
};

static void
reconfig_next(struct xfrd *xfrd)
{
	struct xfrd_reconfig *one = list_first_or_null(&xfrd->reconfigs,
		struct xfrd_reconfig, node);
	struct ipc_reconfig ask = {.unused = 0};

	if (one == NULL || one->ticket != 0)
		return;
	one->ticket = ++xfrd->reconfig_tickets;
	ask.ticket = one->ticket;
	ask.hasty = one->hasty;
	role_send(&xfrd->role, IPC_RECONFIG, &ask, sizeof(ask));
}

void
xfrd_reconfig_ask(struct xfrd *xfrd, bool hasty, xfrd_reconfig_on_end *on_end,
	void *ctx)
{
	struct xfrd_reconfig *one = calloc(1, sizeof(*one));

	if (one == NULL) {
		static const char text[] = "error: out of memory\n";
		struct ipc_reconfigured what = {.what = RECONFIGURED_REFUSED};

		memcpy(what.text, text, sizeof(text) - 1);
		on_end(ctx, &what, sizeof(text) - 1);
		return;
	}
	one->hasty = hasty;
	one->on_end = on_end;
	one->ctx = ctx;
	cds_list_add_tail(&one->node, &xfrd->reconfigs);
	reconfig_next(xfrd);
}

static void
reconfig_note_waiting(struct xfrd *xfrd, const struct ipc_reconfigured *what,
	size_t len)
{
	char *waiting = xfrd->role.server->waiting;

	_Static_assert(SERVER_WAITING_MAX >= IPC_RECONFIGURED_TEXT_MAX,
		"what waits has no room");
	memcpy(waiting, what->text, len);
	waiting[len] = '\0';
}

void
xfrd_reconfig_take(struct xfrd *xfrd, const struct ipc_message *m)
{
	struct xfrd_reconfig *one = list_first_or_null(&xfrd->reconfigs,
		struct xfrd_reconfig, node);
	struct ipc_reconfigured what = {.ticket = 0};

	memcpy(&what, m->payload, m->len);
	if (what.ticket == 0) {
		reconfig_note_waiting(xfrd, &what,
			m->len - IPC_RECONFIGURED_MIN);
		return;
	}
	if (one == NULL || one->ticket == 0 || one->ticket != what.ticket)
		return;
	cds_list_del(&one->node);
	one->on_end(one->ctx, &what, m->len - IPC_RECONFIGURED_MIN);
	free(one);
	reconfig_next(xfrd);
}
