/* walk.c - walks all records of a zone in canonical order. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "dns/name.h"
#include "zone/nsec3_page.h"
#include "zone/unpack.h"
#include "zone/walk.h"

/* A source of records in the order of owners, and the owner that it is at. */
struct source {
	struct trie_iter nodes;
	struct nsec3_iter records; /* if is_chain, else nodes */
	bool is_chain;
	bool ended;
	const struct node *node;
	uint8_t owner[NAME_MAX_LEN];
};

#define SOURCES 3u
#define CHAIN 2u /* index of the chain's source */

struct zone_cursor {
	const struct store_view *view;
	const struct zone *zone;
	size_t apex_len;
	struct source sources[SOURCES];
	struct source *at;   /* source of the current owner; NULL: none yet */
	bool both;           /* the chain has the current owner, too */
	/* The entries of a node. At the apex, first the SOA's alone. */
	const struct node *node;
	unsigned entry;
	bool soa;
	const struct nsec3_iter *chain; /* the chain whose record comes next, at
					 * its place by type; NULL: none */
	/* The RRset that is being given: records, then signatures. */
	const struct rrset *rrset;
	const uint8_t *rr, *rr_end;
	const struct nsec3_iter *hashed; /* instead of rrset: a record of the
					  * chain; NULL */
	const struct rrset_sigs *sigs;
	const uint8_t *sig;
	unsigned sig_count;  /* left */
	uint8_t apex[NAME_MAX_LEN];
	uint8_t owner[NAME_MAX_LEN];
	uint8_t rdata[65535];
};

/* ---- records of what is at hand ------------------------------------------ */

static void
cursor_set_rrset(struct zone_cursor *c, const struct rrset *rrset)
{
	c->rrset = rrset;
	c->rr = rrset->data;
	c->rr_end = c->rr + rrset_len(rrset);
}

static void
cursor_set_sigs(struct zone_cursor *c, const struct rrset_sigs *sigs)
{
	c->sigs = sigs;
	c->sig = sigs->data;
	c->sig_count = sigs->count;
}

/* The NSEC3 RRset that the iterator is at, and its signatures. */
static void
cursor_set_nsec3(struct zone_cursor *c, const struct nsec3_iter *iter)
{
	const struct nsec3_record *record = iter->record;

	if ((record->flags & NSEC3_RRSET) != 0)
		cursor_set_rrset(c, store_get(c->view, record->template));
	else
		c->hashed = iter;
	cursor_set_sigs(c, &record->sigs);
}

static void
cursor_give_nsec3(struct zone_cursor *c, struct zone_rr *rr)
{
	const struct nsec3_record *record = c->hashed->record;
	const struct nsec3_template *template = store_get(c->view,
		record->template);

	rr->ttl_sec = template->ttl_sec;
	rr->type = TYPE_NSEC3;
	rr->rdlen = (uint16_t)nsec3_unpack_rdata(c->view, record,
		c->hashed->next_hash, c->rdata);
	c->hashed = NULL;
}

/* Gives the next record at hand. False: there is none any more. */
static inline bool
cursor_give(struct zone_cursor *c, struct zone_rr *rr)
{
	if (c->rr != c->rr_end) {
		rr->ttl_sec = c->rrset->ttl_sec;
		rr->type = c->rrset->type;
		rr->rdlen = (uint16_t)unpack_rdata(c->rrset, c->rr, c->apex,
			c->rdata);
		c->rr += 2u + octets_get_u16(c->rr);
	} else if (c->hashed != NULL) {
		cursor_give_nsec3(c, rr);
	} else if (c->sig_count > 0) {
		const struct sig *sig = (const struct sig *)c->sig;

		rr->ttl_sec = c->sigs->ttl_sec;
		rr->type = TYPE_RRSIG;
		rr->rdlen = (uint16_t)unpack_sig_rdata(c->view, sig, c->rdata);
		c->sig += sig_size(sig);
		c->sig_count--;
	} else {
		return false;
	}
	return true;
}

/* ---- the entries of a node ----------------------------------------------- */

/* True for the SOA and for its signatures. */
static bool
entry_is_soa(const struct node_rrset *e)
{
	return e->type == TYPE_SOA;
}

