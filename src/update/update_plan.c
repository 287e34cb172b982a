/* update_plan.c - finds which names are dirty, which of them will exist,
 * and what zone cuts and DNAMEs make of them. */
#include <string.h>

#include "base/grow.h"
#include "update/update_pass.h"

/* ---- the list of dirty names ------------------------------------------- */

/* Copies a name to the arena, with an empty record before it (line 0): findings
 * look for the record of an owner there. NULL without memory. */
static const uint8_t *
dirty_copy_name(struct zone_update *u, const uint8_t *name, size_t len)
{
	struct rrbatch_rr *rr = arena_alloc_zero(&u->arena,
		sizeof(*rr) + len + u->zone.apex_len);

	if (rr == NULL)
		return NULL;
	memcpy(rr->data, name, len);
	memcpy(rr->data + len, u->zone.apex, u->zone.apex_len);
	return rr->data;
}

static enum nsd_err
dirty_take_owner(struct zone_update *u, struct dirty_name *t,
	const struct owner *owner)
{
	memset(t, 0, sizeof(*t));
	t->owner = *owner;
	t->owner.flags &= OWNER_KEY_WHOLE;
	t->owner.rr_count = 0;
	t->owner.name = dirty_copy_name(u, owner->name, owner->name_len);
	return t->owner.name == NULL ? NSD_E_MEMORY : NSD_OK;
}

/* The flags of enum owner_flags that the records of an old node make. */
static uint16_t
node_owner_flags(const struct node *node)
{
	const struct node_rrset *e = node_entries(node);
	uint16_t flags = 0;

	for (unsigned i = 0; i < node->entry_count; i++) {
		if (e[i].type != TYPE_NSEC3)
			flags |= OWNER_OTHER;
		if ((e[i].flags & NODE_RRSET_SIGS) != 0)
			continue;
		switch (e[i].type) {
		case TYPE_NS:
			flags |= OWNER_NS;
			break;
		case TYPE_DNAME:
			flags |= OWNER_DNAME;
			break;
		case TYPE_CNAME:
			flags |= OWNER_CNAME;
			break;
		case TYPE_A:
		case TYPE_AAAA:
			flags |= OWNER_ADDRESS;
			break;
		default:
			break;
		}
	}
	return flags;
}

static void
dirty_read_old(struct zone_update *u, struct dirty_name *t)
{
	if (t->old != STORE_NONE)
		t->records = node_owner_flags(store_get(u->view, t->old));
}

static enum nsd_err
dirty_append(struct zone_update *u, const struct owner *owner)
{
	struct dirty_name *t = &u->dirty[u->dirty_count];

	if (dirty_take_owner(u, t, owner) != NSD_OK)
		return NSD_E_MEMORY;
	t->old = update_find_ref(u, &u->old->names, &t->owner);
	t->old_hash = update_find_ref(u, &u->old->nsec3, &t->owner);
	dirty_read_old(u, t);
	u->dirty_count++;
	return NSD_OK;
}

size_t
update_run_len(const struct owner *run, size_t count)
{
	size_t n = 1;

	while (n < count && owner_compare(&run[0], &run[n]) == 0)
		n++;
	return n;
}

/* The most dirty names that there will be: the apex, and each name with those
 * of its ancestors that are not also ancestors of the name before. */
static size_t
plan_count(const struct zone_update *u)
{
	const struct owner *before = NULL;
	size_t total = 1, n; /* the apex */

	for (size_t i = 0; i < u->change_count; i += n) {
		const struct owner *o = &u->owners[i];

		n = update_run_len(o, u->change_count - i);
		total += before == NULL ? o->labels
			: o->labels - owner_count_common(before, o);
		before = o;
	}
	return total;
}

static enum nsd_err
plan_add_name(struct zone_update *u, const struct owner *o, unsigned common)
{
	struct owner ancestor;

	for (unsigned l = common + 1; l < o->labels; l++) {
		owner_get_ancestor(o, l, &ancestor);
		if (dirty_append(u, &ancestor) != NSD_OK)
			return NSD_E_MEMORY;
	}
	return o->labels > common ? dirty_append(u, o) : NSD_OK;
}

