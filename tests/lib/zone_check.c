/* zone_check.c - compares zones object by object, and counts what they hold. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dns/name.h"
#include "lib/zone_check.h"
#include "zone/nsec3_page.h"
#include "zone/unpack.h"

static char said[600];

#define SAY(...) (snprintf(said, sizeof(said), __VA_ARGS__), said)

/* ---- sizes, not taken from the code that is tested --------------------- */

static size_t
granules(size_t len)
{
	return (len + 7) & ~(size_t)7;
}

static size_t
size_of_rrset(const struct rrset *r)
{
	const struct rrset_tail *t = rrset_get_tail(r);

	if (t == NULL)
		return sizeof(*r) + rrset_len(r);
	return sizeof(*r) + ((rrset_len(r) + 3) & ~3u) + 4
		+ ((t->fixup_count + 1u) & ~1u) * 2
		+ t->target_count * sizeof(struct rrset_target);
}

static size_t
size_of_sigs(const struct rrset_sigs *s)
{
	const uint8_t *at = s->data;

	for (unsigned i = 0; i < s->count; i++)
		at += sig_size((const struct sig *)at);
	return (size_t)(at - (const uint8_t *)s);
}

/* ---- objects and how often they are held ------------------------------- */

struct held {
	store_ref ref;
	uint32_t count;
};

struct holders {
	struct held *items; /* open addressing */
	size_t mask;
	size_t used;
};

static uint32_t *
holders_get(struct holders *h, store_ref ref)
{
	size_t i;

	if (h->used * 2 >= h->mask) {
		struct holders more = {.mask = 1023};

		while (more.mask < h->used * 4)
			more.mask = more.mask * 2 + 1;
		more.items = calloc(more.mask + 1, sizeof(*more.items));
		for (i = 0; h->items != NULL && i <= h->mask; i++)
			if (h->items[i].ref != STORE_NONE)
				*holders_get(&more, h->items[i].ref) =
					h->items[i].count;
		free(h->items);
		*h = more;
	}
	for (i = ref; h->items[i & h->mask].ref != STORE_NONE; i++)
		if (h->items[i & h->mask].ref == ref)
			return &h->items[i & h->mask].count;
	h->items[i & h->mask].ref = ref;
	h->used++;
	return &h->items[i & h->mask].count;
}

struct count {
	const struct store_view *view;
	const struct zone *zone;
	struct holders rrsets;
	struct holders templates;
	struct holders nsec3_templates;
	struct holders targets;
	size_t octets;
	const char *wrong;
};

static void
count_rrset(struct count *c, store_ref ref)
{
	const struct rrset *r = store_get(c->view, ref);
	const struct rrset_tail *t = rrset_get_tail(r);
	uint32_t *held = holders_get(&c->rrsets, ref);

	if (++*held > 1)
		return;
	c->octets += granules(size_of_rrset(r));
	for (unsigned i = 0; t != NULL && i < t->target_count; i++) {
		store_ref cell = rrset_tail_targets(t)[i].glue;

		if (cell != STORE_NONE)
			++*holders_get(&c->targets,
				cell - GLUE_CELL_GRANULES);
	}
}

static void
count_templates(struct count *c, const struct rrset_sigs *s)
{
	const uint8_t *at = s->data;

	for (unsigned i = 0; i < s->count; i++) {
		const struct sig *sig = (const struct sig *)at;
		const struct sig_template *t = store_get(c->view,
			sig->template_ref);

		if (++*holders_get(&c->templates, sig->template_ref) == 1)
			c->octets += granules(sizeof(*t) + t->signer_len);
		at += sig_size(sig);
	}
}

static void
count_sigs(struct count *c, store_ref ref)
{
	const struct rrset_sigs *s = store_get(c->view, ref);

	c->octets += granules(size_of_sigs(s));
	count_templates(c, s);
}

static void
count_branch(void *ctx, store_ref ref, size_t len)
{
	struct count *c = ctx;

	(void)ref;
	c->octets += granules(len);
}

