/*
 * loader_updates.c - changes of zones that come in messages, in the loader: see
 * load_update.h.
 *
 * loader_on_update hands a change to loader_take_update, which has it applied,
 * or has it wait; loader_try_update tries those that wait. loader_apply applies
 * what is small (loader_apply_small); the rest goes to loader_transfers.c.
 */
#include "config.h"

#include <assert.h>
#include <event2/event.h>
#include <limits.h>
#include <string.h>

#include "base/log.h"
#include "conf/chroot.h"
#include "conf/conf.h"
#include "loader/load_expiry.h"
#include "loader/load_files.h"
#include "loader/load_update.h"
#include "loader/loader.h"
#include "process/hooks.h"
#include "store/writer.h"
#include "zone/sources.h"
#include "zone/table.h"

/* Tells main, before a change can be seen or answered, that zone files lack it.
 * Transfers are in files of their own. */
static void
loader_tell_altered(struct loader *loader, uint8_t kind)
{
	if (!loader->altered && kind < LOAD_UPDATE_WHOLE) {
		role_send(&loader->role, IPC_ALTERED, NULL, 0);
		loader->altered = true;
	}
}

/* True if the zone's file was changed by hand, or the server does not know what
 * it has. */
static bool
updates_lack_file(const struct loader *loader, const struct load_zone *zone)
{
	const struct zone_sources *sources = zone_sources_get(
		store_writer_view(loader->writer), zone->entry);
	char path[PATH_MAX];
	size_t len;

	return sources == NULL
		|| (sources->flags & (ZONE_SOURCES_FAILED
				| ZONE_SOURCES_SERIAL)) != ZONE_SOURCES_SERIAL
		|| conf_zone_file_name(zone->conf, path, sizeof(path), &len)
			!= NSD_OK
		|| load_files_have_changed(sources,
			conf_path_in_chroot(loader->context.chroot, path));
}

/* Applies a change in memory. */
static void
loader_apply_small(struct loader *loader, const struct load_change *change,
	const uint8_t *apex, struct ipc_updated *result)
{
	const struct store_view *view = store_writer_view(loader->writer);
	const struct conf_zone *conf = change->kind == LOAD_UPDATE_DIFFS
		? conf_find_zone(loader->role.server->conf, apex) : NULL;
	const struct load_zone *zone = conf != NULL
		? load_set_find(&loader->set, view, conf) : NULL;
	const struct zone *served = zone != NULL
		? load_zone_published(view, zone) : NULL;
	uint32_t old = served != NULL ? served->serial : 0;
	bool lacks_file = zone != NULL && load_zone_takes_updates(zone)
		&& updates_lack_file(loader, zone);

	load_update_apply(&loader->context, loader->set.zones,
		loader->set.count, &loader->settle, change, result);
	result->lacks_file = lacks_file;
	/* xfrd tells of clients' updates, so many in a second. */
	if (served != NULL && result->err == NSD_OK
		&& (!load_zone_takes_updates(zone) || log_verbosity() >= 2))
		loader_log_serial(zone, &old,
			load_zone_published(view, zone)->serial);
}

/* Applies a change. NSD_E_AGAIN: it is to wait. *later: it is being done, and
 * will be answered. */
static void
loader_apply(struct loader *loader, const struct load_change *change,
	const uint8_t *apex, struct ipc_updated *result, bool *later)
{
	const struct role_hooks *hooks = loader->role.server->hooks;
	bool hooked = hooks != NULL && hooks->on_update != NULL;

	*later = false;
	if (load_change_is_text(change)) {
		loader_take_transfer(loader, change, apex, result, later);
		return;
	}
	loader_tell_altered(loader, change->kind);
	if (hooked)
		hooks->on_update(change->data, change->len, false);
	loader_apply_small(loader, change, apex, result);
	if (hooked)
		hooks->on_update(change->data, change->len, true);
	if (change->kind == LOAD_UPDATE_DIFFS && result->err == NSD_E_LIMIT)
		loader_take_transfer(loader, change, apex, result, later);
}

/* Tries a change that waits. True: it was applied, begun or refused. */
static bool
loader_try_update(void *ctx, const struct load_waiting *one)
{
	struct loader *loader = ctx;
	struct ipc_updated result = {.err = NSD_E_BUG};
	bool later;

	/* At most one answer waits, see requests.h. If the asker has died, the
	 * change is made all the same. */
	if (!loader->stopping
		&& role_answer_waits(&loader->role, one->change.channel))
		return false;
	loader_apply(loader, &one->change, one->apex, &result, &later);
	assert(!later || result.err == NSD_OK);
	if (result.err == NSD_E_AGAIN)
		return false;
	if (later)
		return true;
	loader_answer_update(loader, &one->change, one->apex, &result);
	return true;
}

static struct load_zone *
updates_find_zone(struct loader *loader, const uint8_t *apex)
{
	const struct conf_zone *conf = conf_find_zone(
		loader->role.server->conf, apex);

	return conf == NULL ? NULL : load_set_find(&loader->set,
		store_writer_view(loader->writer), conf);
}

/* True if a zone lacks updates that the journal has: others are for later, once
 * an operator has decided. */
static bool
loader_is_behind(struct loader *loader, const uint8_t *apex)
{
	const struct load_zone *zone = updates_find_zone(loader, apex);

	return zone != NULL && zone->is_behind;
}

/* True if changes of the zone wait for a verifier, or until fewer do. */
static bool
loader_is_judging(struct loader *loader, const uint8_t *apex)
{
	const struct load_zone *zone = updates_find_zone(loader, apex);

	return zone != NULL && (zone->judged
		|| (loader_verdicts_are_full(loader)
			&& load_candidate_is_wanted(&loader->context, zone)));
}

