/* xfrd_edit_renew.c - writes a zone to the journal whole, in place of the
 * differences that have led to it. */
#include "config.h"

#include <assert.h>

#include "dns/serial.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_edits.h"
#include "zone/walk.h"

/* Records of a zone, and octets of these, that are written to the journal in a
 * turn of the loop. */
#define TURN_RECORDS 1000u
#define TURN_OCTETS (256u << 10)

/* ---- the end ------------------------------------------------------------- */

/* Finds what the entry has of those that it takes the place of. source: where
 * end->source may be put. False: the newest of these is another one by now, or
 * has gone, as the zone's file has it. */
static bool
edit_renew_describe(const struct edit_zone *z, struct journal_end *end,
	char source[JOURNAL_SOURCE_MAX + 1])
{
	struct journal *journal = z->xfrd->journal;
	struct journal_entry newest, oldest;
	uint64_t octets;

	if (!journal_find_newest(journal, z->apex, &newest, &octets)
		|| newest.id != z->entry
		|| !journal_find_oldest(journal, z->apex, &oldest))
		return false;
	/* A catalog of this server's is told by it: version_is_ours. */
	if (journal_read_source(journal, z->apex, newest.id, source) == NSD_OK)
		end->source = source;
	end->time_sec = newest.time_sec;
	end->is_update = newest.is_update;
	end->is_taken = newest.is_taken;
	/* The mark of a zone that went back is about to go: keep_goes_back. */
	end->is_back = oldest.is_back
		&& !serial_is_newer(z->serial, oldest.from);
	end->from = oldest.from;
	return true;
}

void
xfrd_edit_renew_tell(struct edit_zone *z, const char *why)
{
	xfrd_edit_on_renewed *on_renewed = z->on_renewed;

	z->step = EDIT_NONE;
	z->on_renewed = NULL;
	if (on_renewed != NULL)
		on_renewed(z->xfrd, z->apex, why);
}

static void
edit_renew_end(struct edit_zone *z, enum nsd_err err)
{
	struct journal_end end = {
		.kind = JOURNAL_WHOLE,
		.to = z->serial,
		.source = XFRD_EDIT_SOURCE,
	};
	char source[JOURNAL_SOURCE_MAX + 1];
	const char *why = err == NSD_OK ? NULL
		: err == NSD_E_DENIED ? XFRD_FILLS_DISK
		: err_reason(err);
	struct journal_transfer *text = z->text;

	zone_cursor_destroy(z->cursor);
	z->cursor = NULL;
	z->text = NULL;
	store_reader_unpin(z->xfrd->reader, &z->pin);
	if (err == NSD_OK && edit_renew_describe(z, &end, source)) {
		xfrd_edit_zone_flush(z, text, &end);
		z->step = EDIT_RENEWED;
		return;
	}
	/* The differences are there still, or are not needed: the next version
	 * has it tried again. */
	journal_abandon(text);
	xfrd_edit_zone_soon(z);
	xfrd_edit_renew_tell(z, why != NULL ? why : "they are others by now");
}

/* Ends renewals of a list whose pins are of an epoch, or before. */
static void
edit_renew_drop_old(struct xfrd *xfrd, struct cds_list_head *list,
	uint64_t epoch)
{
	struct edit_zone *z, *next;

	/* A zone that has ended comes to the end of the same list. */
	cds_list_for_each_entry_safe(z, next, list, node)
		if (z->step == EDIT_RENEW
			&& store_reader_has_pinned(xfrd->reader, &z->pin,
				epoch))
			edit_renew_end(z, NSD_E_AGAIN);
}

void
xfrd_edit_renew_let_go(struct xfrd *xfrd, uint64_t epoch)
{
	edit_renew_drop_old(xfrd, &xfrd->edits.ready, epoch);
	edit_renew_drop_old(xfrd, &xfrd->edits.full, epoch);
}

/* ---- records ------------------------------------------------------------- */