static size_t
size_of_node(const struct node *node)
{
	return (size_t)((const uint8_t *)(node_entries(node)
			+ node->entry_count) - (const uint8_t *)node)
		+ ((node->flags & NODE_HASHED) != 0) * 8u
		+ ((node->flags & NODE_WILDCARD_HASHED) != 0) * 8u;
}

static void
count_nodes(struct count *c, const struct trie *trie)
{
	struct trie_iter iter;
	store_ref ref;

	trie_visit(c->view, trie, count_branch, c);
	trie_iter_init(&iter, c->view, &trie->root);
	while ((ref = trie_iter_next(&iter)) != STORE_NONE) {
		const struct node *node = store_get(c->view, ref);
		const struct node_rrset *e = node_entries(node);

		c->octets += granules(size_of_node(node));
		for (unsigned i = 0; i < node->entry_count; i++) {
			if ((e[i].flags & NODE_RRSET_SIGS) != 0)
				count_sigs(c, e[i].ref);
			else
				count_rrset(c, e[i].ref);
		}
	}
}

static void
count_chain(struct count *c)
{
	const struct nsec3_chain *chain = store_get(c->view, c->zone->chain);
	struct nsec3_iter iter;

	if (c->zone->chain == STORE_NONE)
		return;
	c->octets += granules(sizeof(*chain) + chain->salt_len);
	nsec3_visit_pages(c->view, chain, count_branch, c);
	nsec3_iter_init(&iter, c->view, chain);
	while (nsec3_iter_next(&iter)) {
		const struct nsec3_record *r = iter.record;
		const struct nsec3_template *template = store_get(c->view,
			r->template);

		c->octets += granules(nsec3_record_size(r));
		count_templates(c, &r->sigs);
		if ((r->flags & NSEC3_RRSET) != 0)
			count_rrset(c, r->template);
		else if (++*holders_get(&c->nsec3_templates, r->template) == 1)
			c->octets += granules(sizeof(*template)
				+ template->head_len
				+ template->bitmap_len);
	}
}

static const struct node *
find_node(const struct store_view *view, const struct zone *zone,
	const struct trie_leaf *leaf)
{
	uint8_t label_at[NAME_MAX_LABELS + 1];
	struct trie_walk walk = {.root = &zone->names.root};

	trie_name_of_leaf(&walk.name, leaf, label_at);
	trie_find(view, &walk);
	return walk.exact == STORE_NONE ? NULL : store_get(view, walk.exact);
}

/* A cell holds what its name's node has. */
static const char *
check_cell(struct count *c, const struct glue_target *t,
	const struct glue_cell *cell)
{
	const struct node *node = find_node(c->view, c->zone, &t->leaf);
	const struct node_rrset *a = NULL, *aaaa = NULL;
	bool hidden = false;

	if (node != NULL) {
		a = node_find_entry(node, TYPE_A);
		aaaa = node_find_entry(node, TYPE_AAAA);
		hidden = (a != NULL || aaaa != NULL)
			&& (node->flags & (NODE_CUT | NODE_OCCLUDED)) != 0;
	}
	if (cell->a != (a == NULL ? STORE_NONE : a->ref)
		|| cell->aaaa != (aaaa == NULL ? STORE_NONE : aaaa->ref)
		|| cell->a_sigs != (a == NULL ? STORE_NONE
				: node_entry_sigs(node, a))
		|| cell->aaaa_sigs != (aaaa == NULL ? STORE_NONE
				: node_entry_sigs(node, aaaa)))
		return SAY("cell of %.*s holds other addresses than its node",
			t->leaf.name_len, t->name);
	if (glue_cell_is_hidden(cell) != hidden)
		return SAY("cell of %.*s is wrong about being hidden",
			t->leaf.name_len, t->name);
	return NULL;
}

