/*
 * counts.h - shared memory for the counters of all roles. Main makes it before
 * it forks.
 *
 *   blocks  of each worker, then two of xfrd: what it had shown when statistics
 *           were set back to 0, and what it shows while an answer is on its way
 *           that is to set them back (dns/counters.h)
 *   rssac   of each worker (query/rssac.h); untouched without rssac002
 *   latency of each worker (base/latency.h)
 *   reset   when that was, and what else belongs to it: xfrd's
 *   store   what the loader says of the store
 *   processes  of each: when it began, and how often it was replaced; main's
 *   names   of the groups of zones that blocks have rows for, and which of
 *           these have no zone any more: the loader's
 *   limits  of the rate of answers (guard/rrl.h): all workers share them
 *   cookies their secrets (guard/cookie.h): main's; no core file has them
 *   switch  the records of queries that are wanted (tap/ring.h): main's
 *   rings   of each worker, with these records; no core file has them
 *   cursors of each ring, and tap: what came of the records; the collector's
 *
 * It outlasts every process but main, so counters go on when a process is
 * replaced. Each part begins at a page of its own. A child unmaps the parts
 * that are not for it before it looks at anything from outside: a worker has
 * only the parts that it writes. Parts that a role only reads are mapped from a
 * descriptor that cannot write. Blocks and limits may grow at run time: they
 * have addresses for the most that there can be, and memory for the configured
 * size. A process that was taken over can take no more.
 */
#ifndef PROCESS_COUNTS_H
#define PROCESS_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/latency.h"
#include "base/textlist.h"
#include "dns/counters.h"
#include "guard/cookie.h"
#include "guard/rrl.h"
#include "ipc/message.h"
#include "query/rssac.h"
#include "tap/ring.h"

/* Groups of zones that have counters of their own. */
#define COUNTS_GROUPS_MAX (UINT32_C(1) << 20)

/* The counters' values at the last reset of statistics, noted by xfrd. */
struct counts_reset {
	int64_t at_usec; /* as of clock_now_usec; 0: never */
	/* The index (0 or 1) of xfrd's block that counts. It is changed first:
	 * if xfrd dies before the rest is, counters are those since the new
	 * time, and at_usec and queries of the time before, until the next
	 * reset. */
	uint64_t which;
	/* No figure: not 0 if a zone file could not be written since all could
	 * be. */
	uint64_t write_failed;
	uint64_t queries[]; /* of each worker */
};

/* Figures of the store, set by the loader from time to time. Each is an atomic
 * word. */
struct counts_store {
	uint64_t live, free, mapped; /* octets */
	uint64_t retired;            /* octets that readers may still hold */
	uint64_t epoch, oldest;      /* oldest: the oldest that a reader is
				      * in */
	uint64_t pins;
	uint64_t config; /* octets of the configuration */
	uint64_t groups; /* of zones that blocks have room for */
	/* The pass over zone files that runs: zones looked at so far, and to be
	 * looked at in all; 0: none runs. */
	uint64_t looked, to_look;
};

/* A process of the server, as main says. */
struct counts_process {
	char name[16];        /* main, loader, xfrd, server0, as statistics
			       * count: from 0, ps from 1 */
	int64_t pid;
	int64_t started_msec; /* of clock.h */
	uint64_t restarts;    /* processes before it */
	uint64_t deaths;      /* unwanted deaths among the restarts */
	int64_t died_msec;    /* of the last death, of clock.h */
	int64_t in_hand_msec; /* the last death with a message in hand that was
			       * kept; 0: none */
	uint32_t in_hand;     /* of the file that the message is in */
};

struct counts;

/* The sizes of the counters that counts_create makes. */
struct counts_options {
	unsigned workers;
	uint32_t groups_max; /* COUNTS_GROUPS_MAX; there may be room for
			      * fewer */
	uint32_t limits;     /* buckets, at least 1; there may be room for
			      * more */
	unsigned hidden;     /* workers behind the others, which count and are
			      * in no statistics: 1 with a verify server */
};

/* Makes the counters, all zeros. NSD_E_SYSTEM: said in the log;
 * NSD_E_MEMORY. */
