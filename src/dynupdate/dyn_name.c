/* dyn_name.c - the names that a batch looks at, and which RRsets they have. */
#include <assert.h>
#include <string.h>

#include "base/fold.h"
#include "dynupdate/dyn.h"
#include "zone/nsec3_page.h"

#define SLOTS_FIRST 256u
/* RRset counts of the store end there: it has as many records or more. */
#define COUNT_MANY 65535u

/* ---- tables -------------------------------------------------------------- */

static uint64_t
hash_set(const struct dyn_name *name, uint16_t type, uint16_t covered)
{
	return fold_words(name->hash ^ ((uint64_t)covered << 16 | type),
		UINT64_C(0x94d049bb133111eb));
}

/* Makes the table of names twice as large. False: there is no memory. */
static bool
names_grow(struct dynupdate *d)
{
	size_t slots = d->name_slots == 0 ? SLOTS_FIRST : 2 * d->name_slots;
	struct dyn_name **names = arena_alloc_zero(&d->arena,
		slots * sizeof(struct dyn_name *));

	if (names == NULL)
		return false;
	for (size_t i = 0; i < d->name_slots; i++) {
		struct dyn_name *next, *name = d->names[i];

		for (; name != NULL; name = next) {
			struct dyn_name **slot = &names[name->hash
				& (slots - 1)];

			next = name->chain;
			name->chain = *slot;
			*slot = name;
		}
	}
	d->names = names;
	d->name_slots = slots;
	return true;
}

static bool
sets_grow(struct dynupdate *d)
{
	size_t slots = d->set_slots == 0 ? SLOTS_FIRST : 2 * d->set_slots;
	struct dyn_set **sets = arena_alloc_zero(&d->arena,
		slots * sizeof(struct dyn_set *));

	if (sets == NULL)
		return false;
	for (size_t i = 0; i < d->set_slots; i++) {
		struct dyn_set *next, *set = d->sets[i];

		for (; set != NULL; set = next) {
			struct dyn_set **slot = &sets[hash_set(set->name,
				set->type, set->covered) & (slots - 1)];

			next = set->chain;
			set->chain = *slot;
			*slot = set;
		}
	}
	d->sets = sets;
	d->set_slots = slots;
	return true;
}

struct dyn_set *
dyn_name_find(const struct dynupdate *d, const struct dyn_name *name,
	uint16_t type, uint16_t covered)
{
	struct dyn_set *set;

	if (d->set_slots == 0)
		return NULL;
	set = d->sets[hash_set(name, type, covered) & (d->set_slots - 1)];
	while (set != NULL && (set->name != name || set->type != type
			|| set->covered != covered))
		set = set->chain;
	return set;
}

struct dyn_set *
dyn_name_get_set(struct dynupdate *d, struct dyn_name *name, uint16_t type,
	uint16_t covered)
{
	struct dyn_set *set = dyn_name_find(d, name, type, covered);
	struct dyn_set **slot;

	if (set != NULL)
		return set;
	if (d->set_count == d->set_slots && !sets_grow(d))
		return NULL;
	set = arena_alloc_zero(&d->arena, sizeof(*set));
	if (set == NULL)
		return NULL;
	set->name = name;
	set->type = type;
	set->covered = covered;
	set->is_loaded = true;
	slot = &d->sets[hash_set(name, type, covered) & (d->set_slots - 1)];
	set->chain = *slot;
	*slot = set;
	d->set_count++;
	return set;
}

/* ---- from the store ------------------------------------------------------ */

static uint32_t
rrset_count(const struct rrset *rrset)
{
	const uint8_t *at = rrset->data, *end = at + rrset_len(rrset);
	uint32_t count = 0;

	if (rrset->count < COUNT_MANY)
		return rrset->count;
	for (; at < end; at += 2u + octets_get_u16(at))
		count++;
	return count;
}

static void
set_take(struct dyn_set *set, uint32_t count, uint32_t ttl_sec)
{
	assert(set->count == 0 && count > 0);
	set->is_loaded = false;
	set->count = count;
	set->ttl_sec = ttl_sec;
	dyn_name_use(set);
}

static bool
name_take_rrset(struct dynupdate *d, struct dyn_name *name,
	const struct rrset *rrset)
{
	struct dyn_set *set = dyn_name_get_set(d, name, rrset->type, 0);

	if (set == NULL)
		return false;
	set->rrset = rrset;
	set_take(set, rrset_count(rrset), rrset->ttl_sec);
	return true;
}

static bool
name_take_sigs(struct dynupdate *d, struct dyn_name *name, uint16_t covered,
	const struct rrset_sigs *sigs)
{
	struct dyn_set *set;

	if (sigs->count == 0)
		return true;
	set = dyn_name_get_set(d, name, TYPE_RRSIG, covered);
	if (set == NULL)
		return false;
	set->sigs = sigs;
	set_take(set, sigs->count, sigs->ttl_sec);
	return true;
}

static bool
name_take_node(struct dynupdate *d, struct dyn_name *name,
	const struct node *node)
{
	const struct node_rrset *e = node_entries(node);

	for (unsigned i = 0; i < node->entry_count; i++) {
		const void *object = store_get(d->view, e[i].ref);

		if ((e[i].flags & NODE_RRSET_SIGS) != 0
				? !name_take_sigs(d, name, e[i].type, object)
				: !name_take_rrset(d, name, object))
			return false;
	}
	return true;
}