static void
count_targets(struct count *c)
{
	struct trie_iter iter;
	store_ref ref;

	trie_visit(c->view, &c->zone->targets, count_branch, c);
	trie_iter_init(&iter, c->view, &c->zone->targets.root);
	while ((ref = trie_iter_next(&iter)) != STORE_NONE) {
		const struct glue_target *t = store_get(c->view, ref);
		uint32_t held = *holders_get(&c->targets, ref);

		c->octets += granules(sizeof(*t) + t->leaf.name_len);
		if (held == 0 || held != t->refs)
			c->wrong = SAY("target %.*s: refs %u, counted %u",
				t->leaf.name_len, t->name, t->refs, held);
		if (c->wrong == NULL)
			c->wrong = check_cell(c, t, glue_cell_get(c->view,
				ref + GLUE_CELL_GRANULES, c->zone));
		*holders_get(&c->targets, ref) = UINT32_MAX;
	}
	for (size_t i = 0; i <= c->targets.mask && c->targets.items != NULL;
		i++)
		if (c->targets.items[i].ref != STORE_NONE
			&& c->targets.items[i].count != UINT32_MAX)
			c->wrong = SAY("an RRset has a target that is not "
				"among the targets");
}

static void
count_rest(struct count *c)
{
	const struct { uint64_t seed; uint32_t mask; } *index;
	store_ref ref = c->zone->pending_first;

	c->octets += granules(sizeof(*c->zone));
	if (c->zone->share != STORE_NONE) {
		index = store_get(c->view, c->zone->share);
		c->octets += 16 + ((size_t)index->mask + 1) * 8;
	}
	while (ref != STORE_NONE) {
		const struct glue_change *p = store_get(c->view, ref);

		c->octets += granules(sizeof(*p));
		ref = ref == c->zone->pending_last ? STORE_NONE : p->next;
	}
}

static void
count_zone(struct count *c, const struct store_view *view, store_ref ref)
{
	memset(c, 0, sizeof(*c));
	c->view = view;
	c->zone = store_get(view, ref);
	count_nodes(c, &c->zone->names);
	count_nodes(c, &c->zone->nsec3);
	count_chain(c);
	count_targets(c);
	count_rest(c);
}

static void
count_end(struct count *c)
{
	free(c->rrsets.items);
	free(c->templates.items);
	free(c->nsec3_templates.items);
	free(c->targets.items);
}

size_t
zone_check_octets(const struct store_view *view, store_ref zone,
	struct zone_check_shared *shared)
{
	struct count c;

	count_zone(&c, view, zone);
	count_end(&c);
	if (shared != NULL)
		*shared = (struct zone_check_shared){c.rrsets.used,
			c.templates.used, c.nsec3_templates.used};
	return c.octets;
}

static const char *
check_records(struct count *c, const struct trie *trie, uint64_t *nodes)
{
	struct trie_iter iter;
	store_ref ref;

	trie_iter_init(&iter, c->view, &trie->root);
	for (; (ref = trie_iter_next(&iter)) != STORE_NONE; ++*nodes) {
		const struct node *node = store_get(c->view, ref);

		if ((node->flags & NODE_EMPTY) != 0
			? node->entry_count != 0 : node->entry_count == 0)
			return SAY("a node is wrong about being empty");
	}
	return NULL;
}

