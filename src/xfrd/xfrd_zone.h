/*
 * xfrd_zone.h - zones as xfrd has them, and the table of all zones.
 *
 * A zone has an object from the moment that xfrd knows of it until it is
 * removed. The object stays where it is, and keeps its number: a walk over all
 * zones in several turns of the loop remembers the number that is next. A
 * number that has become free is taken by a zone that comes later.
 *
 * The configuration of a zone - its name as written, its pattern - is read in
 * the store (xfrd_options.h). Zones here have only what is not published.
 */
#ifndef XFRD_XFRD_ZONE_H
#define XFRD_XFRD_ZONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/siphash.h"
#include "store/store.h"
#include "xfr/machine.h"
#include "xfr/state.h"

struct xfrd_said_way;

/* The outcome of the last try to write a zone to its file. */
struct xfrd_written {
	uint32_t at_sec;      /* of the epoch; 0: there was none */
	uint32_t serial;      /* of the written version, unless `to` is
			       * NOWHERE */
	uint32_t file_serial; /* of the version in the file, with in_file */
	uint16_t error;       /* errno, with NSD_E_SYSTEM */
	uint8_t err;          /* enum nsd_err, of the zone file */
	uint8_t to : 7;       /* enum ipc_written_to */
	bool in_file : 1;     /* the file was written */
};

/* The last transfer of a zone that was published. */
struct xfrd_received {
	uint32_t at_sec;  /* of the epoch; 0: there was none */
	uint32_t octets;  /* of messages; UINT32_MAX: or more */
	uint32_t msec;    /* from the request to the last message */
	uint16_t primary; /* index */
	bool is_diffs;    /* differences */
	bool asked_diffs; /* differences were asked for */
};

/* The version of a primary zone that was served at the last look, to see
 * whether its differences are to be written (xfrd_changesets.c). */
struct xfrd_changesets_zone {
	uint32_t serial;
	store_ref sources;
};

/* The state of a zone by xfrdfile, without names: see xfrd_state.c. */
struct xfrd_state_zone {
	bool is_known;
	uint32_t state;
	uint32_t next_timeout_sec;
	uint32_t backoff;
	struct {
		int64_t acquired_sec;
		uint32_t serial, refresh_sec, retry_sec, expire_sec;
	} soas[XFR_STATE_SOAS];
};

/* State of a zone that outlives a change of its options: see
 * xfrd_handover.c. */
struct xfrd_handover {
	/* Times for which a secondary zone may be answered from with that
	 * serial, whatever its options, by the machine's clock. */
	int64_t acquired_at;
	int64_t expire_at;     /* XFR_NEVER: no time is known */
	int64_t lifetime_msec; /* under the options that it had */
	uint32_t serial;
	/* The rest counts with the same options. */
	uint8_t is_told;       /* all targets of NOTIFY have acknowledged
				* `serial` */
	struct xfrd_written written;
	uint64_t options;      /* a hash of these; 0: nothing is left */
};

/* State that a zone begins with at the machine. */
struct xfrd_past {
	struct xfrd_past *next; /* of those not used */
	struct xfrd_state_zone state;
	struct xfrd_handover handover;
};

struct xfrd_zone {
	const uint8_t *apex;          /* in wire form, lower case; as long as
				       * the zone */
	struct xfrd_past *past;       /* until it has a handle; NULL: nothing is
				       * known */
	struct xfrd_said_way *said;   /* of servers that fail: xfrd_said.h */
	/* Offset of its line in the zone list; 0: none, or not looked for
	 * yet. */
	uint64_t listed_at : 48;
	bool is_listed : 1;           /* in the zone list */
	bool is_member : 1;           /* has an ID in its line:
				       * xfrd_zone_member */
	bool is_of_folder : 1;        /* and that is XFRD_MEMBER_OF_FOLDER, of
				       * which there may be many: not of
				       * table.members */
	bool acts_from_xfrd : 1;      /* xfrd_zone_is_from_xfrd when xfrd
				       * followed the last time: published
				       * options may be ahead */
	bool is_catalog : 1;          /* of xfrd.catalogs */
	bool is_refused : 1;          /* has a version in table.refused */
	bool is_judged : 1;           /* a transfer of it waits in the loader
				       * for a program that judges, or for its
				       * turn */
	/* Of changesets: */
	bool had_changesets : 1;
	bool changesets_known : 1;    /* the zone was looked at */
	bool changesets_due : 1;      /* .ixfr files must be written */
	bool changesets_unsure : 1;   /* seen at the first look: they may be
				       * current */
	uint32_t number;
	uint32_t next;                /* number of the next zone of its bucket,
				       * or of the next free place */
	uint32_t handle;              /* of the machine; XFR_NONE: it is unknown
				       * there, and the fields from said to
				       * received are empty */
	uint32_t incarnation;         /* number of this addition to the machine:
				       * other zones, and later additions of
				       * this zone, have other numbers */
	struct xfrd_written written;
	struct xfrd_received received;
	struct xfrd_changesets_zone changesets;
	uint64_t options;             /* with a handle: see xfrd_handover */
};

