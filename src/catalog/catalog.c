/* catalog.c - finds the members of a catalog in a version of a zone. */
#include "catalog/catalog.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "dns/rdata.h"
#include "dns/rrtype.h"
#include "zone/unpack.h"

static const uint8_t zones_label[] = "\5zones";
#define ZONES_LEN (sizeof(zones_label) - 1)

const char *
catalog_fault_text(enum catalog_fault fault)
{
	switch (fault) {
	case CATALOG_FAULT_NONE:
		break;
	case CATALOG_FAULT_NO_VERSION:
		return "there is no version property";
	case CATALOG_FAULT_VERSIONS:
		return "the version property has several records";
	case CATALOG_FAULT_VERSION:
		return "the version is not 2";
	case CATALOG_FAULT_PTRS:
		return "a member node has several PTR records";
	case CATALOG_FAULT_COOS:
		return "a coo property has several records";
	case CATALOG_FAULT_TWICE:
		return "two member nodes have the same name";
	}
	return "no fault";
}

/* ---- names and RRsets ---------------------------------------------------- */

/* Finds the RRset of a name below the apex. NULL: there is none, or it is
 * hidden below a zone cut. */
static const struct rrset *
node_get_rrset(const struct store_view *view, const struct node *node,
	uint16_t type)
{
	const struct node_rrset *entry = (node->flags & NODE_OCCLUDED) != 0
		? NULL : node_find_entry(node, type);

	return entry != NULL ? store_get(view, entry->ref) : NULL;
}

static const struct rrset *
find_rrset(const struct store_view *view, const struct zone *zone,
	const uint8_t *labels, size_t len, uint16_t type)
{
	struct trie_walk walk = {.root = &zone->names.root};
	uint8_t label_at[NAME_MAX_LABELS + 1];

	trie_name_split(&walk.name, labels, (unsigned)len, label_at);
	trie_find(view, &walk);
	return walk.exact == STORE_NONE ? NULL
		: node_get_rrset(view, store_get(view, walk.exact), type);
}

/* Finds the RRset of a property of a member. property: a label. */
static const struct rrset *
find_property(const struct store_view *view, const struct zone *zone,
	const uint8_t *apex, const char *property, const uint8_t *label,
	uint16_t type)
{
	uint8_t labels[3 * CATALOG_LABEL_SIZE];
	size_t first = 1u + (uint8_t)property[0], len = first + 1u + *label;

	if (len + ZONES_LEN + name_len(apex) > NAME_MAX_LEN)
		return NULL;
	memcpy(labels, property, first);
	memcpy(labels + first, label, 1u + *label);
	memcpy(labels + len, zones_label, ZONES_LEN);
	return find_rrset(view, zone, labels, len + ZONES_LEN, type);
}

/* Reads the target of the first PTR record. */
static void
ptr_read(const struct rrset *rrset, const uint8_t *apex,
	uint8_t name[NAME_MAX_LEN])
{
	uint8_t rdata[RDATA_MAX_LEN];
	size_t len = unpack_rdata(rrset, rrset->data, apex, rdata);

	assert(len == name_len(rdata) && len <= NAME_MAX_LEN);
	memcpy(name, rdata, len);
	name_lower(name);
}

/* True if TXT RDATA is a single string. */
static bool
txt_is_single(const uint8_t *rdata, size_t len)
{
	return len > 0 && 1u + rdata[0] == len;
}

/* ---- members ------------------------------------------------------------- */

/* RFC 9432 section 4.3.1 */
enum catalog_fault
catalog_check(const struct store_view *view, const struct zone *zone,
	const uint8_t *apex)
{
	static const uint8_t version[] = "\7version";
	const struct rrset *rrset = find_rrset(view, zone, version,
		sizeof(version) - 1, TYPE_TXT);
	uint8_t rdata[RDATA_MAX_LEN];
	size_t len;

	if (rrset == NULL)
		return CATALOG_FAULT_NO_VERSION;
	if (rrset->count != 1)
		return CATALOG_FAULT_VERSIONS;
	len = unpack_rdata(rrset, rrset->data, apex, rdata);
	return len == 2 && rdata[0] == 1 && rdata[1] == '2'
		? CATALOG_FAULT_NONE
		: CATALOG_FAULT_VERSION;
}

/* RFC 9432 section 4.4.1: several records make the whole catalog invalid. */
static void
member_read_coo(const struct rrset *rrset, const uint8_t *apex,
	struct catalog_member *member)
{
	if (rrset->count > 1)
		member->fault = CATALOG_FAULT_COOS;
	ptr_read(rrset, apex, member->coo);
	member->has_coo = true;
}

/* RFC 9432 section 4.4.2. Records that are no single text name no pattern, and
 * are left out. */
static void
member_read_groups(const struct rrset *rrset, const uint8_t *apex,
	struct catalog_member *member)
{
	const uint8_t *at = rrset->data, *end = at + rrset_len(rrset);
	uint8_t rdata[RDATA_MAX_LEN];