const char *
zone_check_sound(const struct store_view *view, store_ref zone,
	const uint8_t *apex)
{
	struct count c;
	const char *wrong;
	uint64_t nodes = 0;

	(void)apex;
	count_zone(&c, view, zone);
	wrong = c.wrong;
	for (size_t i = 0; i <= c.rrsets.mask; i++) {
		const struct held *h = &c.rrsets.items[i];
		const struct rrset *r = store_get(view, h->ref);

		if (h->ref != STORE_NONE && r->refs != h->count)
			wrong = SAY("RRset of type %u: refs %u, counted %u",
				r->type, r->refs, h->count);
	}
	for (size_t i = 0; i <= c.templates.mask && c.templates.items != NULL;
		i++) {
		const struct held *h = &c.templates.items[i];
		const struct sig_template *t = store_get(view, h->ref);

		if (h->ref != STORE_NONE && t->refs != h->count)
			wrong = SAY("template: refs %u, counted %u", t->refs,
				h->count);
	}
	for (size_t i = 0; i <= c.nsec3_templates.mask
		&& c.nsec3_templates.items != NULL; i++) {
		const struct held *h = &c.nsec3_templates.items[i];
		const struct nsec3_template *f = store_get(view, h->ref);

		if (h->ref != STORE_NONE && f->refs != h->count)
			wrong = SAY("NSEC3 template: refs %u, counted %u",
				f->refs, h->count);
	}
	if (wrong == NULL)
		wrong = check_records(&c, &c.zone->names, &nodes);
	if (wrong == NULL && nodes != c.zone->node_count)
		wrong = SAY("%llu names, counted %llu",
			(unsigned long long)c.zone->node_count,
			(unsigned long long)nodes);
	count_end(&c);
	return wrong;
}

/* ---- two zones --------------------------------------------------------- */

struct pair {
	const struct store_view *view;
	const struct zone *a;
	const struct zone *b;
};

static const char *rrsets_differ(const struct pair *p, store_ref a,
	store_ref b, bool with_targets);

static const char *
sigs_differ(const struct pair *p, store_ref a, store_ref b)
{
	const struct rrset_sigs *x = store_get(p->view, a);
	const struct rrset_sigs *y = store_get(p->view, b);
	const uint8_t *x_at = x->data, *y_at = y->data;

	if ((a == STORE_NONE) != (b == STORE_NONE))
		return SAY("signatures in one of them");
	if (a == STORE_NONE)
		return NULL;
	if (x->ttl_sec != y->ttl_sec || x->count != y->count)
		return SAY("signatures: TTL or count");
	for (unsigned i = 0; i < x->count; i++) {
		static uint8_t x_rdata[65535], y_rdata[65535];
		size_t len = unpack_sig_rdata(p->view,
			(const struct sig *)x_at, x_rdata);

		if (len != unpack_sig_rdata(p->view, (const struct sig *)y_at,
				y_rdata)
			|| memcmp(x_rdata, y_rdata, len) != 0)
			return SAY("signature %u", i);
		x_at += sig_size((const struct sig *)x_at);
		y_at += sig_size((const struct sig *)y_at);
	}
	return NULL;
}

static const char *
cells_differ(const struct pair *p, store_ref a, store_ref b)
{
	const struct glue_cell *x, *y;
	const char *wrong;

	if ((a == STORE_NONE) != (b == STORE_NONE))
		return SAY("a cell in one of them");
	if (a == STORE_NONE)
		return NULL;
	x = glue_cell_get(p->view, a, p->a);
	y = glue_cell_get(p->view, b, p->b);
	if (glue_cell_is_hidden(x) != glue_cell_is_hidden(y))
		return SAY("cells: hidden or not");
	wrong = rrsets_differ(p, x->a, y->a, false);
	if (wrong == NULL)
		wrong = rrsets_differ(p, x->aaaa, y->aaaa, false);
	if (wrong == NULL)
		wrong = sigs_differ(p, x->a_sigs, y->a_sigs);
	if (wrong == NULL)
		wrong = sigs_differ(p, x->aaaa_sigs, y->aaaa_sigs);
	return wrong;
}

static const char *
tails_differ(const struct pair *p, const struct rrset *x,
	const struct rrset *y)
{
	const struct rrset_tail *s = rrset_get_tail(x), *t = rrset_get_tail(y);

	if ((s == NULL) != (t == NULL))
		return SAY("a tail in one of them");
	if (s == NULL)
		return NULL;
	if (s->fixup_count != t->fixup_count
		|| s->target_count != t->target_count
		|| memcmp(s->fixups, t->fixups, s->fixup_count * 2u) != 0)
		return SAY("tails");
	for (unsigned i = 0; i < s->target_count; i++) {
		const struct rrset_target *u = &rrset_tail_targets(s)[i];
		const struct rrset_target *v = &rrset_tail_targets(t)[i];
		const char *wrong;

		if (u->offset != v->offset || u->flags != v->flags)
			return SAY("targets");
		wrong = cells_differ(p, u->glue, v->glue);
		if (wrong != NULL)
			return wrong;
	}
	return NULL;
}