/* With its apex, its bucket and what the machine takes for a zone, less than
 * 300 octets. */
_Static_assert(sizeof(struct xfrd_zone) <= 96, "a zone is small");

/* Returns the zone's name in wire form, lower case; lent as long as the
 * zone. */
static inline const uint8_t *
xfrd_zone_apex(const struct xfrd_zone *zone)
{
	return zone->apex;
}

struct xfrd_zone_table {
	struct xfrd_zone **chunks;  /* in chunks: growing moves no zone */
	size_t chunk_count, chunk_room;
	uint32_t end;               /* numbers below were given out */
	uint32_t count;             /* zones */
	uint32_t listed_count;      /* of these, those of the zone list */
	uint32_t unused;            /* first free place below end; XFR_NONE */
	uint32_t *buckets;          /* by the hash of the apex: the first zone,
				     * or XFR_NONE */
	size_t bucket_count, bucket_room;
	uint8_t key[SIPHASH_KEY_LEN]; /* of the hash */
	/* Memory of pasts: most are there at the start alone, and leave no
	 * holes. */
	struct arena pasts;
	struct xfrd_past *past_unused;
	uint32_t past_count; /* zones that have one */
	void *members; /* struct xfrd_member, of <search.h>: most zones are no
			* members of a catalog */
	void *refused; /* struct xfrd_refused_version, of <search.h> */
	uint32_t refused_count; /* zones in it */
	uint64_t refusals;      /* versions that were refused so far */
};

/* Begins a table without zones. key: random octets, copied. */
void xfrd_zone_table_init(struct xfrd_zone_table *table,
	const uint8_t key[SIPHASH_KEY_LEN]);
void xfrd_zone_table_fini(struct xfrd_zone_table *table);

/*
 * Adds a zone that is not in the table. Copies apex, in lower case. Gives *zone
 * until it is removed.
 * returns NSD_OK; NSD_E_MEMORY: nothing has changed. Constant time.
 */
enum nsd_err xfrd_zone_add(struct xfrd_zone_table *table, const uint8_t *apex,
	struct xfrd_zone **zone) MUST_USE;

/* Removes a zone that has no handle and no past. Constant time. */
void xfrd_zone_remove(struct xfrd_zone_table *table, struct xfrd_zone *zone);

/* Finds a zone by its apex, in any case, or by its name as text, the trailing
 * dot optional. NULL: there is none. Constant time. */
struct xfrd_zone *xfrd_zone_find(const struct xfrd_zone_table *table,
	const uint8_t *apex);
struct xfrd_zone *xfrd_zone_find_text(const struct xfrd_zone_table *table,
	const char *name);

/* Returns the zone of a number. NULL: that place is free, or there is no such
 * place. */
struct xfrd_zone *xfrd_zone_at(const struct xfrd_zone_table *table,
	uint32_t number);

/* Sets whether a zone is in the zone list, and where its line is. at 0: it has
 * no line; with is_listed: the line is to be written. */
void xfrd_zone_set_listed(struct xfrd_zone_table *table,
	struct xfrd_zone *zone, bool is_listed, uint64_t at);

/* Sets (NULL: none; copied) and gets (lent until it is set) the ID that the
 * line of a member of a catalog has. NSD_E_MEMORY: nothing has changed. */
enum nsd_err xfrd_zone_set_member(struct xfrd_zone_table *table,
	struct xfrd_zone *zone, const char *id) MUST_USE;
const char *xfrd_zone_member(const struct xfrd_zone_table *table,
	const struct xfrd_zone *zone);

/* Gets the past of a zone without a handle; makes one that knows nothing, if
 * there is none. NULL: without memory. Lent until it is dropped. */
struct xfrd_past *xfrd_zone_get_past(struct xfrd_zone_table *table,
	struct xfrd_zone *zone);
/* Drops the past of a zone, if there is one. */
void xfrd_zone_drop_past(struct xfrd_zone_table *table,
	struct xfrd_zone *zone);

#endif