/* Writes a record. NSD_E_DENIED: the zone would fill the disk. */
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
	size_t len = changes_write(octets, &record);

	if (journal_fills_disk(z->xfrd->journal, z->len, z->len + len))
		return NSD_E_DENIED;
	z->len += len;
	return journal_put(z->text, octets, len);
}

void
xfrd_edit_renew_go_on(struct edit_zone *z)
{
	const uint64_t most = z->len + TURN_OCTETS;
	enum nsd_err err = NSD_OK;
	struct zone_rr rr;

	if (xfrd_edit_zone_lacks_room(z))
		return;
	for (unsigned i = 0; i < TURN_RECORDS && z->len < most
		&& err == NSD_OK; i++) {
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

/* ---- the beginning ------------------------------------------------------- */

/* Pins the version, and begins its text. */
static enum nsd_err
edit_renew_open(struct edit_zone *z, const struct store_view *view,
	const struct zone *served)
{
	struct store_reader *reader = z->xfrd->reader;
	uint8_t head[CHANGES_HEAD_MAX];
	size_t len = changes_write_head(head, XFR_WHOLE, z->apex,
		name_len(z->apex));
	enum nsd_err err = store_reader_pin(reader, &z->pin);

	if (err != NSD_OK)
		return err;
	z->serial = served->serial;
	z->len = len;
	z->text = journal_begin(z->xfrd->journal, z->apex);
	err = z->text == NULL ? NSD_E_MEMORY
		: zone_cursor_create(view, served, z->apex, &z->cursor);
	if (err == NSD_OK)
		err = journal_put(z->text, head, len);
	if (err == NSD_OK)
		return NSD_OK;
	journal_abandon(z->text);
	zone_cursor_destroy(z->cursor);
	store_reader_unpin(reader, &z->pin);
	z->text = NULL;
	z->cursor = NULL;
	return err;
}

enum nsd_err
xfrd_edit_renew_begin(struct edit_zone *z, struct xfrd_zone *zone)
{
	struct xfrd *xfrd = z->xfrd;
	struct xfrd_options options = xfrd_options_begin(xfrd, zone);
	store_ref ref = options.entry != NULL
		? store_load_ref(&options.entry->zone) : STORE_NONE;
	const struct zone *served = ref != STORE_NONE
		? store_get(options.view, ref) : NULL;
	enum nsd_err err = NSD_E_AGAIN;
	struct journal_entry newest;
	uint64_t octets;

	assert(z->text == NULL && z->cursor == NULL && z->step == EDIT_NONE);
	if (served != NULL
		&& journal_find_newest(xfrd->journal, z->apex, &newest, &octets)
		&& newest.to == served->serial) {
		z->entry = newest.id;
		err = edit_renew_open(z, options.view, served);
	}
	xfrd_read_end(xfrd);
	if (err == NSD_OK)
		z->step = EDIT_RENEW;
	return err;
}

/* ---- for others ---------------------------------------------------------- */

static bool
edit_is_renewed(const struct edit_zone *z)
{
	return z->step == EDIT_RENEW || z->step == EDIT_RENEWED;
}

bool
xfrd_edit_renews(const struct xfrd *xfrd, const uint8_t *apex)
{
	const struct edit_zone *z = xfrd_edit_zone_find(xfrd, apex);

	return z != NULL && edit_is_renewed(z);
}

enum nsd_err
xfrd_edit_renew(struct xfrd *xfrd, struct xfrd_zone *zone,
	xfrd_edit_on_renewed *on_renewed)
{
	struct edit_zone *z = xfrd_edit_zone_get(xfrd, xfrd_zone_apex(zone));
	enum nsd_err err = NSD_OK;

	if (z == NULL)
		return NSD_E_MEMORY;
	if (z->step == EDIT_NONE) {
		err = cds_list_empty(&z->waiting)
			? xfrd_edit_renew_begin(z, zone) : NSD_E_AGAIN;
		/* A zone that has nothing to do goes then. */
		xfrd_edit_zone_soon(z);
	} else if (!edit_is_renewed(z)) {
		err = NSD_E_AGAIN;
	}
	if (err == NSD_OK)
		z->on_renewed = on_renewed;
	return err;
}