static const char *
rrsets_differ(const struct pair *p, store_ref a, store_ref b,
	bool with_targets)
{
	const struct rrset *x = store_get(p->view, a);
	const struct rrset *y = store_get(p->view, b);

	if ((a == STORE_NONE) != (b == STORE_NONE))
		return SAY("an RRset in one of them");
	if (a == STORE_NONE)
		return NULL;
	if (x->ttl_sec != y->ttl_sec || x->len_flags != y->len_flags
		|| x->type != y->type || x->count != y->count
		|| memcmp(x->data, y->data, rrset_len(x)) != 0)
		return SAY("RRset of type %u: TTL %u and %u, %u and %u RRs",
			x->type, x->ttl_sec, y->ttl_sec, x->count, y->count);
	return with_targets ? tails_differ(p, x, y) : NULL;
}

static const char *
nodes_differ(const struct pair *p, store_ref a, store_ref b)
{
	const struct node *x = store_get(p->view, a);
	const struct node *y = store_get(p->view, b);
	const struct node_rrset *s = node_entries(x), *t = node_entries(y);

	if (x->flags != y->flags || x->entry_count != y->entry_count)
		return SAY("%.*s: flags %x and %x, %u and %u entries",
			x->leaf.name_len, x->name, x->flags, y->flags,
			x->entry_count, y->entry_count);
	for (unsigned i = 0; i < x->entry_count; i++) {
		const char *wrong;

		if (s[i].type != t[i].type || s[i].flags != t[i].flags)
			return SAY("%.*s: types %u and %u", x->leaf.name_len,
				x->name, s[i].type, t[i].type);
		wrong = (s[i].flags & NODE_RRSET_SIGS) != 0
			? sigs_differ(p, s[i].ref, t[i].ref)
			: rrsets_differ(p, s[i].ref, t[i].ref, true);
		if (wrong != NULL)
			return wrong;
	}
	if (size_of_node(x) != size_of_node(y)
		|| memcmp(s + x->entry_count, t + x->entry_count,
			size_of_node(x) - (size_t)((const uint8_t *)(s
				+ x->entry_count) - (const uint8_t *)x)) != 0)
		return SAY("%.*s: hashes", x->leaf.name_len, x->name);
	return NULL;
}

static const char *
targets_differ(const struct pair *p, store_ref a, store_ref b)
{
	const struct glue_target *x = store_get(p->view, a);
	const struct glue_target *y = store_get(p->view, b);

	if (x->refs != y->refs)
		return SAY("target %.*s: refs %u and %u", x->leaf.name_len,
			x->name, x->refs, y->refs);
	return cells_differ(p, a + GLUE_CELL_GRANULES, b + GLUE_CELL_GRANULES);
}

