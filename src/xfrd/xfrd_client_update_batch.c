/*
 * xfrd_client_update_batch.c - makes versions of zones of the UPDATEs of
 * clients, a batch at a time.
 */
#include "config.h"

#include <assert.h>
#include <event2/event.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/clock.h"
#include "dynupdate/dynupdate.h"
#include "journal/journal.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_client_updates.h"
#include "xfrd/xfrd_edit.h"

/* A batch takes no other request after so long: the loop has other work. */
#define TURN_USEC 4000

/* A zone whose clients have sent updates. */
struct update_zone {
	struct cds_list_head due_node; /* of updates.due, or of none */
	struct xfrd *xfrd;
	struct cds_list_head waiting;  /* in the order in which they came */
	struct cds_list_head taken;    /* of the batch under way */
	uint32_t count;                /* of both */
	bool is_busy;                  /* a batch is made durable and
					* published */
	bool is_looked;                /* updates were looked for that the last
					* xfrd has left without publishing */
	uint32_t last_serial;          /* of the last update */
	int64_t last_sec;              /* of the epoch; 0: there was none */
	char *last_source;             /* with last_sec */
	uint8_t apex[NAME_MAX_LEN];
};

/* ---- zones --------------------------------------------------------------- */

static int
batch_order_zones(const void *a, const void *b)
{
	const struct update_zone *one = a, *other = b;

	return name_compare(one->apex, other->apex);
}

static struct update_zone *
batch_find_zone(const struct xfrd *xfrd, const uint8_t *apex)
{
	struct update_zone key, **place;

	memcpy(key.apex, apex, name_len(apex));
	place = tfind(&key, &xfrd->updates.zones, batch_order_zones);
	return place != NULL ? *place : NULL;
}

/* Finds a zone, or makes it. NULL: no memory. */
static struct update_zone *
batch_get_zone(struct xfrd *xfrd, const uint8_t *apex)
{
	struct update_zone *z = batch_find_zone(xfrd, apex);

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
	if (tsearch(z, &xfrd->updates.zones, batch_order_zones) != NULL)
		return z;
	free(z);
	return NULL;
}

static void
batch_free_zone(struct update_zone *z)
{
	assert(!z->is_busy && z->count == 0 && cds_list_empty(&z->due_node));
	(void)tdelete(z, &z->xfrd->updates.zones, batch_order_zones);
	free(z->last_source);
	free(z);
}

static void
batch_set_busy(struct update_zone *z, bool is_busy)
{
	z->xfrd->updates.busy += is_busy;
	z->xfrd->updates.busy -= z->is_busy;
	z->is_busy = is_busy;
}

/* Has the next batch of a zone made soon, if there are requests and none is
 * under way. */
static void
batch_zone_soon(struct update_zone *z)
{
	static const struct timeval at_once = {.tv_sec = 0};
	struct xfrd_client_updates *updates = &z->xfrd->updates;

	if (z->is_busy || cds_list_empty(&z->waiting)
		|| !cds_list_empty(&z->due_node))
		return;
	cds_list_add_tail(&z->due_node, &updates->due);
	event_add(updates->event, &at_once);
}

/* The same; a zone that is not here any more, and has no requests, goes. */
static void
batch_zone_go_on(struct update_zone *z)
{
	if (!z->is_busy && z->count == 0
		&& xfrd_zone_find(&z->xfrd->zones.table, z->apex) == NULL)
		batch_free_zone(z);
	else
		batch_zone_soon(z);
}

/* ---- the end of requests ------------------------------------------------- */

static void
batch_set_end(struct client_update_end *end, enum rcode rcode, uint16_t ede,
	const char *why)
{
	end->rcode = rcode;
	end->ede = ede;
	snprintf(end->why, sizeof(end->why), "%s", why);
}

static void
batch_set_gone(struct client_update_end *end)
{
	batch_set_end(end, RCODE_NOTAUTH, EDE_NOT_AUTHORITATIVE,
		"the zone is not here any more");
}

static void
batch_set_closed(struct client_update_end *end)
{
	batch_set_end(end, RCODE_REFUSED, EDE_PROHIBITED,
		"the zone takes no updates any more");
}

/* Ends a request, which is the zone's. */
static void
batch_end_request(struct update_zone *z, struct client_update *update,
	const struct client_update_end *end)
{
	cds_list_del(&update->node);
	assert(z->count > 0);
	z->count--;
	if (end->rcode == RCODE_NOERROR)
		xfrd_client_update_log_done(z->xfrd, update);
	else
		xfrd_client_update_log_refused(z->xfrd, update, end);
	xfrd_client_update_answer(z->xfrd, update, end);
}

