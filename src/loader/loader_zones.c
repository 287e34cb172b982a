/* loader_zones.c - the loader's part when zones come and go while the server
 * runs. */
#include "config.h"

#include <assert.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "conf/key_edit.h"
#include "loader/load_read.h"
#include "loader/load_turn.h"
#include "loader/loader.h"
#include "process/key_message.h"
#include "process/zone_message.h"
#include "store/writer.h"
#include "zone/table.h"

/* The wait for more changes of an xfrd that hangs: they follow each other at
 * once. */
#define MORE_SEC 1
/* Changes that are published together, at most. */
#define CHANGES_MAX 4096u

/* True if a change that comes again was published by an earlier loader. */
static bool
loader_change_was_done(struct loader *loader, struct zone_change *change)
{
	const struct store_view *view = store_writer_view(loader->writer);
	const struct conf_zone *conf = conf_find_zone_text(
		loader->role.server->conf, change->name);
	const struct zone_entry *entry;
	store_ref ref;

	if ((conf != NULL) != (*change->pattern != '\0'))
		return false;
	/* Main may have brought back a key that the zone had before. */
	if (change->anew && (conf->pattern_name == NULL
		|| strcmp(conf->pattern_name, change->pattern) != 0
		|| key_edit_is_assoc(loader->role.server->conf, conf)))
		return false;
	if (conf != NULL && table_find_apex(view, conf->wire, &ref) == NSD_OK) {
		entry = store_get(view, ref);
		change->file = entry->zone != STORE_NONE ? IPC_ZONE_SERVED
							 : IPC_ZONE_LATER;
	}
	return true;
}

/* Returns the report on a file that was looked at. served: the zone has a
 * version by now. */
static enum ipc_zone_file
loader_check_file(const struct load_result *result, bool served)
{
	switch (result->outcome) {
	case LOAD_FAILED:
		return result->awaited ? IPC_ZONE_NO_FILE : IPC_ZONE_BROKEN;
	case LOAD_LARGE:
	case LOAD_AGAIN:
	case LOAD_PUT_OFF:
		return IPC_ZONE_LATER;
	default:
		if (result->note == LOAD_NOTE_NONE)
			return IPC_ZONE_NO_FILE;
		/* Without a version it has failed before, or has no file. */
		return served ? IPC_ZONE_SERVED : IPC_ZONE_LATER;
	}
}

/* Reads a small file at once, if it has changed, whatever kind of pass runs.
 * Threads read a large one after the answer. *reasons: of change, to be freed
 * behind it. */
static void
loader_read_zone(struct loader *loader, struct load_zone *zone,
	struct zone_change *change, char **reasons)
{
	struct load_context context = loader->context;
	struct load_result result;
	bool served;

	assert(zone->conf != NULL && zone->entry != STORE_NONE);
	context.which = LOAD_STALE;
	context.is_start = false;
	loader_count_zone(loader, zone);
	load_read_zone(&context, zone,
		store_writer_heap(loader->writer), false, &result);
	if (result.outcome == LOAD_FAILED && result.reasons != NULL)
		*reasons = strdup(result.reasons);
	if (result.outcome == LOAD_LARGE)
		loader_push_again(loader, zone, 0);
	else if (result.outcome != LOAD_UNCHANGED)
		loader_take_result(loader, &result);
	served = load_zone_published(store_writer_view(loader->writer), zone)
		!= NULL;
	change->file = loader_check_file(&result, served);
	if (change->file == IPC_ZONE_BROKEN)
		change->reasons = *reasons;
}

/* Has a zone that is being verified end that, as it is to change or go: its
 * verifier may take for ever. */
static void
loader_hurry_zone(struct loader *loader, const char *name)
{
	const struct conf_zone *conf = conf_find_zone_text(
		loader->role.server->conf, name);
	const struct load_zone *zone = conf == NULL ? NULL
		: load_set_find(&loader->set,
			store_writer_view(loader->writer), conf);

	if (zone != NULL && zone->judged)
		loader_drop_verdict(loader, zone);
}

static enum nsd_err
loader_add_zone(struct loader *loader, struct load_batch *batch,
	struct zone_change *change, char **reasons)
{
	struct load_zone *zone;
	enum nsd_err err = NSD_E_NOT_FOUND;

	if (change->anew)
		err = load_batch_change(batch, change->name, change->pattern,
			&zone);
	if (err == NSD_E_NOT_FOUND)
		err = load_batch_add(batch, change->name, change->pattern,
			&zone);
	if (err == NSD_OK)
		loader_read_zone(loader, zone, change, reasons);
	return err;
}

void
loader_on_removed(void *ctx, store_ref ref)
{
	struct loader *loader = ctx;
	const struct zone_entry *entry = store_get(
		store_writer_view(loader->writer), ref);

	assert(load_set_at(&loader->set, store_writer_view(loader->writer),
		       ref) == NULL);
	load_settle_remove(&loader->settle, ref);
	load_prepare_remove(&loader->prepare, ref);
	load_retire_add(&loader->retire, loader->writer, entry->name,
		entry->zone);
	loader->gone++;
}

struct load_batch
loader_begin_batch(struct loader *loader)
{
	assert(!loader->changing);
	return (struct load_batch){
		.set = &loader->set,
		.writer = loader->writer,
		.conf = loader->role.server->conf,
		.pass = loader_has_listed(loader),
		.on_removed = loader_on_removed,
		.ctx = loader,
	};
}

