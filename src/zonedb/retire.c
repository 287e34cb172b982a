/* retire.c - retires a version of a zone, a little at a time. */
#include <stdlib.h>

#include "names/trie.h"
#include "zone/nsec3_page.h"
#include "zonedb/release.h"
#include "zonedb/retire.h"

#define OBJECTS_RETIRED 8192u /* between two calls of store_reclaim */

/*
 * The version does not change any more while it is walked. The walks never look
 * back, and the iterators know where they are. So memory that a walk has left
 * behind may be used for something else while it goes on.
 */
struct retiring {
	store_ref zone;
	enum {
		RETIRE_BEGIN,
		RETIRE_TARGETS,
		RETIRE_NAMES,
		RETIRE_NSEC3,
		RETIRE_CHAIN,
		RETIRE_END,
	} part;
	struct trie_iter iter;
	struct nsec3_iter chain_iter;
};

static void
retiring_go_on(struct retiring *z, const struct store_view *view)
{
	const struct zone *zone = store_get(view, z->zone);

	switch (++z->part) {
	case RETIRE_TARGETS:
		trie_iter_init(&z->iter, view, &zone->targets.root);
		break;
	case RETIRE_NAMES:
		trie_iter_init(&z->iter, view, &zone->names.root);
		break;
	case RETIRE_NSEC3:
		trie_iter_init(&z->iter, view, &zone->nsec3.root);
		break;
	case RETIRE_CHAIN:
		nsec3_iter_init(&z->chain_iter, view,
			zone->chain != STORE_NONE
				? store_get(view, zone->chain)
				: NULL);
		break;
	default:
		break;
	}
}

/* Retires up to *count objects of a trie. True if the walk is at its end. */
static bool
retire_trie(struct retiring *z, struct releaser *r,
	void (*release)(struct releaser *, store_ref), size_t *count)
{
	store_ref ref;

	for (; *count > 0; --*count) {
		trie_iter_leave(&z->iter, release_branch, r);
		ref = trie_iter_next(&z->iter);
		if (ref == STORE_NONE)
			return true;
		release(r, ref);
	}
	return false;
}

static bool
retire_chain(struct retiring *z, struct releaser *r, size_t *count)
{
	for (; *count > 0; --*count) {
		store_ref last = z->chain_iter.ref;
		bool more;

		if (z->chain_iter.record != NULL)
			nsec3_iter_leave(&z->chain_iter, release_branch, r);
		else
			last = STORE_NONE;
		more = nsec3_iter_next(&z->chain_iter);
		if (last != STORE_NONE)
			release_nsec3_record(r, last);
		if (!more)
			return true;
	}
	return false;
}

static void
retire_rest(struct retiring *z, struct releaser *r)
{
	const struct zone *zone = store_get(r->view, z->zone);

	if (zone->chain != STORE_NONE)
		release_object(r, zone->chain,
			nsec3_chain_size(store_get(r->view, zone->chain)));
	release_object(r, z->zone, sizeof(*zone));
}

static bool
retire_objects(struct store_writer *writer, struct retiring *z,
	size_t count)
{
	struct releaser r = {store_writer_view(writer),
		store_writer_heap(writer), writer, NULL};
	bool done = true;

	while (z->part != RETIRE_END) {
		if (z->part == RETIRE_BEGIN)
			release_writers_parts(&r, store_get(r.view, z->zone));
		else if (z->part == RETIRE_TARGETS)
			done = retire_trie(z, &r, release_target, &count);
		else if (z->part == RETIRE_CHAIN)
			done = retire_chain(z, &r, &count);
		else
			done = retire_trie(z, &r, release_node, &count);
		if (!done)
			return true;
		retiring_go_on(z, r.view);
	}
	retire_rest(z, &r);
	return false;
}

struct retiring *
retire_begin(store_ref zone)
{
	struct retiring *z = calloc(1, sizeof(*z));

	if (z != NULL)
		z->zone = zone;
	return z;
}

bool
retire_step(struct store_writer *writer, struct retiring *retiring,
	size_t objects)
{
	if (retire_objects(writer, retiring, objects))
		return true;
	free(retiring);
	return false;
}

/* Reclaims now and then: a list of all objects of a large zone that wait to be
 * freed would take a tenth of its memory. */
void
retire_zone(struct store_writer *writer, store_ref zone)
{
	struct retiring z = {.zone = zone};

	if (zone == STORE_NONE)
		return;
	while (retire_objects(writer, &z, OBJECTS_RETIRED))
		(void)store_reclaim(writer);
}