/* Ends requests of a list with the same outcome. */
static void
batch_end_all(struct update_zone *z, struct cds_list_head *list,
	const struct client_update_end *end)
{
	struct client_update *update;

	while ((update = list_first_or_null(list, struct client_update, node))
		!= NULL)
		batch_end_request(z, update, end);
}

/* Notes the last update of the batch that was published. */
static void
batch_note_last(struct update_zone *z)
{
	char source[JOURNAL_SOURCE_MAX + 1];
	struct client_update *update, *last = NULL;
	char *copy;

	cds_list_for_each_entry(update, &z->taken, node)
		if (update->changed)
			last = update;
	if (last == NULL)
		return;
	xfrd_client_update_print_source(last, source, sizeof(source));
	copy = strdup(source);
	if (copy == NULL)
		return;
	free(z->last_source);
	z->last_source = copy;
	z->last_serial = last->serial;
	z->last_sec = (int64_t)time(NULL);
}

/* Sets the outcome of requests whose version is not served. The zone may have
 * gone meanwhile, or have other options. */
static void
batch_set_failed(struct update_zone *z, const struct xfrd_edit_end *edit,
	struct client_update_end *end)
{
	struct xfrd_options options = xfrd_options_find(z->xfrd, z->apex);
	bool is_there = options.entry != NULL
		&& edit->err != NSD_E_NOT_FOUND;
	bool takes = xfrd_options_take_updates(&options);

	xfrd_read_end(z->xfrd);
	if (!is_there) {
		batch_set_gone(end);
	} else if (!takes) {
		batch_set_closed(end);
	} else {
		batch_set_end(end, RCODE_SERVFAIL, EDE_OTHER, "");
		snprintf(end->why, sizeof(end->why),
			"the update could not be kept and served: %s",
			edit->why);
	}
}

static void
batch_on_end(void *ctx, const struct xfrd_edit_end *edit)
{
	struct update_zone *z = ctx;
	struct client_update *update;
	struct client_update_end end;

	assert(z->is_busy);
	batch_set_busy(z, false);
	if (edit->err == NSD_OK) {
		batch_note_last(z);
		while ((update = list_first_or_null(&z->taken,
				struct client_update, node))
			!= NULL) {
			end = update->end;
			batch_end_request(z, update, &end);
		}
	} else {
		batch_set_failed(z, edit, &end);
		batch_end_all(z, &z->taken, &end);
	}
	batch_zone_go_on(z);
}

/* ---- a batch ------------------------------------------------------------- */

static void
batch_get_options(const struct xfrd *xfrd, const struct xfrd_options *options,
	struct dynupdate_options *how)
{
	const struct conf_server *server = &xfrd->role.server->conf->server;
	const struct settings_options *lists = xfrd_options_lists(options);

	*how = (struct dynupdate_options){
		.policy = (enum dynupdate_serial)lists->numbers.serial_policy,
		.now_sec = (uint64_t)time(NULL),
		.no_check = lists->numbers.update_unchecked != 0,
		.octets_max = XFRD_EDIT_DIFFS_MAX,
		.records_max = server->max_records_per_type,
		.types_max = server->max_types_per_name,
		.seed = xfrd->updates.seed,
	};
}

/* Begins a batch. False: *end is the outcome of all requests that wait. */
static bool
batch_begin(struct update_zone *z, const struct xfrd_options *options,
	struct dynupdate **out, struct client_update_end *end)
{
	struct dynupdate_options how;
	struct xfrd *xfrd = z->xfrd;
	store_ref ref = STORE_NONE;
	enum nsd_err err;

	if (options->entry != NULL)
		ref = store_load_ref(&options->entry->zone);
	if (options->entry == NULL)
		batch_set_gone(end);
	else if (!xfrd_options_take_updates(options))
		batch_set_closed(end);
	else if (xfrd_freeze_has(xfrd, z->apex))
		batch_set_end(end, RCODE_REFUSED, EDE_PROHIBITED,
			"the zone is frozen");
	else if (ref == STORE_NONE)
		batch_set_end(end, RCODE_SERVFAIL, EDE_NOT_READY,
			"the zone is not loaded");
	else if (xfrd->journal == NULL || xfrd_keep_is_lost(xfrd))
		batch_set_end(end, RCODE_SERVFAIL, EDE_OTHER,
			xfrd->journal == NULL ? xfrd->journal_why
				: "the journal's folder was removed");
	else {
		batch_get_options(xfrd, options, &how);
		err = dynupdate_begin(options->view,
			store_get(options->view, ref), z->apex, &how, out);
		if (err == NSD_OK)
			return true;
		batch_set_end(end, RCODE_SERVFAIL, EDE_OTHER, err_text(err));
	}
	return false;
}

