/*
 * xfrd_write_zone.c - decides which zone files are to be written, and notes
 * outcomes.
 *
 * A zone is due as long as a live entry of the journal leads to its served
 * version. So no other list of changed zones is needed, also over a restart.
 * Other zones are due if their file is not there, as nothing else has them
 * (doc/decisions/0135). A secondary that is made a primary is due once xfrd has
 * followed that: by then the loader has looked at its file, which may be a
 * newer one of the operator's.
 */
#include "config.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "journal/journal.h"
#include "process/counts.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_write.h"

/* ---- zones that are due -------------------------------------------------- */

/* Options of a zone that decide about its file. */
struct write_role {
	bool has_file, is_from_xfrd, was_from_xfrd;
};

static struct write_role
write_read_role(struct xfrd *xfrd, const struct xfrd_zone *zone)
{
	const struct xfrd_options options = xfrd_options_begin(xfrd, zone);
	const struct write_role role = {
		.has_file = xfrd_options_file(&options) != NULL,
		.is_from_xfrd = xfrd_options_are_from_xfrd(&options),
		.was_from_xfrd = options.entry != NULL
			&& (__atomic_load_n(&options.entry->flags,
				    __ATOMIC_RELAXED)
				& ZONE_ENTRY_WAS_FROM_XFRD) != 0,
	};

	xfrd_read_end(xfrd);
	return role;
}

enum xfrd_write_need
xfrd_write_need_of(struct xfrd *xfrd, struct xfrd_zone *zone,
	struct journal_entry *entry)
{
	const struct write_role role = write_read_role(xfrd, zone);
	struct xfrd_soa soa;

	assert(xfrd->journal != NULL); /* without a journal no file is
					* written */
	if (!role.has_file || (!role.is_from_xfrd && !role.was_from_xfrd)
		|| !xfrd_zones_get_soa(xfrd, zone, &soa))
		return WRITE_NOTHING;
	/* New options of the zone are published, and not followed yet. */
	if (!role.is_from_xfrd && zone->acts_from_xfrd)
		return WRITE_NOTHING;
	if (!journal_find_serial(xfrd->journal, xfrd_zone_apex(zone),
		    soa.numbers.serial, entry)) {
		*entry = (struct journal_entry){.to = soa.numbers.serial};
		return WRITE_LOOK;
	}
	/* A forced transfer may have the serial of the version before, which is
	 * still served. */
	return entry->is_back && xfrd_job_has_entry(xfrd, entry->id)
		? WRITE_NOTHING : WRITE_ZONE;
}

enum xfrd_write_need
xfrd_write_need_of_file(struct xfrd *xfrd, struct xfrd_zone *zone,
	struct journal_entry *entry)
{
	enum xfrd_write_need need = xfrd_write_need_of(xfrd, zone, entry);
	struct journal_entry oldest;

	/* From now on the zone's file counts. */
	if (need == WRITE_ZONE && write_read_role(xfrd, zone).was_from_xfrd)
		return WRITE_ZONE;
	if (need == WRITE_ZONE)
		need = journal_find_oldest(xfrd->journal, xfrd_zone_apex(zone),
				&oldest)
				&& oldest.kind == JOURNAL_DIFFS
			? WRITE_LOOK : WRITE_NOTHING;
	return need;
}

/* ---- writing ------------------------------------------------------------- */

void
xfrd_write_print_received(char *out, size_t size,
	const struct journal_entry *entry, const char *source)
{
	time_t time = (time_t)entry->time_sec;
	char when[32] = "";
	struct tm tm;

	if (localtime_r(&time, &tm) != NULL)
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(out, size, "received update to serial %lu at %s from %s",
		(unsigned long)entry->to, when, source);
}

