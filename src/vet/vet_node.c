/* vet_node.c - names of a zone: what they have, and whether their flags are
 * what follows from it. */
#include "vet/vet_part.h"
#include "zone/nsec3_page.h"
#include "zone/objects.h"

#define COVERING (NODE_CUT | NODE_DNAME | NODE_OCCLUDED)

/* ---- signatures -------------------------------------------------------- */

bool
vet_sig_list(struct vet_part *p, enum vet_kind kind, store_ref ref,
	size_t offset, size_t *end)
{
	size_t at = offset + sizeof(struct rrset_sigs);
	const uint8_t *base = vet_get(p, kind, ref, at);
	unsigned count;

	if (base == NULL)
		return false;
	count = ((const struct rrset_sigs *)(base + offset))->count;
	for (unsigned i = 0; i < count; i++) {
		if (vet_get(p, kind, ref, at + sizeof(struct sig)) == NULL)
			return false;
		at += sig_size((const struct sig *)(base + at));
	}
	*end = at;
	return true;
}

static bool
is_wire_name(const uint8_t *name, unsigned len)
{
	unsigned at = 0;

	while (at < len && name[at] != 0) {
		if (name[at] > 63)
			return false;
		at += name[at] + 1u;
	}
	return at + 1 == len;
}

static bool
vet_template(struct vet_part *p, store_ref ref, uint16_t covered)
{
	const struct sig_template *t = vet_get(p, VET_TEMPLATE, ref,
		sizeof(*t));
	enum store_claim claim;

	if (t == NULL)
		return false;
	claim = store_claim(p->vet->claims, ref, sig_template_size(t),
		VET_TEMPLATE);
	if (claim == CLAIM_WRONG)
		return vet_fail(p, VET_TEMPLATE, ref,
			"is not in use, or used twice");
	if (t->covered != covered)
		return vet_fail(p, VET_TEMPLATE, ref,
			"is of another type");
	vet_hold(p, ref);
	if (claim == CLAIM_SAME)
		return true;
	vet_held(p, ref, t->refs);
	vet_index_template(p, ref);
	return is_wire_name(t->signer, t->signer_len)
		|| vet_fail(p, VET_TEMPLATE, ref, "has no name of a signer");
}

/* The list is known to lie in what was claimed. */
bool
vet_templates(struct vet_part *p, const struct rrset_sigs *sigs,
	uint16_t covered)
{
	const uint8_t *at = sigs->data;

	for (unsigned i = 0; i < sigs->count; i++) {
		const struct sig *sig = (const struct sig *)at;
		const struct sig_template *t;

		if (!vet_template(p, sig->template_ref, covered))
			return false;
		t = store_get(p->vet->view, sig->template_ref);
		if (18u + t->signer_len + sig->len > 65535
			|| sig->labels > NAME_MAX_LABELS)
			return vet_fail(p, VET_TEMPLATE, sig->template_ref,
				"has a signature that cannot be");
		at += sig_size(sig);
	}
	return true;
}

static bool
vet_sigs(struct vet_part *p, store_ref ref, uint16_t covered)
{
	const struct rrset_sigs *sigs;
	size_t end;

	if (!vet_sig_list(p, VET_SIGS, ref, 0, &end)
		|| !vet_claim(p, VET_SIGS, ref, end))
		return false;
	sigs = store_get(p->vet->view, ref);
	if (sigs->count == 0)
		return vet_fail(p, VET_SIGS, ref, "are none");
	p->rrs += sigs->count;
	return vet_templates(p, sigs, covered);
}

/* ---- entries ----------------------------------------------------------- */

static bool
type_can_be(uint16_t type)
{
	return type != 0 && type != TYPE_OPT && (type < 128 || type > 255);
}

/* Flags that follow from what the node has. */
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

/* The names above the first one of a part, of which no more is known. */
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

/* In order, the last name of each depth is the one above those that follow. */
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

/* True if what a name says of the one above it is so. */
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

static bool
vet_place(struct vet_part *p, const struct node *node, store_ref ref)
{
	unsigned depth = node->leaf.labels;
	bool wildcard = depth > 0 && node->name[0] == 1
		&& node->name[1] == '*';
	struct vet_above *a;

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

/* What a part left unknown is known from those before it. */
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

/* Its name and its size; NULL and a fault. */
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
