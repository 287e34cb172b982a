/*
 * writeback.h - writes a served zone to a zone file, as NSD writes it
 * (doc/surface.md section 6, "zone file written").
 */
#ifndef LOADER_WRITEBACK_H
#define LOADER_WRITEBACK_H

#include <limits.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/err.h"
#include "store/store.h"
#include "zone/zone.h"

struct stat;

/* The zone to be written, and where to. */
struct writeback {
	const struct store_view *view;
	const struct zone *zone;
	const uint8_t *apex;
	const char *path;     /* of the zone file; "~" is added for a new one,
			       * which takes its place when it is whole */
	const char *name;     /* of the zone, in the comment */
	const char *version;  /* of the server, in the comment */
	int64_t time_sec;     /* of the epoch: now */
	const char *received; /* a second comment: "received update to serial
			       * ..."; NULL: none */
	/* Called after each on_records_every records, as a sign of life; 0:
	 * never. */
	uint64_t on_records_every;
	void (*on_records)(void *ctx);
	void *ctx;
	struct stat *st; /* is set to what the file is then; NULL: is not */
	/* Finds the name under which the old file is kept, right before the new
	 * one takes its place; empty: it is replaced. What fails is logged, and
	 * the zone is not written. NULL: each old file is replaced. */
	enum nsd_err (*find_aside)(void *aside_ctx, char name[PATH_MAX]);
	void *aside_ctx;
};

/*
 * Writes a version of a zone, durably. The caller keeps the version from being
 * freed (a slot of its own as a reader, and a pin), and sets priorities.
 * Folders of the path that are not there are made (0750, as by NSD). Borrows
 * the arguments. Takes as long as the disk does; memory: that of a record, and
 * 256 KiB.
 *
 * returns NSD_OK and *serial, that of the zone written; NSD_E_SYSTEM with
 *     errno: the old file is as it was, and nothing is beside it (if only the
 *     folder could not be flushed, the new one is there); NSD_E_MEMORY.
 *     The sink is told what could not be done to which file.
 */
enum nsd_err writeback_zone(const struct writeback *writeback,
	struct diag_sink *sink, uint32_t *serial) MUST_USE;

#endif
