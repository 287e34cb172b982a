/*
 * xfrd_catalog_hear.c - hears of versions of catalogs, and of catalogs that
 * come and go; xfrd_catalog.c does the rest later, in a turn of its own.
 */
#include "config.h"

#include <assert.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "dns/serial.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_catalog.h"
#include "xfrd/xfrd_catalogs.h"
#include "xfrd/xfrd_change.h"

void
xfrd_catalog_turn_soon(struct xfrd *xfrd)
{
	static const struct timeval at_once = {.tv_sec = 0};

	if (!event_pending(xfrd->catalogs_event, EV_TIMEOUT, NULL))
		event_add(xfrd->catalogs_event, &at_once);
}

void
xfrd_catalog_wake(struct xfrd_catalog *catalog)
{
	if (catalog->woken == 0)
		catalog->woken = ++catalog->xfrd->catalogs_woken;
	xfrd_catalog_turn_soon(catalog->xfrd);
}

static struct xfrd_catalog *
catalog_of_apex(const struct xfrd *xfrd, const uint8_t *apex)
{
	struct xfrd_catalog *catalog;

	cds_list_for_each_entry(catalog, &xfrd->catalogs, node)
		if (!catalog->is_gone && name_equal(catalog->apex, apex))
			return catalog;
	return NULL;
}

const struct xfrd_catalog *
xfrd_catalog_find(const struct xfrd *xfrd, const uint8_t *apex)
{
	return catalog_of_apex(xfrd, apex);
}

/* Makes the catalog of a zone. NULL: no memory. */
static struct xfrd_catalog *
catalog_create(struct xfrd *xfrd, struct xfrd_zone *zone)
{
	struct xfrd_catalog *catalog = calloc(1, sizeof(*catalog));
	const uint8_t *apex = xfrd_zone_apex(zone);
	char name[NAME_TEXT_MAX];

	if (catalog == NULL)
		return NULL;
	if (asprintf(&catalog->name, "catalog %s",
		    xfrd_zone_print_name(xfrd, zone, name))
		== -1) {
		free(catalog);
		return NULL;
	}
	xfrd_change_need(xfrd);
	catalog->xfrd = xfrd;
	CDS_INIT_LIST_HEAD(&catalog->members.refused);
	memcpy(catalog->apex, apex, name_len(apex));
	cds_list_add_tail(&catalog->node, &xfrd->catalogs);
	zone->is_catalog = true;
	return catalog;
}

void
xfrd_catalog_forget(struct xfrd *xfrd, struct xfrd_zone *zone)
{
	struct xfrd_catalog *catalog;

	if (!zone->is_catalog)
		return;
	zone->is_catalog = false;
	catalog = catalog_of_apex(xfrd, xfrd_zone_apex(zone));
	assert(catalog != NULL);
	log_notice("%s is not consumed any more: its member zones stay, and"
		   " may be deleted by hand", catalog->name);
	catalog->is_gone = true;
	xfrd_catalog_wake(catalog);
}

static bool
catalog_is_consumed(struct xfrd *xfrd, const struct xfrd_zone *zone)
{
	struct xfrd_options options = xfrd_options_begin(xfrd, zone);
	enum conf_catalog role = xfrd_options_catalog(&options);

	xfrd_read_end(xfrd);
	return role == CONF_CATALOG_CONSUMER;
}

/* Notes which version is served. */
static void
catalog_note_serial(struct xfrd_catalog *catalog)
{
	struct xfrd_options options = xfrd_options_find(catalog->xfrd,
		catalog->apex);
	store_ref ref = options.entry != NULL
		? store_load_ref(&options.entry->zone) : STORE_NONE;

	if (ref != STORE_NONE && ref != catalog->heard_zone) {
		const struct zone *served = store_get(options.view, ref);

		catalog->is_back |= catalog->heard_zone != STORE_NONE
			&& !serial_is_newer(served->serial,
				catalog->heard_serial);
		catalog->heard_zone = ref;
		catalog->heard_serial = served->serial;
	}
	xfrd_read_end(catalog->xfrd);
}

void
xfrd_catalog_hear(struct xfrd *xfrd, struct xfrd_zone *zone)
{
	struct xfrd_catalog *catalog;

	if (!catalog_is_consumed(xfrd, zone)) {
		xfrd_catalog_forget(xfrd, zone);
		return;
	}
	catalog = zone->is_catalog
		? catalog_of_apex(xfrd, xfrd_zone_apex(zone))
		: catalog_create(xfrd, zone);
	if (catalog == NULL) {
		char name[NAME_TEXT_MAX];

		log_error("catalog %s is not followed: out of memory",
			xfrd_zone_print_name(xfrd, zone, name));
		return;
	}
	catalog_note_serial(catalog);
	catalog->heard = true;
	xfrd_catalog_wake(catalog);
}

void
xfrd_catalog_follow(struct xfrd *xfrd)
{
	struct xfrd_catalog *catalog;

	cds_list_for_each_entry(catalog, &xfrd->catalogs, node) {
		catalog->whole = true;
		xfrd_catalog_wake(catalog);
	}
}

/* ---- for people ---------------------------------------------------------- */

/* True if the zone of a catalog has expired. */
static bool
catalog_has_expired(const struct xfrd_catalog *catalog)
{
	const struct xfrd *xfrd = catalog->xfrd;
	const struct xfrd_zone *zone = xfrd_zone_find(&xfrd->zones.table,
		catalog->apex);
	struct xfr_status status;

	if (zone == NULL || zone->handle == XFR_NONE)
		return false;
	xfr_get_status(xfrd->zones.machine, zone->handle, clock_now_msec(),
		&status);
	return status.has_data && status.state == XFR_STATE_EXPIRED;
}

void
xfrd_catalog_on_expired(struct xfrd *xfrd, const struct xfrd_zone *zone)
{
	if (zone->is_catalog)
		log_error("%s: the zone has expired; its members stay as they"
			  " are", catalog_of_apex(xfrd,
				xfrd_zone_apex(zone))->name);
}

const char *
xfrd_catalog_print_invalid(const struct xfrd_catalog *catalog, char *out,
	size_t size)
{
	if (*catalog->invalid != '\0')
		snprintf(out, size, "%s", catalog->invalid);
	else if (catalog_has_expired(catalog))
		snprintf(out, size, "the zone has expired");
	else if (catalog->is_kept)
		snprintf(out, size, "there are no members, and %" PRIu64
			" are kept (catalog-empty)", catalog->kept);
	else
		*out = '\0';
	return out;
}

uint64_t
xfrd_catalog_count(const struct xfrd_catalog *catalog)
{
	const struct xfrd_members *members = &catalog->members;
	uint64_t refused = members->refused_count + members->refused_more;

	if (catalog->is_kept || catalog->is_counted)
		return catalog->kept;
	return catalog->count > refused ? catalog->count - refused : 0;
}
