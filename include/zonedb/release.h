/*
 * release.h - lets go of the objects of a zone, and of settings.
 */
#ifndef ZONEDB_RELEASE_H
#define ZONEDB_RELEASE_H

#include "settings/pattern.h"
#include "store/writer.h"
#include "zone/zone.h"
#include "zonedb/share.h"

/*
 * The context of letting go of objects. Objects that readers may see are
 * retired, others are freed. An object with holders (RRset, sig_template, NSEC3
 * template, key, options, pattern) loses one, and is retired or freed with the
 * last. None of these functions can fail.
 */
struct releaser {
	const struct store_view *view;
	struct store_heap *heap;
	struct store_writer *writer; /* NULL: free, never published */
	struct share *share; /* of an update, or NULL: objects that go are taken
			      * out of its index */
};

/* Lets go of an object of len octets, but of nothing that it holds. */
void release_object(struct releaser *r, store_ref ref, size_t len);
/* Let go of an object and of what it holds. ref is not none. */
void release_rrset(struct releaser *r, store_ref ref);
void release_sigs(struct releaser *r, store_ref ref);
void release_entries(struct releaser *r, const struct node_rrset *entries,
	size_t count);
void release_node(struct releaser *r, store_ref ref);
void release_nsec3_record(struct releaser *r, store_ref ref);
/* Lets go of a chain with its pages and records. */
void release_chain(struct releaser *r, store_ref ref);
/* Lets go of a branch of a trie or a page of a chain; ctx is the releaser. */
void release_branch(void *ctx, store_ref ref, size_t len);
/* Lets go of a glue target. The objects that its cell refers to belong to
 * nodes. */
void release_target(struct releaser *r, store_ref ref);
/* Lets go of a trie, and of its objects by `release`. */
void release_trie(struct releaser *r, struct trie *trie,
	void (*release)(struct releaser *, store_ref));
/* Lets go of the parts that only the writer uses: pending changes of cells, and
 * the index of contents. */
void release_writers_parts(struct releaser *r, const struct zone *zone);

/* Lets go of a changeset of a zone's history and of all older ones. ref may be
 * none. */
void release_history(struct releaser *r, store_ref ref);

/* Let go of settings, and of what they hold; a key, options or a pattern only
 * with the last holder. */
void release_key(struct releaser *r, store_ref ref);
void release_options(struct releaser *r, store_ref ref);
void release_pattern(struct releaser *r, store_ref ref);
void release_settings(struct releaser *r, store_ref ref);

/* Frees a version of a zone that was never visible. zone none: does nothing. */
void release_zone(struct store_heap *heap, store_ref zone);

#endif
