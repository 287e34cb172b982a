/* parts_pass.h - what the files of a build in parts share. */
#ifndef BUILD_PARTS_PASS_H
#define BUILD_PARTS_PASS_H

#include "build/build_pass.h"
#include "build/part_carry.h"
#include "build/parts.h"

/* ---- the plan (parts_plan.c) --------------------------------------------- */

/* Owners from low on and below high, by their keys. */
struct part_range {
	uint64_t low[2];
	uint64_t high[2];
	bool last;  /* no end */
	bool chain; /* the NSEC3 records and their signatures, else the rest */
};

struct plan_sample {
	uint64_t key[2];
	uint64_t octets; /* of records and owners since the last one */
};

/* Records of one kind. */
struct plan_list {
	struct plan_sample *samples;
	size_t count;
	uint64_t interval; /* octets between samples */
	uint64_t since;    /* octets since the last one */
	uint64_t octets;
};

struct zone_plan {
	const uint8_t *apex;
	size_t apex_len;
	uint8_t apex_lower[NAME_MAX_LEN];
	struct plan_list names;
	struct plan_list chain;
	uint64_t octets;         /* of all records */
	uint64_t rr_count;
	uint64_t nsec3_count;    /* NSEC3 records */
	uint64_t params_count;   /* NSEC3PARAM records at the apex */
	struct rrbatch_rr *params; /* the first of them */
	bool odd;                /* not to be built in parts */
	bool no_memory;          /* for what had to be kept */
	uint32_t end_line;       /* of the last record */
	uint16_t end_file;
};

/* True of the NSEC3 records, and of the RRSIGs that cover them. */
bool parts_is_of_chain(const struct rrbatch_rr *rr);

/* Gives the ranges, those of the chain first (free them); NULL without
 * memory. */
struct part_range *parts_plan_make_ranges(const struct zone_plan *plan,
	size_t part_octets, size_t *count);

/* ---- parts --------------------------------------------------------------- */

/* A name that an RRset in the store has as a target. */
struct part_use {
	store_ref rrset;
	store_ref node; /* whose RRset it is */
	uint32_t line;
	uint16_t file;
	uint16_t index; /* into the targets of the RRset */
};

#define PART_USES 1000u

struct part_uses {
	struct part_uses *next;
	size_t count;
	struct part_use items[PART_USES];
};

struct zone_parts {
	struct build build;
	struct zone_build_input input;
	const struct zone_plan *plan;
	struct part_range *ranges;
	size_t range_count;
	size_t next;
	const struct part_range *range; /* at hand */
	bool first_names;               /* it is the first one of names */

	/* the records of the range */
	struct rrbatch *first;
	struct rrbatch *last;

	/* what the ranges so far have given */
	struct trie names;
	struct trie nsec3;
	struct trie targets;
	store_ref apex;
	struct part_uses *uses;
	size_t use_count;
	size_t range_uses;           /* to be resolved at a time */
	struct nsec3_entry *entries; /* of the chain, ascending */
	size_t entry_count;
	size_t entry_room;
	struct rrbatch_rr *held_rr;  /* of the last one: its next hash is to be
				      * looked at; NULL: it is not */
	struct part_carry carry;
};

/* Makes parts without a plan, for some rr_total records; keeps what parts_begin
 * keeps. NSD_E_MEMORY. */
enum nsd_err parts_create(const struct zone_build_input *input,
	uint64_t rr_total, struct store_writer *writer,
	struct store_heap *heap, struct zone_parts **parts) MUST_USE;
/* Forgets the records at hand and what only they needed. keep: some of the
 * memory, for the next part. */
void parts_forget_records(struct zone_parts *p, bool keep);

/* Tells nodes of earlier parts that this one has a wildcard right below
 * them. */
void parts_tell_wildcards(struct zone_parts *p);
/* True if a name has NSEC3 records as well. Only a name that could be a hash is
 * looked up. When all NSEC3 records are there. */
bool parts_have_nsec3(const struct zone_parts *p, const struct owner *owner);

/* A trie of objects in order, joined to those before. The objects are the
 * trie's from then on; on failure they stay the caller's. */
enum nsd_err parts_add_trie(struct zone_parts *p, struct trie *trie,
	const store_ref *objects, size_t count) MUST_USE;

/* A copy of a record without its owner, to be freed; NULL without memory. */
struct rrbatch_rr *parts_copy_record(const struct rrbatch_rr *rr);
/* Takes the records of the chain that build.chain_items has. */
enum nsd_err parts_take_chain(struct zone_parts *p) MUST_USE;
/* Makes the chain of all of them. */
enum nsd_err parts_end_chain(struct zone_parts *p) MUST_USE;
/* Lets go of those that no chain has. */
void parts_undo_chain(struct zone_parts *p);

/* Notes the uses of the range in short form. */
enum nsd_err parts_note_uses(struct zone_parts *p) MUST_USE;
/* Resolves them, when all names are there. */
enum nsd_err parts_resolve_uses(struct zone_parts *p) MUST_USE;

#endif
