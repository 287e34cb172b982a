/*
 * build_pass.h - common parts of the passes of a zone build.
 *
 * index    batches -> owners, checked to be in the zone, with sort keys
 * sort     owners in canonical order (owner_sort.c)
 * shape    repeated owners, empty non-terminals, cuts, occluded names
 * chain    the chain of NSEC3 records is chosen and made (chain_choose.c,
 *          chain.c)
 * pack     each owner's records -> RRsets, signatures, node in the store, with
 *          the hashes of its name (pack.c, node.c, hasher.c)
 * glue     the addresses of target names
 * finish   tries, struct zone (build.c)
 *
 * index, sort, chain and pack run on ranges in all workers. Findings and
 * scratch memory are a worker's own.
 */
#ifndef COMPILE_BUILD_PASS_H
#define COMPILE_BUILD_PASS_H

#include <stdbool.h>

#include "base/arena.h"
#include "compile/build.h"
#include "compile/chain_pass.h"
#include "compile/index_pass.h"
#include "compile/packer.h"
#include "compile/shape.h"

struct part_carry;
struct store_heap;
struct store_writer;

struct build_worker {
	struct build *build;
	unsigned number;
	enum nsd_err err;      /* of the last pass */
	const void *pass_arg;  /* of the pass that runs */
	struct arena part;     /* of a build in parts: until the end of the
				* part */
	struct index_range index;
	struct packer packer;  /* arena and findings are the worker's */
	uint64_t node_count;   /* names that have a node */
};

struct build {
	const struct zone_build_input *input;
	struct store_writer *writer; /* NULL: no zone is made */
	struct packer_zone zone;
	struct arena arena;         /* the calling thread's */
	struct arena part;          /* as worker.part */
	struct part_carry *carry;   /* NULL: no build in parts (stream.c) */
	struct build_worker *workers;
	unsigned worker_count;
	uint64_t rr_total;

	/* index, shape */
	struct owner *names;        /* sorted */
	size_t name_count;
	struct owner *hashes;       /* sorted; owners of NSEC3 alone */
	size_t hash_count;
	bool nsec3_in_names;        /* some names have NSEC3 and other data */
	uint32_t wildcards;         /* names */
	uint32_t dnames;

	/* chain */
	const struct rrbatch_rr *params_rr; /* of zone.params; NULL: none */
	struct chain_item *chain_items; /* by index in hashes; then ascending,
					 * until the chain has them */
	size_t chain_count;

	/* chain, pack */
	size_t next_chunk;          /* atomic */
	bool stop;                  /* atomic: a worker has failed */

	/* pack */
	store_ref *name_nodes;      /* by index in names; none: OWNER_AGAIN */
	store_ref *hash_nodes;

	/* glue */
	store_ref *targets;         /* struct glue_target, ascending */
	size_t target_count;

	store_ref made;             /* struct zone */
};

/* Memory for what is not needed beyond the records at hand. */
static inline struct arena *
build_part(struct build *b)
{
	return b->carry != NULL ? &b->part : &b->arena;
}

static inline struct arena *
build_worker_part(struct build_worker *w)
{
	return w->build->carry != NULL ? &w->part : &w->packer.arena;
}

/* The calling thread's packer. */
static inline struct packer *
build_packer(struct build *b)
{
	return &b->workers[0].packer;
}

/* True if an error was found. The zone is given up then, but only at the end:
 * so all errors are told at once. */
static inline bool
build_has_errors(const struct build *b)
{
	for (unsigned i = 0; i < b->worker_count; i++)
		if (b->workers[i].packer.findings.count[DIAG_ERROR] > 0)
			return true;
	return false;
}

/* ---- build.c, for stream.c too ----------------------------------------- */

/* Makes the workers and the table of shared contents. Without a writer and a
 * heap (both NULL) nothing can be packed, only looked at. NSD_E_MEMORY. After a
 * failure, too, build_fini has to be called. */
enum nsd_err build_start(struct build *b, struct store_heap *heap) MUST_USE;
void build_fini(struct build *b);
void build_emit(struct build *b, struct diag_sink *sink);
/* Closes the gaps that repeated owners leave; returns how many are left. */
size_t build_compact_nodes(store_ref *nodes, size_t count);
/* Makes the zone of tries that are there, with all else in it: b->made.
 * NSD_E_MEMORY. */
enum nsd_err build_make_zone(struct build *b, const struct trie *names,
	const struct trie *nsec3, const struct trie *targets, store_ref apex)
	MUST_USE;
/* Frees what the passes had made; and the targets alone. */
void build_undo(struct build *b);
void build_undo_targets(struct build *b);

/* Runs a pass in all workers, the first in the calling thread; returns the
 * error of the first worker that has one. */
enum nsd_err workers_run(struct build *b,
	enum nsd_err (*pass)(struct build_worker *)) MUST_USE;

/* ---- the passes: NSD_OK or NSD_E_MEMORY; what is wrong with the zone goes to
 * the findings ------------------------------------------------------------- */

enum nsd_err index_build(struct build *b) MUST_USE;
enum nsd_err shape_build(struct build *b) MUST_USE;
enum nsd_err chain_build(struct build *b) MUST_USE;
enum nsd_err pack_build(struct build *b) MUST_USE;
enum nsd_err glue_build(struct build *b) MUST_USE;

/* ---- run.c --------------------------------------------------------------- */

/* The choice among the records of a name. */
enum item_choice {
	ITEMS_ALL,
	ITEMS_CHAIN, /* NSEC3 and its RRSIGs */
	ITEMS_REST,  /* records other than these */
};

/* Counts the owners, from run on, that have the name of the first. */
size_t run_count(const struct build *b, const struct owner *run);
/* Makes the groups of a run of owners with one name, in w->packer.groups.
 * NSD_E_MEMORY. */
enum nsd_err run_list_groups(struct build_worker *w, const struct owner *run,
	enum item_choice choice, size_t *count) MUST_USE;

#endif
