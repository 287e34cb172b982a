/* xfrd_job.c - a question to another server: its key, and its end, by an answer
 * or when none is wanted any more. */
#include "config.h"

#include <assert.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "journal/journal.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_refused.h"

/* ---- the beginning ------------------------------------------------------- */

/* Published options that a job copies. */
struct job_source {
	struct xfrd_options options;
	const char *name;
	char name_text[NAME_TEXT_MAX];
	const struct acl_element *server;
	struct settings_texts texts; /* of the server */
	const struct acl_element *ours; /* outgoing-interface */
	uint32_t ours_count;
};

/* Finds the server of an action. False: there is no such server. */
static bool
job_find_server(struct xfrd *xfrd, struct job_source *source,
	const struct xfrd_zone *zone, const struct xfr_action *action)
{
	const struct settings_options *lists = xfrd_options_lists(
		&source->options);
	bool is_notify = action->act == XFR_NOTIFY;
	enum settings_list list = is_notify ? SETTINGS_NOTIFY
		: SETTINGS_REQUEST_XFR;
	uint32_t index = is_notify ? action->target : action->primary, count;

	if (lists == NULL)
		return false;
	source->server = settings_options_list(lists, list, &count);
	if (index >= count)
		return false;
	source->server += index;
	source->texts = xfrd_options_texts(&source->options, list, index);
	source->ours = settings_options_list(lists,
		SETTINGS_OUTGOING_INTERFACE, &source->ours_count);
	source->name = xfrd_zone_print_name(xfrd, zone,
		source->name_text);
	return true;
}

static size_t
job_text_size(const char *text)
{
	return text != NULL ? strlen(text) + 1 : 0;
}

/* Copies a text to *at, which is moved behind it. NULL stays NULL. */
static const char *
job_put_text(char **at, const char *text)
{
	char *copy = *at;
	size_t size = job_text_size(text);

	if (text == NULL)
		return NULL;
	memcpy(copy, text, size);
	*at += size;
	return copy;
}

/* Allocates a job, and makes its copies. NULL: no memory. */
static struct xfrd_job *
job_copy(const struct job_source *source, const struct xfrd_zone *zone)
{
	const struct acl_element *server = source->server;
	const uint8_t *apex = xfrd_zone_apex(zone);
	size_t apex_len = name_len(apex), size = sizeof(struct xfrd_job)
		+ source->ours_count * sizeof(source->ours[0]) + apex_len
		+ job_text_size(source->name)
		+ job_text_size(source->texts.spec)
		+ job_text_size(source->texts.key_name)
		+ job_text_size(source->texts.tls_auth);
	struct xfrd_job *job = calloc(1, size);
	char *at;

	if (job == NULL)
		return NULL;
	for (uint32_t i = 0; i < source->ours_count; i++)
		if (source->ours[i].family == server->family)
			job->ours[job->ours_count++] = source->ours[i];
	at = (char *)&job->ours[job->ours_count];
	job->apex = memcpy(at, apex, apex_len);
	at += apex_len;
	job->name = job_put_text(&at, source->name);
	job->whom.spec = job_put_text(&at, source->texts.spec);
	job->whom.key_name = job_put_text(&at, source->texts.key_name);
	job->whom.tls_auth_name = job_put_text(&at, source->texts.tls_auth);
	assert(at <= (char *)job + size);
	job->whom.port = server->port;
	job->whom.family = server->family;
	memcpy(job->whom.address, server->address,
		sizeof(job->whom.address));
	job->size_limit = source->options.pattern->storing.size_limit_xfr;
	job->has_key = server->key != STORE_NONE;
	if (job->has_key) {
		const struct settings_key *key = store_get(
			source->options.view, server->key);

		memcpy(job->key.name, key->name, key->name_len);
	}
	return job;
}

struct xfrd_job *
xfrd_job_create(struct xfrd *xfrd, const struct xfr_action *action)
{
	struct xfrd_zone *zone = xfrd_zones_get(xfrd, action->zone);
	struct job_source source = {
		.options = xfrd_options_begin(xfrd, zone),
	};
	struct xfrd_job *job = NULL;

	if (job_find_server(xfrd, &source, zone, action))
		job = job_copy(&source, zone);
	xfrd_read_end(xfrd);
	if (job == NULL)
		return NULL;
	job->xfrd = xfrd;
	job->zone = zone;
	job->action = *action;
	job->ticket = action->ticket;
	job->at.fd = -1;
	cds_list_add(&job->node, &xfrd->jobs);
	CDS_INIT_LIST_HEAD(&job->keep_node);
	return job;
}

/* ---- the key ------------------------------------------------------------- */

