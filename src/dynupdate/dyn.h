/*
 * dyn.h - a batch of dynamic updates inside: the names, RRsets and records that
 * its messages have touched, as they are behind the last of them.
 *
 *   batch -> name (by owner) -> RRset (by type) -> records
 *
 * A name gets its RRsets from the store when it is first looked at; an RRset
 * gets its records when one is asked for (dyn_set_load). Records and RRsets
 * have their state now, and beside it that before the message in hand: so what
 * the message has changed can be undone, and written as differences.
 */
#ifndef DYNUPDATE_DYN_H
#define DYNUPDATE_DYN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/list.h"
#include "dns/rdata.h"
#include "dynupdate/dynupdate.h"
#include "zone/zone.h"

struct dyn_rdata {
	uint16_t len;
	uint8_t octets[];
};

#define DYN_ABSENT UINT32_MAX

struct dyn_record {
	struct dyn_record *chain;   /* in the table of its RRset */
	struct dyn_record *touched; /* the next of set->touched */
	uint32_t hash;
	uint32_t at;      /* in set->records; DYN_ABSENT: not there */
	uint32_t message; /* of the last touch */
	uint32_t needed;  /* message with a prerequisite that has it */
	bool was_there;   /* before that message, with the RDATA `before` */
	const struct dyn_rdata *rdata; /* of equal ones, as given last */
	const struct dyn_rdata *before;
};

/* An RRset. Signatures are one for each type that they cover. */
struct dyn_set {
	struct cds_list_head node;  /* of name->used, if it has records */
	struct dyn_set *chain;      /* in the table of RRsets */
	struct dyn_set *touched;    /* the next of dynupdate.touched */
	struct dyn_set *needed_next; /* of dynupdate.needed */
	struct dyn_name *name;
	uint16_t type;
	uint16_t covered; /* of RRSIGs; else 0 */
	bool is_loaded;
	/* Of the store, until it is loaded. */
	const struct rrset *rrset;
	const struct rrset_sigs *sigs;
	const struct nsec3_record *hashed;
	uint8_t next_hash[20]; /* of hashed */
	/* As it is now. */
	uint32_t ttl_sec;
	uint32_t count;
	struct dyn_record **records; /* as many as count, in no order */
	size_t room;
	/* All records that are there or were, by hash; but of a type of which
	 * a name has one record, only that one. */
	struct dyn_record **table;
	uint32_t slots; /* a power of two */
	uint32_t known;
	struct dyn_record *single;
	/* Before the message that has touched it last. */
	uint32_t message;
	uint32_t ttl_before;
	uint32_t count_before;
	struct dyn_record *changed; /* records that it has touched */
	/* Prerequisites: the message, and how many of its records have been
	 * named by it. */
	uint32_t needed;
	uint32_t needed_count;
};

struct dyn_name {
	struct dyn_name *chain; /* in the table of names */
	struct dyn_name *older; /* looked at before; NULL: none */
	uint64_t hash;
	struct cds_list_head used; /* RRsets with records */
	uint32_t used_count;
	uint32_t used_before;      /* before the message that touched it last */
	uint32_t message;
	struct dyn_name *touched;  /* the next of dynupdate.touched_names */
	uint32_t plain_count;      /* of them: those not beside a CNAME */
	uint32_t sig_count;        /* of them: of signatures */
	uint32_t needed;           /* as of struct dyn_set */
	uint32_t grown;            /* message that has brought it a type */
	uint32_t checked;          /* message that has looked at it */
	uint32_t cut_changed;      /* message that has made it a cut, or not */
	uint32_t shifted;          /* message with a cut above that has come
				    * or gone */
	uint32_t hashed;           /* message that has looked for its NSEC3 */
	const struct node *node;   /* of the store; NULL: none */
	uint8_t len;               /* of: */
	uint8_t owner[];           /* whole, lower case */
};

/* A record of a message. */
struct dyn_rr {
	struct dyn_name *name;
	uint16_t type;
	uint16_t rrclass;
	uint32_t ttl_sec;
	uint16_t rdlen;
	size_t rdata_at; /* in dynupdate.rdata */
};

