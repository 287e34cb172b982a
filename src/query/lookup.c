/* lookup.c - decides what a finished walk of the names has found. */
#include <string.h>

#include "dns/rrtype.h"
#include "query/lookup.h"

void
lookup_walk_init(struct trie_walk *walk, const struct search *s)
{
	walk->root = &s->zone->names.root;
	walk->name.labels = s->name->name;
	walk->name.label_at = s->name->label_at;
	walk->name.len = s->name->len - 1u - s->entry->leaf.name_len;
	walk->name.count = s->name->count - s->zone_labels;
}

bool
lookup_is_within(const struct zone_entry *entry,
	const struct message_name *name)
{
	unsigned above;

	if (name->count < entry->leaf.labels)
		return false;
	above = name->count - entry->leaf.labels;
	return name->len - name->label_at[above] == entry->leaf.name_len + 1
		&& memcmp(name->name + name->label_at[above], entry->name,
			entry->leaf.name_len) == 0;
}

static bool
has_sigs(const struct node *node)
{
	const struct node_rrset *e = node_entries(node);

	for (unsigned i = 0; i < node->entry_count && i < QUERY_ENTRIES_MAX;
		i++)
		if ((e[i].flags & NODE_RRSET_SIGS) != 0)
			return true;
	return false;
}

/* Looks for the type at the node that answers for the name. */
static void
resolve_type(struct search *s, uint16_t qtype)
{
	const struct node *node = s->node;

	switch (qtype) {
	case TYPE_ANY:
		s->outcome = node->entry_count > 0 ? OUTCOME_HIT_ANY
			: OUTCOME_NODATA;
		return;
	case TYPE_RRSIG:
		if (has_sigs(node)) {
			s->outcome = OUTCOME_HIT_SIGS;
			return;
		}
		break;
	default:
		s->found = node_find_entry(node, qtype);
		if (s->found != NULL) {
			s->outcome = OUTCOME_HIT;
			return;
		}
	}
	s->outcome = OUTCOME_NODATA;
	/* A question for one of these types does not follow a CNAME. */
	if ((node->flags & NODE_CNAME) != 0
		&& (rrtype_get(qtype)->flags & RR_PAST_CNAME) == 0) {
		s->found = node_find_entry(node, TYPE_CNAME);
		if (s->found != NULL)
			s->outcome = OUTCOME_CNAME;
	}
}

static void
set_delegation(struct search *s, const struct node *cut)
{
	s->node = cut;
	s->found = node_find_entry(cut, TYPE_NS);
	s->outcome = s->found != NULL ? OUTCOME_DELEGATION : OUTCOME_BROKEN;
}

/* Ends the search at the topmost ancestor that is a cut or has a DNAME. False:
 * there is none. */
static bool
resolve_ancestors(const struct store_view *view, struct search *s,
	const struct trie_walk *walk)
{
	for (unsigned i = 0; i < walk->ancestor_count; i++) {
		const struct node *node = store_get(view, walk->ancestors[i]);

		if ((node->flags & NODE_CUT) != 0) {
			set_delegation(s, node);
			return true;
		}
		if ((node->flags & NODE_DNAME) != 0) {
			s->node = node;
			s->found = node_find_entry(node, TYPE_DNAME);
			s->outcome = s->found != NULL ? OUTCOME_DNAME
				: OUTCOME_BROKEN;
			return true;
		}
	}
	return false;
}

static void
resolve_exact(const struct store_view *view, struct search *s,
	const struct trie_walk *walk, uint16_t qtype)
{
	const struct node *node = store_get(view, walk->exact);

	if ((node->flags & NODE_OCCLUDED) != 0
		&& resolve_ancestors(view, s, walk))
		return;
	s->node = node;
	if ((node->flags & NODE_CUT) == 0) {
		resolve_type(s, qtype);
	} else if (qtype != TYPE_DS) {
		set_delegation(s, node);
	} else {
		/* RFC 4035 section 3.1.4.1: the parent's side of the cut. */
		s->found = node_find_entry(node, TYPE_DS);
		s->outcome = s->found != NULL ? OUTCOME_HIT : OUTCOME_NODATA;
	}
}

void
lookup_resolve(const struct store_view *view, struct search *s,
	const struct trie_walk *walk, uint16_t qtype)
{
	const struct node *encloser;

	s->from_wildcard = false;
	s->encloser = NULL;
	s->found = NULL;
	if (walk->exact != STORE_NONE) {
		resolve_exact(view, s, walk, qtype);
		return;
	}
	if (walk->encloser == STORE_NONE) {
		s->outcome = OUTCOME_BROKEN;
		return;
	}
	encloser = store_get(view, walk->encloser);
	if ((encloser->flags & (NODE_CUT | NODE_DNAME | NODE_OCCLUDED)) != 0
		&& resolve_ancestors(view, s, walk))
		return;
	s->encloser = encloser;
	s->node = encloser;
	s->outcome = (encloser->flags & NODE_WILDCARD_CHILD) != 0
		? OUTCOME_WILDCARD : OUTCOME_NXDOMAIN;
}

void
lookup_wildcard_init(struct trie_walk *walk, const struct search *s,
	uint8_t *labels, uint8_t *label_at)
{
	const struct message_name *name = s->name;
	unsigned count = s->encloser->leaf.labels;
	unsigned first = name->count - s->zone_labels - count;
	uint8_t start = name->label_at[first];

	labels[0] = 1;
	labels[1] = '*';
	memcpy(labels + 2, name->name + start, s->encloser->leaf.name_len);
	label_at[0] = 0;
	for (unsigned i = 0; i < count; i++)
		label_at[i + 1] = (uint8_t)(name->label_at[first + i] - start
			+ 2);
	walk->root = &s->zone->names.root;
	walk->name.labels = labels;
	walk->name.label_at = label_at;
	walk->name.len = s->encloser->leaf.name_len + 2u;
	walk->name.count = (uint8_t)(count + 1);
}

void
lookup_resolve_wildcard(const struct store_view *view, struct search *s,
	const struct trie_walk *walk, uint16_t qtype)
{
	if (walk->exact == STORE_NONE) {
		s->outcome = OUTCOME_NXDOMAIN;
		return;
	}
	s->node = store_get(view, walk->exact);
	s->from_wildcard = true;
	resolve_type(s, qtype);
}

void
lookup_one(struct query_ctx *ctx, struct search *s, uint16_t qtype)
{
	struct trie_walk *walk = &ctx->walk;
	uint8_t label_at[NAME_MAX_LABELS + 1];
	uint8_t labels[NAME_MAX_LEN + 1];

	lookup_walk_init(walk, s);
	trie_find(ctx->view, walk);
	lookup_resolve(ctx->view, s, walk, qtype);
	if (s->outcome != OUTCOME_WILDCARD)
		return;
	lookup_wildcard_init(walk, s, labels, label_at);
	trie_find(ctx->view, walk);
	lookup_resolve_wildcard(ctx->view, s, walk, qtype);
}
