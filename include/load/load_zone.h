/*
 * load_zone.h - one zone of the configuration in the loader: whether its
 * files have changed, and reading them.
 */
#ifndef LOAD_LOAD_ZONE_H
#define LOAD_LOAD_ZONE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "build/build.h"
#include "conf/conf.h"
#include "store/store.h"
#include "update/diff.h"
#include "zone/zone.h"
#include "zonefile/zonefile.h"

struct store_heap;
struct store_writer;

/* What is to be known across the death of a loader, the version and the files
 * it is from, is in the store. */
struct load_zone {
	const struct conf_zone *conf;
	store_ref entry;   /* in the table of zones */
	uint8_t retries;   /* its files changed while they were read */
	bool whole;        /* to be built anew: its differences cannot be
			    * applied */
	bool busy;         /* a thread reads the version that is
			    * published, which must stay; under busy_lock */
	bool reading;      /* from before load_zone_read until the result is
			    * taken; atomic, and so is removed */
	bool removed;      /* not to be read any more: see load_set.h */
};

/* How far reading a large zone is; written by one thread, shown by another. */
struct load_progress {
	const struct load_zone *zone; /* NULL: none in work */
	const char *stage;
	uint64_t done;
	uint64_t total;
};

enum load_outcome {
	LOAD_UNCHANGED, /* nothing to do */
	LOAD_LARGE,     /* put off: to be read with several threads */
	LOAD_SAME,      /* as the version that is served */
	LOAD_DIFFERS,   /* changes of that are to be published */
	LOAD_BUILT,     /* a new version is ready to be published */
	LOAD_FAILED,    /* said in the log */
	LOAD_ABSENT,    /* a secondary zone without its file, as yet */
	LOAD_REHASHED,  /* only what is in rehashed is to be published */
	LOAD_AGAIN,     /* its files changed while they were read */
};

/* What reading a zone gave, for the loader's main thread to act on. */
struct load_result {
	struct load_result *next;
	struct load_zone *zone;
	enum load_outcome outcome;
	bool blameless;               /* LOAD_FAILED: not for what the files
				       * say; they are still to be read */
	store_ref built;              /* LOAD_BUILT */
	store_ref rehashed;           /* any other: what is served, for another
				       * limit (load_rehash.h); or none */
	struct diff *diff;            /* LOAD_SAME, LOAD_DIFFERS: destroy */
	const struct diff_change *changes; /* of diff */
	size_t change_count;
	struct zonefile_result files; /* as of this try; no batches */
};

/* Which zones a pass reads. */
enum load_which {
	LOAD_CHANGED,  /* those whose files are others than at the last try */
	LOAD_MISSING,  /* of these, those that have no version */
	LOAD_STALE,    /* the changed, and those whose last try failed */
};

struct load_leave;
struct load_context {
	struct store_writer *writer;
	const char *chroot;          /* where we are; NULL: not in one */
	unsigned threads_max;        /* for a large zone */
	uint32_t nsec3_iterations_max;
	enum load_which which;
	bool beside_answers;         /* workers serve already */
	struct load_progress *progress;
	pthread_mutex_t *busy_lock;  /* for load_zone.busy */
	struct load_leave *leave;    /* the main thread's alone */
};

/*
 * A zone that loaders die of must not keep the others from being read. Its
 * entry counts, across their deaths, those that were at it; one that was read
 * to the end is no suspect any more. After so many it is set aside until its
 * file changes: load_zone_read says so, and LOAD_FAILED.
 */
#define LOAD_DEATHS_MAX 3u
bool load_zone_is_suspect(const struct load_context *context,
	const struct load_zone *zone);
/* What came of reading it is published, or told. */
void load_zone_survived(const struct load_context *context,
	const struct load_zone *zone);
/* At the start of a server. */
void load_zone_forget_deaths(const struct load_context *context,
	const struct load_zone *zone);

/* The version that is published, or NULL. The loader's process. */
const struct zone *load_zone_published(const struct store_view *view,
	const struct load_zone *zone);

/* True if its primary is another server, which is asked for transfers. */
bool load_zone_is_secondary(const struct load_zone *zone);

/*
 * Reads a zone if it is to be read: parses it and finds what is different from
 * the version that is served, or builds it with memory of heap; or builds what
 * is served anew (load_rehash.h).
 * large: its size does not matter; else one that is better read with several
 * threads is LOAD_LARGE. Findings go to the log. Any thread; of zone only busy,
 * whole and reading are set: reading stays set, unless the outcome is LOAD_UNCHANGED
 * or LOAD_LARGE, until the result has been taken. *result: gives files and diff.
 */
void load_zone_read(const struct load_context *context,
	struct load_zone *zone, struct store_heap *heap, bool large,
	struct load_result *result);

/* What zone_build is to know of a zone, but for its records. names: room for
 * one for each file and one more; lent as files. */
void load_zone_fill_input(const struct load_context *context,
	const struct load_zone *zone, const struct zonefile_result *files,
	const char **names, struct zone_build_input *input);

#endif
