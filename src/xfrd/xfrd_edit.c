/* xfrd_edit.c - has versions of zones that are made here made durable, then
 * published. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "journal/journal.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_edits.h"
#include "xfrd/xfrd_refused.h"

/* The bound of what the journal has of a zone, as in xfrd_keep_bound.c, but
 * smaller, as versions that are made here are. */
#define JOURNAL_OCTETS_MAX (1u << 20)

static void edit_zone_go_on(struct edit_zone *z);

/* ---- the end of an entry ------------------------------------------------- */

static void
edit_log(const struct edit_zone *z, const struct xfrd_edit *edit)
{
	const struct journal_entry entry = {
		.to = edit->to,
		.time_sec = (int64_t)time(NULL),
	};
	char text[JOURNAL_SOURCE_MAX + 100], name[NAME_TEXT_MAX];

	xfrd_write_print_received(text, sizeof(text), &entry, edit->source);
	log_at(1, LOG_LEVEL_INFO, "xfrd: zone %s committed \"%s\"",
		xfrd_edit_zone_print_name(z, name), text);
}

/* Ends the edits of a list. */
static void
edit_end_all(struct edit_zone *z, struct cds_list_head *list,
	enum nsd_err err, const char *why)
{
	const struct xfrd_edit_end end = {.err = err, .why = why};
	struct xfrd_edit *edit;

	while ((edit = list_first_or_null(list, struct xfrd_edit, node))
		!= NULL) {
		cds_list_del(&edit->node);
		if (err == NSD_OK && !edit->is_told)
			edit_log(z, edit);
		edit->on_end(edit->ctx, &end);
		free(edit);
	}
}

/* Ends the entry under way. Edits that waited for one that has failed do not
 * fit what is served. */
static void
edit_zone_end(struct edit_zone *z, enum nsd_err err, const char *why)
{
	struct cds_list_head taken, behind;

	CDS_INIT_LIST_HEAD(&taken);
	CDS_INIT_LIST_HEAD(&behind);
	cds_list_splice(&z->taken, &taken);
	CDS_INIT_LIST_HEAD(&z->taken);
	if (err != NSD_OK) {
		cds_list_splice(&z->waiting, &behind);
		CDS_INIT_LIST_HEAD(&z->waiting);
	}
	z->step = EDIT_NONE;
	z->entry = 0;
	edit_end_all(z, &taken, err, why);
	edit_end_all(z, &behind, NSD_E_INEXACT,
		"a change before it has failed");
	/* Not at once: edits that fail at once, and are asked for again, take
	 * turns with all else. */
	xfrd_edit_zone_soon(z);
}

/* ---- the journal --------------------------------------------------------- */

/* Moves to `taken` the edits that go together: differences that lead on, as
 * long as there is room in one change; or a whole zone, alone. Returns their
 * octets. */
static size_t
edit_zone_gather(struct edit_zone *z)
{
	struct xfrd_edit *edit, *next, *last = NULL;
	size_t len = 0;

	cds_list_for_each_entry_safe(edit, next, &z->waiting, node) {
		if (last != NULL && (edit->kind == XFR_WHOLE
				|| last->kind == XFR_WHOLE
				|| edit->from != last->to
				|| len + edit->len > XFRD_EDIT_DIFFS_MAX))
			break;
		cds_list_del(&edit->node);
		cds_list_add_tail(&edit->node, &z->taken);
		len += edit->len;
		last = edit;
	}
	return len;
}

static enum nsd_err
edit_zone_put(struct edit_zone *z, struct journal_transfer *text)
{
	const struct xfrd_edit *edit = cds_list_first_entry(&z->taken,
		struct xfrd_edit, node);
	uint8_t head[CHANGES_HEAD_MAX];
	size_t len = changes_write_head(head, edit->kind, z->apex,
		name_len(z->apex));
	enum nsd_err err = journal_put(text, head, len);

	z->len = len;
	cds_list_for_each_entry(edit, &z->taken, node) {
		if (err == NSD_OK)
			err = journal_put(text, edit->records, edit->len);
		z->len += edit->len;
	}
	return err;
}

/* True if versions of the zone are judged before they are served. */
static bool
edit_zone_is_checked(const struct edit_zone *z)
{
	const struct xfrd_zone *zone = xfrd_zone_find(&z->xfrd->zones.table,
		z->apex);

	return zone != NULL && xfrd_options_are_checked(z->xfrd, zone);
}

