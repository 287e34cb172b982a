/* loader_wait.c - changes of zones that wait in the loader, and their
 * answers. */
#include "config.h"

#include <event2/event.h>
#include <unistd.h>

#include "base/log.h"
#include "loader/load_update.h"
#include "loader/loader.h"

void
loader_check_follows(enum nsd_err err)
{
	if (err == NSD_OK)
		return;
	log_error("cannot take the new configuration: %s; ending",
		err_text(err));
	_exit(1);
}

void
loader_retry_updates(struct loader *loader)
{
	struct timeval at_once = {.tv_sec = 0};

	if (loader->follow.count > 0)
		loader_publish_zones(loader);
	loader_check_follows(load_follow_up(&loader->follow,
		loader->role.server->conf, loader->pass != LOADER_PASS_NONE));
	load_wait_restart(&loader->wait);
	if (loader->wait.trying)
		event_add(loader->updates_event, &at_once);
}

void
loader_answer_update(struct loader *loader, const struct load_change *change,
	const uint8_t *apex, struct ipc_updated *result)
{
	const struct role_answer answer = {
		.of = IPC_UPDATE,
		.payload = result,
		.len = sizeof(*result),
	};

	result->ticket = change->ticket;
	load_update_fill(&loader->context, apex, result);
	role_answer(&loader->role, change->channel, &answer);
}
