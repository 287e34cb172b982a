/* loader_zones.c - the loader's part when zones come and go while the server
 * runs. Main's part is zone_change.c. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "load/load_read.h"
#include "proc/loader.h"
#include "role/zone_message.h"
#include "store/writer.h"
#include "zone/table.h"

/* Main has to know what is done, for the next loader, before it is answered:
 * what goes to others is sent behind what goes to main. */
static void
loader_answer_change(struct loader *loader, uint64_t channel,
	struct zone_change *change, bool done)
{
	struct ipc_zone payload;
	struct role_answer answer = {
		.of = IPC_CHANGE_ZONE,
		.payload = &payload,
	};

	/* What has come in a message fits into one. */
	if (zone_message_write(change, &payload, &answer.len) != NSD_OK)
		return;
	if (done)
		role_send(&loader->role, IPC_ZONE_CHANGED, &payload,
			answer.len);
	role_answer(&loader->role, channel, &answer);
}

/* A change that comes again, and finds things as it wants them, is done: main
 * knows of it, or this loader would not have the zones so. */
static bool
loader_change_was_done(struct loader *loader, struct zone_change *change)
{
	const struct store_view *view = store_writer_view(loader->writer);
	const struct conf_zone *conf = conf_find_zone_text(
		loader->role.server->conf, change->name);
	const struct zone_entry *entry;
	store_ref ref;

	if (!change->again || (conf != NULL) != (*change->pattern != '\0'))
		return false;
	if (change->anew && (conf->pattern_name == NULL
		|| strcmp(conf->pattern_name, change->pattern) != 0))
		return false;
	if (conf != NULL && table_find_apex(view, conf->wire, &ref) == NSD_OK) {
		entry = store_get(view, ref);
		change->file = entry->zone != STORE_NONE ? IPC_ZONE_SERVED
							 : IPC_ZONE_LATER;
	}
	return true;
}

/* What is to be said of a file that was looked at. served: the zone has a
 * version by now. */
static enum ipc_zone_file
loader_judge_file(const struct load_result *result, bool served)
{
	switch (result->outcome) {
	case LOAD_FAILED:
		return result->awaited ? IPC_ZONE_NO_FILE : IPC_ZONE_BROKEN;
	case LOAD_LARGE:
	case LOAD_AGAIN:
		return IPC_ZONE_LATER;
	default:
		if (result->note == LOAD_NOTE_NONE)
			return IPC_ZONE_NO_FILE;
		/* Without a version it has failed before, or has no file. */
		return served ? IPC_ZONE_SERVED : IPC_ZONE_LATER;
	}
}

/* Reads a small file at once. Threads read a large one after the answer.
 * *reasons: of change, to be freed behind it. */
static void
loader_read_zone(struct loader *loader, struct load_zone *zone,
	struct zone_change *change, char **reasons)
{
	struct load_result result;
	bool served;

	loader_count_zone(loader, zone);
	load_read_zone(&loader->context, zone,
		store_writer_heap(loader->writer), false, &result);
	if (result.outcome == LOAD_FAILED && result.reasons != NULL)
		*reasons = strdup(result.reasons);
	if (result.outcome == LOAD_LARGE)
		loader_push_again(loader, zone, 0);
	else if (result.outcome != LOAD_UNCHANGED)
		loader_take_result(loader, &result);
	served = load_zone_published(store_writer_view(loader->writer), zone)
		!= NULL;
	change->file = loader_judge_file(&result, served);
	if (change->file == IPC_ZONE_BROKEN)
		change->reasons = *reasons;
}

static enum nsd_err
loader_add_zone(struct loader *loader, struct zone_change *change,
	char **reasons)
{
	struct conf *conf = loader->role.server->conf;
	struct load_zone *zone;
	enum nsd_err err = NSD_E_NOT_FOUND;

	if (change->anew)
		err = load_set_change(&loader->set, loader->writer, conf,
			change->name, change->pattern, &zone);
	if (err == NSD_E_NOT_FOUND)
		err = load_set_add(&loader->set, loader->writer, conf,
			change->name, change->pattern, &zone);
	if (err == NSD_OK)
		loader_read_zone(loader, zone, change, reasons);
	return err;
}

static enum nsd_err
loader_remove_zone(struct loader *loader, const struct zone_change *change)
{
	struct load_set_removed removed;
	struct conf *conf = loader->role.server->conf;
	enum nsd_err err = load_set_remove(&loader->set, loader->writer, conf,
		change->name, loader->pass != LOADER_PASS_NONE, &removed);

	if (err != NSD_OK)
		return err;
	load_settle_remove(&loader->settle, removed.entry);
	load_prepare_remove(&loader->prepare, removed.entry);
	load_retire_add(&loader->retire, loader->writer, removed.apex,
		removed.zone);
	loader->gone++;
	return NSD_OK;
}

static void
loader_change_zone(struct loader *loader, uint64_t channel,
	struct zone_change *change)
{
	char *reasons = NULL;
	bool was_done;

	change->file = IPC_ZONE_NO_FILE;
	change->reasons = NULL;
	change->err = NSD_OK;
	was_done = loader_change_was_done(loader, change);
	if (!was_done && *change->pattern != '\0')
		change->err = loader_add_zone(loader, change, &reasons);
	else if (!was_done)
		change->err = loader_remove_zone(loader, change);
	loader_answer_change(loader, channel, change,
		change->err == NSD_OK && !was_done);
	free(reasons);
	loader_reclaim(loader);
}

void
loader_on_change_zone(struct role *role, const struct ipc_message *m)
{
	struct loader *loader = (struct loader *)role;
	struct zone_change change;
	struct ipc_zone payload;

	if (zone_message_read(m, &payload, &change) == NSD_OK) {
		loader_change_zone(loader, m->channel, &change);
		return;
	}
	change = (struct zone_change){
		.name = "",
		.pattern = "",
		.err = NSD_E_WIRE,
	};
	memcpy(&change.ticket, m->payload, sizeof(change.ticket));
	loader_answer_change(loader, m->channel, &change, false);
}