/* Has the edits that wait written to the journal. */
static void
edit_zone_begin(struct edit_zone *z)
{
	struct journal *journal = z->xfrd->journal;
	struct journal_transfer *text;
	const struct xfrd_edit *first, *last;
	struct journal_end end = {.time_sec = (int64_t)time(NULL)};
	enum nsd_err err = NSD_E_MEMORY;

	assert(cds_list_empty(&z->taken) && !cds_list_empty(&z->waiting));
	if (xfrd_edit_zone_lacks_room(z))
		return;
	(void)edit_zone_gather(z);
	first = cds_list_first_entry(&z->taken, struct xfrd_edit, node);
	last = cds_list_entry(z->taken.prev, struct xfrd_edit, node);
	text = journal_begin(journal, z->apex);
	if (text != NULL)
		err = edit_zone_put(z, text);
	if (err != NSD_OK) {
		const char *why = err_reason(err);

		journal_abandon(text);
		edit_zone_end(z, err, why);
		return;
	}
	end.kind = first->kind == XFR_WHOLE ? JOURNAL_WHOLE : JOURNAL_DIFFS;
	end.from = first->from;
	end.to = last->to;
	end.source = last->source;
	end.is_doubtful = edit_zone_is_checked(z);
	end.is_update = first->is_update;
	xfrd_edit_zone_flush(z, text, &end);
	z->step = EDIT_FLUSH;
}

/* Returns why an entry could not be written. */
static const char *
edit_done_reason(const struct journal_done *done)
{
	return done->err == NSD_E_SYSTEM ? strerror(done->error)
					 : err_text(done->err);
}

bool
xfrd_edit_on_durable(struct xfrd *xfrd, const struct journal_done *done)
{
	struct edit_zone *z;

	/* Entries become durable in the order in which they ended: this is one
	 * of the first. */
	cds_list_for_each_entry(z, &xfrd->edits.flushed, flush_node)
		if (z->entry == done->id)
			break;
	if (&z->flush_node == &xfrd->edits.flushed)
		return false;
	assert(z->step == EDIT_FLUSH || z->step == EDIT_RENEWED);
	cds_list_del_init(&z->flush_node);
	if (z->step == EDIT_RENEWED) {
		if (done->err == NSD_OK)
			journal_accept(xfrd->journal, z->apex, z->entry);
		xfrd_edit_renew_tell(z, done->err == NSD_OK ? NULL
			: edit_done_reason(done));
		edit_zone_go_on(z);
		return true;
	}
	if (done->err != NSD_OK) {
		edit_zone_end(z, done->err, edit_done_reason(done));
		return true;
	}
	z->step = EDIT_PUBLISH;
	edit_zone_go_on(z);
	return true;
}

/* ---- the loader ---------------------------------------------------------- */

/* Keeps what was published. */
static void
edit_zone_accept(struct edit_zone *z)
{
	struct xfrd *xfrd = z->xfrd;
	struct xfrd_zone *zone = xfrd_zone_find(&xfrd->zones.table, z->apex);

	journal_accept(xfrd->journal, z->apex, z->entry);
	if (zone != NULL)
		xfrd_zones_hear(xfrd, zone);
}

/* True if a start would not find the version that the journal's differences
 * begin at: the zone has no file any more, or it was changed by hand
 * (lacks_file). */
static bool
edit_lacks_base(struct xfrd *xfrd, const struct xfrd_zone *zone,
	bool lacks_file)
{
	struct xfrd_options options = xfrd_options_begin(xfrd, zone);
	bool has_file = xfrd_options_file(&options) != NULL;
	struct journal_entry entry;

	xfrd_read_end(xfrd);
	return (!has_file || lacks_file)
		&& journal_find_oldest(xfrd->journal, xfrd_zone_apex(zone),
			&entry)
		&& entry.kind != JOURNAL_WHOLE;
}

/* Keeps the journal of the zone from growing without an end, and from leading
 * on from nothing. */
static void
edit_zone_shorten(struct edit_zone *z, bool lacks_file)
{
	struct xfrd_zone *zone = xfrd_zone_find(&z->xfrd->zones.table, z->apex);
	char name[NAME_TEXT_MAX];
	uint64_t octets;
	enum nsd_err err;

	if (zone == NULL)
		return;
	if (!edit_lacks_base(z->xfrd, zone, lacks_file)) {
		if (!xfrd_shorten(z->xfrd, zone, JOURNAL_OCTETS_MAX, &octets))
			return;
		log_at(2, LOG_LEVEL_INFO, "xfrd: zone %s has %llu octets of"
			" differences in the journal: it is written there"
			" whole", xfrd_edit_zone_print_name(z, name),
			(unsigned long long)octets);
	}
	/* The next version has it tried again. */
	err = xfrd_edit_renew_begin(z, zone);
	if (err != NSD_OK)
		log_at(2, LOG_LEVEL_INFO, "xfrd: zone %s cannot be written to"
			" the journal whole: %s",
			xfrd_edit_zone_print_name(z, name), err_reason(err));
}

/* True if the version that the entry leads to is served: a loader has published
 * it, and has died before its answer. */
