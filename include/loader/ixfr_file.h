/*
 * ixfr_file.h - differences between the last versions of a zone, in files
 * beside the zone file: ZONEFILE.ixfr is the newest, ZONEFILE.ixfr.2 the one
 * before, and so on. The same files as NSD's (doc/surface.md section 6).
 */
#ifndef LOADER_IXFR_FILE_H
#define LOADER_IXFR_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "base/diag.h"
#include "base/err.h"
#include "store/store.h"
#include "zone/history.h"
#include "zonedb/history_edit.h"

/* The texts of a file's comments, and the zone. All is borrowed. */
struct ixfr_text {
	const uint8_t *apex;
	const char *name;    /* the zone's, as in nsd.conf */
	const char *version; /* of the program */
	int64_t time_sec;    /* of the epoch: now */
};

/* A changeset: the octets of a zone_changeset or of a draft. */
struct ixfr_octets {
	uint32_t from, to;
	const uint8_t *octets;
	size_t len;
};

/* The size of a changeset as NSD counts it: whole names, and 128 octets of its
 * own for each record. 0: the octets are no records, or there is no memory. */
uint64_t ixfr_file_measure(const uint8_t *apex,
	const struct ixfr_octets *octets);

/* Prints a file. returns NSD_OK; NSD_E_SYSTEM (errno): the stream takes no
 * more; NSD_E_WIRE: the octets are no records; NSD_E_MEMORY. */
enum nsd_err ixfr_file_print(FILE *out, const struct ixfr_text *text,
	const struct ixfr_octets *octets) MUST_USE;

/* Writes a file as a whole, in place of the one that is there, and flushes it.
 * returns as ixfr_file_print; NSD_E_SYSTEM (errno): the old file stays. */
enum nsd_err ixfr_file_replace(const char *path,
	const struct ixfr_text *text, const struct ixfr_octets *octets)
	MUST_USE;

/*
 * Writes changesets (history_list) beside the zone file at path, and removes
 * the files of older ones. For the process that writes the zone file, before
 * that
 * file: so the folder is flushed, too. The changesets are pinned, and stay.
 * returns NSD_OK; NSD_E_SYSTEM (errno), NSD_E_WIRE or NSD_E_MEMORY: some files
 *     are new, others old. Whoever reads them sees which lead to each other.
 *     The sink is told.
 */
enum nsd_err ixfr_file_write(const struct store_view *view,
	const struct history_path *history, const char *path,
	const struct ixfr_text *text, struct diag_sink *sink) MUST_USE;

/* True if a changeset was written since the zone file was changed, made or put
 * there (its ctime). No file is opened. False also if the times cannot be
 * read. */
bool ixfr_file_is_new(const char *path);

/* Room for the name of a file. */
#define IXFR_FILE_SUFFIX_MAX 20u

/* Writes the name of a changeset's file; index 0 is the newest. out:
 * strlen(path) + IXFR_FILE_SUFFIX_MAX octets. */
void ixfr_file_print_name(const char *path, unsigned index, char *out);

/*
 * Reads the text of a file, which may be any octets. draft: begun by
 * history_draft_init.
 * returns NSD_OK: the draft is whole; NSD_E_WIRE: it is no such file, and *why
 *     is a static text; NSD_E_LIMIT: it is larger than the limits of the draft
 *     allow; NSD_E_MEMORY.
 * Memory: that of the draft, and some MiB.
 */
enum nsd_err ixfr_file_parse(const char *text, size_t len,
	struct history_draft *draft, const char **why) MUST_USE;

/* The files that are wanted. All is borrowed. */
struct ixfr_wanted {
	const uint8_t *apex;
	uint32_t serial; /* the files lead to this version */
	const struct history_limits *limits;
	/* The files must have changed (ctime) after this moment, and not in
	 * time to come. Older ones may be of another version that has the same
	 * serial; a later ctime says that the clock was set back. NULL: files
	 * of any time do. */
	const struct timespec *since;
};

/* The changesets that were read, the newest first. */
struct ixfr_drafts {
	struct history_draft *items;
	size_t count;
	bool stale; /* the next file is too old, or was not looked at: it does
		     * not belong to the zone file */
};

/*
 * Reads the files beside a zone file, as many as the limits allow. The first
 * file that is broken or does not fit ends the reading; the sink is told. Gives
 * *drafts; ixfr_file_release frees it. Any thread. Blocks on the file
 */
void ixfr_file_read(const char *path, const struct ixfr_wanted *wanted,
	struct diag_sink *sink, struct ixfr_drafts *drafts);
void ixfr_file_release(struct ixfr_drafts *drafts);

#endif
