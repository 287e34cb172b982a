/* load_reading.h - a zone file, or the text of a transfer, while it is read;
 * and the modes in which it is. */
#ifndef LOADER_LOAD_READING_H
#define LOADER_LOAD_READING_H

#include "base/diag.h"
#include "base/err.h"
#include "loader/load_text.h"
#include "loader/load_zone.h"

struct load_refusal;
struct store_heap;

/* The served version of a secondary, which is never taken back: its file may be
 * older than a transfer that has come since. */
struct load_age {
	const uint8_t *apex;
	uint32_t served; /* serial */
	bool wanted;     /* the SOA of the file was not seen yet */
	/* Of a zone that takes updates (doc/decisions/0168), else false: */
	bool guards;     /* a file with other records is refused, and not passed
			  * over, unless its serial is newer */
	bool is_updated; /* load_zone_is_updated: also one with a newer serial
			  * is refused */
	bool is_behind;  /* struct load_zone: `served` is what it lacks */
	bool is_same;    /* the file has the serial that is served */
	bool is_refused;
	struct diag_sink *sink; /* for the reason */
	const char *name, *path;
};

/* A file that is being read. All is borrowed. */
struct load_reading {
	const struct load_context *context;
	struct load_zone *zone;
	const char *path;
	const struct load_text *text; /* is read in place of the file at path;
				       * NULL: none */
	struct load_age *age;
	const struct zone *served; /* the published version, which stays while
				    * zone->busy; NULL: none */
	bool large;                /* if it is built anew: from a stream */
	struct zonefile_options options; /* of a parse */
	struct store_heap *heap;
	struct diag_sink *sink;
	struct load_refusal *refusal; /* of a text: set if it is refused */
	uint32_t lacks; /* store_count_lacks when it began */
	struct load_result *result; /* files: empty before the first reading */
};

/* Reads the file or the text once: as zonefile_parse. */
enum nsd_err load_reading_parse(const struct load_reading *r,
	const struct zonefile_options *options, struct diag_sink *sink,
	struct zonefile_result *files) MUST_USE;

/* Reads it, also once more, into r->result->files. The first reading that gets
 * to the end tells r->sink the findings. */
enum nsd_err load_reading_parse_anew(const struct load_reading *r,
	const struct zonefile_options *options) MUST_USE;

/* Finds the serial of the zone, if its SOA is in the batch. */
bool load_reading_find_serial(const struct rrbatch *batch,
	const uint8_t *apex, uint32_t *serial);

/* Refuses the file of a zone that takes updates, with the same serial as what
 * is served, and other records. Returns NSD_E_DENIED. */
enum nsd_err load_reading_refuse_same(struct load_age *age);

/* Looks for the SOA in the next batch. NSD_E_DENIED: the file is older than
 * what is served (RFC 1982 section 3.2), or age->is_refused. */
enum nsd_err load_reading_check_age(struct load_age *age,
	const struct rrbatch *batch) MUST_USE;

#endif