/* The shape of a trie depends on its names alone. */
static const char *
entries_differ(const struct pair *p, const struct trie_entry *a,
	const struct trie_entry *b,
	const char *(*differ)(const struct pair *, store_ref, store_ref))
{
	const struct trie_leaf *x, *y;
	unsigned count;

	if ((a->word[0] & 1) != (b->word[0] & 1)
		|| (a->word[2] == STORE_NONE) != (b->word[2] == STORE_NONE))
		return SAY("tries: a branch and a leaf");
	if (a->word[2] == STORE_NONE)
		return NULL;
	if ((a->word[0] & 1) == 0) {
		x = store_get(p->view, a->word[2]);
		y = store_get(p->view, b->word[2]);
		if (x->name_len != y->name_len || x->labels != y->labels
			|| memcmp(trie_leaf_name(x), trie_leaf_name(y),
				x->name_len) != 0)
			return SAY("tries: %.*s and %.*s", x->name_len,
				trie_leaf_name(x), y->name_len,
				trie_leaf_name(y));
		return differ(p, a->word[2], b->word[2]);
	}
	if (a->word[0] != b->word[0] || a->word[1] != b->word[1])
		return SAY("tries: branches");
	count = (unsigned)__builtin_popcount(a->word[0] & ~1u)
		+ (unsigned)__builtin_popcount(a->word[1] & 0x1ffff);
	for (unsigned i = 0; i < count; i++) {
		const struct trie_entry *u = store_get(p->view, a->word[2]);
		const struct trie_entry *v = store_get(p->view, b->word[2]);
		const char *wrong = entries_differ(p, &u[i], &v[i], differ);

		if (wrong != NULL)
			return wrong;
	}
	return NULL;
}

static const char *
chains_differ(const struct pair *p)
{
	const struct nsec3_chain *x = store_get(p->view, p->a->chain);
	const struct nsec3_chain *y = store_get(p->view, p->b->chain);
	struct nsec3_iter i, j;

	if ((p->a->chain == STORE_NONE) != (p->b->chain == STORE_NONE))
		return SAY("a chain in one of them");
	if (p->a->chain == STORE_NONE)
		return NULL;
	if (x->count != y->count || x->iterations != y->iterations
		|| x->salt_len != y->salt_len || x->flags != y->flags
		|| memcmp(x->salt, y->salt, x->salt_len) != 0)
		return SAY("chains: %u and %u records", x->count, y->count);
	nsec3_iter_init(&i, p->view, x);
	nsec3_iter_init(&j, p->view, y);
	while (nsec3_iter_next(&i)) {
		if (!nsec3_iter_next(&j) || i.record->flags != j.record->flags
			|| memcmp(i.hash, j.hash, NSEC3_HASH_LEN) != 0
			|| (i.next_hash == NULL) != (j.next_hash == NULL)
			|| (i.next_hash != NULL && memcmp(i.next_hash,
				j.next_hash, NSEC3_HASH_LEN) != 0))
			return SAY("chains: records");
	}
	return nsec3_iter_next(&j) ? SAY("chains: more in one") : NULL;
}

const char *
zone_check_equal(const struct store_view *view, store_ref a, store_ref b)
{
	const struct zone *x = store_get(view, a), *y = store_get(view, b);
	const struct pair p = {view, x, y};
	const char *wrong;

	if (x->flags != y->flags || x->serial != y->serial
		|| x->negative_ttl_sec != y->negative_ttl_sec)
		return SAY("zones: flags %x and %x", x->flags, y->flags);
	if (x->node_count != y->node_count || x->rr_count != y->rr_count
		|| x->wildcard_count != y->wildcard_count
		|| x->dname_count != y->dname_count)
		return SAY("zones: %u and %u names, %u and %u records, "
			"%u and %u wildcards, %u and %u DNAMEs",
			(unsigned)x->node_count, (unsigned)y->node_count,
			(unsigned)x->rr_count, (unsigned)y->rr_count,
			x->wildcard_count, y->wildcard_count, x->dname_count,
			y->dname_count);
	wrong = nodes_differ(&p, x->apex, y->apex);
	if (wrong == NULL)
		wrong = rrsets_differ(&p, x->soa, y->soa, true);
	if (wrong == NULL)
		wrong = sigs_differ(&p, x->soa_sigs, y->soa_sigs);
	if (wrong == NULL)
		wrong = entries_differ(&p, &x->names.root, &y->names.root,
			nodes_differ);
	if (wrong == NULL)
		wrong = entries_differ(&p, &x->nsec3.root, &y->nsec3.root,
			nodes_differ);
	if (wrong == NULL)
		wrong = entries_differ(&p, &x->targets.root, &y->targets.root,
			targets_differ);
	return wrong != NULL ? wrong : chains_differ(&p);
}