/* Takes the NSEC3 RRset of the chain that has this owner. */
static bool
name_take_hashed(struct dynupdate *d, struct dyn_name *name,
	const struct nsec3_find *find)
{
	const struct nsec3_record *record = find->record;
	const struct nsec3_template *template;
	struct dyn_set *set;

	if (!name_take_sigs(d, name, TYPE_NSEC3, &record->sigs))
		return false;
	if ((record->flags & NSEC3_RRSET) != 0)
		return name_take_rrset(d, name,
			store_get(d->view, record->template));
	set = dyn_name_get_set(d, name, TYPE_NSEC3, 0);
	if (set == NULL)
		return false;
	template = store_get(d->view, record->template);
	set->hashed = record;
	memcpy(set->next_hash, find->next_hash, sizeof(set->next_hash));
	set_take(set, 1, template->ttl_sec);
	return true;
}

static const struct node *
find_node(const struct dynupdate *d, const struct trie *trie,
	const struct dyn_name *name)
{
	struct trie_walk walk = {.root = &trie->root};
	uint8_t label_at[NAME_MAX_LABELS + 1];

	trie_name_split(&walk.name, name->owner,
		(unsigned)name->len - d->apex_len, label_at);
	trie_find(d->view, &walk);
	return walk.exact != STORE_NONE ? store_get(d->view, walk.exact)
					: NULL;
}

static bool
name_take_nsec3(struct dynupdate *d, struct dyn_name *name)
{
	const struct node *node = find_node(d, &d->zone->nsec3, name);
	struct nsec3_find find = {.chain = NULL}, *finds = &find;

	if (node != NULL && !name_take_node(d, name, node))
		return false;
	if (d->zone->chain == STORE_NONE
		|| name->len != 1 + NSEC3_LABEL_LEN + d->apex_len
		|| !nsec3_parse_label(name->owner, find.hash))
		return true;
	find.chain = store_get(d->view, d->zone->chain);
	nsec3_find_batch(d->view, &finds, 1);
	return find.record == NULL || !find.matches
		|| name_take_hashed(d, name, &find);
}

static bool
name_take(struct dynupdate *d, struct dyn_name *name)
{
	name->node = find_node(d, &d->zone->names, name);
	return (name->node == NULL || name_take_node(d, name, name->node))
		&& (name->len == d->apex_len || name_take_nsec3(d, name));
}

static struct dyn_name *
name_find_hashed(const struct dynupdate *d, uint64_t hash,
	const uint8_t *owner, size_t len)
{
	struct dyn_name *name = d->name_slots == 0 ? NULL
		: d->names[hash & (d->name_slots - 1)];

	while (name != NULL && (name->hash != hash || name->len != len
			|| memcmp(name->owner, owner, len) != 0))
		name = name->chain;
	return name;
}

struct dyn_name *
dyn_name_peek(const struct dynupdate *d, const uint8_t *owner, size_t len)
{
	return name_find_hashed(d, fold_octets(d->options.seed, owner, len),
		owner, len);
}

struct dyn_name *
dyn_name_get(struct dynupdate *d, const uint8_t *owner, size_t len)
{
	uint64_t hash = fold_octets(d->options.seed, owner, len);
	struct dyn_name *name = name_find_hashed(d, hash, owner, len);

	if (name != NULL)
		return name;
	if (d->name_count == d->name_slots && !names_grow(d))
		return NULL;
	name = arena_alloc_zero(&d->arena, sizeof(*name) + len);
	if (name == NULL)
		return NULL;
	name->hash = hash;
	name->len = (uint8_t)len;
	memcpy(name->owner, owner, len);
	CDS_INIT_LIST_HEAD(&name->used);
	if (!name_take(d, name))
		return NULL;
	name->chain = d->names[hash & (d->name_slots - 1)];
	d->names[hash & (d->name_slots - 1)] = name;
	d->name_count++;
	name->older = d->newest;
	d->newest = name;
	return name;
}

/* ---- which RRsets have records ------------------------------------------- */

bool
dyn_name_is_plain(uint16_t type)
{
	return type != TYPE_CNAME
		&& (rrtype_get(type)->flags & RR_WITH_CNAME) == 0;
}

void
dyn_name_use(struct dyn_set *set)
{
	struct dyn_name *name = set->name;

	cds_list_add_tail(&set->node, &name->used);
	name->used_count++;
	name->plain_count += dyn_name_is_plain(set->type);
	name->sig_count += set->type == TYPE_RRSIG;
}

void
dyn_name_cease(struct dyn_set *set)
{
	struct dyn_name *name = set->name;

	assert(name->used_count > 0);
	cds_list_del(&set->node);
	name->used_count--;
	name->plain_count -= dyn_name_is_plain(set->type);
	name->sig_count -= set->type == TYPE_RRSIG;
}

bool
dyn_name_has(const struct dynupdate *d, const struct dyn_name *name,
	uint16_t type)
{
	const struct dyn_set *set;

	if (type == TYPE_RRSIG)
		return name->sig_count > 0;
	set = dyn_name_find(d, name, type, 0);
	return set != NULL && set->count > 0;
}
