/*
 * xfrd_zone.h - what xfrd knows of a zone, and the table of all zones.
 *
 * A zone has an object from the moment that it is configured until it is
 * removed. The object stays where it is, and keeps its number: whoever walks
 * over all zones in several turns of the loop remembers the number that is
 * next. A number that has become free is taken by a zone that comes later.
 */
#ifndef XFRD_XFRD_ZONE_H
#define XFRD_XFRD_ZONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/list.h"
#include "conf/conf.h"
#include "guard/siphash.h"
#include "store/store.h"
#include "xfr/machine.h"

struct xfrd_said_way;

/* What became of the last try to write a zone to its file. */
struct xfrd_written {
	uint32_t at_sec;      /* of the epoch; 0: there was none */
	uint32_t serial;      /* of what was written, unless `to` is NOWHERE */
	uint32_t file_serial; /* of what the file holds, with in_file */
	uint16_t error;       /* errno, with NSD_E_SYSTEM */
	uint8_t err;          /* enum nsd_err, of the zone file */
	uint8_t to;           /* enum ipc_written_to */
	bool in_file;         /* the file was written */
};

/* The last transfer of a zone that was published. */
struct xfrd_received {
	uint32_t at_sec;  /* of the epoch; 0: there was none */
	uint32_t octets;  /* of messages; UINT32_MAX: or more */
	uint32_t msec;    /* from the request to the last message */
	uint16_t primary; /* index */
	bool is_diffs;    /* differences */
	bool asked_diffs; /* these were asked for */
};

/* The version of a primary zone that was served when it was looked at last, and
 * whether the differences that lead to it are to be written (xfrd_steps.c). */
struct xfrd_steps_zone {
	uint32_t serial;
	store_ref sources;
	bool had_steps : 1;
	bool known : 1;  /* it was looked at */
	bool is_due : 1; /* its .ixfr files must be written */
	bool unsure : 1; /* seen at the first look: they may be current */
};

struct xfrd_zone {
	const struct conf_zone *conf; /* its name, apex and options */
	struct xfrd_said_way *said;   /* of servers that fail: xfrd_said.h */
	struct cds_list_head expiry;  /* in zones.expiries: the loader is to be
				       * told when it expires; or in none */
	uint32_t number;
	uint32_t next;                /* number of the next zone of its bucket,
				       * or of the next free place */
	uint32_t handle;              /* of the machine; XFR_NONE: it is unknown
				       * there, and the fields from said to
				       * received are empty */
	uint32_t coming;              /* which coming to the machine this was:
				       * other zones, and later ones of this
				       * zone, have other numbers */
	struct xfrd_written written;
	struct xfrd_received received;
	struct xfrd_steps_zone steps;
};

/* With what the machine takes for a zone, less than 300 octets. */
_Static_assert(sizeof(struct xfrd_zone) <= 96, "a zone is small");

struct xfrd_zone_table {
	struct xfrd_zone **chunks;  /* so that growing moves no zone */
	size_t chunk_count, chunk_room;
	uint32_t end;               /* numbers below were given out */
	uint32_t count;             /* zones */
	uint32_t unused;            /* first free place below end; XFR_NONE */
	uint32_t *buckets;          /* by the hash of the apex: the first zone,
				     * or XFR_NONE */
	size_t bucket_count, bucket_room;
	uint8_t key[SIPHASH_KEY_LEN]; /* of the hash */
};

/* Begins a table without zones. key: random octets, copied. */
void xfrd_zone_table_init(struct xfrd_zone_table *table,
	const uint8_t key[SIPHASH_KEY_LEN]);
void xfrd_zone_table_fini(struct xfrd_zone_table *table);

/*
 * Adds a zone, whose apex is not in the table. Keeps conf until the zone is
 * removed. Gives *zone until then.
 * returns NSD_OK; NSD_E_MEMORY: nothing has changed. Constant time.
 */
enum nsd_err xfrd_zone_add(struct xfrd_zone_table *table,
	const struct conf_zone *conf, struct xfrd_zone **zone) MUST_USE;

/* Removes a zone that nobody knows any more: it has no handle, and is in no
 * list. Constant time. */
void xfrd_zone_remove(struct xfrd_zone_table *table, struct xfrd_zone *zone);

/* Finds a zone by its apex, in any case, or by its name as text, the trailing
 * dot optional. NULL: there is none. Constant time. */
struct xfrd_zone *xfrd_zone_find(const struct xfrd_zone_table *table,
	const uint8_t *apex);
struct xfrd_zone *xfrd_zone_find_text(const struct xfrd_zone_table *table,
	const char *name);

/* The zone of a number. NULL: that place is free, or there is no such place. */
struct xfrd_zone *xfrd_zone_at(const struct xfrd_zone_table *table,
	uint32_t number);

#endif
