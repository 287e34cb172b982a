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

/* Reports bad ZONEMD records: a warning, with -D an error. */
void checkzone_tell_digest(struct check *c, enum zonemd_verdict verdict);

/* Makes FILE.ixfr of what c->file, which is sound, changes in c->old, and moves
 * older ones on (loader/ixfr_file.h). False: it was told why not; there is no
 * FILE.ixfr then, unless it was there already. */
bool checkzone_ixfr(struct check *c);

#endif