static bool
edit_zone_is_served(const struct edit_zone *z)
{
	const struct xfrd_zone *zone = xfrd_zone_find(&z->xfrd->zones.table,
		z->apex);
	const struct xfrd_edit *last = cds_list_entry(z->taken.prev,
		struct xfrd_edit, node);
	struct xfrd_soa soa;

	return zone != NULL && last->kind == XFR_DIFFS
		&& xfrd_zones_get_soa(z->xfrd, zone, &soa)
		&& soa.numbers.serial == last->to;
}

/* Notes that the version was refused, or that a version is served. Returns the
 * refusal, or NULL. */
static const struct xfrd_refused_version *
edit_note_refused(struct edit_zone *z, const struct ipc_updated *updated)
{
	struct xfrd_zone_table *table = &z->xfrd->zones.table;
	struct xfrd_zone *zone = xfrd_zone_find(table, z->apex);

	if (zone == NULL)
		return NULL;
	if (updated->err == NSD_OK)
		xfrd_refused_drop(table, zone);
	if (updated->err == NSD_OK || updated->refused == 0)
		return NULL;
	xfrd_refused_note(table, zone, updated, XFR_NONE);
	return xfrd_refused_find(table, zone);
}

static void
edit_on_updated(void *ctx, const struct ipc_message *answer)
{
	struct edit_zone *z = ctx;
	const struct xfrd_refused_version *refused;
	struct ipc_updated updated;

	assert(z->step == EDIT_LOADER);
	xfrd_loader_read_updated(answer, &updated);
	if (updated.err != NSD_OK && updated.err != NSD_E_AGAIN
		&& edit_zone_is_served(z))
		updated.err = NSD_OK;
	refused = edit_note_refused(z, &updated);
	switch (updated.err) {
	case NSD_OK:
		edit_zone_accept(z);
		edit_zone_end(z, NSD_OK, NULL);
		edit_zone_shorten(z, updated.lacks_file != 0);
		return;
	case NSD_E_AGAIN:
		z->step = EDIT_PUBLISH;
		xfrd_edit_zone_pause(z);
		return;
	default:
		journal_refuse(z->xfrd->journal, z->apex, z->entry);
		edit_zone_end(z, (enum nsd_err)updated.err, answer == NULL
			? "loaders have died of it"
			: refused != NULL ? refused->why
			: err_text((enum nsd_err)updated.err));
	}
}

/* Gives an entry to the loader. */
static void
edit_zone_publish(struct edit_zone *z)
{
	struct xfrd *xfrd = z->xfrd;
	struct load_text text = {.fd = -1, .len = z->len};
	enum nsd_err err = NSD_E_AGAIN;
	int error = 0;

	if (!requests_are_many(&xfrd->requests))
		err = journal_open_text(xfrd->journal, z->apex, z->entry,
			&text.fd, &text.offset);
	if (err == NSD_OK)
		err = xfrd_loader_update(xfrd, &text, edit_on_updated, z);
	error = errno;
	if (text.fd != -1)
		close(text.fd);
	if (err == NSD_OK) {
		z->step = EDIT_LOADER;
		return;
	}
	if (err == NSD_E_AGAIN || err == NSD_E_MEMORY
		|| (err == NSD_E_SYSTEM
			&& (error == EMFILE || error == ENFILE))) {
		xfrd_edit_zone_pause(z);
		return;
	}
	/* NOT_FOUND: the zone was dropped from the journal. */
	errno = error;
	journal_refuse(xfrd->journal, z->apex, z->entry);
	edit_zone_end(z, err, err_reason(err));
}

/* ---- steps --------------------------------------------------------------- */

/* Takes the next step that is possible now; the zone may be gone then. */
static void
edit_zone_go_on(struct edit_zone *z)
{
	if (z->step == EDIT_PUBLISH)
		edit_zone_publish(z);
	else if (z->step == EDIT_RENEW)
		xfrd_edit_renew_go_on(z);
	else if (z->step == EDIT_NONE && !cds_list_empty(&z->waiting))
		edit_zone_begin(z);
	else if (z->step == EDIT_NONE)
		xfrd_edit_zone_free(z);
}

/* Takes the next step of each zone of a list, which may come there again. */
static void
edit_go_on_all(struct cds_list_head *list)
{
	struct cds_list_head zones;
	struct edit_zone *z;

	CDS_INIT_LIST_HEAD(&zones);
	cds_list_splice(list, &zones);
	CDS_INIT_LIST_HEAD(list);
	while ((z = list_first_or_null(&zones, struct edit_zone, node))
		!= NULL) {
		cds_list_del_init(&z->node);
		edit_zone_go_on(z);
	}
}

