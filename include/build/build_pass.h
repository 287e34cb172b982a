/*
 * build_pass.h - what the passes of a zone build share.
 *
 * index    batches -> owners, checked to be in the zone, with sort keys
 * sort     owners in canonical order (owner_sort.c)
 * shape    repeated owners, empty non-terminals, cuts, occluded names
 * chain    the chain of NSEC3 records is chosen and made (chain.c,
 *          chain_choose.c)
 * pack     each owner's records -> RRsets, signatures, node in the store, with
 *          the hashes of its name (hasher.c)
 * glue     the addresses of target names
 * finish   tries, struct zone
 *
 * index, sort, chain and pack run on ranges in all workers; findings and
 * scratch memory are a worker's own.
 */
#ifndef BUILD_BUILD_PASS_H
#define BUILD_BUILD_PASS_H

#include <stdbool.h>

#include "base/arena.h"
#include "build/build.h"
#include "build/findings.h"
#include "dns/name.h"
#include "names/owner.h"
#include "zone/nsec3_page.h"
#include "keep/share.h"

struct store_heap;
struct store_writer;

/* A record of the owner at hand. */
struct item {
	uint32_t key;   /* type << 1, for RRSIG covered type << 1 | 1 */
	uint32_t order; /* place in the input among the owner's records */
	const struct rrbatch_rr *rr;
};

/* The key of an item of a record. */
static inline uint32_t
items_key(const struct rrbatch_rr *rr)
{
	if (rr->type == TYPE_RRSIG && rr->rdlen >= 2)
		return (uint32_t)octets_get_u16(rrbatch_rr_rdata(rr)) << 1 | 1;
	return (uint32_t)rr->type << 1;
}

/* Items of one type, or RRSIGs of one covered type. */
struct group {
	uint16_t type;
	bool sigs;
	uint32_t count; /* duplicates not counted */
	uint32_t ttl_sec;
	struct item *items;
};

/* One name in an RRset whose addresses are wanted. */
struct target_use {
	struct target_use *next;
	struct owner name;
	const struct rrbatch_rr *rr;
	const struct owner *owner; /* of the RRset */
	store_ref rrset;
	uint16_t index;            /* into its targets */
};

/* A suffix of a name in the RRset at hand that pointers may lead to. */
struct suffix {
	uint32_t hash;
	uint16_t sent; /* offset in sent coordinates */
	uint16_t len;
	const uint8_t *name;
};

#define SUFFIXES_MAX 1024u
#define SUFFIXES_SEARCHED 64u /* up to so many there is no index */
#define SUFFIX_INDEX 2048u    /* slots, a power of two */

struct template_slot {
	const struct sig_template *template;
	store_ref ref;
	uint32_t hash;
	uint32_t count; /* holders not yet counted in refs */
};

struct form_slot {
	const struct nsec3_form *form;
	store_ref ref;
	uint32_t hash;
	uint32_t count; /* holders not yet counted in refs */
};

/* Which records of an owner are meant. */
enum item_choice {
	ITEMS_ALL,
	ITEMS_CHAIN, /* NSEC3 and its RRSIGs */
	ITEMS_REST,  /* all but those */
};

/* A record of the chain. */
struct chain_item {
	struct nsec3_entry entry;
	const struct rrbatch_rr *rr; /* NULL: it knows its next hash itself */
};

struct name_hasher;

struct worker {
	struct build *build;
	unsigned number;
	struct store_heap *heap;
	struct arena arena;
	struct arena part; /* of a build in parts: until the end of the part */
	struct findings findings;
	enum nsd_err err;
	const void *pass_arg; /* of the pass that runs */

	/* index: the owners of its batches, names from the front of its room,
	 * those with nothing but NSEC3 from the end, backwards */
	const struct rrbatch *batch_first;
	const struct rrbatch *batch_end;
	struct owner *room;
	size_t room_count;
	size_t name_count;
	size_t hash_count;

