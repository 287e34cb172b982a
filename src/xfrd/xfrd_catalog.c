/* xfrd_catalog.c - knows the catalogs that are consumed here, and has them
 * looked at when there is a reason. */
#include "config.h"

#include <assert.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/log.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_catalog.h"
#include "xfrd/xfrd_catalogs.h"
#include "xfrd/xfrd_member_id.h"

/* The pause before changes that have failed are tried again; twice as long each
 * time. */
#define RETRY_SEC 10u
#define RETRY_MAX_SEC 3600u
/* Refused members that are looked at again by themselves; if more may come, all
 * members are looked at. */
#define AGAIN_MAX 4096u

static void
catalog_go_on(struct xfrd_catalog *catalog)
{
	enum nsd_err err = NSD_OK;

	if (catalog->round == NULL) {
		if (!catalog->heard && !catalog->whole
			&& catalog->again_count == 0)
			return;
		err = xfrd_catalog_begin(catalog);
	}
	if (err == NSD_E_MEMORY) {
		const struct timeval wait = {.tv_sec = RETRY_SEC};

		log_error("%s: out of memory", catalog->name);
		catalog->heard = true;
		event_add(catalog->retry_event, &wait);
	}
	if (err == NSD_OK && xfrd_catalog_turn(catalog))
		xfrd_catalog_wake(catalog);
}

static void
catalog_on_retry(evutil_socket_t fd, short what, void *arg)
{
	struct xfrd_catalog *catalog = arg;

	catalog->whole = true;
	xfrd_catalog_wake(catalog);
}

/* ---- hooks of the members ------------------------------------------------ */

/* An ID is "LABEL.zones.CATALOG.". */
static bool
catalog_owns(void *ctx, const struct xfrd_zone *zone, const char *id)
{
	const struct xfrd_catalog *catalog = ctx;
	uint8_t label[64], apex[NAME_MAX_LEN];

	return xfrd_member_id_parse(id, label, apex)
		&& name_equal(apex, catalog->apex);
}

/* Notes a member that is to be looked at again. */
static void
catalog_on_free(void *ctx, const struct xfrd_refused_member *refused)
{
	struct xfrd_catalog *catalog = ctx;
	uint8_t label[64], apex[NAME_MAX_LEN], (*again)[64] = NULL;

	if (refused != NULL && refused->why == XFRD_REFUSAL_MOVED
		&& xfrd_catalog_note_moved(catalog, refused))
		return;
	if (refused != NULL && catalog->again_count < AGAIN_MAX
		&& xfrd_member_id_parse(refused->id, label, apex))
		again = grow_array(catalog->again, catalog->again_count,
			&catalog->again_room, sizeof(*again));
	if (again != NULL) {
		catalog->again = again;
		memcpy(again[catalog->again_count++], label, sizeof(label));
	} else {
		catalog->whole = true;
	}
	xfrd_catalog_wake(catalog);
}

static void
catalog_on_room(void *ctx)
{
	xfrd_catalog_wake(ctx);
}

static void
catalog_on_end(void *ctx, bool failed)
{
	struct xfrd_catalog *catalog = ctx;
	struct timeval wait = {.tv_sec = 0};

	xfrd_catalog_end(catalog, !catalog->round->is_broken);
	if (failed) {
		catalog->retry_sec = catalog->retry_sec == 0 ? RETRY_SEC
			: catalog->retry_sec < RETRY_MAX_SEC
				? 2 * catalog->retry_sec
				: RETRY_MAX_SEC;
		wait.tv_sec = catalog->retry_sec;
		event_add(catalog->retry_event, &wait);
	} else {
		catalog->retry_sec = 0;
	}
	xfrd_catalog_wake(catalog);
}

static const struct xfrd_source_hooks catalog_hooks = {
	.owns = catalog_owns,
	.may_take = xfrd_catalog_may_take,
	.on_free = catalog_on_free,
	.on_room = catalog_on_room,
	.on_end = catalog_on_end,
};

/* ---- catalogs come and go ------------------------------------------------ */

/* Frees a catalog, whose zone has gone, or is none any more. */
static void
catalog_free(struct xfrd_catalog *catalog)
{
	if (catalog->round != NULL)
		xfrd_catalog_end(catalog, false);
	if (catalog->retry_event != NULL) {
		event_free(catalog->retry_event);
		xfrd_members_fini(&catalog->members);
	}
	cds_list_del(&catalog->node);
	free(catalog->again);
	free(catalog->name);
	free(catalog);
}

/* Begins with a catalog that was heard of. False: no memory. */
static bool
catalog_begin(struct xfrd_catalog *catalog)
{
	struct xfrd *xfrd = catalog->xfrd;

	if (catalog->retry_event != NULL)
		return true;
	catalog->retry_event = event_new(xfrd->role.base, -1, 0,
		catalog_on_retry, catalog);
	if (catalog->retry_event != NULL
		&& xfrd_members_init(&catalog->members, xfrd, &catalog_hooks,
			   catalog, catalog->name)
			== NSD_OK)
		return true;
	log_error("%s is not followed: out of memory", catalog->name);
	if (catalog->retry_event != NULL)
		event_free(catalog->retry_event);
	catalog->retry_event = NULL;
	return false;
}

/* Finds the catalog that was woken first. NULL: all rest. */
static struct xfrd_catalog *
catalogs_find_woken(const struct xfrd *xfrd)
{
	struct xfrd_catalog *catalog, *first = NULL;

	cds_list_for_each_entry(catalog, &xfrd->catalogs, node)
		if (catalog->woken != 0
			&& (first == NULL || catalog->woken < first->woken))
			first = catalog;
	return first;
}

/* Does a turn of one catalog; others have theirs later. */
static void
catalogs_on_event(evutil_socket_t fd, short what, void *arg)
{
	struct xfrd *xfrd = arg;
	struct xfrd_catalog *catalog = catalogs_find_woken(xfrd);

	if (catalog == NULL)
		return;
	catalog->woken = 0;
	if (catalog->is_gone)
		catalog_free(catalog);
	else if (catalog_begin(catalog))
		catalog_go_on(catalog);
	if (catalogs_find_woken(xfrd) != NULL)
		xfrd_catalog_turn_soon(xfrd);
}

enum nsd_err
xfrd_catalog_init(struct xfrd *xfrd)
{
	xfrd->catalogs_event = event_new(xfrd->role.base, -1, 0,
		catalogs_on_event, xfrd);
	return xfrd->catalogs_event != NULL ? NSD_OK : NSD_E_MEMORY;
}

void
xfrd_catalog_let_go(struct xfrd *xfrd, uint64_t epoch)
{
	struct xfrd_catalog *catalog;

	cds_list_for_each_entry(catalog, &xfrd->catalogs, node) {
		struct catalog_round *round = catalog->round;

		if (round == NULL || !round->is_pinned
			|| !store_reader_has_pinned(xfrd->reader, &round->pin,
				epoch))
			continue;
		log_notice("%s: old versions fill the store: the newest one is"
			   " looked at instead", catalog->name);
		catalog->heard = true;
		xfrd_catalog_break(catalog);
	}
}