static enum nsd_err
plan_dirty_names(struct zone_update *u)
{
	struct owner apex = {.flags = 0};
	const struct owner *before = &apex;
	size_t n;

	if (!owner_measure(&apex, u->zone.apex, u->zone.apex_len, u->zone.apex,
		    u->zone.apex_len))
		return NSD_E_BUG;
	u->dirty = arena_alloc(&u->scratch,
		plan_count(u) * sizeof(u->dirty[0]));
	if (u->dirty == NULL || dirty_append(u, &apex) != NSD_OK)
		return NSD_E_MEMORY;
	for (size_t i = 0; i < u->change_count; i += n) {
		const struct owner *o = &u->owners[i];

		n = update_run_len(o, u->change_count - i);
		if (plan_add_name(u, o, owner_count_common(before, o))
			!= NSD_OK)
			return NSD_E_MEMORY;
		if (update_list_items(u, &u->dirty[u->dirty_count - 1], o, n)
			!= NSD_OK)
			return NSD_E_MEMORY;
		before = o;
	}
	return NSD_OK;
}

static void
plan_link_parents(struct zone_update *u)
{
	uint32_t path[NAME_MAX_LABELS + 1] = {0};

	for (size_t i = 0; i < u->dirty_count; i++) {
		struct dirty_name *t = &u->dirty[i];

		path[t->owner.labels] = (uint32_t)i;
		t->parent = i == 0 ? 0 : path[t->owner.labels - 1];
	}
}

/* ---- which of them will exist ------------------------------------------ */

/* Makes the owner that a node would be. name: room for what it borrows. */
static void
owner_of_node(const struct zone_update *u, const struct node *node,
	uint8_t name[NAME_MAX_LEN], struct owner *owner)
{
	memcpy(name, trie_leaf_name(&node->leaf), node->leaf.name_len);
	memcpy(name + node->leaf.name_len, u->zone.apex, u->zone.apex_len);
	owner->flags = 0;
	owner->rr_count = 0;
	owner_measure(owner, name,
		(size_t)node->leaf.name_len + u->zone.apex_len, u->zone.apex,
		u->zone.apex_len);
}

/* True if the old version has a name below dirty name i that is not dirty. */
static bool
dirty_has_old_child(const struct zone_update *u, size_t i)
{
	const struct owner *top = &u->dirty[i].owner;
	uint8_t label_at[NAME_MAX_LABELS + 1], text[NAME_MAX_LEN];
	struct trie_name name;
	struct trie_iter iter;
	store_ref ref;

	trie_name_split(&name, top->name, top->name_len, label_at);
	trie_iter_init_below(&iter, u->view, &u->old->names.root, &name);
	while ((ref = trie_iter_next(&iter)) != STORE_NONE) {
		struct owner owner;

		owner_of_node(u, store_get(u->view, ref), text, &owner);
		while (i < u->dirty_count
			&& owner_compare(&u->dirty[i].owner, &owner) < 0)
			i++;
		if (i == u->dirty_count
			|| owner_compare(&u->dirty[i].owner, &owner) != 0)
			return true;
	}
	return false;
}

/* Goes from the last name to the first, so that names below come first. */
static void
plan_existence(struct zone_update *u)
{
	for (size_t i = u->dirty_count; i-- > 0;) {
		struct dirty_name *t = &u->dirty[i];

		if (i == 0 || (t->records & OWNER_OTHER) != 0 || t->has_child)
			t->exists = true;
		else if (t->old != STORE_NONE)
			t->exists = dirty_has_old_child(u, i);
		if (t->exists && i > 0)
			u->dirty[t->parent].has_child = true;
	}
}

/* ---- cuts and what they hide ------------------------------------------- */

/* Starts with what the old node says of wildcards below it: they may not be
 * dirty. */
static void
dirty_reset(struct zone_update *u, struct dirty_name *t)
{
	const struct node *old;

	t->owner.flags = (uint16_t)((t->owner.flags & OWNER_KEY_WHOLE)
		| (t->records & (OWNER_NS | OWNER_DNAME | OWNER_CNAME
			| OWNER_ADDRESS | OWNER_OTHER)));
	if (t->old != STORE_NONE) {
		old = store_get(u->view, t->old);
		if ((old->flags & NODE_WILDCARD_CHILD) != 0)
			t->owner.flags |= OWNER_WILDCARD_CHILD;
	}
	if (t->owner.labels > 0 && name_is_wildcard(t->owner.name))
		u->dirty[t->parent].owner.flags &=
			(uint16_t)~OWNER_WILDCARD_CHILD;
}

