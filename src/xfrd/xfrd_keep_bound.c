/*
 * xfrd_keep_bound.c - keeps the differences that the journal has of a secondary
 * zone from growing without an end: doc/decisions/0196.
 *
 * At the bound the served version is written to the journal whole, in place of
 * the differences. The transfer that has found the bound reached waits for
 * that, and so does any other of the zone: what is put into the journal
 * meanwhile would go, too.
 */
#include "config.h"

#include <assert.h>
#include <stdio.h>

#include "base/log.h"
#include "dns/name.h"
#include "journal/journal.h"
#include "xfrd/xfrd.h"

/* The bound is this, and some octets for each record (xfrd_shorten.c). It is
 * reached where there is no zone file, or it cannot be written. The differences
 * of a transfer, which are bounded (load_update_diffs_max), may go beyond. */
#define JOURNAL_OCTETS_MAX (64u << 20)

/* True if a transfer brings differences, and the journal takes no more of
 * them. *octets: what it has of the zone. */
static bool
bound_is_reached(const struct xfrd_job *job, uint64_t *octets)
{
	return job->reader.result.kind == XFR_DIFFS
		&& xfrd_shorten(job->xfrd, job->zone, JOURNAL_OCTETS_MAX,
			octets);
}

/* Ends a transfer that is beyond the bound: the whole zone is asked for next,
 * which ends the differences as well, unless allow-axfr-fallback says no; then
 * the next check takes differences again. */
static void
bound_refuse(struct xfrd_job *job, const char *why)
{
	char text[XFRD_ERROR_MAX];

	snprintf(text, sizeof(text), "the journal has too many differences, and"
		" cannot take the whole zone: %s", why);
	xfrd_job_end(job, &(struct xfr_reply){.outcome = XFR_NO_FIT}, text);
}

bool
xfrd_keep_hold(struct xfrd_job *job, xfrd_edit_on_renewed *on_renewed)
{
	struct xfrd *xfrd = job->xfrd;
	uint64_t octets = 0;
	bool is_reached = bound_is_reached(job, &octets);
	enum nsd_err err;

	assert(job->entry == 0 && cds_list_empty(&job->keep_node));
	if (!is_reached && !xfrd_edit_renews(xfrd, job->apex))
		return false;
	err = xfrd_edit_renew(xfrd, job->zone, on_renewed);
	/* The version that is on its way was another xfrd's, or of other
	 * options of the zone. */
	if (err == NSD_E_AGAIN)
		return false;
	if (err != NSD_OK) {
		bound_refuse(job, err_reason(err));
		return true;
	}
	if (is_reached)
		log_at(2, LOG_LEVEL_INFO, "xfrd: zone %s has %llu octets of"
			" differences in the journal: it is written there"
			" whole", job->name, (unsigned long long)octets);
	cds_list_add_tail(&job->keep_node, &xfrd->held);
	return true;
}

/* Finds the transfer of a zone that waits; NULL: there is none. The machine has
 * one of a zone under way at a time. */
static struct xfrd_job *
bound_find(const struct xfrd *xfrd, const uint8_t *apex)
{
	struct xfrd_job *job;

	cds_list_for_each_entry(job, &xfrd->held, keep_node)
		if (name_equal(job->apex, apex))
			return job;
	return NULL;
}

struct xfrd_job *
xfrd_keep_take_held(struct xfrd *xfrd, const uint8_t *apex, const char *why)
{
	struct xfrd_job *job = bound_find(xfrd, apex);
	uint64_t octets;

	/* The transfer may have been cancelled. */
	if (job == NULL)
		return NULL;
	cds_list_del_init(&job->keep_node);
	if (why == NULL || !bound_is_reached(job, &octets))
		return job;
	bound_refuse(job, why);
	return NULL;
}
