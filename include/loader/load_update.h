/*
 * load_update.h - changes of a zone that come in a message, for the loader.
 *
 * The octets in the file of IPC_UPDATE, all numbers in network order:
 *
 *   +0 kind 1, apex (wire name), then for each record
 *      action 1, owner (wire name), TYPE 2, TTL 4, RDLENGTH 2, RDATA
 *
 * Names are whole and uncompressed. xfrd sends transfers; kind 0 is sent, and
 * taken, in test programs alone (process/hooks.h).
 *
 * LOAD_UPDATE_WHOLE is a zone as AXFR brings it: all records are added, the SOA
 * of the apex among them once. It replaces the served version. Threads read it
 * from the file as they read a zone file, unless it is small. LOAD_UPDATE_DIFFS
 * are differences as IXFR brings them (load_versions.h). Large ones are read by
 * a thread, too. For both see xfr/changes.h.
 *
 * A loader answers each UPDATE by one UPDATED, those of one zone in order. A
 * dead loader may have carried out its last request without answering; its
 * sender asks the next loader again, and carrying it out again changes nothing.
 * There is one such at most, as no UPDATE is taken while an answer waits. While
 * a zone is compared with its file or hashed anew, its changes wait
 * (load_wait.h); they are applied to the version that comes of it. A file that
 * is built anew (a small zone, or one in which much differs) replaces changes
 * that were made meanwhile.
 */
#ifndef LOADER_LOAD_UPDATE_H
#define LOADER_LOAD_UPDATE_H

#include <stdbool.h>

#include "base/err.h"
#include "ipc/message.h"
#include "loader/load_settle.h"
#include "loader/load_text.h"
#include "loader/load_wait.h"
#include "loader/load_zone.h"
#include "xfr/changes.h"

enum load_update_kind {
	LOAD_UPDATE_CHANGE, /* of a zone that is served */
	LOAD_UPDATE_WHOLE = XFR_WHOLE, /* all records of a zone of the
					* configuration */
	LOAD_UPDATE_DIFFS = XFR_DIFFS, /* differences between versions of it */
};

/* The most octets of differences of a zone with few records, and for each
 * record of one with many: about one of eight records may differ. They are
 * applied at some 4 us a record, and take some 14 octets of memory for each of
 * theirs meanwhile, so a zone with more is better built anew from a whole
 * transfer. */
#define LOAD_UPDATE_DIFFS_MAX (16u << 20)
#define LOAD_UPDATE_DIFFS_RECORD 5u
/* The most octets of a text that is read at once when it comes. Differences of
 * that length, some 600 records, are then applied in the loader's loop, in some
 * 3 ms, if no more names are to be made anew than below; else by a thread. */
#define LOAD_UPDATE_AT_ONCE (32u << 10)
#define LOAD_UPDATE_NAMES_AT_ONCE 2000u

enum load_update_action {
	LOAD_UPDATE_REMOVE,
	LOAD_UPDATE_ADD,
	LOAD_UPDATE_REMOVE_RRSET, /* TYPE 255: all of the name; no RDATA */
};

/* Returns the most octets of differences of a zone that has so many records. */
static inline uint64_t
load_update_diffs_max(uint64_t records)
{
	return records > LOAD_UPDATE_DIFFS_MAX / LOAD_UPDATE_DIFFS_RECORD
		? records * LOAD_UPDATE_DIFFS_RECORD : LOAD_UPDATE_DIFFS_MAX;
}

/* The same of what is served for an entry; STORE_NONE: there is none. */
uint64_t load_update_served_max(const struct store_view *view,
	store_ref entry) MUST_USE;

/*
 * Reads the octets of a message. They are read and not mapped, because their
 * sender could still change or cut them. *data: gives text->len octets; free()
 * them.
 * returns NSD_OK; NSD_E_LIMIT: there are more than max; NSD_E_MEMORY;
 * NSD_E_SYSTEM: the file cannot be read, or has fewer; NSD_E_WIRE: their sums
 * (has_sums) are wrong.
 */
enum nsd_err load_update_read(const struct load_text *text, uint64_t max,
	uint8_t **data) MUST_USE;

/*
 * Takes the octets of a message into memory: small ones of any kind, and
 * changes that are applied at once. A whole zone stays in its file, as it may
 * be of any size, and so do differences that a thread is to read.
 * view: has the zone's served version, by which differences are bounded.
 * out: kind, len, data and text of *change, where data and text were none;
 *      after an error, too, load_wait_free is due. apex (room for NAME_MAX_LEN
 *      octets): in lower case. What is in memory is of that kind and apex.
 * returns NSD_OK; NSD_E_WIRE: the octets are of no kind; or as
 * load_update_read.
 */
enum nsd_err load_update_take(const struct store_view *view,
	const struct load_text *text, struct load_change *change,
	uint8_t *apex) MUST_USE;

/* True if the served version is newer than a whole zone that comes again, by
 * its SOA. Then the loader that had it before has published it, and later
 * changes. (A change of a zone is done again, and finds nothing to do.) */
bool load_update_is_past(const struct load_context *context,
	const struct load_text *text) MUST_USE;

/* Fills the fields of UPDATED that describe the zone afterwards. apex: in lower
 * case. */
void load_update_fill(const struct load_context *context,
	const uint8_t *apex, struct ipc_updated *result);

/*
 * Applies the changes in memory (not LOAD_UPDATE_WHOLE), all or none, and
 * publishes them. Findings go to the log. zones: those of the configuration, by
 * the id of their entry. settle: the changed zone is noted there. For the main
 * thread.
 * out: *result but for its ticket. result->err:
 *   NSD_E_AGAIN      a thread reads the zone's version, or a new one. Try
 *                    again once its result is taken, and before later changes
 *                    of the zone.
 *   NSD_E_WIRE       the file does not have the layout above
 *   NSD_E_NOT_FOUND  no such zone
 *   NSD_E_ZONE       the zone would break a rule
 *   NSD_E_INEXACT    differences do not fit (load_versions.h)
 *   NSD_E_LIMIT      they take too long for the loop: nothing is done
 *   NSD_E_CHANGE and others of load_verify: it is refused
 *   NSD_E_MEMORY, or others of update/update.h
 */
void load_update_apply(const struct load_context *context,
	const struct load_zone *zones, size_t zone_count,
	struct load_settle *settle, const struct load_change *change,
	struct ipc_updated *result);

#endif
