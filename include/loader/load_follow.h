/*
 * load_follow.h - changes to another configuration, while zones of the one
 * before are served and some of them are being read.
 *
 * Zones in both configurations keep their places in the set, their entries in
 * the table and their served versions. Readers of the store see their new
 * options at once, whatever threads do. A thread looks at the configuration
 * that it began with: a zone that is being read is moved, or removed, once its
 * result is taken, and the configuration before lives until then.
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
	/* A zone's file is to be looked at, as no pass could look. */
	void (*on_file)(void *ctx, struct load_zone *zone);
	void *ctx;
	const struct conf *kept; /* the configuration of the start: is not
				  * destroyed, but its zones are dropped */
	struct load_zone **behind; /* zones that are still to follow */
	size_t count, room;
	struct load_former *formers;
};

/*
 * Publishes the settings of new, adds its zones, and removes those that it does
 * not have. Zones that were added at run time stay, unless new has them, too,
 * or lacks their pattern, which the log says.
 * in: old: the configuration of the zones in the set. pass: as in struct
 *     load_batch.
 * returns NSD_OK: old is destroyed now or later, or if it is f->kept, has no
 *     zones any more;
 *     NSD_E_MEMORY, NSD_E_LIMIT (a list of addresses is too long, or the set is
 *     full): a part may be done, and this loader cannot go on.
 * cost: linear in the zones of both.
 */
enum nsd_err load_follow_begin(struct load_follow *f, struct conf *old,
	struct conf *new, bool pass) MUST_USE;

/* Has zones follow that could not, after results were taken. Returns as
 * load_follow_begin. Cheap if there are none. */
enum nsd_err load_follow_up(struct load_follow *f, struct conf *conf,
	bool pass) MUST_USE;

#endif
