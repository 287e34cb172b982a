/*
 * objects.h - sizes of the objects of a zone, and what lets go of them.
 */
#ifndef ZONE_OBJECTS_H
#define ZONE_OBJECTS_H

#include "zone/nsec3.h"
#include "zone/share.h"
#include "zone/zone.h"

struct store_heap;
struct store_writer;

static inline size_t
rrset_size(const struct rrset *rrset)
{
	const struct rrset_tail *tail = rrset_get_tail(rrset);

	if (tail == NULL)
		return sizeof(*rrset) + rrset_len(rrset);
	return (size_t)((const uint8_t *)(rrset_tail_targets(tail)
				+ tail->target_count)
		- (const uint8_t *)rrset);
}

static inline size_t
rrset_sigs_size(const struct rrset_sigs *sigs)
{
	const uint8_t *at = sigs->data;

	for (unsigned i = 0; i < sigs->count; i++)
		at += sig_size((const struct sig *)at);
	return (size_t)(at - (const uint8_t *)sigs);
}

static inline size_t
node_size(const struct node *node)
{
	size_t size = (size_t)((const uint8_t *)(node_entries(node)
				+ node->entry_count)
		- (const uint8_t *)node);

	size += (node->flags & NODE_HASHED) != 0 ? NSEC3_PREFIX_LEN : 0;
	size += (node->flags & NODE_WILDCARD_HASHED) != 0 ? NSEC3_PREFIX_LEN
							  : 0;
	return size;
}

static inline size_t
sig_template_size(const struct sig_template *t)
{
	return sizeof(*t) + t->signer_len;
}

static inline size_t
glue_target_size(const struct glue_target *target)
{
	return sizeof(*target) + target->leaf.name_len;
}

static inline size_t
zone_entry_size(const struct zone_entry *entry)
{
	return sizeof(*entry) + entry->leaf.name_len + 1u;
}

static inline size_t
zone_options_size(const struct zone_options *options)
{
	return sizeof(*options)
		+ ((size_t)options->query_acl_count
			  + options->provide_acl_count)
		* sizeof(options->acl[0]);
}

/* Fields of an RDATA up to the last name that may be compressed; and the octets
 * of one that is no name. */
unsigned rrset_name_fields(const struct rrtype *row);
unsigned rrset_field_len(uint8_t field);

/* Lets go of objects: frees or retires those that nobody holds any more. */
struct releaser {
	const struct store_view *view;
	struct store_heap *heap;
	struct store_writer *writer; /* NULL: free, never published */
	struct share *share; /* or NULL; of an update: what goes is taken out */
};

void release_object(struct releaser *r, store_ref ref, size_t len);
void release_rrset(struct releaser *r, store_ref ref);
void release_sigs(struct releaser *r, store_ref ref);
void release_entries(struct releaser *r, const struct node_rrset *entries,
	size_t count);
void release_node(struct releaser *r, store_ref ref);
void release_nsec3_record(struct releaser *r, store_ref ref);
/* The chain with its pages and records. */
void release_chain(struct releaser *r, store_ref ref);
/* A branch of a trie, or a page of a chain; ctx: the releaser. A glue target. A
 * trie and, by release, what it leads to. */
void release_branch(void *ctx, store_ref ref, size_t len);
void release_target(struct releaser *r, store_ref ref);
void release_trie(struct releaser *r, struct trie *trie,
	void (*release)(struct releaser *, store_ref));
/* What cells hold from a version on, and the index of contents. */
void release_writers_parts(struct releaser *r, const struct zone *zone);

#endif