	/* pack: scratch, grown as needed */
	struct item *items;
	size_t items_room;
	struct group *groups;
	size_t groups_room;
	struct node_rrset *entries;
	size_t entries_room;
	size_t packed; /* entries that no node has yet */
	uint8_t *out;
	size_t out_room;
	uint16_t *fixups;
	struct rrset_target *targets;
	const struct rrbatch_rr **target_rrs; /* NULL: outside of the zone */
	size_t names_room; /* of fixups, targets, target_rrs */
	struct suffix *suffixes;
	size_t suffixes_room;
	uint16_t *suffix_index; /* NULL: not needed so far */
	struct template_slot *templates;
	size_t templates_room;
	size_t templates_used;
	/* in an update: entries of the old node that stay as they are */
	const struct node_rrset *kept;
	size_t kept_count;
	struct form_slot *forms;
	size_t forms_room;
	size_t forms_used;
	struct name_hasher *hasher; /* NULL: no chain */
	const uint8_t *hashes[2]; /* of the name at hand, and of the wildcard
				   * below it; NULL: not to be kept */
	struct target_use *uses;
	size_t use_count;
	uint64_t rr_count;
	uint64_t node_count;
};

struct part_carry;

struct build {
	const struct zone_build_input *input;
	uint8_t apex[NAME_MAX_LEN]; /* lower case */
	uint8_t apex_len;           /* root label counted */
	struct store_writer *writer;
	struct arena arena;         /* the calling thread's */
	struct arena part;          /* as worker.part */
	struct part_carry *carry;   /* NULL: no build in parts (parts.c) */
	struct worker *workers;
	unsigned worker_count;
	uint64_t rr_total;
	struct share share;

	struct owner *names;        /* sorted */
	size_t name_count;
	struct owner *hashes;       /* sorted; owners of NSEC3 alone */
	size_t hash_count;
	store_ref *name_nodes;      /* by index in names; none: OWNER_AGAIN */
	store_ref *hash_nodes;
	size_t next_chunk;          /* atomic */
	bool stop;                  /* atomic: a worker has failed */
	uint32_t wildcards;         /* names */
	uint32_t dnames;
	bool nsec3_in_names; /* some names have NSEC3 and other data */

	struct nsec3_params params;    /* of the chain that is made */
	const struct rrbatch_rr *params_rr; /* NULL: there is none */
	struct chain_item *chain_items; /* by index in hashes; then ascending,
					 * until the chain has them */
	size_t chain_count;
	store_ref chain;             /* struct nsec3_chain or none */

	store_ref *targets;         /* struct glue_target, ascending */
	size_t target_count;
	store_ref zone;
};

/* Memory for what is not needed beyond the records at hand. */
static inline struct arena *
build_part(struct build *b)
{
	return b->carry != NULL ? &b->part : &b->arena;
}

static inline struct arena *
worker_part(struct worker *w)
{
	return w->build->carry != NULL ? &w->part : &w->arena;
}

/* Severity of broken data: what a primary is refused, a secondary serves. */
static inline enum diag_severity
build_severity(const struct build *b)
{
	return b->input->secondary ? DIAG_WARNING : DIAG_ERROR;
}

/* ---- build.c, for parts.c too ------------------------------------------ */

/* Workers, the table of shared contents. After a failure, too: build_fini. */
enum nsd_err build_start(struct build *b, struct store_heap *heap) MUST_USE;
void build_fini(struct build *b);
void build_check_apex(struct build *b);
bool build_has_errors(const struct build *b);
void build_emit(struct build *b, struct diag_sink *sink);
/* Closes the gaps that repeated owners leave; returns how many are left. */
size_t build_compact_nodes(store_ref *nodes, size_t count);
/* Makes the zone of tries that are there, with all else in it; b->zone. */
enum nsd_err build_make_zone(struct build *b, const struct trie *names,
	const struct trie *nsec3, const struct trie *targets, store_ref apex)
	MUST_USE;
/* Frees what the passes had made; and the targets alone. */
void build_undo(struct build *b);
void build_undo_targets(struct build *b);

/* Runs a pass in all workers, the first in the calling thread; returns the
 * first error. */
enum nsd_err workers_run(struct build *b,
	enum nsd_err (*pass)(struct worker *)) MUST_USE;

/* The passes. Each returns NSD_OK or NSD_E_MEMORY; what is wrong with the
 * zone goes to the findings. */
enum nsd_err index_build(struct build *b) MUST_USE;
enum nsd_err shape_build(struct build *b) MUST_USE;
enum nsd_err chain_build(struct build *b) MUST_USE;
enum nsd_err pack_build(struct build *b) MUST_USE;
enum nsd_err glue_build(struct build *b) MUST_USE;

/* Why a name server has no address that could be given. */
struct glue_lack {
	const uint8_t *owner; /* whole names */
	const uint8_t *target;
	bool cname;     /* it is an alias */
	bool in_domain; /* at or below the owner, which is not the apex */
	bool hidden;    /* below a cut or DNAME */
};
void glue_warn(struct build *b, const struct rrbatch_rr *rr,
	const struct glue_lack *lack);
