/*
 * lookup.h - finds what a name and type come to in a zone: the steps of
 * RFC 1034 section 4.3.2, as RFC 4592 and RFC 6672 amend them.
 */
#ifndef QUERY_LOOKUP_H
#define QUERY_LOOKUP_H

#include "query/state.h"

/* The name's part below the zone's apex, as the trie wants it. */
void lookup_walk_init(struct trie_walk *walk, const struct search *s);

/*
 * Sets the outcome of a search after its walk. OUTCOME_WILDCARD means that the
 * closest encloser has a wildcard below it: call lookup_wildcard_init, do the
 * walk again, and call lookup_resolve_wildcard.
 */
void lookup_resolve(const struct store_view *view, struct search *s,
	const struct trie_walk *walk, uint16_t qtype);

/* Makes the walk for the wildcard below s->encloser. label_at and labels are
 * kept by the walk and have room for a name. */
void lookup_wildcard_init(struct trie_walk *walk, const struct search *s,
	uint8_t *labels, uint8_t *label_at);
void lookup_resolve_wildcard(const struct store_view *view, struct search *s,
	const struct trie_walk *walk, uint16_t qtype);

/* Does all of this for one name, with the worker's own walk. */
void lookup_one(struct query_ctx *ctx, struct search *s, uint16_t qtype);

/* True if the name is the apex of the zone or below it. */
bool lookup_is_within(const struct zone_entry *entry,
	const struct message_name *name);

#endif