#define DYN_ARENA_FIRST 16384u /* octets that need no system call */

struct dynupdate {
	const struct store_view *view;
	const struct zone *zone;
	struct dynupdate_options options;
	struct arena arena;
	/* Hash tables. Slots: a power of two. */
	struct dyn_name **names;
	struct dyn_set **sets;
	size_t name_slots, set_slots;
	size_t name_count, set_count;
	struct dyn_name *newest; /* of all names */
	struct dyn_name *apex_name;
	/* Of the message in hand. */
	uint32_t message; /* number, from 1 */
	struct dyn_set *touched;
	struct dyn_name *touched_names;
	struct dyn_set *needed;
	struct dyn_rr *rrs;
	size_t rr_count, rr_room;
	uint8_t *rdata;
	size_t rdata_len, rdata_room;
	/* The differences. */
	uint8_t *records;
	size_t records_len, records_room;
	uint32_t from, to;
	uint8_t apex_len;
	uint8_t apex[NAME_MAX_LEN];
	uint64_t memory[DYN_ARENA_FIRST / 8];
	uint8_t scratch[RDATA_MAX_LEN];
	uint8_t canonical[RDATA_MAX_LEN];
};

/* ---- dyn_name.c ---------------------------------------------------------- */

/* Finds a name, and gets its RRsets from the store if it is new. owner: whole,
 * in lower case, in the zone. NULL: there is no memory. */
struct dyn_name *dyn_name_get(struct dynupdate *d, const uint8_t *owner,
	size_t len);
/* Finds a name that the batch has looked at. NULL: it has not. */
struct dyn_name *dyn_name_peek(const struct dynupdate *d, const uint8_t *owner,
	size_t len);
/* Finds an RRset that is or was there. NULL: none. */
struct dyn_set *dyn_name_find(const struct dynupdate *d,
	const struct dyn_name *name, uint16_t type, uint16_t covered);
/* Finds an RRset, or makes an empty one. NULL: there is no memory. */
struct dyn_set *dyn_name_get_set(struct dynupdate *d, struct dyn_name *name,
	uint16_t type, uint16_t covered);
/* True if the name has a record of a type. */
bool dyn_name_has(const struct dynupdate *d, const struct dyn_name *name,
	uint16_t type);
/* False for types that may stand beside a CNAME (RFC 4035 section 2.5), as the
 * build of a zone sees it, and for CNAME. */
bool dyn_name_is_plain(uint16_t type);
/* The RRset has records from now on; or it has none any more. */
void dyn_name_use(struct dyn_set *set);
void dyn_name_cease(struct dyn_set *set);

static inline bool
dyn_name_is_apex(const struct dynupdate *d, const struct dyn_name *name)
{
	return name == d->apex_name;
}

/* The type that RDATA of a type covers: 0 but of RRSIG. */
static inline uint16_t
dyn_covered(uint16_t type, const uint8_t *rdata)
{
	return type == TYPE_RRSIG ? octets_get_u16(rdata) : 0;
}

/* ---- dyn_set.c ----------------------------------------------------------- */

/* Gets the records of an RRset from the store. NSD_E_MEMORY: try again. */
enum nsd_err dyn_set_load(struct dynupdate *d, struct dyn_set *set) MUST_USE;
/* Finds a record that is there in a loaded RRset. NULL: none. */
struct dyn_record *dyn_set_find(struct dynupdate *d, const struct dyn_set *set,
	const uint8_t *rdata, size_t len);
/* Adds a record, or puts it in the place of its equal; all records get its TTL.
 * NSD_E_MEMORY: it may be there or not, to be undone. */
enum nsd_err dyn_set_add(struct dynupdate *d, struct dyn_set *set,
	const uint8_t *rdata, size_t len, uint32_t ttl_sec) MUST_USE;
/* Removes a record that is there. */
void dyn_set_remove(struct dynupdate *d, struct dyn_set *set,
	struct dyn_record *record);
/* Removes all records of a loaded RRset. */
void dyn_set_clear(struct dynupdate *d, struct dyn_set *set);
/* Undoes what the message in hand has changed. */
void dyn_set_undo(struct dynupdate *d, struct dyn_set *set);
/* True if the RRset is another one than before the message in hand. */
bool dyn_set_differs(const struct dyn_set *set);

