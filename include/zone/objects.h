/*
 * objects.h - the sizes of a zone's objects, in octets.
 */
#ifndef ZONE_OBJECTS_H
#define ZONE_OBJECTS_H

#include "zone/nsec3.h"
#include "zone/zone.h"

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

#endif