/* Finds the secret of the job's key. False: there is no such key. */
static bool
job_find_secret(struct xfrd_job *job, struct key_handle *handle)
{
	const struct store_view *view = xfrd_read_begin(job->xfrd);
	const struct settings *settings = settings_get(view);
	size_t len = name_len(job->key.name);
	bool found = false;

	for (uint32_t i = 0; i < settings->key_count && !found; i++) {
		const struct settings_key *key = store_get(view,
			settings_keys(settings)[i]);

		found = key->name_len == len
			&& memcmp(key->name, job->key.name, len) == 0;
		if (found) {
			job->key.kind = (enum mac_kind)key->algorithm;
			*handle = settings_secrets(settings)[i];
		}
	}
	xfrd_read_end(job->xfrd);
	return found;
}

enum nsd_err
xfrd_job_open_key(struct xfrd_job *job)
{
	const struct key_store *key_store = job->xfrd->role.server->key_store;
	const uint8_t *secret = NULL;
	struct key_handle handle;
	enum nsd_err err;
	size_t len;

	assert(job->key.mac == NULL);
	if (job->whom.key_name == NULL)
		return NSD_OK;
	if (job->has_key && job_find_secret(job, &handle))
		secret = key_store_get(key_store, handle, &len);
	if (secret == NULL)
		return NSD_E_DENIED;
	err = mac_create(job->key.kind, secret, len, &job->key.mac);
	/* Main may have overwritten the secret meanwhile. */
	if (err == NSD_OK && key_store_get(key_store, handle, &len) == NULL) {
		mac_destroy(job->key.mac);
		job->key.mac = NULL;
		err = NSD_E_DENIED;
	}
	return err;
}

/* ---- the end of a job ---------------------------------------------------- */

void
xfrd_job_free(struct xfrd_job *job)
{
	assert(job->at.fd == -1); /* the loader has no transfer of it */
	assert(job->entry == 0 || (job->ask == NULL && job->text == NULL));
	cds_list_del(&job->node);
	cds_list_del(&job->keep_node);
	if (job->entry != 0) {
		assert(job->xfrd->kept > 0);
		job->xfrd->kept--;
	}
	if (job->is_judged) {
		assert(job->xfrd->judged > 0);
		job->xfrd->judged--;
		if (job->zone != NULL)
			job->zone->is_judged = false;
	}
	xfrd_ask_close(job->ask);
	if (job->event != NULL)
		event_free(job->event);
	mac_destroy(job->key.mac);
	journal_abandon(job->text);
	free(job);
}

bool
xfrd_job_has_entry(const struct xfrd *xfrd, uint64_t entry)
{
	const struct xfrd_job *job;

	cds_list_for_each_entry(job, &xfrd->jobs, node)
		if (job->entry == entry)
			return true;
	return false;
}

/* At the end of a check: an acceptance holds no longer; and if the check went
 * well, the primaries do not have the version any more that was refused. */
static void
job_look_at_refused(struct xfrd_job *job, int64_t now)
{
	struct xfrd_zone_table *table = &job->xfrd->zones.table;
	struct xfr_status status;

	xfr_get_status(job->xfrd->zones.machine, job->action.zone, now,
		&status);
	if (status.is_checking || job->action.act == XFR_NOTIFY)
		return;
	if (status.failed_rounds == 0)
		xfrd_refused_drop(table, job->zone);
	else
		xfrd_refused_find(table, job->zone)->is_accepted = false;
}

void
xfrd_job_end(struct xfrd_job *job, const struct xfr_reply *reply,
	const char *why)
{
	struct xfrd *xfrd = job->xfrd;
	struct xfr_reply told = *reply;
	int64_t now = clock_now_msec();

	if (job->ticket != XFR_NO_TICKET) {
		assert(job->zone != NULL
			&& job->zone->handle == job->action.zone);
		told.reason = xfrd_failure_get_reason(job, told.outcome, why);
		if (xfr_on_reply(xfrd->zones.machine, job->ticket, now, &told))
			xfrd_failure_tell(job, &told, why, now);
		if (job->zone->is_refused)
			job_look_at_refused(job, now);
	}
	xfrd_job_free(job);
	xfrd_zones_go_on(xfrd);
}

/* ---- cancelling ---------------------------------------------------------- */

void
xfrd_job_cancel(struct xfrd *xfrd, uint64_t ticket)
{
	struct xfrd_job *job;

	assert(ticket != XFR_NO_TICKET); /* jobs without a ticket may be many */
	cds_list_for_each_entry(job, &xfrd->jobs, node)
		if (job->ticket == ticket) {
			job->ticket = XFR_NO_TICKET;
			/* A transfer that is being published ends by itself. */
			if (job->entry == 0)
				xfrd_job_free(job);
			return;
		}
}

void
xfrd_job_detach_zone(struct xfrd *xfrd, struct xfrd_zone *zone)
{
	struct xfrd_job *job, *next;

	assert(zone != NULL); /* jobs of removed zones have none */
	zone->is_judged = false;
	cds_list_for_each_entry_safe(job, next, &xfrd->jobs, node) {
		if (job->zone != zone)
			continue;
		job->ticket = XFR_NO_TICKET;
		job->zone = NULL;
		/* A transfer that the loader has in hand stays, until its
		 * answer. */
		if (job->entry == 0 || !cds_list_empty(&job->keep_node))
			xfrd_job_free(job);
	}
}