static void
plan_shape(struct zone_update *u)
{
	struct shape_walk walk = {.wildcards = 0};
	const struct owner *before = NULL;

	for (size_t i = 0; i < u->dirty_count; i++) {
		struct dirty_name *t = &u->dirty[i];

		dirty_reset(u, t);
		if (!t->exists)
			continue;
		shape_place(&walk, &t->owner, before == NULL ? 0
			: owner_count_common(before, &t->owner));
		before = &t->owner;
	}
	u->wildcard_delta = walk.wildcards;
	u->dname_delta = walk.dnames;
	for (size_t i = 0; i < u->dirty_count; i++) {
		const struct dirty_name *t = &u->dirty[i];
		const struct node *old;

		if (t->old == STORE_NONE)
			continue;
		old = store_get(u->view, t->old);
		u->wildcard_delta -= (old->flags & NODE_WILDCARD) != 0;
		u->dname_delta -= (old->flags & (NODE_DNAME | NODE_OCCLUDED))
			== NODE_DNAME;
	}
}

/* The effect of a name on the names below it. Below a DNAME that is no zone cut
 * there may be no data. */
enum cover { COVER_NONE, COVER_CUT, COVER_DNAME };

static enum cover
dirty_get_cover(const struct dirty_name *t)
{
	if (!t->exists || (t->owner.flags & OWNER_OCCLUDED) != 0)
		return COVER_NONE;
	if ((t->owner.flags & OWNER_CUT) != 0)
		return COVER_CUT;
	return (t->owner.flags & OWNER_DNAME) != 0 ? COVER_DNAME : COVER_NONE;
}

/* True if what the dirty name is for the names below it changes. */
static bool
dirty_changes_cover(const struct zone_update *u, const struct dirty_name *t)
{
	const struct node *old;
	enum cover was = COVER_NONE;

	if (t->old == STORE_NONE)
		return false; /* the names below it are all dirty */
	old = store_get(u->view, t->old);
	if ((old->flags & NODE_OCCLUDED) == 0)
		was = (old->flags & NODE_CUT) != 0 ? COVER_CUT
			: (old->flags & NODE_DNAME) != 0 ? COVER_DNAME
			: COVER_NONE;
	return dirty_get_cover(t) != was;
}

/* The dirty names there are, and the old names below some of them, in order. */
struct plan_expansion {
	struct zone_update *u;
	struct dirty_name *out;
	size_t count;
	size_t room;
};

static struct dirty_name *
expansion_next(struct plan_expansion *x)
{
	x->out = grow_arena(&x->u->arena, x->out, x->count, &x->room,
		sizeof(x->out[0]));
	return x->out == NULL ? NULL : &x->out[x->count];
}

static enum nsd_err
expansion_copy(struct plan_expansion *x, const struct dirty_name *t)
{
	struct dirty_name *out = expansion_next(x);

	if (out == NULL)
		return NSD_E_MEMORY;
	*out = *t;
	x->count++;
	return NSD_OK;
}

static enum nsd_err
expansion_add(struct plan_expansion *x, const struct owner *owner,
	store_ref old)
{
	struct dirty_name *out = expansion_next(x);

	if (out == NULL || dirty_take_owner(x->u, out, owner) != NSD_OK)
		return NSD_E_MEMORY;
	out->old = old;
	out->exists = true;
	dirty_read_old(x->u, out);
	x->count++;
	return NSD_OK;
}

/* Adds dirty name *at and all dirty and old names below it; *at then is the one
 * after them. */
static enum nsd_err
expansion_add_below(struct plan_expansion *x, size_t *at)
{
	struct zone_update *u = x->u;
	const struct owner *top = &u->dirty[*at].owner;
	uint8_t label_at[NAME_MAX_LABELS + 1], text[NAME_MAX_LEN];
	size_t end = *at + 1, i = *at;
	struct trie_name name;
	struct trie_iter iter;
	store_ref ref;

	while (end < u->dirty_count
		&& u->dirty[end].owner.labels > top->labels)
		end++;
	trie_name_split(&name, top->name, top->name_len, label_at);
	trie_iter_init_below(&iter, u->view, &u->old->names.root, &name);
	while ((ref = trie_iter_next(&iter)) != STORE_NONE) {
		struct owner owner;
		int order = 1;

		owner_of_node(u, store_get(u->view, ref), text, &owner);
		for (; i < end && (order = owner_compare(&u->dirty[i].owner,
				&owner)) < 0; i++)
			if (expansion_copy(x, &u->dirty[i]) != NSD_OK)
				return NSD_E_MEMORY;
		if (i < end && order == 0)
			continue;
		if (u->options.names_max != 0
			&& x->count >= u->options.names_max)
			return NSD_E_LIMIT;
		if (expansion_add(x, &owner, ref) != NSD_OK)
			return NSD_E_MEMORY;
	}
	for (; i < end; i++)
		if (expansion_copy(x, &u->dirty[i]) != NSD_OK)
			return NSD_E_MEMORY;
	*at = end;
	return NSD_OK;
}

