/* xfrd_edit_renew.c - writes a zone to the journal whole, in place of the
 * differences that have led to it. */
#include "config.h"

#include <assert.h>
#include <time.h>

#include "xfrd/xfrd.h"
#include "xfrd/xfrd_edits.h"
#include "zone/walk.h"

/* Records of a zone that are written to the journal in a turn of the loop. */
#define TURN_RECORDS 1000u

static void
edit_renew_end(struct edit_zone *z, enum nsd_err err)
{
	struct journal_end end = {
		.kind = JOURNAL_WHOLE,
		.to = z->serial,
		.time_sec = (int64_t)time(NULL),
		.source = XFRD_EDIT_SOURCE,
	};
	struct journal_entry newest;
	uint64_t octets;

	zone_cursor_destroy(z->cursor);
	z->cursor = NULL;
	if (err == NSD_OK) {
		end.is_update = journal_find_newest(z->xfrd->journal, z->apex,
				&newest, &octets) && newest.is_update;
		xfrd_edit_zone_flush(z, z->text, &end);
		z->step = EDIT_RENEWED;
	} else {
		/* The differences are there still: the next version has it
		 * tried again. */
		journal_abandon(z->text);
		z->step = EDIT_NONE;
		xfrd_edit_zone_soon(z);
	}
	z->text = NULL;
}

static enum nsd_err
edit_renew_put(struct edit_zone *z, const struct zone_rr *rr)
{
	uint8_t octets[CHANGES_RECORD_MAX];
	const struct changes_rr record = {
		.action = XFR_ADD,
		.ttl_sec = rr->ttl_sec,
		.type = rr->type,
		.rdlen = rr->rdlen,
		.owner_len = (uint8_t)name_len(rr->owner),
		.owner = rr->owner,
		.rdata = rr->rdata,
	};

	return journal_put(z->text, octets, changes_write(octets, &record));
}

void
xfrd_edit_renew_go_on(struct edit_zone *z)
{
	enum nsd_err err = NSD_OK;
	struct zone_rr rr;

	if (xfrd_edit_zone_lacks_room(z))
		return;
	for (unsigned i = 0; i < TURN_RECORDS && err == NSD_OK; i++) {
		if (!zone_cursor_next(z->cursor, &rr)) {
			edit_renew_end(z, NSD_OK);
			return;
		}
		err = edit_renew_put(z, &rr);
	}
	if (err != NSD_OK)
		edit_renew_end(z, err);
	else
		xfrd_edit_zone_soon(z);
}

void
xfrd_edit_renew_begin(struct edit_zone *z, struct xfrd_zone *zone)
{
	struct xfrd *xfrd = z->xfrd;
	struct xfrd_options options = xfrd_options_begin(xfrd, zone);
	store_ref ref = options.entry != NULL
		? store_load_ref(&options.entry->zone) : STORE_NONE;
	uint8_t head[CHANGES_HEAD_MAX];
	size_t len = changes_write_head(head, XFR_WHOLE, z->apex,
		name_len(z->apex));
	const struct zone *served = NULL;

	assert(z->text == NULL && z->cursor == NULL);
	if (ref != STORE_NONE) {
		served = store_get(options.view, ref);
		z->serial = served->serial;
		z->text = journal_begin(xfrd->journal, z->apex);
	}
	if (z->text != NULL
		&& (zone_cursor_create(options.view, served, z->apex,
			    &z->cursor)
				!= NSD_OK
			|| journal_put(z->text, head, len) != NSD_OK)) {
		journal_abandon(z->text);
		zone_cursor_destroy(z->cursor);
		z->text = NULL;
		z->cursor = NULL;
	}
	xfrd_read_end(xfrd);
	if (z->text != NULL)
		z->step = EDIT_RENEW;
}
