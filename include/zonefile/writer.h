/*
 * writer.h - prints records as master-file text, as NSD writes zone files
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

/*
 * Prepares to write a zone to a stream. Borrows out until zonefile_writer_fini,
 * apex during the call.
 * returns NSD_OK; NSD_E_MEMORY: there is no memory.
 */
enum nsd_err zonefile_writer_init(struct zonefile_writer *w, FILE *out,
	const uint8_t *apex) MUST_USE;
/*
 * Writes one RR. RRs are written in the order of the calls. rdata is valid for
 * the type; all arguments are borrowed.
 * returns NSD_OK; NSD_E_MEMORY: there is no memory for the line, and nothing of
 *     it is written; NSD_E_SYSTEM: the stream takes no more, errno says why.
 */
enum nsd_err zonefile_writer_rr(struct zonefile_writer *w,
	const uint8_t *owner, uint32_t ttl_sec, uint16_t type,
	const uint8_t *rdata, uint16_t rdlen) MUST_USE;
/* Frees the scratch line; the stream stays open. */
void zonefile_writer_fini(struct zonefile_writer *w);

#endif
