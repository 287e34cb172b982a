/* loader_zones.c - the loader's part when zones come and go while the server
 * runs. Main's part is zone_change.c. */
#include "config.h"

#include <stdlib.h>

#include "base/log.h"
#include "load/load_read.h"
#include "proc/loader.h"
#include "proc/zone_message.h"
#include "store/writer.h"

/* A message that asks to remove a zone, which is being read. */
struct load_leaving {
	struct load_leaving *next;
	struct ipc_message message;
};

static void
loader_answer_change(struct loader *loader, struct zone_change *change,
	enum nsd_err err)
{
	struct ipc_zone payload;
	size_t len;

	change->err = err;
	/* What has come in a message fits into one. */
	if (zone_message_write(change, &payload, &len) == NSD_OK)
		role_send(&loader->role, IPC_ZONE_CHANGED, &payload, len);
}

/* Reads a small file at once. Threads read a large one after the answer. */
static enum nsd_err
loader_add_zone(struct loader *loader, struct zone_change *change)
{
	struct load_result result;
	struct load_zone *zone;
	enum nsd_err err = load_set_add(&loader->set, loader->writer,
		loader->role.server->conf, change->name, change->pattern,
		&zone);

	if (err != NSD_OK)
		return err;
	load_read_zone(&loader->context, zone,
		store_writer_heap(loader->writer), false, &result);
	if (result.outcome == LOAD_LARGE)
		loader_push_again(loader, zone, 0);
	else if (result.outcome != LOAD_UNCHANGED)
		loader_take_result(loader, &result);
	change->loaded = load_zone_published(store_writer_view(loader->writer),
				 zone)
		!= NULL;
	return NSD_OK;
}

static enum nsd_err
loader_remove_zone(struct loader *loader, const struct zone_change *change)
{
	struct load_set_removed removed;
	enum nsd_err err = load_set_remove(&loader->set, loader->writer,
		loader->role.server->conf, change->name,
		loader->pass != LOADER_PASS_NONE, &removed);

	if (err != NSD_OK)
		return err;
	load_settle_remove(&loader->settle, removed.entry);
	load_prepare_remove(&loader->prepare, removed.entry);
	loader_leave(loader, removed.zone);
	return NSD_OK;
}

/* False: not done yet, because the zone is being read. */
static bool
loader_change_zone(struct loader *loader, const struct ipc_message *m)
{
	struct zone_change change;
	struct ipc_zone payload;
	enum nsd_err err = zone_message_read(m, &payload, &change);

	if (err != NSD_OK)
		return true;
	change.loaded = false;
	err = *change.pattern != '\0' ? loader_add_zone(loader, &change)
				      : loader_remove_zone(loader, &change);
	if (err == NSD_E_AGAIN)
		return false;
	loader_answer_change(loader, &change, err);
	loader_reclaim(loader);
	return true;
}

void
loader_retry_leaving(struct loader *loader)
{
	struct load_leaving **at = &loader->leaving, *one;

	while ((one = *at) != NULL) {
		if (!loader_change_zone(loader, &one->message)) {
			at = &one->next;
			continue;
		}
		*at = one->next;
		free(one);
	}
}

void
loader_on_change_zone(struct role *role, const struct ipc_message *m)
{
	struct loader *loader = (struct loader *)role;
	struct load_leaving *one;

	if (loader_change_zone(loader, m))
		return;
	one = malloc(sizeof(*one));
	if (one == NULL) {
		log_error("cannot remove a zone: out of memory");
		return;
	}
	one->message = *m;
	one->next = loader->leaving;
	loader->leaving = one;
}