static void
cursor_set_entry(struct zone_cursor *c, const struct node_rrset *e)
{
	if ((e->flags & NODE_RRSET_SIGS) != 0)
		cursor_set_sigs(c, store_get(c->view, e->ref));
	else
		cursor_set_rrset(c, store_get(c->view, e->ref));
}

/* Goes to the next entry of the node; NSEC3 records of its name in the chain
 * come at their place by type. False: there is none. */
static bool
cursor_next_entry(struct zone_cursor *c)
{
	const struct node_rrset *entries = node_entries(c->node);
	bool apex = (c->node->flags & NODE_APEX) != 0;

	for (; c->entry < c->node->entry_count; c->entry++) {
		const struct node_rrset *e = &entries[c->entry];

		if (apex && entry_is_soa(e) != c->soa)
			continue;
		if (!c->soa && c->chain != NULL && e->type > TYPE_NSEC3)
			break;
		c->entry++;
		cursor_set_entry(c, e);
		return true;
	}
	if (c->soa) {
		c->soa = false;
		c->entry = 0;
		return cursor_next_entry(c);
	}
	if (c->chain == NULL)
		return false;
	cursor_set_nsec3(c, c->chain);
	c->chain = NULL;
	return true;
}

static void
cursor_make_owner(const struct zone_cursor *c, const struct node *node,
	uint8_t *owner)
{
	memcpy(owner, trie_leaf_name(&node->leaf), node->leaf.name_len);
	memcpy(owner + node->leaf.name_len, c->apex, c->apex_len);
}

/* ---- merging names, other NSEC3 owners, and the chain ------------------ */

static void
source_next(const struct zone_cursor *c, struct source *s)
{
	store_ref ref;

	if (s->is_chain) {
		s->ended = !nsec3_iter_next(&s->records);
		if (s->ended)
			return;
		s->owner[0] = NSEC3_LABEL_LEN;
		nsec3_print_label(s->records.hash, s->owner + 1);
		memcpy(s->owner + 1 + NSEC3_LABEL_LEN, c->apex, c->apex_len);
		return;
	}
	ref = trie_iter_next(&s->nodes);
	s->ended = ref == STORE_NONE;
	if (s->ended)
		return;
	s->node = store_get(c->view, ref);
	cursor_make_owner(c, s->node, s->owner);
}

/* The source whose owner is the first; of equal owners, the first source. */
static struct source *
sources_choose(struct source *sources, unsigned count)
{
	struct source *first = NULL;

	for (unsigned i = 0; i < count; i++)
		if (!sources[i].ended && (first == NULL
			|| name_compare(sources[i].owner, first->owner) < 0))
			first = &sources[i];
	return first;
}

/* Goes to the next owner; false: there is none. The records at hand are of the
 * chain, or to be taken from a node. */
static bool
cursor_next_owner(struct zone_cursor *c)
{
	struct source *chain = &c->sources[CHAIN];

	if (c->at != NULL)
		source_next(c, c->at);
	if (c->both)
		source_next(c, chain);
	c->at = sources_choose(c->sources, SOURCES);
	if (c->at == NULL)
		return false;
	c->both = c->at == &c->sources[0] && !chain->ended
		&& name_compare(c->at->owner, chain->owner) == 0;
	memcpy(c->owner, c->at->owner, sizeof(c->owner));
	if (c->at->is_chain) {
		c->node = NULL;
		cursor_set_nsec3(c, &chain->records);
		return true;
	}
	c->node = c->at->node;
	c->entry = 0;
	c->soa = (c->node->flags & NODE_APEX) != 0;
	c->chain = c->both ? &chain->records : NULL;
	return true;
}

/* ---- for others ---------------------------------------------------------- */

enum nsd_err
zone_cursor_create(const struct store_view *view, const struct zone *zone,
	const uint8_t *apex, struct zone_cursor **cursor)
{
	struct zone_cursor *c = malloc(sizeof(*c));

	if (c == NULL)
		return NSD_E_MEMORY;
	/* Not the RDATA: it is large. */
	memset(c, 0, offsetof(struct zone_cursor, rdata));
	c->view = view;
	c->zone = zone;
	c->apex_len = name_len(apex);
	memcpy(c->apex, apex, c->apex_len);
	trie_iter_init(&c->sources[0].nodes, view, &zone->names.root);
	trie_iter_init(&c->sources[1].nodes, view, &zone->nsec3.root);
	c->sources[CHAIN].is_chain = true;
	nsec3_iter_init(&c->sources[CHAIN].records, view,
		zone->chain == STORE_NONE ? NULL
					  : store_get(view, zone->chain));
	for (unsigned i = 0; i < SOURCES; i++)
		source_next(c, &c->sources[i]);
	*cursor = c;
	return NSD_OK;
}