/* Carries a request out. True: it is in the batch now, or has ended; false: it
 * goes into the next one. is_first: the batch is as it began. */
static bool
batch_apply(struct update_zone *z, const struct xfrd_options *options,
	struct dynupdate *d, struct client_update *update, bool is_first)
{
	struct dynupdate_result result = {.ede = EDE_NONE};
	struct client_update_end end = {.ede = EDE_NONE};
	enum nsd_err err;

	if (!xfrd_client_update_check(z->xfrd, options, update, &end)) {
		batch_end_request(z, update, &end);
		return true;
	}
	child_page_take(z->xfrd->role.page, CHILD_PAGE_UPDATE, &update->from,
		update->message, update->len);
	err = dynupdate_apply(d, update->message, update->len, &result);
	child_page_drop(z->xfrd->role.page);
	if (err == NSD_E_LIMIT && !is_first)
		return false;
	if (err != NSD_OK) {
		batch_set_end(&end, RCODE_SERVFAIL, EDE_OTHER,
			err == NSD_E_LIMIT ? "it changes too much at once"
				: err_text(err));
		batch_end_request(z, update, &end);
		return true;
	}
	update->changed = result.changed;
	update->serial = result.serial;
	update->added = result.added;
	update->removed = result.removed;
	batch_set_end(&update->end, result.rcode, result.ede, result.why);
	/* Without a change before it in the batch, the outcome is final. */
	if (cds_list_empty(&z->taken) && !result.changed) {
		end = update->end;
		batch_end_request(z, update, &end);
		return true;
	}
	cds_list_del(&update->node);
	cds_list_add_tail(&update->node, &z->taken);
	return true;
}

/* Has the batch made durable and published. */
static void
batch_ask(struct update_zone *z, const struct dynupdate *d)
{
	char source[JOURNAL_SOURCE_MAX + 1] = "";
	struct xfrd_edit_ask ask = {
		.apex = z->apex,
		.kind = XFR_DIFFS,
		.source = source,
		.is_told = true,
		.on_end = batch_on_end,
		.ctx = z,
	};
	struct client_update *update;
	struct client_update_end end;
	enum nsd_err err;

	if (cds_list_empty(&z->taken))
		return;
	cds_list_for_each_entry(update, &z->taken, node)
		if (update->changed)
			xfrd_client_update_print_source(update, source,
				sizeof(source));
	ask.records = dynupdate_records(d, &ask.len, &ask.from, &ask.to);
	err = xfrd_edit(z->xfrd, &ask);
	batch_set_busy(z, err == NSD_OK);
	if (err == NSD_OK)
		return;
	batch_set_end(&end, RCODE_SERVFAIL, EDE_OTHER, err_text(err));
	batch_end_all(z, &z->taken, &end);
}

/* Makes the next batch of a zone. */
static void
batch_make(struct update_zone *z)
{
	struct xfrd_options options = xfrd_options_find(z->xfrd, z->apex);
	int64_t began = clock_now_usec();
	struct client_update *update;
	struct client_update_end end;
	struct dynupdate *d = NULL;
	bool is_first = true;

	assert(cds_list_empty(&z->taken));
	if (!batch_begin(z, &options, &d, &end)) {
		batch_end_all(z, &z->waiting, &end);
	} else {
		while ((update = list_first_or_null(&z->waiting,
				struct client_update, node))
				!= NULL
			&& batch_apply(z, &options, d, update, is_first)
			&& clock_now_usec() - began < TURN_USEC)
			is_first = false;
		batch_ask(z, d);
		dynupdate_end(d);
	}
	xfrd_read_end(z->xfrd);
}

/* ---- updates of the last xfrd ------------------------------------------- */

static void
batch_on_resumed(void *ctx, const struct xfrd_edit_end *edit)
{
	struct update_zone *z = ctx;

	assert(z->is_busy && cds_list_empty(&z->taken));
	batch_set_busy(z, false);
	batch_zone_go_on(z);
}