/* Makes all names dirty below a cut or DNAME that is added or removed. */
static enum nsd_err
plan_expand(struct zone_update *u)
{
	struct plan_expansion x = {.u = u};
	size_t first = 0, at;
	enum nsd_err err = NSD_OK;

	while (first < u->dirty_count
		&& !dirty_changes_cover(u, &u->dirty[first]))
		first++;
	if (first == u->dirty_count)
		return NSD_OK;
	for (at = 0; at < u->dirty_count && err == NSD_OK;) {
		const struct dirty_name *t = &u->dirty[at];

		if (dirty_changes_cover(u, t))
			err = expansion_add_below(&x, &at);
		else
			err = expansion_copy(&x, &u->dirty[at++]);
	}
	if (err != NSD_OK)
		return err;
	u->dirty = x.out;
	u->dirty_count = x.count;
	plan_link_parents(u);
	plan_shape(u);
	return NSD_OK;
}

/* ---- rules that names together must obey ------------------------------- */

static void
plan_check_dnames(struct zone_update *u)
{
	struct shape_walk walk = {.wildcards = 0};
	const struct owner *before = NULL;

	for (size_t i = 0; i < u->dirty_count; i++) {
		struct dirty_name *t = &u->dirty[i];
		unsigned common;

		if (!t->exists)
			continue;
		common = before == NULL ? 0
			: owner_count_common(before, &t->owner);
		shape_place(&walk, &t->owner, common);
		if ((t->owner.flags & OWNER_OCCLUDED) != 0
			&& (t->records & OWNER_OTHER) != 0)
			shape_check_dname(&walk, &u->packer, &t->owner);
		before = &t->owner;
	}
}

static bool
dirty_has_type(const struct zone_update *u, const struct dirty_name *t,
	uint16_t type)
{
	if (!t->changed)
		return node_find_entry(store_get(u->view, t->old), type)
			!= NULL;
	for (size_t i = 0; i < t->item_count; i++)
		if (t->items[i].key == (uint32_t)type << 1)
			return true;
	return false;
}

static void
plan_check_apex(struct zone_update *u)
{
	const struct dirty_name *apex = &u->dirty[0];
	char text[NAME_TEXT_MAX];

	findings_name_text(u->zone.apex, text);
	if (!dirty_has_type(u, apex, TYPE_SOA))
		findings_add(&u->packer.findings, DIAG_ERROR, NULL,
			"zone configured as '%s' has no SOA record.", text);
	else if (!dirty_has_type(u, apex, TYPE_NS))
		findings_add(&u->packer.findings, DIAG_WARNING, NULL,
			"zone '%s' has no NS record", text);
}

enum nsd_err
update_plan(struct zone_update *u)
{
	struct arena_mark mark = arena_mark(&u->scratch);
	struct owner *tmp = arena_alloc(&u->scratch,
		u->change_count * sizeof(*tmp) + 1);
	const struct dirty_name *listed;
	enum nsd_err err;

	if (tmp == NULL)
		return NSD_E_MEMORY;
	owner_sort(u->owners, tmp, u->change_count);
	arena_rewind(&u->scratch, &mark);
	err = plan_dirty_names(u);
	if (err != NSD_OK)
		return err;
	for (size_t i = 0; i < u->dirty_count; i++)
		u->effective = u->effective || u->dirty[i].changed
			|| u->dirty[i].chain_changed;
	if (!u->effective)
		return NSD_OK;
	plan_link_parents(u);
	plan_existence(u);
	plan_shape(u);
	listed = u->dirty;
	err = plan_expand(u);
	if (err != NSD_OK)
		return err;
	/* A list with more names, in the arena, has come in its place. */
	if (u->dirty != listed)
		arena_rewind(&u->scratch, &mark);
	for (size_t i = 0; i < u->dirty_count; i++)
		u->node_delta += u->dirty[i].exists
			- (u->dirty[i].old != STORE_NONE);
	plan_check_dnames(u);
	plan_check_apex(u);
	return NSD_OK;
}
