/*
 * xfrd_resume.c - has entries of the journal published that were not: the last
 * xfrd died before that, or the loader could not at its start.
 */
#include "config.h"

#include <assert.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "dns/serial.h"
#include "journal/journal.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_refused.h"

/* An entry, until the loader has answered. */
struct resume_rest {
	struct xfrd *xfrd;
	uint64_t entry;
	uint32_t to;                /* serial; it was not served */
	uint8_t apex[NAME_MAX_LEN]; /* a copy: the zone may go meanwhile */
};

/* Has a look at zones, or following another configuration, go on: it may wait
 * for room among the requests. */
static void
resume_wake(struct xfrd *xfrd)
{
	if (xfrd->zones.looking)
		event_active(xfrd->zones.look_event, EV_TIMEOUT, 0);
	if (xfrd->follow.step >= XFRD_FOLLOW_ZONES)
		event_active(xfrd->follow.event, EV_TIMEOUT, 0);
}

static void
resume_on_answer(void *ctx, const struct ipc_message *answer)
{
	struct resume_rest *rest = ctx;
	struct xfrd *xfrd = rest->xfrd;
	struct xfrd_zone *zone = xfrd_zone_find(&xfrd->zones.table,
		rest->apex);
	char name[NAME_TEXT_MAX];
	struct ipc_updated updated;
	struct xfrd_soa soa;

	xfrd_loader_read_updated(answer, &updated);
	if (updated.refused != 0 && zone != NULL)
		xfrd_refused_note(&xfrd->zones.table, zone, &updated, XFR_NONE);
	/* The primary is asked for it again. */
	if (updated.err == NSD_E_WIRE && zone != NULL)
		log_error("xfrd: zone %s: serial %lu in the journal is damaged,"
			  " and is dropped",
			xfrd_zone_print_name(xfrd, zone, name),
			(unsigned long)rest->to);
	/* A loader that has died may have published it. */
	if (updated.err == NSD_OK || (answer != NULL && zone != NULL
			&& xfrd_zones_get_soa(xfrd, zone, &soa)
			&& soa.numbers.serial == rest->to))
		journal_accept(xfrd->journal, rest->apex, rest->entry);
	/* An entry that has come while the loader had it in hand leads on from
	 * what was served then, too. */
	else if (updated.err != NSD_E_AGAIN && updated.err != NSD_E_MEMORY
		&& updated.err != NSD_E_SYSTEM)
		journal_refuse_one(xfrd->journal, rest->apex, rest->entry);
	if (zone != NULL)
		xfrd_zones_hear(xfrd, zone);
	resume_wake(xfrd);
	free(rest);
}

bool
xfrd_resume_leads_on(const struct journal_entry *entry,
	const struct xfrd_soa *soa)
{
	if (soa == NULL)
		return entry->kind == JOURNAL_WHOLE;
	return entry->kind == JOURNAL_WHOLE
		? serial_is_newer(entry->to, soa->numbers.serial)
		: entry->from == soa->numbers.serial;
}

bool
xfrd_resume(struct xfrd *xfrd, struct xfrd_zone *zone,
	const struct xfrd_soa *soa)
{
	const uint8_t *apex = xfrd_zone_apex(zone);
	struct journal_entry entry;
	struct resume_rest *rest;
	/* The text may have been damaged since it was written. */
	struct load_text text = {.fd = -1, .has_sums = true};
	enum nsd_err err;
	uint64_t octets;

	assert(zone->handle == XFR_NONE); /* no request for the zone is under
					   * way */
	if (xfrd->journal == NULL || !xfrd_zone_is_secondary(xfrd, zone)
		|| !journal_find_newest(xfrd->journal, apex, &entry, &octets))
		return true;
	/* The journal does not remember which entries were accepted; nor that
	 * one was judged, if no note of it came to the disk. */
	if (soa != NULL && entry.to == soa->numbers.serial)
		journal_accept(xfrd->journal, apex, entry.id);
	if (!xfrd_resume_leads_on(&entry, soa))
		return true;
	rest = malloc(sizeof(*rest));
	if (rest == NULL)
		return false;
	*rest = (struct resume_rest){.xfrd = xfrd, .entry = entry.id,
		.to = entry.to};
	memcpy(rest->apex, apex, name_len(apex));
	text.len = entry.text_len;
	/* No check is made of an entry that an operator takes. */
	if (entry.is_taken && !entry.is_doubtful)
		text.accepted = IPC_CHECK_ALL;
	err = journal_open_text(xfrd->journal, apex, entry.id, &text.fd,
		&text.offset);
	if (err == NSD_OK) {
		err = xfrd_loader_update(xfrd, &text, resume_on_answer, rest);
		close(text.fd);
	}
	if (err != NSD_OK)
		free(rest);
	/* After another error the primary is asked for it again. */
	return err != NSD_E_AGAIN && err != NSD_E_MEMORY;
}