/* True if a record is other than before the message that has touched it. */
static inline bool
dyn_record_differs(const struct dyn_record *r)
{
	if (r->was_there != (r->at != DYN_ABSENT))
		return true;
	return r->was_there && r->rdata != r->before
		&& (r->rdata->len != r->before->len
			|| memcmp(r->rdata->octets, r->before->octets,
				   r->rdata->len) != 0);
}

/* ---- dyn_read.c ---------------------------------------------------------- */

/* A refusal in printf's words. Returns NSD_OK, as a refusal is a result. */
enum nsd_err dyn_refuse(struct dynupdate_result *result, enum rcode rcode,
	uint16_t ede, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* Refuses for a record: its name and type, a colon, and why. */
enum nsd_err dyn_refuse_rr(struct dynupdate_result *result, enum rcode rcode,
	uint16_t ede, const uint8_t *owner, uint16_t type, const char *why);

/* Reads the zone section. */
void dyn_read_zone(const struct dynupdate *d, struct cursor *message,
	struct dynupdate_result *result);

enum dyn_section { DYN_PREREQUISITES, DYN_UPDATES };

/* Reads a section of `count` records to d->rrs, and checks what RFC 2136 says
 * of each. out: *result: refused, or as it was. NSD_E_MEMORY. */
enum nsd_err dyn_read_section(struct dynupdate *d, struct cursor *message,
	unsigned count, enum dyn_section section,
	struct dynupdate_result *result) MUST_USE;

static inline const uint8_t *
dyn_rr_rdata(const struct dynupdate *d, const struct dyn_rr *rr)
{
	return d->rdata + rr->rdata_at;
}

/* ---- dyn_prerequisite.c -------------------------------------------------- */

/* Checks the prerequisites of d->rrs (RFC 2136 section 3.2). NSD_E_MEMORY. */
enum nsd_err dyn_prerequisite_check(struct dynupdate *d,
	struct dynupdate_result *result) MUST_USE;

/* ---- dyn_rules.c --------------------------------------------------------- */

/* Does the updates of d->rrs (RFC 2136 section 3.4.2). NSD_E_MEMORY. */
enum nsd_err dyn_rules_apply(struct dynupdate *d) MUST_USE;
/* Raises the serial if the message has not (RFC 2136 section 3.6).
 * NSD_E_MEMORY. */
enum nsd_err dyn_rules_raise_serial(struct dynupdate *d) MUST_USE;

/* ---- dyn_limits.c -------------------------------------------------------- */

/* Refuses names and RRsets that have grown beyond the limits, and names with
 * values that break a rule of their type. NSD_E_MEMORY. */
enum nsd_err dyn_limits_check(struct dynupdate *d,
	struct dynupdate_result *result) MUST_USE;

/* ---- dyn_dname.c --------------------------------------------------------- */

/* Refuses data below a DNAME. NSD_E_MEMORY. Cost: a look-up for each name above
 * one that is new; of a message with a new DNAME, that of all names of the
 * batch. */
enum nsd_err dyn_dname_check(struct dynupdate *d,
	struct dynupdate_result *result) MUST_USE;

/* ---- dyn_signed.c -------------------------------------------------------- */

/* Refuses, in a signed zone, what would not be signed (dyn_signed.h).
 * NSD_E_MEMORY. */
enum nsd_err dyn_signed_check(struct dynupdate *d,
	struct dynupdate_result *result) MUST_USE;

/* ---- dyn_write.c --------------------------------------------------------- */

/* Writes what the message has changed behind d->records. NSD_E_LIMIT: that
 * would be too long. NSD_E_MEMORY. After an error they are as before. */
enum nsd_err dyn_write_version(struct dynupdate *d,
	struct dynupdate_result *result) MUST_USE;

/* The RDATA of the SOA, now. */
const struct dyn_rdata *dyn_soa(const struct dynupdate *d);

static inline uint32_t
dyn_soa_serial(const struct dyn_rdata *soa)
{
	return octets_get_u32(soa->octets + soa->len - 20);
}

#endif
