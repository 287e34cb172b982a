/* xfrd_client_update_zone.c - zones whose clients have sent updates. */
#include "config.h"

#include <assert.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "journal/journal.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_apexes.h"
#include "xfrd/xfrd_client_updates.h"

struct update_zone *
xfrd_client_update_zone_find(const struct xfrd *xfrd, const uint8_t *apex)
{
	return xfrd_apexes_find(&xfrd->updates.zones, apex);
}

struct update_zone *
xfrd_client_update_zone_get(struct xfrd *xfrd, const uint8_t *apex)
{
	struct update_zone *z = xfrd_client_update_zone_find(xfrd, apex);

	if (z != NULL)
		return z;
	z = calloc(1, sizeof(*z));
	if (z == NULL)
		return NULL;
	z->xfrd = xfrd;
	memcpy(z->apex, apex, name_len(apex));
	CDS_INIT_LIST_HEAD(&z->due_node);
	CDS_INIT_LIST_HEAD(&z->waiting);
	CDS_INIT_LIST_HEAD(&z->taken);
	if (!xfrd_apexes_add(&xfrd->updates.zones, z)) {
		free(z);
		return NULL;
	}
	cds_list_add_tail(&z->all_node, &xfrd->updates.all);
	return z;
}

void
xfrd_client_update_zone_free(struct update_zone *z)
{
	assert(!z->is_busy && z->count == 0 && cds_list_empty(&z->due_node));
	cds_list_del(&z->all_node);
	xfrd_apexes_remove(&z->xfrd->updates.zones, z);
	free(z->last_source);
	free(z);
}

void
xfrd_client_update_zone_soon(struct update_zone *z)
{
	static const struct timeval at_once = {.tv_sec = 0};
	struct xfrd_client_updates *updates = &z->xfrd->updates;

	if (z->is_busy || z->holds > 0 || updates->holds > 0
		|| cds_list_empty(&z->waiting) || !cds_list_empty(&z->due_node))
		return;
	cds_list_add_tail(&z->due_node, &updates->due);
	event_add(updates->event, &at_once);
}

void
xfrd_client_update_zone_go_on(struct update_zone *z)
{
	if (!z->is_busy && z->count == 0
		&& xfrd_zone_find(&z->xfrd->zones.table, z->apex) == NULL)
		xfrd_client_update_zone_free(z);
	else
		xfrd_client_update_zone_soon(z);
}

/* ---- holds --------------------------------------------------------------- */

/* No batch of the zone begins any more. */
static void
update_zone_stop(struct update_zone *z)
{
	cds_list_del_init(&z->due_node);
}

enum nsd_err
xfrd_client_update_hold(struct xfrd *xfrd, const uint8_t *apex)
{
	struct xfrd_client_updates *updates = &xfrd->updates;
	struct update_zone *z;

	if (apex == NULL) {
		updates->holds++;
		cds_list_for_each_entry(z, &updates->all, all_node)
			update_zone_stop(z);
		return NSD_OK;
	}
	z = xfrd_client_update_zone_get(xfrd, apex);
	if (z == NULL)
		return NSD_E_MEMORY;
	z->holds++;
	update_zone_stop(z);
	return NSD_OK;
}

void
xfrd_client_update_release(struct xfrd *xfrd, const uint8_t *apex)
{
	struct xfrd_client_updates *updates = &xfrd->updates;
	struct update_zone *z;

	if (apex == NULL) {
		assert(updates->holds > 0);
		updates->holds--;
		cds_list_for_each_entry(z, &updates->all, all_node)
			xfrd_client_update_zone_soon(z);
		return;
	}
	z = xfrd_client_update_zone_find(xfrd, apex);
	if (z == NULL || z->holds == 0)
		return; /* the zone has gone meanwhile, or is another one */
	z->holds--;
	xfrd_client_update_zone_soon(z);
}

/* ---- questions ----------------------------------------------------------- */

/* Finds the entry of the last update that is, or was, served. The newest one of
 * a zone with a batch under way may be durable and not served yet. */
static bool
update_find_served(struct xfrd *xfrd, const uint8_t *apex,
	struct journal_entry *entry)
{
	const struct xfrd_zone *zone = xfrd_zone_find(&xfrd->zones.table,
		apex);
	struct xfrd_soa soa;
	uint64_t octets;

	if (xfrd->journal == NULL)
		return false;
	if (!xfrd_client_update_is_busy(xfrd, apex))
		return journal_find_newest(xfrd->journal, apex, entry,
			&octets);
	return zone != NULL && xfrd_zones_get_soa(xfrd, zone, &soa)
		&& journal_find_serial(xfrd->journal, apex,
			soa.numbers.serial, entry);
}

bool
xfrd_client_update_find_last(struct xfrd *xfrd, const uint8_t *apex,
	struct xfrd_updated *last)
{
	const struct update_zone *z = xfrd_client_update_zone_find(xfrd, apex);
	struct journal_entry entry;

	if (z != NULL && z->last_sec != 0) {
		last->serial = z->last_serial;
		last->at_sec = z->last_sec;
		snprintf(last->source, sizeof(last->source), "%s",
			z->last_source);
		return true;
	}
	if (!update_find_served(xfrd, apex, &entry)
		|| entry.kind != JOURNAL_DIFFS
		|| journal_read_source(xfrd->journal, apex, entry.id,
			   last->source)
			!= NSD_OK)
		return false;
	last->serial = entry.to;
	last->at_sec = entry.time_sec;
	return true;
}

uint32_t
xfrd_client_update_count(const struct xfrd *xfrd, const uint8_t *apex)
{
	const struct update_zone *z = xfrd_client_update_zone_find(xfrd, apex);

	return z != NULL ? z->count : 0;
}

bool
xfrd_client_update_is_busy(const struct xfrd *xfrd, const uint8_t *apex)
{
	const struct update_zone *z;

	if (apex == NULL)
		return xfrd->updates.busy > 0;
	z = xfrd_client_update_zone_find(xfrd, apex);
	return z != NULL && z->is_busy;
}
