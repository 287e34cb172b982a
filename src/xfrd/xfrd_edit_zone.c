/* xfrd_edit_zone.c - zones that have edits, and when they go on. */
#include "config.h"

#include <assert.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "xfrd/xfrd.h"
#include "xfrd/xfrd_apexes.h"
#include "xfrd/xfrd_edits.h"

/* The pause before a step is tried again that could not be taken. */
#define AGAIN_MSEC 100

struct edit_zone *
xfrd_edit_zone_find(const struct xfrd *xfrd, const uint8_t *apex)
{
	return xfrd_apexes_find(&xfrd->edits.zones, apex);
}

struct edit_zone *
xfrd_edit_zone_get(struct xfrd *xfrd, const uint8_t *apex)
{
	struct edit_zone *z = xfrd_edit_zone_find(xfrd, apex);

	if (z != NULL)
		return z;
	z = calloc(1, sizeof(*z));
	if (z == NULL)
		return NULL;
	z->xfrd = xfrd;
	CDS_INIT_LIST_HEAD(&z->node);
	CDS_INIT_LIST_HEAD(&z->flush_node);
	CDS_INIT_LIST_HEAD(&z->waiting);
	CDS_INIT_LIST_HEAD(&z->taken);
	memcpy(z->apex, apex, name_len(apex));
	if (xfrd_apexes_add(&xfrd->edits.zones, z))
		return z;
	free(z);
	return NULL;
}

void
xfrd_edit_zone_free(struct edit_zone *z)
{
	assert(cds_list_empty(&z->flush_node));
	cds_list_del(&z->node);
	xfrd_apexes_remove(&z->xfrd->edits.zones, z);
	free(z);
}

void
xfrd_edit_zone_soon(struct edit_zone *z)
{
	static const struct timeval at_once = {.tv_sec = 0};
	struct xfrd_edits *edits = &z->xfrd->edits;

	cds_list_del(&z->node);
	cds_list_add_tail(&z->node, &edits->ready);
	event_add(edits->event, &at_once);
}

void
xfrd_edit_zone_pause(struct edit_zone *z)
{
	static const struct timeval wait = {.tv_usec = AGAIN_MSEC * 1000};
	struct xfrd_edits *edits = &z->xfrd->edits;

	cds_list_del(&z->node);
	cds_list_add_tail(&z->node, &edits->paused);
	if (!event_pending(edits->pause_event, EV_TIMEOUT, NULL))
		event_add(edits->pause_event, &wait);
}

bool
xfrd_edit_zone_lacks_room(struct edit_zone *z)
{
	if (!journal_is_full(z->xfrd->journal))
		return false;
	cds_list_del(&z->node);
	cds_list_add_tail(&z->node, &z->xfrd->edits.full);
	return true;
}

void
xfrd_edit_zone_flush(struct edit_zone *z, struct journal_transfer *text,
	const struct journal_end *end)
{
	z->entry = journal_end(text, end);
	assert(cds_list_empty(&z->flush_node));
	cds_list_add_tail(&z->flush_node, &z->xfrd->edits.flushed);
}

const char *
xfrd_edit_zone_print_name(const struct edit_zone *z, char out[NAME_TEXT_MAX])
{
	size_t len = name_print_text(z->apex, out);

	out[len > 1 ? len - 1 : len] = '\0';
	return out;
}