bool
zone_cursor_next(struct zone_cursor *c, struct zone_rr *rr)
{
	rr->owner = c->owner;
	rr->rdata = c->rdata;
	while (!cursor_give(c, rr))
		if ((c->node == NULL || !cursor_next_entry(c))
			&& !cursor_next_owner(c))
			return false;
	return true;
}

/* Finds the node of a name in a trie; NULL: there is none. */
static const struct node *
cursor_find_node(const struct zone_cursor *c, const struct trie *trie,
	const uint8_t *owner)
{
	uint8_t label_at[NAME_MAX_LABELS + 1];
	struct trie_walk walk = {.root = &trie->root};
	size_t len = name_len(owner);

	if (len < c->apex_len)
		return NULL;
	trie_name_split(&walk.name, owner, (unsigned)(len - c->apex_len),
		label_at);
	trie_find(c->view, &walk);
	return walk.exact != STORE_NONE ? store_get(c->view, walk.exact) : NULL;
}

/* Finds the record of the chain whose owner has this name; NULL. */
static const struct nsec3_iter *
cursor_find_nsec3(struct zone_cursor *c, const uint8_t *owner)
{
	struct nsec3_iter *iter = &c->sources[CHAIN].records;
	uint8_t hash[NSEC3_HASH_LEN], before[NSEC3_HASH_LEN];

	if (c->zone->chain == STORE_NONE
		|| name_len(owner) != c->apex_len + 1 + NSEC3_LABEL_LEN
		|| !nsec3_parse_label(owner, hash))
		return NULL;
	memcpy(before, hash, sizeof(before));
	for (size_t i = sizeof(before); i > 0 && before[i - 1]-- == 0; i--)
		;
	/* Before the least hash comes the greatest: the walk is at its end. */
	if (memcmp(before, hash, sizeof(hash)) > 0)
		nsec3_iter_init(iter, c->view,
			store_get(c->view, c->zone->chain));
	else
		nsec3_iter_init_after(iter, c->view,
			store_get(c->view, c->zone->chain), before);
	return nsec3_iter_next(iter)
			&& memcmp(iter->hash, hash, sizeof(hash)) == 0
		? iter : NULL;
}

void
zone_cursor_seek(struct zone_cursor *c, const uint8_t *owner)
{
	const struct nsec3_iter *chain = cursor_find_nsec3(c, owner);

	for (unsigned i = 0; i < SOURCES; i++)
		c->sources[i].ended = true;
	c->at = NULL;
	c->both = false;
	c->rr = c->rr_end = NULL;
	c->hashed = NULL;
	c->sig_count = 0;
	memcpy(c->owner, owner, name_len(owner));
	c->node = cursor_find_node(c, &c->zone->names, owner);
	if (c->node == NULL)
		c->node = cursor_find_node(c, &c->zone->nsec3, owner);
	c->entry = 0;
	c->soa = c->node != NULL && (c->node->flags & NODE_APEX) != 0;
	c->chain = c->node != NULL ? chain : NULL;
	if (c->node == NULL && chain != NULL)
		cursor_set_nsec3(c, chain);
}

void
zone_cursor_destroy(struct zone_cursor *cursor)
{
	free(cursor);
}

enum nsd_err
zone_walk(const struct store_view *view, const struct zone *zone,
	const uint8_t *apex,
	enum nsd_err (*on_rr)(void *ctx, const struct zone_rr *rr), void *ctx)
{
	struct zone_cursor *c;
	struct zone_rr rr;
	enum nsd_err err = zone_cursor_create(view, zone, apex, &c);

	if (err != NSD_OK)
		return err;
	while (err == NSD_OK && zone_cursor_next(c, &rr))
		err = on_rr(ctx, &rr);
	zone_cursor_destroy(c);
	return err;
}
