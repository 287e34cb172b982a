/* anchors.h - reads a file of trust anchors: DS and DNSKEY records in the form
 * of a zone file, of any number of zones (dnssec-verify-anchor). */
#ifndef ZONEFILE_ANCHORS_H
#define ZONEFILE_ANCHORS_H

#include "base/diag.h"
#include "base/err.h"
#include "dns/anchor.h"
#include "zonefile/zonefile.h"

struct anchors_file {
	struct anchors anchors;
	struct zonefile_result result; /* the records that they are of */
};

/*
 * Reads a file. apex: the zone whose anchors are wanted, a wire name; NULL:
 * those of all. Findings go to the sink, with file and line.
 * returns NSD_OK and gives *file (anchors_fini), with one anchor at least;
 * NSD_E_SYNTAX: the sink got errors, such as a record of another type, or that
 * the file has no record of the zone; NSD_E_SYSTEM, NSD_E_AGAIN, NSD_E_MEMORY
 * as zonefile_parse. Cost: as zonefile_parse. Blocks as that does.
 */
enum nsd_err anchors_read(const char *path, const uint8_t *apex,
	struct diag_sink *sink, struct anchors_file *file) MUST_USE;
void anchors_fini(struct anchors_file *file);

#endif
