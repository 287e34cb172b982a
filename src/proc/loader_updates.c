/* loader_updates.c - changes of zones that come in messages, in the loader: see
 * load_update.h. */
#include "config.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "load/load_update.h"
#include "proc/hooks.h"
#include "proc/loader.h"

static void
loader_answer_update(struct loader *loader, const struct load_change *change,
	struct ipc_updated *result)
{
	const struct role_answer answer = {
		.type = IPC_UPDATED,
		.of = IPC_UPDATE,
		.payload = result,
		.len = sizeof(*result),
	};

	result->ticket = change->ticket;
	role_answer(&loader->role, change->channel, &answer);
}

static void
loader_apply(struct loader *loader, const struct load_change *change,
	struct ipc_updated *result)
{
	const struct role_hooks *hooks = loader->role.server->hooks;
	bool hooked = hooks != NULL && hooks->on_update != NULL;

	/* Before it can be seen or answered. */
	if (!loader->altered)
		role_send(&loader->role, IPC_ALTERED, NULL, 0);
	loader->altered = true;
	if (hooked)
		hooks->on_update(change->data, change->len, false);
	load_update_apply(&loader->context, loader->set.zones,
		loader->set.count, &loader->settle, change->data, change->len,
		result);
	if (hooked)
		hooks->on_update(change->data, change->len, true);
}

/* True if the change is done with: applied or refused. */
static bool
loader_try_update(void *ctx, const struct load_waiting *one)
{
	struct loader *loader = ctx;
	struct ipc_updated result = {.err = NSD_E_BUG};

	/* One answer waits at most, see requests.h. The asker may have died:
	 * then this goes on. */
	if (!loader->stopping
		&& role_answer_waits(&loader->role, one->change.channel))
		return false;
	loader_apply(loader, &one->change, &result);
	if (result.err == NSD_E_AGAIN)
		return false;
	loader_answer_update(loader, &one->change, &result);
	return true;
}

/* Applies a change, or has it wait. True: it waits, and its data is taken.
 * False: *result is the answer. */
static bool
loader_take_update(struct loader *loader, const struct load_change *change,
	struct ipc_updated *result)
{
	uint8_t apex[NAME_MAX_LEN];

	result->err = load_update_get_apex(change->data, change->len, apex);
	if (result->err != NSD_OK)
		return false;
	/* Changes of one zone are applied in the order in which they came. */
	if (load_wait_has(&loader->wait, apex))
		result->err = NSD_E_AGAIN;
	else
		loader_apply(loader, change, result);
	return result->err == NSD_E_AGAIN
		&& load_wait_add(&loader->wait, apex, change);
}

void
loader_on_update(struct role *role, const struct ipc_message *m)
{
	struct loader *loader = (struct loader *)role;
	struct ipc_update update;
	struct ipc_updated result = {.err = NSD_E_BUG};
	struct load_change change = {.channel = m->channel};

	memcpy(&update, m->payload, sizeof(update));
	change.ticket = update.request.ticket;
	change.len = update.len;
	if (m->fd_count == 1)
		result.err = load_update_read(m->fds[0], update.len,
			&change.data);
	if (result.err == NSD_OK
		&& (update.request.again == 0
			|| !load_update_was_done(&loader->context, change.data,
				change.len))
		&& loader_take_update(loader, &change, &result))
		return;
	loader_answer_update(loader, &change, &result);
	free(change.data);
	loader_reclaim(loader);
	/* It may have removed a zone. */
	loader_leave(loader, STORE_NONE);
}

void
loader_retry_updates(struct loader *loader)
{
	struct timeval at_once = {.tv_sec = 0};

	load_wait_restart(&loader->wait);
	if (loader->wait.trying)
		event_add(loader->updates_event, &at_once);
}

bool
loader_step_updates(struct loader *loader)
{
	bool more = load_wait_step(&loader->wait, loader_try_update, loader);

	loader_reclaim(loader);
	loader_leave(loader, STORE_NONE);
	return more;
}

void
loader_on_updates(evutil_socket_t fd, short what, void *arg)
{
	struct loader *loader = arg;
	struct timeval at_once = {.tv_sec = 0};

	/* Messages and signals come between two turns. */
	if (loader_step_updates(loader))
		event_add(loader->updates_event, &at_once);
}

void
loader_on_peer(struct role *role, struct peer *peer)
{
	loader_retry_updates((struct loader *)role);
}

void
loader_on_peer_gone(struct role *role, struct peer *peer)
{
	loader_retry_updates((struct loader *)role);
}