/* Has updates that the last xfrd has made durable published, before all
 * else. */
static void
batch_resume(struct update_zone *z)
{
	if (z->is_looked || z->is_busy)
		return;
	z->is_looked = true;
	batch_set_busy(z, xfrd_edit_resume(z->xfrd, z->apex, batch_on_resumed,
		z));
}

static void
batch_on_event(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval at_once = {.tv_sec = 0};
	struct xfrd *xfrd = arg;
	struct xfrd_client_updates *updates = &xfrd->updates;
	struct update_zone *z = list_first_or_null(&updates->due,
		struct update_zone, due_node);

	if (z == NULL)
		return;
	cds_list_del_init(&z->due_node);
	batch_resume(z);
	if (!z->is_busy)
		batch_make(z);
	batch_zone_go_on(z);
	if (!cds_list_empty(&updates->due))
		event_add(updates->event, &at_once);
}

/* ---- interface ----------------------------------------------------------- */

void
xfrd_client_update_queue(struct xfrd *xfrd, struct client_update *update)
{
	struct update_zone *z = batch_get_zone(xfrd, update->apex);
	struct client_update_end end;

	if (z == NULL) {
		batch_set_end(&end, RCODE_SERVFAIL, EDE_OTHER,
			err_text(NSD_E_MEMORY));
		xfrd_client_update_answer(xfrd, update, &end);
		return;
	}
	cds_list_add_tail(&update->node, &z->waiting);
	z->count++;
	batch_zone_soon(z);
}

void
xfrd_client_update_look(struct xfrd *xfrd, const struct xfrd_zone *zone)
{
	const uint8_t *apex = xfrd_zone_apex(zone);
	struct xfrd_options options = xfrd_options_begin(xfrd, zone);
	bool takes = xfrd_options_take_updates(&options);
	struct journal_entry entry;
	struct update_zone *z;
	uint64_t octets;

	xfrd_read_end(xfrd);
	if (!takes || xfrd->journal == NULL
		|| !journal_find_newest(xfrd->journal, apex, &entry, &octets))
		return;
	/* Without memory, the first request has it looked for. */
	z = batch_get_zone(xfrd, apex);
	if (z != NULL)
		batch_resume(z);
}

void
xfrd_client_update_forget(struct xfrd *xfrd, const uint8_t *apex)
{
	struct update_zone *z = batch_find_zone(xfrd, apex);
	struct client_update_end end;

	if (z == NULL)
		return;
	batch_set_gone(&end);
	batch_end_all(z, &z->waiting, &end);
	cds_list_del_init(&z->due_node);
	/* With a batch under way, its end frees the zone. */
	if (!z->is_busy)
		batch_free_zone(z);
}

bool
xfrd_client_update_find_last(const struct xfrd *xfrd, const uint8_t *apex,
	struct xfrd_updated *last)
{
	const struct update_zone *z = batch_find_zone(xfrd, apex);
	struct journal_entry entry;
	uint64_t octets;

	if (z != NULL && z->last_sec != 0) {
		last->serial = z->last_serial;
		last->at_sec = z->last_sec;
		snprintf(last->source, sizeof(last->source), "%s",
			z->last_source);
		return true;
	}
	if (xfrd->journal == NULL
		|| !journal_find_newest(xfrd->journal, apex, &entry, &octets)
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
	const struct update_zone *z = batch_find_zone(xfrd, apex);

	return z != NULL ? z->count : 0;
}

bool
xfrd_client_update_is_busy(const struct xfrd *xfrd, const uint8_t *apex)
{
	const struct update_zone *z;

	if (apex == NULL)
		return xfrd->updates.busy > 0;
	z = batch_find_zone(xfrd, apex);
	return z != NULL && z->is_busy;
}

enum nsd_err
xfrd_client_update_init(struct xfrd *xfrd)
{
	if (getrandom(&xfrd->updates.seed, sizeof(xfrd->updates.seed), 0)
		!= (ssize_t)sizeof(xfrd->updates.seed))
		xfrd->updates.seed = (uint64_t)clock_now_usec();
	CDS_INIT_LIST_HEAD(&xfrd->updates.due);
	xfrd->updates.event = event_new(xfrd->role.base, -1, 0,
		batch_on_event, xfrd);
	return xfrd->updates.event != NULL ? NSD_OK : NSD_E_MEMORY;
}
