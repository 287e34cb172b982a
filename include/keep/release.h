/*
 * release.h - lets go of the objects of a zone.
 */
#ifndef KEEP_RELEASE_H
#define KEEP_RELEASE_H

#include "keep/share.h"
#include "store/writer.h"
#include "zone/zone.h"

/*
 * How to let go of objects: those that readers may see are retired, others are
 * freed. What has holders (RRsets, templates, NSEC3 forms) loses one, and goes
 * with the last.
 */
struct releaser {
	const struct store_view *view;
	struct store_heap *heap;
	struct store_writer *writer; /* NULL: free, never published */
	struct share *share; /* or NULL; of an update: what goes is taken out */
};

/* An object of len octets, whatever it holds. */
void release_object(struct releaser *r, store_ref ref, size_t len);
/* These also let go of what the object holds. */
void release_rrset(struct releaser *r, store_ref ref);
void release_sigs(struct releaser *r, store_ref ref);
void release_entries(struct releaser *r, const struct node_rrset *entries,
	size_t count);
void release_node(struct releaser *r, store_ref ref);
void release_nsec3_record(struct releaser *r, store_ref ref);
/* The chain with its pages and records. */
void release_chain(struct releaser *r, store_ref ref);
/* A branch of a trie, or a page of a chain; ctx is the releaser. */
void release_branch(void *ctx, store_ref ref, size_t len);
/* A glue target. */
void release_target(struct releaser *r, store_ref ref);
/* A trie; its objects go by `release`. */
void release_trie(struct releaser *r, struct trie *trie,
	void (*release)(struct releaser *, store_ref));
/* What cells hold from a version on, and the index of contents. */
void release_writers_parts(struct releaser *r, const struct zone *zone);

/* Frees a version of a zone that was never visible; none is fine. */
void release_zone(struct store_heap *heap, store_ref zone);

#endif