enum nsd_err counts_create(const struct counts_options *options,
	struct counts **counts) MUST_USE;
void counts_destroy(struct counts *counts);

/* In a child: unmaps the parts that are not for this role; index: of a worker.
 * From then on it may call the functions of its role below. */
void counts_leave(struct counts *counts, enum ipc_role role, unsigned index);

/* The loader's: makes room in the blocks for so many groups, before there is
 * one more; with less memory for as many as can be. False: there is no
 * memory. */
bool counts_grow(const struct counts *counts, uint32_t groups) MUST_USE;
/* Main's: makes room for a table of limits of so many buckets. */
bool counts_grow_limits(const struct counts *counts, uint32_t buckets)
	MUST_USE;

/* Main's: a role has a new process. index: of a worker. */
void counts_set_process(const struct counts *counts, enum ipc_role role,
	unsigned index, int64_t pid, int64_t started_msec);
/* Main's: the process of a role has died. */
void counts_note_death(const struct counts *counts, enum ipc_role role,
	unsigned index, int64_t died_msec);
/* Main's: notes the number of the file with the messages that a dead process
 * had in hand. */
void counts_note_in_hand(const struct counts *counts, enum ipc_role role,
	unsigned index, unsigned number, int64_t now_msec);
/* Main's and xfrd's: gets a process by its place, from 0 on: there is one for
 * each worker, and three more. False: there was no such process yet. */
bool counts_get_process(const struct counts *counts, unsigned place,
	struct counts_process *process);

unsigned counts_workers(const struct counts *counts);

/* Gets the block of a worker: for itself to write; for main and xfrd to
 * read. */
void counts_get_block(const struct counts *counts, unsigned worker,
	struct counters_block *block);
/* Gets the figures of a worker: for itself to write; for main. */
struct rssac *counts_get_rssac(const struct counts *counts, unsigned worker);
/* Gets the latencies of a worker: for itself to write; for main and xfrd to
 * read. */
struct latency_block *counts_get_latency(const struct counts *counts,
	unsigned worker);
/* Gets the block with the counters at the last reset: for xfrd to write; for
 * main to read. */
void counts_get_base(const struct counts *counts, struct counters_block *block);
/* xfrd's: counts_get_next_base gets its other block; counts_take_next_base has
 * that one count, in place of the first. */
void counts_get_next_base(const struct counts *counts,
	struct counters_block *block);
void counts_take_next_base(const struct counts *counts);
struct counts_reset *counts_get_reset(const struct counts *counts);
/* Gets the figures of the store: for the loader to write; for main and xfrd to
 * read. */
struct counts_store *counts_get_store(const struct counts *counts);
void counts_get_names(const struct counts *counts, struct textlist *names);
/* Notes that a group, whose number is one of names, has no zone. Names are
 * never removed: the group is not shown until it has a zone again. The loader
 * sets it, xfrd asks; atomic. */
void counts_set_empty(const struct counts *counts, uint32_t group,
	bool empty);
bool counts_is_empty(const struct counts *counts, uint32_t group);
/* A worker's: gets a table of so many buckets, at least 1 and no more than
 * there is room for. All workers use the same number. */
void counts_get_limits(const struct counts *counts, uint32_t buckets,
	struct rrl *limits);
/* Gets the secrets of cookies: for main to write; for workers to read. */
struct cookie_share *counts_get_cookies(const struct counts *counts);

/* Gets the switch of records of queries: for main to write; for workers, the
 * collector and xfrd to read. */
struct tap_switch *counts_get_switch(const struct counts *counts);
/* Gets the ring of a worker: for itself to write; for the collector to read. */
struct tap_ring *counts_get_ring(const struct counts *counts,
	unsigned worker);
/* Gets the cursor of a worker's ring: for the collector to write; for workers
 * to read. */
struct tap_cursor *counts_get_cursor(const struct counts *counts,
	unsigned worker);
/* Gets the figures of the collector: for itself to write; for main and xfrd to
 * read. */
struct tap_counts *counts_get_tap(const struct counts *counts);

#endif