/* Appends a target to b->targets, with the addresses of a node (or none). */
enum nsd_err glue_create_target(struct build *b, const struct owner *name,
	store_ref found, bool hidden) MUST_USE;
/* Has a target of an RRset refer to it. */
void glue_set(struct store_heap *heap, store_ref rrset, unsigned index,
	store_ref target);

/* Makes room for scratch of node_pack; once. */
enum nsd_err packer_prepare(struct worker *w) MUST_USE;
/* Chooses the parameters of the chain: b->params, b->params_rr. */
enum nsd_err chain_choose(struct build *b) MUST_USE;
/* Uses the parameters of this NSEC3PARAM record; false if they are of a kind
 * that is not used. */
bool chain_use_params(struct build *b, const struct rrbatch_rr *rr);
/* Packs the records; b->chain_items are those there are, ascending. */
enum nsd_err chain_list(struct build *b) MUST_USE;
/* A record whose next hash is not that of the record that follows keeps it
 * itself. On failure the item stays as it is. */
enum nsd_err chain_check_item(struct build *b, struct chain_item *item,
	const uint8_t *follows) MUST_USE;
/* Makes b->chain of the records, which it has from then on. */
enum nsd_err chain_create(struct build *b, const struct nsec3_entry *entries,
	size_t count) MUST_USE;
void chain_warn_of_no_record(struct build *b);
/* Reads the parameters of an NSEC3 or NSEC3PARAM record; false if it is too
 * short. The salt is lent by the record. */
bool nsec3_params_read(const struct rrbatch_rr *rr,
	struct nsec3_params *params);
/* Any order, but always the same: fewer iterations come first. */
int nsec3_params_compare(const struct nsec3_params *a,
	const struct nsec3_params *b);
/* The most iterations, of what is configured (0: the default). */
uint32_t nsec3_params_limit(uint32_t iterations_max);
/* True if an NSEC3 record has the parameters. */
bool nsec3_has_params(const struct rrbatch_rr *rr,
	const struct nsec3_params *params);
/* True if the next hash of such a record is of 20 octets; and where it is. */
bool nsec3_has_next(const struct rrbatch_rr *rr);
const uint8_t *nsec3_get_next(const struct rrbatch_rr *rr);
/*
 * Packs NSEC3 records, and the RRSIGs that cover them (NULL: none). near: the
 * chain where it is to go, in an update: a record alone then keeps its next
 * hash itself. NULL: none does. NSD_E_ZONE: there is an error, told.
 */
enum nsd_err nsec3_record_pack(struct worker *w, const struct owner *owner,
	const struct group *nsec3, const struct group *sigs,
	const struct nsec3_chain *near, store_ref *ref) MUST_USE;
/* Adds the holders counted by a worker to its forms. */
void nsec3_forms_flush(struct worker *w);

/* The groups of a run of owners with one name, in w->groups. */
enum nsd_err run_list_groups(struct worker *w, const struct owner *run,
	enum item_choice choice, size_t *count) MUST_USE;
/* The records of a run: how many owners have the name. */
size_t run_count(const struct build *b, const struct owner *run);

#define HASHER_OWNERS 128u
/* Hashes the names of up to HASHER_OWNERS owners; does nothing without a
 * chain. Then hasher_get gives what owner i is to keep in w->hashes. */
enum nsd_err hasher_run(struct worker *w, const struct owner *owners,
	size_t count) MUST_USE;
void hasher_get(struct worker *w, size_t i);

/* Checks and packs groups in w->groups into a node. *ref stays as it is if
 * there is something wrong with the zone. */
enum nsd_err node_pack_groups(struct worker *w, const struct owner *owner,
	size_t count, store_ref *ref) MUST_USE;
/* Packs items, sorted, but for those of entries in w->kept. *ref stays as it
 * is if there is something wrong with the zone. */
enum nsd_err node_pack_items(struct worker *w, const struct owner *owner,
	struct item *items, size_t item_count, store_ref *ref) MUST_USE;

/* Makes a node with so many entries of w->entries, and w->hashes. */
enum nsd_err node_create(struct worker *w, const struct owner *owner,
	size_t entries, uint16_t flags, store_ref *ref) MUST_USE;

/* One holder more. */
void pack_hold_rrset(struct worker *w, store_ref ref);

/* Where a walk along the names in canonical order is: it gives each its flags
 * of enum owner_flags from OWNER_CUT on. */
