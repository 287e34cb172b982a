/* xfrd_job.c - a question to another server: with which key it is signed, and
 * its end, by an answer or because nobody wants one. */
#include "config.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "journal/journal.h"
#include "xfrd/xfrd.h"

enum nsd_err
xfrd_job_open_key(struct xfrd_job *job)
{
	const struct server *server = job->xfrd->role.server;
	const struct conf_key *key = job->server->key;
	const uint8_t *secret, *algorithm;
	size_t len, name_size;
	enum nsd_err err;

	if (job->server->key_name == NULL)
		return NSD_OK;
	secret = key == NULL ? NULL
			     : vault_get(server->vault, key->place, &len);
	if (secret == NULL)
		return NSD_E_DENIED;
	job->key.kind = MAC_KIND_COUNT;
	for (unsigned k = 0; k < MAC_KIND_COUNT; k++) {
		algorithm = tsig_algorithm_name((enum mac_kind)k);
		if (strlen(key->algorithm_name) == algorithm[0]
			&& memcmp(key->algorithm_name, algorithm + 1,
				   algorithm[0])
				== 0)
			job->key.kind = (enum mac_kind)k;
	}
	if (job->key.kind == MAC_KIND_COUNT)
		return NSD_E_DENIED;
	name_size = name_len(key->wire);
	memcpy(job->key.name, key->wire, name_size);
	name_lower(job->key.name);
	err = mac_create(job->key.kind, secret, len, &job->key.mac);
	/* Main may have overwritten it meanwhile. */
	if (err == NSD_OK
		&& vault_get(server->vault, key->place, &len) == NULL) {
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
	cds_list_del(&job->node);
	cds_list_del(&job->keep_node);
	if (job->entry != 0)
		job->xfrd->kept--;
	xfrd_ask_close(job->ask);
	if (job->event != NULL)
		event_free(job->event);
	mac_destroy(job->key.mac);
	journal_abandon(job->text);
	free(job->gone);
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

void
xfrd_job_end(struct xfrd_job *job, const struct xfr_reply *reply,
	const char *why)
{
	struct xfrd *xfrd = job->xfrd;
	struct xfr_reply told = *reply;
	int64_t now = clock_now_msec();

	if (job->ticket != XFR_NO_TICKET) {
		told.reason = xfrd_reasons_add(&xfrd->reasons, why);
		if (xfr_on_reply(xfrd->zones.machine, job->ticket, now, &told))
			xfrd_failure_tell(job, &told, why, now);
	}
	xfrd_job_free(job);
	xfrd_zones_go_on(xfrd);
}

/* ---- nobody waits for it any more ---------------------------------------- */

void
xfrd_job_cancel(struct xfrd *xfrd, uint64_t ticket)
{
	struct xfrd_job *job;

	cds_list_for_each_entry(job, &xfrd->jobs, node)
		if (job->ticket == ticket) {
			job->ticket = XFR_NO_TICKET;
			/* What is being published ends by itself. */
			if (job->entry == 0)
				xfrd_job_free(job);
			return;
		}
}

/* What it needs of a zone that goes: its name. */
static struct conf_zone *
job_copy_zone(const struct conf_zone *zone)
{
	size_t wire_len = name_len(zone->wire), name_size = strlen(zone->name)
		+ 1;
	struct conf_zone *copy = calloc(1, sizeof(*copy) + wire_len
		+ name_size);
	char *text;

	if (copy == NULL)
		return NULL;
	text = (char *)(copy + 1);
	memcpy(text, zone->wire, wire_len);
	memcpy(text + wire_len, zone->name, name_size);
	copy->wire = (const uint8_t *)text;
	copy->name = text + wire_len;
	return copy;
}

void
xfrd_job_leave_zone(struct xfrd *xfrd, const struct conf_zone *zone)
{
	struct xfrd_job *job, *next;

	cds_list_for_each_entry_safe(job, next, &xfrd->jobs, node) {
		if (job->zone != zone)
			continue;
		job->ticket = XFR_NO_TICKET;
		/* Only what the loader has in hand is waited for. */
		if (job->entry == 0 || !cds_list_empty(&job->keep_node)) {
			xfrd_job_free(job);
			continue;
		}
		job->gone = job_copy_zone(zone);
		if (job->gone == NULL) {
			log_error("out of memory, ending");
			_exit(1); /* the next one knows nothing of it */
		}
		job->zone = job->gone;
	}
}