void
xfrd_edit_go_on(struct xfrd *xfrd)
{
	edit_go_on_all(&xfrd->edits.full);
}

static void
edit_on_event(evutil_socket_t fd, short what, void *arg)
{
	edit_go_on_all(&((struct xfrd *)arg)->edits.ready);
}

static void
edit_on_pause(evutil_socket_t fd, short what, void *arg)
{
	edit_go_on_all(&((struct xfrd *)arg)->edits.paused);
}

/* ---- interface ----------------------------------------------------------- */

static struct xfrd_edit *
edit_create(const struct xfrd_edit_ask *ask)
{
	struct xfrd_edit *edit = malloc(sizeof(*edit) + ask->len);

	if (edit == NULL)
		return NULL;
	edit->kind = ask->kind;
	edit->from = ask->from;
	edit->to = ask->to;
	edit->is_told = ask->is_told;
	edit->is_update = ask->is_update;
	edit->on_end = ask->on_end;
	edit->ctx = ask->ctx;
	edit->len = ask->len;
	snprintf(edit->source, sizeof(edit->source), "%s", ask->source);
	if (ask->len > 0)
		memcpy(edit->records, ask->records, ask->len);
	return edit;
}

enum nsd_err
xfrd_edit(struct xfrd *xfrd, const struct xfrd_edit_ask *ask)
{
	struct xfrd_edit *edit;
	struct edit_zone *z;

	assert(ask->len > 0);
	if (xfrd->journal == NULL)
		return NSD_E_DENIED;
	if (ask->kind == XFR_DIFFS && ask->len > XFRD_EDIT_DIFFS_MAX)
		return NSD_E_LIMIT;
	edit = edit_create(ask);
	z = edit != NULL ? xfrd_edit_zone_get(xfrd, ask->apex) : NULL;
	if (z == NULL) {
		free(edit);
		return NSD_E_MEMORY;
	}
	cds_list_add_tail(&edit->node, &z->waiting);
	/* Edits of the same turn of the loop go together. */
	if (z->step == EDIT_NONE)
		xfrd_edit_zone_soon(z);
	return NSD_OK;
}

/* True if an entry leads on from the served version. */
static bool
edit_leads_on(struct xfrd *xfrd, const uint8_t *apex,
	const struct journal_entry *entry)
{
	const struct xfrd_zone *zone = xfrd_zone_find(&xfrd->zones.table,
		apex);
	struct xfrd_soa soa;

	return zone != NULL && xfrd_resume_leads_on(entry,
		xfrd_zones_get_soa(xfrd, zone, &soa) ? &soa : NULL);
}

enum nsd_err
xfrd_edit_resume(struct xfrd *xfrd, const uint8_t *apex,
	xfrd_edit_on_end *on_end, void *ctx)
{
	struct xfrd_edit_ask ask = {
		.apex = apex,
		.source = "the journal",
		.on_end = on_end,
		.ctx = ctx,
	};
	struct journal_entry entry;
	struct xfrd_edit *edit;
	struct edit_zone *z;
	uint64_t octets;

	z = xfrd_edit_zone_find(xfrd, apex);
	assert(z == NULL || (cds_list_empty(&z->taken)
		&& cds_list_empty(&z->waiting)));
	if (xfrd->journal == NULL
		|| !journal_find_newest(xfrd->journal, apex, &entry, &octets)
		|| !edit_leads_on(xfrd, apex, &entry))
		return NSD_E_NOT_FOUND;
	ask.kind = entry.kind == JOURNAL_WHOLE ? XFR_WHOLE : XFR_DIFFS;
	ask.from = entry.from;
	ask.to = entry.to;
	edit = edit_create(&ask);
	z = edit != NULL ? xfrd_edit_zone_get(xfrd, apex) : NULL;
	if (z == NULL) {
		free(edit);
		return NSD_E_MEMORY;
	}
	cds_list_add_tail(&edit->node, &z->taken);
	z->entry = entry.id;
	z->len = entry.text_len;
	z->step = EDIT_PUBLISH;
	xfrd_edit_zone_soon(z);
	return NSD_OK;
}

enum nsd_err
xfrd_edit_init(struct xfrd *xfrd)
{
	struct xfrd_edits *edits = &xfrd->edits;

	CDS_INIT_LIST_HEAD(&edits->ready);
	CDS_INIT_LIST_HEAD(&edits->paused);
	CDS_INIT_LIST_HEAD(&edits->full);
	CDS_INIT_LIST_HEAD(&edits->flushed);
	edits->event = event_new(xfrd->role.base, -1, 0, edit_on_event, xfrd);
	edits->pause_event = event_new(xfrd->role.base, -1, 0, edit_on_pause,
		xfrd);
	return edits->event != NULL && edits->pause_event != NULL
		? NSD_OK : NSD_E_MEMORY;
}
