/*
 * writer.h - records to master-file text as NSD writes zone files
 * (doc/surface.md section 6, "zone file written").
 */
#ifndef ZONEFILE_WRITER_H
#define ZONEFILE_WRITER_H

#include <stdio.h>
#include <stdint.h>

#include "base/err.h"
#include "dns/name.h"

struct zonefile_writer {
	FILE *out;                       /* borrowed */
	uint8_t apex[NAME_MAX_LEN];
	uint8_t origin[NAME_MAX_LEN];    /* last $ORIGIN written */
	uint8_t owner[NAME_MAX_LEN];     /* owner of the last line */
	bool any;                        /* a record was written */
	char *line;                      /* scratch, grows to the largest RR */
	size_t line_size;
};

enum nsd_err zonefile_writer_init(struct zonefile_writer *w, FILE *out,
	const uint8_t *apex) MUST_USE;
/* Writes one RR; owners come in the order they shall stand in. NSD_E_SYSTEM
 * when the stream fails. */
enum nsd_err zonefile_writer_rr(struct zonefile_writer *w,
	const uint8_t *owner, uint32_t ttl_sec, uint16_t type,
	const uint8_t *rdata, uint16_t rdlen) MUST_USE;
void zonefile_writer_fini(struct zonefile_writer *w);

#endif
