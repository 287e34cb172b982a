/* load_records.h - reads the records of changes of the older sort: see
 * loader/load_update.h. All octets are hostile. */
#ifndef LOADER_LOAD_RECORDS_H
#define LOADER_LOAD_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/octets.h"
#include "dns/name.h"
#include "zone/walk.h"

/* The most octets that kind and apex take. */
#define LOAD_HEAD_MAX (1u + NAME_MAX_LEN)

struct load_record {
	uint8_t action; /* enum load_update_action, or any other octet */
	uint8_t owner[NAME_MAX_LEN]; /* in lower case */
	struct zone_rr rr; /* RDATA: lent by the octets that are read */
};

/* Reads kind and apex (in lower case; room for NAME_MAX_LEN). NSD_E_WIRE. */
enum nsd_err load_records_read_head(struct cursor *c, uint8_t *kind,
	uint8_t *apex) MUST_USE;

/* Reads one more record, whatever its RDATA. False at the end, or if there is
 * no record: then the cursor has failed. */
bool load_records_read(struct cursor *c, struct load_record *record);

/* True if the record has the layout of its type, which packing relies on.
 * Values that break a rule are the sender's affair. */
bool load_records_check(const struct load_record *record);

/* Reads and checks a record: one that does not pass has the cursor fail. */
bool load_records_next(struct cursor *c, struct load_record *record);

#endif
