/*
 * load_follow.h - another configuration, while zones of the one before are
 * served and some of them are being read.
 *
 * Zones that both have keep their places in the set and their entries in the
 * table, and what is served of them. Readers of the store see their new options
 * at once, whatever threads do. A thread looks at the configuration that it
 * began with: a zone that is being read is moved, or removed, once its result
 * is taken, and the configuration before lives until then.
 */
#ifndef LOADER_LOAD_FOLLOW_H
#define LOADER_LOAD_FOLLOW_H

#include "loader/load_batch.h"

/* A configuration that zones may still point into. */
struct load_former {
	struct load_former *next;
	struct conf *conf;
};

struct load_follow {
	struct load_set *set;
	struct store_writer *writer;
	table_on_removed *on_removed;
	/* The file of a zone is to be looked at, as no pass could. */
	void (*on_file)(void *ctx, struct load_zone *zone);
	void *ctx;
	const struct conf *kept; /* is not destroyed, but its zones go: that of
				  * the start */
	struct load_zone **behind; /* zones that are still to follow */
	size_t count, room;
	struct load_former *formers;
};

/*
 * Publishes the settings of new, adds its zones, and removes those that it does
 * not have. Zones that were added at run time stay, unless it has them, too, or
 * lacks their pattern, which is said in the log.
 * in: old: what the zones of the set are of. pass: a pass is running.
 * returns NSD_OK: old is destroyed now or later, or if it is f->kept, has no
 *     zones any more;
 *     NSD_E_MEMORY, NSD_E_LIMIT (a list of addresses is too long, or the set is
 *     full): some of it may be done, and this loader cannot go on.
 * cost: linear in the zones of both.
 */
enum nsd_err load_follow_begin(struct load_follow *f, struct conf *old,
	struct conf *new, bool pass) MUST_USE;

/* Results were taken: has zones follow that could not. Returns as
 * load_follow_begin. Cheap if there are none. */
enum nsd_err load_follow_up(struct load_follow *f, struct conf *conf,
	bool pass) MUST_USE;

#endif
