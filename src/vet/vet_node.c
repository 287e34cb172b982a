/* vet_node.c - the names of a zone: what they have, and whether their flags
 * follow from that. */
#include "base/assert.h"
#include "vet/vet_part.h"
#include "zone/objects.h"

/* A name with one of these hides what is below it. */
#define COVERING (NODE_CUT | NODE_DNAME | NODE_OCCLUDED)

/* ---- entries ----------------------------------------------------------- */

/* False for types that no zone has: those for queries, and pseudo-records. */
static bool
type_can_be(uint16_t type)
{
	return type != 0 && type != TYPE_OPT && (type < 128 || type > 255);
}

/* Flags of a node that follow from one of its entries. */
static unsigned
entry_flags(const struct node *node, const struct node_rrset *e)
{
	if ((e->flags & NODE_RRSET_SIGS) != 0)
		return 0;
	switch (e->type) {
	case TYPE_NS:
		return node->leaf.labels > 0
				&& (node->flags & NODE_OCCLUDED) == 0
			? NODE_CUT : 0;
	case TYPE_DNAME:
		return NODE_DNAME;
	case TYPE_CNAME:
		return NODE_CNAME;
	case TYPE_DS:
		return NODE_HAS_DS;
	default:
		return 0;
	}
}

/* The entries of a node, and all that they lead to. *flags is what follows from
 * them. */
static bool
vet_entries(struct vet_part *p, const struct node *node, store_ref ref,
	unsigned *flags)
{
	const struct node_rrset *e = node_entries(node);
	uint32_t last = 0;

	*flags = node->entry_count == 0 ? NODE_EMPTY : 0;
	for (unsigned i = 0; i < node->entry_count; i++) {
		bool sigs = (e[i].flags & NODE_RRSET_SIGS) != 0;
		uint32_t key = (uint32_t)e[i].type << 1 | sigs;

		if (key <= last || (e[i].flags & ~NODE_RRSET_SIGS) != 0
			|| (!sigs && !type_can_be(e[i].type)))
			return vet_fail(p, VET_NODE, ref,
				"has types that are out of order");
		last = key;
		*flags |= entry_flags(node, &e[i]);
		if (!(sigs ? vet_sigs(p, e[i].ref, e[i].type)
			   : vet_rrset(p, e[i].ref, e[i].type, node)))
			return false;
	}
	return true;
}

/* ---- places ------------------------------------------------------------ */

/* Notes the names above the first one of a part. They lie in earlier parts, so
 * nothing else is known of them. */
static void
above_begin(struct vet_part *p, const struct node *node)
{
	const uint8_t *name = node->name;
	unsigned left = node->leaf.name_len;

	for (unsigned depth = node->leaf.labels; depth-- > 0;) {
		left -= name[0] + 1u;
		name += name[0] + 1u;
		p->above[depth] = (struct vet_above){.name = name,
			.len = (uint8_t)left};
	}
	p->above_count = node->leaf.labels;
}

/* The name right above, or NULL. Names come in order, so it is the last one
 * that was seen at its depth. */
static struct vet_above *
above_find(struct vet_part *p, const struct node *node)
{
	struct vet_above *a = &p->above[node->leaf.labels - 1u];
	unsigned first = node->name[0] + 1u;

	if (node->leaf.labels > p->above_count
		|| a->len != node->leaf.name_len - first
		|| memcmp(a->name, node->name + first, a->len) != 0)
		return NULL;
	return a;
}

/* True if a name agrees with the one above it. If that one is unknown, notes
 * what it has to be. */
static bool
above_agrees(struct vet_above *a, const struct node *node)
{
	bool hidden = (node->flags & NODE_OCCLUDED) != 0;
	bool wildcard = (node->flags & NODE_WILDCARD) != 0;

	if (a->known)
		return hidden == ((a->flags & COVERING) != 0)
			&& (!wildcard
				|| (a->flags & NODE_WILDCARD_CHILD) != 0);
	if (a->used && a->covers != hidden)
		return false;
	a->used = true;
	a->covers = hidden;
	a->wildcard |= wildcard;
	return true;
}

/* The name's place among the others: there is a name above it, and flags that
 * follow from names are right. */