struct shape_walk {
	struct owner *path[NAME_MAX_LABELS + 1]; /* last one seen, by labels */
	uint32_t wildcards; /* so far */
	uint32_t dnames;
	unsigned cover;     /* labels of the topmost cut or DNAME above */
	bool covered;
};

/* What the next part of a build has to know of the names before it. */
struct part_carry {
	struct shape_walk walk;
	uint32_t end_line;     /* of the last record of all */
	uint16_t end_file;
	bool any;              /* there is a name before */
	unsigned depth;        /* its labels */
	struct {
		struct owner owner;
		store_ref node;
		bool wildcard_told; /* the node knows of a wildcard below */
		uint8_t name[NAME_MAX_LEN];
	} path[NAME_MAX_LABELS + 1]; /* it and its ancestors, by labels */
};

/* The name before, or NULL. carry may be NULL. */
static inline const struct owner *
carry_get_last(const struct part_carry *carry)
{
	return carry == NULL || !carry->any ? NULL
					    : &carry->path[carry->depth].owner;
}

/* A name whose parent has been there; common: labels that it shares with the
 * name before it. */
void shape_place(struct shape_walk *s, struct owner *owner, unsigned common);
/* Tells of data below a DNAME, once for each DNAME, at an occluded name. */
void shape_check_dname(struct shape_walk *s, struct worker *w,
	const struct owner *owner);

/* Sorts items by key and canonical RDATA. tmp: room for as many. */
void items_sort(struct item *items, struct item *tmp, size_t count);
/* Canonical order of the RDATA of two records of a type. */
int items_compare_rr(uint16_t type, const struct rrbatch_rr *a,
	const struct rrbatch_rr *b);
/* Cuts sorted items into groups, leaves out duplicates, finds the TTLs. */
enum nsd_err items_group(struct worker *w, const struct owner *owner,
	struct item *items, size_t count, size_t *group_count) MUST_USE;

/* The rules for the records of one name. Takes out what a secondary cannot
 * serve. */
void check_node(struct worker *w, const struct owner *owner,
	struct group *groups, size_t count);

/* Packs an RRset or finds the same one; *ref has one reference more. */
enum nsd_err pack_rrset(struct worker *w, const struct owner *owner,
	const struct group *group, store_ref *ref) MUST_USE;
/* Packs RRSIGs of one covered type. */
enum nsd_err pack_sigs(struct worker *w, const struct group *group,
	store_ref *ref) MUST_USE;
/* The same, in parts: how many octets they take (0: told of, too many), and
 * writing them. On failure no holder is counted. */
size_t pack_sigs_measure(struct worker *w, const struct group *group);
enum nsd_err pack_sigs_write(struct worker *w, const struct group *group,
	struct rrset_sigs *sigs) MUST_USE;
/* Takes back the holders of signatures that will not be kept. */
void pack_sigs_uncount(struct worker *w, const struct rrset_sigs *sigs);
/* Adds the holders counted by a worker to its templates. */
void pack_sigs_flush(struct worker *w);

/* Makes room for count items of size in a scratch array of the worker;
 * contents are lost. */
void *packer_reserve(struct worker *w, void *array, size_t *room,
	size_t count, size_t size) MUST_USE;

/* ---- records of a chain that is served, for updates */

/*
 * True if NSEC3 records at an owner belong into the chain, with their hash:
 * one of them has its parameters, a next hash of 20 octets, and the owner is a
 * hash right below the apex. Other NSEC3 records go into zone.nsec3.
 */
bool nsec3_items_are_chained(const struct nsec3_chain *chain,
	const struct owner *owner, const struct item *items, size_t count,
	uint8_t hash[NSEC3_HASH_LEN]);

/*
 * Packs the NSEC3 records of an owner and the RRSIGs that cover them (items of
 * those types alone, sorted) into a record for nsec3_edit_put. A form that
 * records near it in the chain have is shared.
 * returns NSD_OK; NSD_E_MEMORY; NSD_E_ZONE with a finding.
 */
enum nsd_err nsec3_pack_items(struct worker *w, const struct owner *owner,
	const struct nsec3_chain *chain, struct item *items, size_t count,
	store_ref *record) MUST_USE;

/*
 * True if a record that is added to or removed from a zone may change which
 * chain is used: NSEC3PARAM at the apex; NSEC3 while there is no chain, or
 * more than one NSEC3PARAM that can be used.
 */
bool nsec3_change_needs_build(const struct store_view *view,
	const struct zone *zone, const struct owner *owner, uint16_t type);

#endif
