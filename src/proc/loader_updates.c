/* loader_updates.c - changes of zones that come in messages, in the loader: see
 * load_update.h. */
#include "config.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "load/load_update.h"
#include "proc/loader.h"

static void
loader_answer_update(struct loader *loader, uint64_t ticket,
	struct ipc_updated *result)
{
	result->ticket = ticket;
	role_send(&loader->role, IPC_UPDATED, result, sizeof(*result));
}

/* True if the change is done with: applied or refused. */
static bool
loader_try_update(void *ctx, const struct load_waiting *one)
{
	struct loader *loader = ctx;
	struct ipc_updated result = {.err = NSD_E_BUG};

	load_update_apply(&loader->context, loader->set.zones,
		loader->set.count, &loader->settle, one->data, one->len,
		&result);
	if (result.err == NSD_E_AGAIN)
		return false;
	loader_answer_update(loader, one->ticket, &result);
	return true;
}

/* Applies a change, or has it wait. True: it waits, and data is taken. False:
 * *result is the answer. */
static bool
loader_take_update(struct loader *loader, uint64_t ticket, uint8_t *data,
	uint64_t len, struct ipc_updated *result)
{
	uint8_t apex[NAME_MAX_LEN];

	result->err = load_update_get_apex(data, len, apex);
	if (result->err != NSD_OK)
		return false;
	/* Changes of one zone are applied in the order in which they came. */
	if (load_wait_has(&loader->wait, apex))
		result->err = NSD_E_AGAIN;
	else
		load_update_apply(&loader->context, loader->set.zones,
			loader->set.count, &loader->settle, data, len, result);
	return result->err == NSD_E_AGAIN
		&& load_wait_add(&loader->wait, apex, ticket, data, len);
}

void
loader_on_update(struct role *role, const struct ipc_message *m)
{
	struct loader *loader = (struct loader *)role;
	struct ipc_update update;
	struct ipc_updated result = {.err = NSD_E_BUG};
	uint8_t *data = NULL;

	memcpy(&update, m->payload, sizeof(update));
	if (m->fd_count == 1)
		result.err = load_update_read(m->fds[0], update.len, &data);
	if (result.err == NSD_OK
		&& loader_take_update(loader, update.ticket, data, update.len,
			&result))
		return;
	loader_answer_update(loader, update.ticket, &result);
	free(data);
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