static enum nsd_err
loader_remove_zone(struct load_batch *batch, const struct zone_change *change)
{
	const struct conf_zone *zone = conf_find_zone_text(batch->conf,
		change->name);

	/* A reconfig may have brought the zone while the change waited. */
	if (zone != NULL && zone->pattern_name == NULL)
		return NSD_E_DENIED;
	return load_batch_remove(batch, change->name);
}

/* Has main forget the key that the zone was given, before the change is
 * answered. */
static void
loader_lose_key(struct loader *loader, const char *zone)
{
	const struct key_message message = {
		.edit = {
			.what = KEY_EDIT_ASSOC,
			.key = "",
			.zone = zone,
			.algorithm = "",
		},
	};
	struct ipc_key payload;
	size_t len;

	if (key_message_write(&message, &payload, &len) == NSD_OK)
		role_send(&loader->role, IPC_KEY_DONE, &payload, len);
}

/* Makes a change. If it comes again, a loader that died may not have told main
 * that the zone has lost its key: that is told then. */
static void
loader_change_zone(struct loader *loader, struct load_batch *batch,
	struct zone_change *change, bool again, char **reasons)
{
	const struct conf *conf = loader->role.server->conf;
	const struct conf_zone *zone = conf_find_zone_text(conf, change->name);
	bool had_key = again || (zone != NULL && key_edit_is_assoc(conf, zone));

	change->file = IPC_ZONE_NO_FILE;
	change->reasons = NULL;
	change->err = NSD_OK;
	loader_hurry_zone(loader, change->name);
	if (!again || !loader_change_was_done(loader, change))
		change->err = *change->pattern != '\0'
			? loader_add_zone(loader, batch, change, reasons)
			: loader_remove_zone(batch, change);
	if (had_key && change->err == NSD_OK)
		loader_lose_key(loader, change->name);
}

/* Changes that have come in one message fit into one, but for reasons. */
static void
loader_note_change(struct zone_message *message,
	const struct zone_change *change)
{
	enum nsd_err err = zone_message_add(message, change);

	assert(err == NSD_OK);
}

static void
loader_answer_changes(struct loader *loader, uint64_t channel,
	struct zone_message *answer)
{
	const struct role_answer to_asker = {
		.of = IPC_CHANGE_ZONE,
		.payload = &answer->payload,
		.len = answer->len,
	};

	role_answer(&loader->role, channel, &to_asker);
}

/* ---- messages ------------------------------------------------------------ */

void
loader_publish_zones(struct loader *loader)
{
	if (!loader->changing)
		return;
	loader->changing = false;
	loader->changes_count = 0;
	event_del(loader->changes_event);
	load_batch_publish(&loader->changes);
	loader_reclaim(loader);
}

void
loader_on_changes(evutil_socket_t fd, short what, void *arg)
{
	loader_publish_zones(arg);
}

/* Goes on with the batch of the message before, or begins one. */
static struct load_batch *
loader_open_batch(struct loader *loader)
{
	if (!loader->changing)
		loader->changes = loader_begin_batch(loader);
	loader->changing = true;
	return &loader->changes;
}

/* Makes the changes of a message, or the first ones: until its turn is over, or
 * there is a report about a file, which needs room. Returns true if all were
 * made. */
static bool
loader_change_zones(struct loader *loader, struct zone_message *asked,
	struct zone_message *answer, char **reasons)
{
	struct load_batch *batch = loader_open_batch(loader);
	struct load_turn turn = load_turn_begin();
	bool again = asked->payload.request.again != 0;
	struct zone_change change;
	bool is_over = false;

	while (zone_message_next(asked, &change)) {
		if (is_over)
			return false;
		/* A pass may have begun or ended since the change before, or
		 * its zone have been listed. */
		batch->pass = loader_has_listed(loader);
		loader_change_zone(loader, batch, &change, again, reasons);
		loader_note_change(answer, &change);
		loader->changes_count++;
		is_over = *reasons != NULL || load_turn_is_over(&turn);
	}
	return true;
}

/* Changes that were not made come again. All that follow each other are
 * published together, new zones with their files read; but changes wait for no
 * more if a file has been reported, and for nothing else that the loader does
 * but more of them. */
void
loader_on_change_zone(struct role *role, const struct ipc_message *m)
{
	static const struct timeval wait = {.tv_sec = MORE_SEC};
	struct loader *loader = (struct loader *)role;
	struct zone_message asked, answer;
	char *reasons = NULL;
	bool all;

	if (zone_message_read(&asked, m) != NSD_OK) {
		log_error("refused a CHANGE_ZONE of xfrd");
		return;
	}
	zone_message_init(&answer);
	answer.payload.request.ticket = asked.payload.request.ticket;
	all = loader_change_zones(loader, &asked, &answer, &reasons);
	if (reasons == NULL && loader->changes_count < CHANGES_MAX
		&& (!all || asked.payload.more != 0)
		&& event_add(loader->changes_event, &wait) == 0)
		answer.payload.more = 1;
	else
		loader_publish_zones(loader);
	loader_answer_changes(loader, m->channel, &answer);
	free(reasons);
	loader_reclaim(loader);
}
