/*
 * lookup.h - finds what a name and type come to in a zone: the steps of
 * RFC 1034 section 4.3.2, as RFC 4592 and RFC 6672 amend them.
 */
#ifndef QUERY_LOOKUP_H
#define QUERY_LOOKUP_H

#include "query/state.h"

/* Begins the walk for the part of s->name below the zone's apex. */
void lookup_walk_init(struct trie_walk *walk, const struct search *s);

/*
 * Sets the outcome of a search after its walk. OUTCOME_WILDCARD means that the
 * closest encloser has a wildcard below it: call lookup_wildcard_init, do the
 * walk again, and call lookup_resolve_wildcard.
 */
void lookup_resolve(const struct store_view *view, struct search *s,
	const struct trie_walk *walk, uint16_t qtype);

/* Begins the walk for the wildcard below s->encloser. labels has room for a
 * name, label_at for its labels; the walk keeps both. */
void lookup_wildcard_init(struct trie_walk *walk, const struct search *s,
	uint8_t *labels, uint8_t *label_at);
void lookup_resolve_wildcard(const struct store_view *view, struct search *s,
	const struct trie_walk *walk, uint16_t qtype);

/* Does a whole search for one name, with ctx->walk. */
void lookup_one(struct query_ctx *ctx, struct search *s, uint16_t qtype);

/* True if the name is the apex of the zone or below it. */
bool lookup_is_within(const struct zone_entry *entry,
	const struct message_name *name);

#endif