	while (at < end && member->group_count < CATALOG_GROUPS_MAX) {
		char *group = member->groups[member->group_count];
		size_t len = unpack_rdata(rrset, at, apex, rdata);

		at += 2u + octets_get_u16(at);
		if (!txt_is_single(rdata, len)
			|| memchr(rdata + 1, '\0', len - 1) != NULL)
			continue;
		memcpy(group, rdata + 1, len - 1);
		group[len - 1] = '\0';
		member->group_count++;
	}
}

/* Reads the member of a node, without its properties (RFC 9432 section 4.1).
 * False: it is none. */
static bool
member_read(const struct store_view *view, const struct node *node,
	const uint8_t *apex, struct catalog_member *member)
{
	const struct rrset *ptr = node_get_rrset(view, node, TYPE_PTR);
	const uint8_t *label = trie_leaf_name(&node->leaf);

	if (ptr == NULL)
		return false;
	member->fault = ptr->count > 1 ? CATALOG_FAULT_PTRS
				       : CATALOG_FAULT_NONE;
	memcpy(member->label, label, 1u + *label);
	ptr_read(ptr, apex, member->name);
	member->has_coo = false;
	member->group_count = 0;
	return true;
}

static void
member_read_properties(const struct store_view *view, const struct zone *zone,
	const uint8_t *apex, struct catalog_member *member)
{
	const struct rrset *coo = find_property(view, zone, apex, "\3coo",
		member->label, TYPE_PTR);
	const struct rrset *group = find_property(view, zone, apex, "\5group",
		member->label, TYPE_TXT);

	if (coo != NULL)
		member_read_coo(coo, apex, member);
	if (group != NULL)
		member_read_groups(group, apex, member);
}

enum nsd_err
catalog_find(const struct store_view *view, const struct zone *zone,
	const uint8_t *apex, const uint8_t *label,
	struct catalog_member *member)
{
	struct trie_walk walk = {.root = &zone->names.root};
	uint8_t label_at[NAME_MAX_LABELS + 1];
	uint8_t labels[2 * CATALOG_LABEL_SIZE];
	size_t len = 1u + *label;

	assert(*label > 0 && *label < CATALOG_LABEL_SIZE);
	memcpy(labels, label, len);
	memcpy(labels + len, zones_label, ZONES_LEN);
	trie_name_split(&walk.name, labels, (unsigned)(len + ZONES_LEN),
		label_at);
	trie_find(view, &walk);
	if (walk.exact == STORE_NONE
		|| !member_read(view, store_get(view, walk.exact), apex,
			member))
		return NSD_E_NOT_FOUND;
	member_read_properties(view, zone, apex, member);
	return NSD_OK;
}

/* ---- all members --------------------------------------------------------- */

static void
walk_begin(const struct catalog_walk *walk, const struct store_view *view,
	const struct zone *zone, struct trie_iter *iter)
{
	uint8_t label_at[NAME_MAX_LABELS + 1];
	struct trie_name name;

	if (walk->has_last) {
		trie_name_split(&name, walk->last, walk->len, label_at);
		trie_iter_init_after(iter, view, &zone->names.root, &name);
	} else {
		trie_name_split(&name, zones_label, ZONES_LEN, label_at);
		trie_iter_init_below(iter, view, &zone->names.root, &name);
	}
}

/* True if the last label of a name is "zones"; that of another name may end
 * with the same octets. */
static bool
leaf_is_below_zones(const struct trie_leaf *leaf)
{
	const uint8_t *at = trie_leaf_name(leaf), *end = at + leaf->name_len;

	while (end - at > (ptrdiff_t)ZONES_LEN)
		at += 1u + *at;
	return end - at == (ptrdiff_t)ZONES_LEN
		&& memcmp(at, zones_label, ZONES_LEN) == 0;
}

static const struct node *
walk_next(struct trie_iter *iter)
{
	store_ref ref = trie_iter_next(iter);
	const struct node *node;

	if (ref == STORE_NONE)
		return NULL;
	node = store_get(iter->view, ref);
	/* Names behind those below "zones" may follow. */
	return leaf_is_below_zones(&node->leaf) ? node : NULL;
}

void
catalog_next(const struct store_view *view, const struct zone *zone,
	const uint8_t *apex, struct catalog_walk *walk, unsigned most,
	bool (*on_member)(void *ctx, const struct catalog_member *member),
	void *ctx)
{
	struct catalog_member member;
	const struct node *node, *next;
	struct trie_iter iter;
	bool go_on = true;

	assert(!walk->is_over && most > 0);
	walk_begin(walk, view, zone, &iter);
	for (node = walk_next(&iter); node != NULL && most-- > 0 && go_on;
		node = next) {
		next = walk_next(&iter);
		walk->has_last = true;
		walk->len = node->leaf.name_len;
		memcpy(walk->last, trie_leaf_name(&node->leaf), walk->len);
		if (node->leaf.labels != 2
			|| !member_read(view, node, apex, &member))
			continue;
		/* Names below the node, if there are any, are next. */
		if (next != NULL && next->leaf.labels > 2)
			member_read_properties(view, zone, apex, &member);
		go_on = on_member(ctx, &member);
	}
	walk->is_over = node == NULL;
}
