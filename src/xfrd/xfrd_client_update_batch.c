/*
 * xfrd_client_update_batch.c - makes versions of zones of the UPDATEs of
 * clients, a batch at a time.
 */
#include "config.h"

#include <assert.h>
#include <event2/event.h>
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

/* Workers give requests up that have taken so long: nobody waits for these. */
#define WAIT_MSEC 30000

/* ---- zones --------------------------------------------------------------- */

static void
batch_set_busy(struct update_zone *z, bool is_busy)
{
	z->xfrd->updates.busy += is_busy;
	z->xfrd->updates.busy -= z->is_busy;
	z->is_busy = is_busy;
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
batch_end_list(struct update_zone *z, struct cds_list_head *list,
	const struct client_update_end *end)
{
	struct client_update *update;

	while ((update = list_first_or_null(list, struct client_update, node))
		!= NULL)
		batch_end_request(z, update, end);
}

static void
batch_end_taken(struct update_zone *z, const struct client_update_end *end)
{
	batch_end_list(z, &z->taken, end);
	z->taken_count = 0;
}

static void
batch_end_waiting(struct update_zone *z, const struct client_update_end *end)
{
	batch_end_list(z, &z->waiting, end);
	z->suspects = 0;
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

/* True if a version was refused for what is in it: its digest or signatures are
 * wrong, it changes too much, or its verifier says no. */
static bool
batch_is_judged(enum nsd_err err)
{
	return err == NSD_E_DIGEST || err == NSD_E_SIGNED
		|| err == NSD_E_CHANGE || err == NSD_E_REFUSED;
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
	} else if (batch_is_judged(edit->err)) {
		batch_set_end(end, RCODE_REFUSED, EDE_PROHIBITED, "");
		snprintf(end->why, sizeof(end->why),
			"the zone would not be served with it: %s", edit->why);
	} else {
		batch_set_end(end, RCODE_SERVFAIL, EDE_OTHER, "");
		snprintf(end->why, sizeof(end->why),
			"the update could not be kept and served: %s",
			edit->why);
	}
}

/* Ends the requests of a batch that is served. */
static void
batch_end_served(struct update_zone *z)
{
	struct client_update *update;

	batch_note_last(z);
	while ((update = list_first_or_null(&z->taken, struct client_update,
			node)) != NULL) {
		struct client_update_end end = update->end;

		batch_end_request(z, update, &end);
	}
	z->taken_count = 0;
	if (z->batch_max < z->suspects)
		z->batch_max *= 2;
}

/* Has the requests of a refused batch tried again, half as many at a time, so
 * that the one that is the cause comes to be alone. They are suspects from now
 * on; those of a larger batch before that have not been tried are, still. */
static void
batch_halve(struct update_zone *z)
{
	assert(z->taken_count > 1);
	z->batch_max = z->taken_count / 2;
	z->suspects += z->taken_count;
	cds_list_splice(&z->taken, &z->waiting);
	CDS_INIT_LIST_HEAD(&z->taken);
	z->taken_count = 0;
}

static void
batch_on_end(void *ctx, const struct xfrd_edit_end *edit)
{
	struct update_zone *z = ctx;
	struct client_update_end end;

	assert(z->is_busy);
	batch_set_busy(z, false);
	if (edit->err == NSD_OK) {
		batch_end_served(z);
	} else if (batch_is_judged(edit->err) && z->taken_count > 1) {
		batch_halve(z);
	} else {
		batch_set_failed(z, edit, &end);
		batch_end_taken(z, &end);
	}
	xfrd_client_update_zone_go_on(z);
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

/* Checks a request before it is carried out. False: *end is its outcome. */
static bool
batch_check_request(struct update_zone *z, const struct xfrd_options *options,
	struct client_update *update, struct client_update_end *end)
{
	if (clock_now_msec() - update->came_msec > WAIT_MSEC) {
		batch_set_end(end, RCODE_SERVFAIL, EDE_OTHER,
			"the update has waited for too long; it is not made");
		return false;
	}
	return xfrd_client_update_check(z->xfrd, options, update, end);
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

	if (!batch_check_request(z, options, update, &end)) {
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
	z->taken_count++;
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
		.is_update = true,
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
	batch_end_taken(z, &end);
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
	uint32_t max = z->suspects > 0 ? z->batch_max : UINT32_MAX;
	bool is_first = true;

	assert(cds_list_empty(&z->taken) && z->taken_count == 0 && max > 0);
	if (!batch_begin(z, &options, &d, &end)) {
		batch_end_waiting(z, &end);
	} else {
		while ((update = list_first_or_null(&z->waiting,
				struct client_update, node))
				!= NULL
			&& batch_apply(z, &options, d, update, is_first)) {
			z->suspects -= z->suspects > 0;
			is_first = false;
			if (z->taken_count == max
				|| clock_now_usec() - began >= TURN_USEC)
				break;
		}
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
	xfrd_client_update_zone_go_on(z);
}

/* Has updates that the last xfrd has made durable published, before all
 * else. False: there is no memory for that now. */
static bool
batch_resume(struct update_zone *z)
{
	enum nsd_err err;

	if (z->is_looked || z->is_busy)
		return true;
	err = xfrd_edit_resume(z->xfrd, z->apex, batch_on_resumed, z);
	batch_set_busy(z, err == NSD_OK);
	z->is_looked = err != NSD_E_MEMORY;
	return z->is_looked;
}

/* Takes the next step of a zone that is due. */
static void
batch_go_on(struct update_zone *z)
{
	struct client_update_end end;

	if (!batch_resume(z)) {
		batch_set_end(&end, RCODE_SERVFAIL, EDE_OTHER,
			err_text(NSD_E_MEMORY));
		batch_end_waiting(z, &end);
	} else if (!z->is_busy) {
		batch_make(z);
	}
	xfrd_client_update_zone_go_on(z);
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
	batch_go_on(z);
	if (!cds_list_empty(&updates->due))
		event_add(updates->event, &at_once);
}

/* ---- interface ----------------------------------------------------------- */

void
xfrd_client_update_queue(struct xfrd *xfrd, struct client_update *update)
{
	struct update_zone *z = xfrd_client_update_zone_get(xfrd, update->apex);
	struct client_update_end end;

	if (z == NULL) {
		batch_set_end(&end, RCODE_SERVFAIL, EDE_OTHER,
			err_text(NSD_E_MEMORY));
		xfrd_client_update_answer(xfrd, update, &end);
		return;
	}
	cds_list_add_tail(&update->node, &z->waiting);
	z->count++;
	xfrd_client_update_zone_soon(z);
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
	z = xfrd_client_update_zone_get(xfrd, apex);
	if (z != NULL)
		(void)batch_resume(z);
}

void
xfrd_client_update_forget(struct xfrd *xfrd, const uint8_t *apex)
{
	struct update_zone *z = xfrd_client_update_zone_find(xfrd, apex);
	struct client_update_end end;

	if (z == NULL)
		return;
	batch_set_gone(&end);
	batch_end_waiting(z, &end);
	cds_list_del_init(&z->due_node);
	/* With a batch under way, its end frees the zone. */
	if (!z->is_busy)
		xfrd_client_update_zone_free(z);
}

enum nsd_err
xfrd_client_update_init(struct xfrd *xfrd)
{
	if (getrandom(&xfrd->updates.seed, sizeof(xfrd->updates.seed), 0)
		!= (ssize_t)sizeof(xfrd->updates.seed))
		xfrd->updates.seed = (uint64_t)clock_now_usec();
	CDS_INIT_LIST_HEAD(&xfrd->updates.due);
	CDS_INIT_LIST_HEAD(&xfrd->updates.all);
	xfrd_client_update_repeats_init(xfrd);
	xfrd->updates.event = event_new(xfrd->role.base, -1, 0,
		batch_on_event, xfrd);
	return xfrd->updates.event != NULL ? NSD_OK : NSD_E_MEMORY;
}
