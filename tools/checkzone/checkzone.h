/* checkzone.h - common parts of the files of nsd-checkzone. */
#ifndef TOOLS_CHECKZONE_H
#define TOOLS_CHECKZONE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/err.h"
#include "dns/name.h"
#include "zone/zonemd.h"

#define TTL_FALLBACK 3600 /* seconds; if the file states none */

struct check {
	const char *name; /* of the zone, as given */
	const char *file;
	const char *old;      /* -i: an older zone file; NULL: none */
	uint32_t ixfr_number; /* -n */
	uint64_t ixfr_size;   /* -s: octets as NSD counts them */
	bool print;
	bool dnssec;      /* verifies signatures; faults in them are errors */
	bool zonemd[DIGEST_KIND_COUNT]; /* --zonemd: the ZONEMD record of each
					 * is printed */
	bool is_other;    /* with --zonemd: the ZONEMD records that are there
			   * are not right */
	bool told;        /* the file was read to its end, and its findings were
			   * told */
	uint64_t now_sec; /* signatures are judged by; since 1970 */
	uint8_t apex[NAME_MAX_LEN];
	struct diag_sink sink;
	unsigned threads;
};

/*
 * Checks a large file while it is read, with little memory. NSD_OK: all is
 * told. NSD_E_LIMIT: it is to be checked with all its records in memory;
 * c->told says whether its syntax has been. Others: the file cannot be read,
 * which was told, or there is no memory.
 */
enum nsd_err checkzone_stream(struct check *c) MUST_USE;

/* True if ZONEMD records are to be printed. */
bool checkzone_wants_digest(const struct check *c);

/* Reads the value of --zonemd: names of hashes with commas between; NULL:
 * sha384. False: it is none. */
bool checkzone_read_hashes(struct check *c, const char *value) MUST_USE;

/* Begins the digests of the zone (zone/zonemd.h). gives *zonemd. returns
 * NSD_OK; NSD_E_MEMORY. */
enum nsd_err checkzone_begin_digest(const struct check *c,
	struct zonemd **zonemd) MUST_USE;

/* Ends them, after all other checks. Reports bad ZONEMD records: a warning,
 * with -D an error. Prints the records that --zonemd wants, unless the zone has
 * other errors. returns NSD_OK; NSD_E_MEMORY. */
enum nsd_err checkzone_end_digest(struct check *c, struct zonemd *zonemd)
	MUST_USE;

/* Makes FILE.ixfr of what c->file, which is sound, changes in c->old, and moves
 * older ones on (loader/ixfr_file.h). False: it was told why not; there is no
 * FILE.ixfr then, unless it was there already. */
bool checkzone_ixfr(struct check *c);

#endif
