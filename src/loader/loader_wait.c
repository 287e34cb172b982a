/* loader_wait.c - changes of zones that wait in the loader, and their
 * answers. */
#include "config.h"

#include <event2/event.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "loader/load_update.h"
#include "loader/loader.h"
#include "store/writer.h"
#include "zone/table.h"

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
		loader->role.server->conf, loader_has_listed(loader)));
	load_wait_restart(&loader->wait);
	if (loader->wait.trying)
		event_add(loader->updates_event, &at_once);
}

struct load_zone *
loader_find_zone(struct loader *loader, const uint8_t *apex)
{
	const struct store_view *view = store_writer_view(loader->writer);
	const struct zone_entry *entry;
	struct load_zone *zone;
	store_ref ref;

	if (table_find_apex(view, apex, &ref) != NSD_OK)
		return NULL;
	entry = store_get(view, ref);
	if (entry->id >= loader->set.count)
		return NULL;
	zone = &loader->set.zones[entry->id];
	return zone->conf != NULL && zone->entry == ref ? zone : NULL;
}

/* Logs that a version is refused, once for each serial until a version is
 * served: the primary is asked for it again and again. xfrd logs the refused
 * updates of clients, so many in a second. */
static void
answer_note(struct loader *loader, const uint8_t *apex,
	const struct ipc_updated *result)
{
	struct load_zone *zone = loader_find_zone(loader, apex);

	if (zone == NULL)
		return;
	if (result->refused != 0 && !load_zone_takes_updates(zone)
		&& (!zone->is_refused
			|| zone->refused != result->refused_serial))
		log_error("zone %s: serial %u is not served: %.*s",
			zone->conf->name, (unsigned)result->refused_serial,
			IPC_WHY_MAX, result->why);
	if (result->refused != 0 || result->err == NSD_OK) {
		zone->is_refused = result->refused != 0;
		zone->refused = result->refused_serial;
	}
}

void
loader_say_late(struct loader *loader, struct load_change *change)
{
	const struct link_message message = {
		.type = IPC_UPDATE_WAITS,
		.payload = &change->ticket,
		.len = sizeof(change->ticket),
	};
	struct peer *xfrd = peers_find(&loader->role.peers, change->channel);

	if (xfrd == NULL || change->is_late
		|| link_send(&xfrd->link, &message) != NSD_OK)
		return;
	change->is_late = true;
	link_return(&xfrd->link, IPC_UPDATE);
}

void
loader_answer_update(struct loader *loader, const struct load_change *change,
	const uint8_t *apex, struct ipc_updated *result)
{
	const struct role_answer answer = {
		.of = IPC_UPDATE,
		.payload = result,
		.len = IPC_UPDATED_MIN + strnlen(result->why, IPC_WHY_MAX),
	};

	result->ticket = change->ticket;
	load_update_fill(&loader->context, apex, result);
	answer_note(loader, apex, result);
	if (change->is_late)
		role_answer_late(&loader->role, change->channel, &answer);
	else
		role_answer(&loader->role, change->channel, &answer);
}
