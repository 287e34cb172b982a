/* table.c - finds zones among those that are served. */
#include <string.h>

#include "settings/pattern.h"
#include "settings/update_policy.h"
#include "zone/history.h"
#include "zone/nsec3_page.h"
#include "zone/share_index.h"
#include "zone/sources.h"
#include "zone/table.h"

#define ZONE_LAYOUT_VERSION 8u

uint64_t
table_layout(void)
{
	static const size_t sizes[] = {ZONE_LAYOUT_VERSION,
		sizeof(struct zone_table), sizeof(struct zone_entry),
		sizeof(struct zone), sizeof(struct node),
		sizeof(struct node_rrset), sizeof(struct rrset),
		sizeof(struct rrset_target), sizeof(struct rrset_sigs),
		sizeof(struct sig), sizeof(struct sig_template),
		sizeof(struct glue_cell), sizeof(struct glue_target),
		sizeof(struct nsec3_chain), sizeof(struct nsec3_record),
		sizeof(struct nsec3_template), sizeof(struct nsec3_page),
		sizeof(struct share_index), sizeof(struct glue_change),
		sizeof(struct trie_entry),
		sizeof(struct zone_source), sizeof(struct zone_sources),
		sizeof(struct zone_changeset), sizeof(struct settings),
		sizeof(struct settings_options), sizeof(struct settings_xfr),
		sizeof(struct settings_pattern), sizeof(struct zone_own),
		sizeof(struct acl_element), sizeof(struct update_policy),
		sizeof(struct update_policy_entry),
		offsetof(struct zone, chain), offsetof(struct zone, soa)};
	uint64_t sum = 0;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		sum = (sum ^ sizes[i]) * 0x9e3779b97f4a7c15u;
	return sum;
}

const struct zone_table *
table_get(const struct store_view *view)
{
	store_ref ref = store_root(view, STORE_ROOT_ZONES);

	return ref == STORE_NONE ? NULL : store_get(view, ref);
}

unsigned
table_filter_bit(const uint8_t *name)
{
	uint32_t hash = 0x811c9dc5u;

	while (name[name[0] + 1u] != 0)
		name += name[0] + 1u;
	for (unsigned i = 1; i <= name[0]; i++)
		hash = (hash ^ name_lower_octet(name[i])) * 0x01000193u;
	return (hash ^ hash >> 16) % TABLE_FILTER_BITS;
}

bool
table_may_serve(const struct zone_table *table, const uint8_t *name)
{
	unsigned bit;

	if (name_is_root(name)) /* only a root zone encloses the root */
		return table->tld_filter[0] == UINT64_MAX;
	bit = table_filter_bit(name);
	return (table->tld_filter[bit / 64] >> (bit % 64) & 1) != 0;
}

void
table_split_apex(const uint8_t *apex, uint8_t name[NAME_MAX_LEN],
	uint8_t label_at[NAME_MAX_LABELS + 1], struct trie_name *key)
{
	size_t len = name_len(apex);

	memcpy(name, apex, len);
	name_lower(name);
	trie_name_split(key, name, (unsigned)len - 1, label_at);
}

enum nsd_err
table_find_in(const struct store_view *view, const struct zone_table *table,
	const uint8_t *apex, store_ref *entry)
{
	uint8_t name[NAME_MAX_LEN], label_at[NAME_MAX_LABELS + 1];
	struct trie_walk walk;

	table_split_apex(apex, name, label_at, &walk.name);
	walk.root = &table->apexes.root;
	trie_find(view, &walk);
	if (walk.exact == STORE_NONE)
		return NSD_E_NOT_FOUND;
	*entry = walk.exact;
	return NSD_OK;
}

enum nsd_err
table_find_apex(const struct store_view *view, const uint8_t *apex,
	store_ref *entry)
{
	const struct zone_table *table = table_get(view);

	return table == NULL ? NSD_E_NOT_FOUND
			     : table_find_in(view, table, apex, entry);
}