static bool
vet_place(struct vet_part *p, const struct node *node, store_ref ref)
{
	unsigned depth = node->leaf.labels;
	bool wildcard = depth > 0 && node->name[0] == 1
		&& node->name[1] == '*';
	struct vet_above *a;

	ASSERT_HOT(depth <= NAME_MAX_LABELS);
	if (p->nodes == 0)
		above_begin(p, node);
	if (wildcard != ((node->flags & NODE_WILDCARD) != 0)
		|| (depth == 0) != ((node->flags & NODE_APEX) != 0)
		|| (depth == 0) != (ref == p->zone->zone->apex)
		|| (depth == 0 && (node->flags & NODE_OCCLUDED) != 0))
		return vet_fail(p, VET_NODE, ref,
			"is not what its name says");
	if (depth > 0) {
		a = above_find(p, node);
		if (a == NULL)
			return vet_fail(p, VET_NODE, ref,
				"has no name above it");
		if (!above_agrees(a, node))
			return vet_fail(p, VET_NODE, ref,
				"does not agree with the name above it");
	}
	p->above[depth] = (struct vet_above){.name = node->name,
		.len = node->leaf.name_len, .known = true,
		.flags = node->flags};
	if (p->above_count <= depth)
		p->above_count = depth + 1;
	p->nodes++;
	p->wildcards += wildcard;
	p->wildcard_parents += (node->flags & NODE_WILDCARD_CHILD) != 0;
	p->dnames += (node->flags & (NODE_DNAME | NODE_OCCLUDED))
		== NODE_DNAME;
	return true;
}

/* True if a name that was unknown to a part is what that needs it to be. before
 * is the last name of that depth in the parts before. */
static bool
above_join(const struct vet_above *before, const struct vet_above *a)
{
	return before->known && before->len == a->len
		&& memcmp(before->name, a->name, a->len) == 0
		&& a->covers == ((before->flags & COVERING) != 0)
		&& (!a->wildcard
			|| (before->flags & NODE_WILDCARD_CHILD) != 0);
}

bool
vet_node_join(struct vet_part *parts, size_t count)
{
	struct vet_above above[NAME_MAX_LABELS + 1] = {{.len = 0}};

	for (size_t i = 0; i < count; i++) {
		const struct vet_part *p = &parts[i];

		for (unsigned d = 0; d < p->above_count; d++)
			if (p->above[d].used && !p->above[d].known
				&& !above_join(&above[d], &p->above[d]))
				return vet_fail(&parts[0], VET_NODE,
					p->entry.word[2], "does not agree with"
						" a name above it");
		for (unsigned d = 0; d < p->above_count; d++)
			if (p->above[d].known)
				above[d] = p->above[d];
	}
	return true;
}

void
vet_node_prefetch(struct vet_part *p, store_ref ref)
{
	const struct store_claims *claims = p->vet->claims;
	const struct node *node;
	const struct node_rrset *e;

	if (!store_claims_reach(claims, ref, sizeof(*node)))
		return;
	node = store_get(p->vet->view, ref);
	if (!store_claims_reach(claims, ref, node_size(node)))
		return;
	e = node_entries(node);
	for (unsigned i = 0; i < node->entry_count && i < 4; i++)
		store_claim_prefetch(claims, e[i].ref);
}

/* ---- nodes ------------------------------------------------------------- */

/* Claims a node, whose name is sound; else NULL and a fault. */
static const struct node *
node_claim(struct vet_part *p, store_ref ref)
{
	const struct node *node = vet_get(p, VET_NODE, ref, sizeof(*node));
	unsigned apex_len = p->zone->entry->leaf.name_len + 1u;

	if (node == NULL || !vet_claim(p, VET_NODE, ref, node_size(node)))
		return NULL;
	if (node->leaf.name_at == offsetof(struct node, name)
		&& node->leaf.name_len + apex_len <= NAME_MAX_LEN
		&& vet_name(node->name, node->leaf.name_len,
			node->leaf.labels))
		return node;
	vet_fail(p, VET_NODE, ref, "has no name");
	return NULL;
}

/* The flags that follow from a node's entries. */
#define FROM_ENTRIES (NODE_CUT | NODE_DNAME | NODE_CNAME | NODE_EMPTY \
	| NODE_HAS_DS)
#define ALL_FLAGS (FROM_ENTRIES | NODE_APEX | NODE_OCCLUDED | NODE_WILDCARD \
	| NODE_WILDCARD_CHILD | NODE_HASHED | NODE_WILDCARD_HASHED)

bool
vet_node(struct vet_part *p, store_ref ref)
{
	const struct node *node = node_claim(p, ref);
	unsigned flags;

	if (node == NULL || !vet_place(p, node, ref)
		|| !vet_entries(p, node, ref, &flags))
		return false;
	return ((node->flags & FROM_ENTRIES) == flags
		       && (node->flags & ~ALL_FLAGS) == 0)
		|| vet_fail(p, VET_NODE, ref,
			"has flags that do not follow from its types");
}

bool
vet_node_aside(struct vet_part *p, store_ref ref)
{
	const struct node *node = node_claim(p, ref);
	const struct node_rrset *e;
	unsigned flags;

	if (node == NULL || !vet_entries(p, node, ref, &flags))
		return false;
	if (node->flags != 0 || node->entry_count == 0)
		return vet_fail(p, VET_NODE, ref,
			"has flags that do not follow from its types");
	e = node_entries(node);
	for (unsigned i = 0; i < node->entry_count; i++)
		if (e[i].type != TYPE_NSEC3)
			return vet_fail(p, VET_NODE, ref,
				"has more than NSEC3 records");
	return true;
}