bool
xfrd_write_ask(struct xfrd *xfrd, struct xfrd_zone *zone,
	const struct journal_entry *entry, request_on_end *on_end)
{
	struct xfrd_writes *writes = &xfrd->writes;
	const struct xfrd_written *done = &zone->written;
	struct ipc_write what = {.serial = entry->to};
	char source[JOURNAL_SOURCE_MAX + 1];
	struct link_message message = {
		.type = IPC_WRITE_ZONE,
		.payload = &what,
	};
	enum nsd_err err;

	assert(!writes->busy); /* the writer has one zone at a time */
	what.flags = IPC_WRITE_COPY;
	/* A copy that is there need not be made again. */
	if (done->to == IPC_WRITTEN_COPY) {
		what.flags |= IPC_WRITE_HAS_COPY;
		if (done->serial == entry->to)
			what.flags &= ~(uint32_t)IPC_WRITE_COPY;
	}
	memcpy(what.apex, xfrd_zone_apex(zone), name_len(xfrd_zone_apex(zone)));
	if (entry->id != 0
		&& journal_read_source(xfrd->journal, xfrd_zone_apex(zone),
			   entry->id, source)
			== NSD_OK)
		xfrd_write_print_received(what.received, sizeof(what.received),
			entry, source);
	message.len = offsetof(struct ipc_write, received)
		+ strlen(what.received) + 1;
	assert(message.len <= sizeof(what));
	memcpy(writes->apex, what.apex, sizeof(writes->apex));
	writes->serial = entry->to;
	writes->entry = entry->id;
	err = requests_add(&writes->requests, &message, on_end, xfrd);
	if (err != NSD_OK) {
		writes->failed++;
		writes->last_failed = (struct xfrd_written){
			.err = (uint8_t)err};
		return false;
	}
	return true;
}

/* ---- outcomes ------------------------------------------------------------ */

void
xfrd_write_set_failed(const struct xfrd *xfrd, bool failed)
{
	if (xfrd->role.server->counts != NULL)
		counts_get_reset(xfrd->role.server->counts)->write_failed =
			failed;
}

bool
xfrd_write_has_failed(const struct xfrd *xfrd)
{
	return xfrd->role.server->counts != NULL
		&& counts_get_reset(xfrd->role.server->counts)->write_failed
		!= 0;
}

/* Logs failures to write: the first zone of a round, and their number at its
 * end. */
static void
write_log_failure(struct xfrd *xfrd, struct xfrd_zone *zone,
	const struct xfrd_written *done)
{
	struct journal_entry entry;
	char name[NAME_TEXT_MAX], file[PATH_MAX];

	log_at(xfrd->writes.failed++ == 0 ? 0 : 2, LOG_LEVEL_ERROR,
		"xfrd: zone %s cannot be written to %s: %s%s; %s",
		xfrd_zone_print_name(xfrd, zone, name),
		xfrd_zone_print_file(xfrd, zone, file, sizeof(file)),
		xfrd_written_why(done),
		done->to == IPC_WRITTEN_COPY ? "; a copy is in xfrdir" : "",
		xfrd_write_need_of(xfrd, zone, &entry) == WRITE_LOOK
			? "a start has it from a primary alone"
			: "the journal keeps it");
}

/* True if the writer's report is about a version that it may have seen. A
 * version that was forced since then may have the same serial. */
static bool
write_is_sound(struct xfrd *xfrd, struct xfrd_zone *zone,
	uint32_t serial)
{
	struct journal_entry entry;
	struct xfrd_soa soa;

	if (journal_find_serial(xfrd->journal, xfrd_zone_apex(zone), serial,
		    &entry)
		&& entry.is_back && entry.id != xfrd->writes.entry)
		return false;
	return serial == xfrd->writes.serial
		|| (xfrd_zones_get_soa(xfrd, zone, &soa)
			&& soa.numbers.serial == serial);
}

void
xfrd_write_note(struct xfrd *xfrd, struct xfrd_zone *zone,
	const struct ipc_written *written)
{
	struct xfrd_written *done = &zone->written, result = {
		.at_sec = (uint32_t)time(NULL),
		.err = (uint8_t)written->err,
		.error = (uint16_t)written->error,
		.to = (uint8_t)written->to,
		.serial = written->serial,
		.in_file = done->in_file,
		.file_serial = done->file_serial,
	};

	assert(!xfrd->writes.busy && xfrd->journal != NULL);
	if (written->err == NSD_OK) {
		xfrd->writes.written++;
		result.in_file = true;
		result.file_serial = written->serial;
		if (write_is_sound(xfrd, zone, written->serial))
			(void)journal_forget(xfrd->journal,
				xfrd_zone_apex(zone), written->serial);
	} else {
		/* An earlier copy is as good. */
		if (result.to == IPC_WRITTEN_NOWHERE
			&& done->to == IPC_WRITTEN_COPY) {
			result.to = IPC_WRITTEN_COPY;
			result.serial = done->serial;
		}
		write_log_failure(xfrd, zone, &result);
		xfrd->writes.last_failed = result;
		xfrd_write_set_failed(xfrd, true);
	}
	*done = result;
}