/* Applies a change, or has it wait. True: the change is taken, and will be
 * answered. False: *result is the answer. */
static bool
loader_take_update(struct loader *loader, struct load_change *change,
	const uint8_t *apex, struct ipc_updated *result)
{
	bool later = false;

	/* Changes of one zone are applied in the order in which they came. */
	if (loader_is_behind(loader, apex)) {
		result->err = NSD_E_AGAIN;
		return false;
	}
	if (load_wait_has(&loader->wait, apex))
		result->err = NSD_E_AGAIN;
	else
		loader_apply(loader, change, apex, result, &later);
	if (later)
		load_wait_free(change);
	if (result->err == NSD_E_AGAIN && loader_is_judging(loader, apex))
		loader_say_late(loader, change);
	return later
		|| (result->err == NSD_E_AGAIN
			&& load_wait_add(&loader->wait, apex, change));
}

/* True if a change that comes again was applied before. */
static bool
loader_update_was_done(struct loader *loader, const struct load_change *change)
{
	return load_change_is_text(change)
		&& load_update_is_past(&loader->context, &change->text);
}

/* False for a transfer of a zone that is primary by now, from an xfrd that has
 * not followed the reconfig yet; and for changes that no transfer makes: by
 * these, an xfrd that was taken over could change any zone. */
static bool
loader_wants_update(const struct loader *loader,
	const struct load_change *change, const uint8_t *apex)
{
	const struct store_view *view = store_writer_view(loader->writer);
	const struct role_hooks *hooks = loader->role.server->hooks;
	const struct zone_entry *entry;
	store_ref ref;

	if (change->kind < LOAD_UPDATE_WHOLE)
		return hooks != NULL && hooks->takes_changes;
	if (table_find_apex(view, apex, &ref) != NSD_OK)
		return true;
	entry = store_get(view, ref);
	return (entry->flags & ZONE_ENTRY_FROM_XFRD) != 0;
}

/* Publishes zones that have come and gone, if a zone may be one of them. Else a
 * change of it does not need that, and they may be published with more. */
static void
loader_meet_zone(struct loader *loader, const uint8_t *apex)
{
	const struct conf_zone *conf = loader->changing
		? conf_find_zone(loader->role.server->conf, apex) : NULL;

	if (conf == NULL || load_set_find(&loader->set,
			store_writer_view(loader->writer), conf) == NULL)
		loader_publish_zones(loader);
}

void
loader_on_update(struct role *role, const struct ipc_message *m)
{
	struct loader *loader = (struct loader *)role;
	struct ipc_update update;
	struct ipc_updated result = {.err = NSD_E_BUG};
	struct load_change change = {
		.channel = m->channel,
		.text = {.fd = -1},
	};
	uint8_t apex[NAME_MAX_LEN] = {0};

	memcpy(&update, m->payload, sizeof(update));
	change.ticket = update.request.ticket;
	if (m->fd_count == 1) {
		const struct load_text text = {
			.fd = m->fds[0],
			.offset = update.offset,
			.len = update.len,
			.has_sums = update.has_sums != 0,
		};

		result.err = load_update_take(
			store_writer_view(loader->context.writer), &text,
			&change, apex);
		change.text.accepted = (uint32_t)update.accepted;
		if (result.err == NSD_OK
			&& !loader_wants_update(loader, &change, apex))
			result.err = NSD_E_DENIED;
	}
	loader_meet_zone(loader, apex);
	if (result.err == NSD_OK
		&& (update.request.again == 0 || update.is_back != 0
			|| !loader_update_was_done(loader, &change))
		&& loader_take_update(loader, &change, apex, &result))
		return;
	loader_answer_update(loader, &change, apex, &result);
	load_wait_free(&change);
	loader_reclaim(loader);
}

/* ---- expiry -------------------------------------------------------------- */

void
loader_on_expiry(struct role *role, const struct ipc_message *m)
{
	struct loader *loader = (struct loader *)role;
	struct peer *xfrd = peers_find(&role->peers, m->channel);
	struct ipc_expiry expiry = {.left_msec = 0};

	memcpy(&expiry, m->payload, m->len);
	/* A zone that is not there was removed meanwhile. */
	if (load_expiry_set(&loader->context, &loader->set, expiry.apex,
		    m->len - offsetof(struct ipc_expiry, apex),
		    expiry.left_msec)
		== NSD_E_WIRE)
		log_error("loader: an EXPIRY of no zone");
	if (xfrd != NULL)
		link_return(&xfrd->link, IPC_EXPIRY);
}

/* ---- changes that wait --------------------------------------------------- */

bool
loader_step_updates(struct loader *loader)
{
	bool more;

	loader_publish_zones(loader);
	more = load_wait_step(&loader->wait, loader_try_update, loader);
	loader_reclaim(loader);
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
	struct loader *loader = (struct loader *)role;

	if (peer->link.channel.peer == ROLE_VERIFIER) {
		loader_on_verifier(loader);
		return;
	}
	if (peer->link.channel.peer == ROLE_XFRD
		&& peer->link.channel.id != loader->told)
		loader_tell_served(loader);
	loader_retry_updates(loader);
}

void
loader_on_peer_gone(struct role *role, struct peer *peer)
{
	struct loader *loader = (struct loader *)role;

	if (peer->link.channel.peer == ROLE_VERIFIER) {
		loader_on_verifier_gone(loader, peer);
		return;
	}
	/* The next xfrd looks at what is published. */
	loader_publish_zones(loader);
	loader_retry_updates(loader);
}
