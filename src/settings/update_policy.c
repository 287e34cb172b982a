/* update_policy.c - makes the policy of a zone, and looks into it. */
#include <stdlib.h>
#include <string.h>

#include "settings/update_policy.h"

#define NAME_OCTETS_MAX 255u /* RFC 1035 section 2.3.4 */
#define LABELS_MAX 127u      /* without the root label */
#define TYPE_NONE 0u
#define TYPE_ALL 255u        /* ANY */

/* The types that a line without types leaves out: a mistake in them takes the
 * zone, or what is below a cut, from the Internet. */
static const uint16_t types_left_out[] = {2 /* NS */, 6 /* SOA */, 43 /* DS */,
	46 /* RRSIG */, 47 /* NSEC */, 48 /* DNSKEY */, 50 /* NSEC3 */,
	51 /* NSEC3PARAM */};

/* ---- names and hashes ---------------------------------------------------- */

/* A name in lower case, with the places of its labels. */
struct policy_name {
	uint8_t octets[NAME_OCTETS_MAX];
	uint8_t at[LABELS_MAX + 1]; /* the last: of the root label */
	unsigned labels;
};

static uint8_t
octet_lower(uint8_t c)
{
	return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

static void
policy_name_read(struct policy_name *to, const uint8_t *name)
{
	unsigned at = 0;

	to->labels = 0;
	while (name[at] != 0) {
		unsigned end = at + 1u + name[at];

		to->at[to->labels++] = (uint8_t)at;
		to->octets[at] = name[at];
		while (++at < end)
			to->octets[at] = octet_lower(name[at]);
	}
	to->at[to->labels] = (uint8_t)at;
	to->octets[at] = 0;
}

static uint64_t
hash_mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

/* The hash of a key and a kind, which labels are added to. */
static uint64_t
hash_begin(store_ref key, enum update_policy_kind kind)
{
	return hash_mix(hash_mix(0, (uint64_t)key), (uint64_t)kind + 1);
}

static uint64_t
hash_label(uint64_t hash, const uint8_t *label)
{
	for (unsigned i = 0; i <= label[0]; i++)
		hash = (hash ^ label[i]) * UINT64_C(0x100000001b3);
	return hash_mix(hash, label[0]);
}

/* The hash of a line's name: from the last label to the first, but of LABELS
 * from the first to the last. So a search goes on from one name to the next. */
static uint64_t
policy_name_hash(const struct policy_name *name, store_ref key,
	enum update_policy_kind kind)
{
	uint64_t hash = hash_begin(key, kind);

	for (unsigned i = 0; i < name->labels; i++)
		hash = hash_label(hash, name->octets
			+ name->at[kind == UPDATE_POLICY_LABELS
					? i : name->labels - 1 - i]);
	return hash;
}

static void
counts_add(struct update_policy_counts *counts, unsigned labels)
{
	counts->bits[labels / 64] |= UINT64_C(1) << labels % 64;
}

static bool
counts_has(const struct update_policy_counts *counts, unsigned labels)
{
	return (counts->bits[labels / 64] >> labels % 64 & 1) != 0;
}

/* ---- making -------------------------------------------------------------- */

/* A line as it is sorted. */
struct policy_row {
	const struct update_policy_line *line;
	uint64_t hash;
	uint32_t number;
	uint16_t name_len;
	uint8_t labels;
	uint8_t octets[NAME_OCTETS_MAX]; /* the name in lower case */
};

static uint32_t
policy_room(uint32_t count)
{
	uint32_t room = 2;

	while (room < 2 * (uint64_t)count)
		room *= 2;
	return room;
}

static size_t
octets_of_name(const uint8_t *name)
{
	size_t len = 1;

	for (; *name != 0; name += 1 + *name)
		len += 1u + *name;
	return len;
}

uint64_t
update_policy_size_max(const struct update_policy_line *lines, uint32_t count)
{
	uint64_t size = sizeof(struct update_policy)
		+ count * (uint64_t)sizeof(struct update_policy_entry)
		+ (uint64_t)policy_room(count) * sizeof(uint32_t);

	for (uint32_t i = 0; i < count; i++)
		size += octets_of_name(lines[i].name) + 1
			+ (uint64_t)lines[i].type_count * sizeof(uint16_t);
	return size;
}

/* Lines of one entry stand together, in the order in which they are
 * written. */
static int
row_sort(const void *a, const void *b)
{
	const struct policy_row *x = *(const struct policy_row *const *)a;
	const struct policy_row *y = *(const struct policy_row *const *)b;
	int order;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	if (x->line->key != y->line->key)
		return x->line->key < y->line->key ? -1 : 1;
	if (x->line->kind != y->line->kind)
		return x->line->kind < y->line->kind ? -1 : 1;
	if (x->name_len != y->name_len)
		return x->name_len < y->name_len ? -1 : 1;
	order = memcmp(x->octets, y->octets, x->name_len);
	if (order != 0)
		return order;
	return x->number < y->number ? -1 : x->number > y->number;
}

static bool
row_is_like(const struct policy_row *x, const struct policy_row *y)
{
	return x->hash == y->hash && x->line->key == y->line->key
		&& x->line->kind == y->line->kind
		&& x->name_len == y->name_len
		&& memcmp(x->octets, y->octets, x->name_len) == 0;
}

static int
type_sort(const void *a, const void *b)
{
	uint16_t x = *(const uint16_t *)a, y = *(const uint16_t *)b;

	return x < y ? -1 : x > y;
}

/* Sorts types, and drops those that are there twice. */
static uint32_t
types_settle(uint16_t *types, uint32_t count)
{
	uint32_t kept = 0;

	qsort(types, count, sizeof(*types), type_sort);
	for (uint32_t i = 0; i < count; i++)
		if (kept == 0 || types[kept - 1] != types[i])
			types[kept++] = types[i];
	memset(types + kept, 0, (count - kept) * sizeof(*types));
	return kept;
}

/* Adds the types of rows that are one entry. */
static void
entry_add_types(struct update_policy *policy,
	struct update_policy_entry *entry, struct policy_row *const *rows,
	uint32_t count)
{
	uint16_t *types = (uint16_t *)((uint8_t *)policy + policy->len);

	entry->types_at = policy->len;
	for (uint32_t i = 0; i < count; i++) {
		const struct update_policy_line *line = rows[i]->line;

		if (line->type_count == 0)
			entry->flags |= UPDATE_POLICY_DEFAULTS;
		for (uint32_t k = 0; k < line->type_count; k++)
			if (line->types[k] == TYPE_ALL)
				entry->flags |= UPDATE_POLICY_ALL;
			else
				types[entry->type_count++] = line->types[k];
	}
	entry->type_count = types_settle(types, entry->type_count);
	policy->len += entry->type_count * (uint32_t)sizeof(*types);
}

static void
index_add(struct update_policy *policy, uint32_t number)
{
	uint32_t *index = (uint32_t *)((uint8_t *)policy + policy->index_at);
	uint32_t at = (uint32_t)policy->entries[number - 1].hash;

	for (at &= policy->room - 1; index[at] != 0;)
		at = (at + 1) & (policy->room - 1);
	index[at] = number;
}

/* Adds the entry of rows that are alike. Its name goes behind the types of
 * all entries, later. */
static void
policy_add_entry(struct update_policy *policy, struct policy_row *const *rows,
	uint32_t count)
{
	struct update_policy_entry *entry = &policy->entries[policy->count++];
	const struct policy_row *row = rows[0];

	entry->hash = row->hash;
	entry->key = row->line->key;
	entry->number = row->number;
	entry->name_len = row->name_len;
	entry->kind = (uint8_t)row->line->kind;
	entry_add_types(policy, entry, rows, count);
	if (row->line->kind == UPDATE_POLICY_BELOW)
		counts_add(&policy->below, row->labels);
	else if (row->line->kind == UPDATE_POLICY_LABELS)
		counts_add(&policy->labels, row->labels);
}

/* Fills the policy from sorted rows: entries, index, types, names. */
static void
policy_fill(struct update_policy *policy, struct policy_row *const *rows,
	uint32_t count)
{
	uint32_t entries = 0, end;

	for (uint32_t i = 0; i < count; i++)
		entries += i == 0 || !row_is_like(rows[i - 1], rows[i]);
	policy->room = policy_room(entries);
	policy->index_at = (uint32_t)(sizeof(*policy)
		+ entries * sizeof(policy->entries[0]));
	policy->len = policy->index_at
		+ policy->room * (uint32_t)sizeof(uint32_t);
	for (uint32_t i = 0; i < count; i = end) {
		for (end = i + 1; end < count
			&& row_is_like(rows[i], rows[end]);)
			end++;
		policy_add_entry(policy, rows + i, end - i);
		index_add(policy, policy->count);
	}
	for (uint32_t i = 0, n = 0; i < count; i++) {
		if (i > 0 && row_is_like(rows[i - 1], rows[i]))
			continue;
		policy->entries[n++].name_at = policy->len;
		memcpy((uint8_t *)policy + policy->len, rows[i]->octets,
			rows[i]->name_len);
		policy->len += rows[i]->name_len;
	}
}

static void
row_fill(struct policy_row *row, const struct update_policy_line *line,
	uint32_t number)
{
	struct policy_name name;

	policy_name_read(&name, line->name);
	row->line = line;
	row->number = number;
	row->labels = (uint8_t)name.labels;
	row->name_len = (uint16_t)(name.at[name.labels] + 1u);
	row->hash = policy_name_hash(&name, line->key, line->kind);
	memcpy(row->octets, name.octets, row->name_len);
}

enum nsd_err
update_policy_make(const struct update_policy_line *lines, uint32_t count,
	struct update_policy *policy)
{
	struct policy_row *rows = calloc(count + (size_t)1, sizeof(*rows));
	struct policy_row **order = calloc(count + (size_t)1, sizeof(*order));
	uint32_t used = 0;

	if (rows == NULL || order == NULL) {
		free(rows);
		free(order);
		return NSD_E_MEMORY;
	}
	for (uint32_t i = 0; i < count; i++) {
		if (lines[i].key == STORE_NONE)
			continue;
		row_fill(&rows[used], &lines[i], i + 1);
		order[used] = &rows[used];
		used++;
	}
	qsort(order, used, sizeof(*order), row_sort);
	policy_fill(policy, order, used);
	free(rows);
	free(order);
	return NSD_OK;
}

/* ---- finding ------------------------------------------------------------- */

static bool
type_is_left_out(uint16_t type)
{
	for (size_t i = 0; i < sizeof(types_left_out) / sizeof(uint16_t); i++)
		if (types_left_out[i] == type)
			return true;
	return false;
}

static bool
entry_has_type(const struct update_policy *policy,
	const struct update_policy_entry *entry, uint16_t type)
{
	const uint16_t *types = (const uint16_t *)
		((const uint8_t *)policy + entry->types_at);

	if ((entry->flags & UPDATE_POLICY_ALL) != 0)
		return true;
	if ((entry->flags & UPDATE_POLICY_DEFAULTS) != 0
		&& !type_is_left_out(type))
		return true;
	return entry->type_count > 0 && bsearch(&type, types,
		entry->type_count, sizeof(type), type_sort) != NULL;
}

/* The name and the record that are looked for. */
struct policy_search {
	const struct update_policy *policy;
	store_ref key;
	uint16_t type;
};

/* Returns the number of the line, if the entry of a name has the type. name:
 * len octets, with or without a root label behind them. */
static uint32_t
policy_search_one(const struct policy_search *s, enum update_policy_kind kind,
	uint64_t hash, const uint8_t *name, unsigned len)
{
	const struct update_policy *policy = s->policy;
	const uint32_t *index = (const uint32_t *)
		((const uint8_t *)policy + policy->index_at);
	const struct update_policy_entry *entry;
	uint32_t at = (uint32_t)hash & (policy->room - 1);

	for (; index[at] != 0; at = (at + 1) & (policy->room - 1)) {
		entry = &policy->entries[index[at] - 1];
		if (entry->hash == hash && entry->key == s->key
			&& entry->kind == kind && entry->name_len == len + 1
			&& memcmp((const uint8_t *)policy + entry->name_at,
				   name, len) == 0)
			return entry_has_type(policy, entry, s->type)
				? entry->number : 0;
	}
	return 0;
}

/* Looks for lines of the names that the owner is below. */
static uint32_t
policy_search_below(const struct policy_search *s,
	const struct policy_name *owner)
{
	uint64_t hash = hash_begin(s->key, UPDATE_POLICY_BELOW);
	unsigned end = owner->at[owner->labels];
	uint32_t found = 0;

	for (unsigned labels = 0; found == 0 && labels < owner->labels;
		labels++) {
		unsigned at = owner->at[owner->labels - labels];

		if (labels > 0)
			hash = hash_label(hash, owner->octets + at);
		if (counts_has(&s->policy->below, labels))
			found = policy_search_one(s, UPDATE_POLICY_BELOW, hash,
				owner->octets + at, end - at);
	}
	return found;
}

/* Looks for lines of the labels that the owner begins with, of the zone's
 * `most`. */
static uint32_t
policy_search_labels(const struct policy_search *s,
	const struct policy_name *owner, unsigned most)
{
	uint64_t hash = hash_begin(s->key, UPDATE_POLICY_LABELS);
	uint32_t found = 0;

	for (unsigned labels = 1; found == 0 && labels <= most; labels++) {
		hash = hash_label(hash, owner->octets + owner->at[labels - 1]);
		if (counts_has(&s->policy->labels, labels))
			found = policy_search_one(s, UPDATE_POLICY_LABELS,
				hash, owner->octets, owner->at[labels]);
	}
	return found;
}

uint32_t
update_policy_find(const struct update_policy *policy, store_ref key,
	const uint8_t *apex, const uint8_t *owner, uint16_t type)
{
	struct policy_search s = {policy, key, type};
	struct policy_name name;
	unsigned zone = 0;
	uint32_t found;

	if (policy == NULL || key == STORE_NONE || type == TYPE_NONE)
		return 0;
	for (; *apex != 0; apex += 1 + *apex)
		zone++;
	policy_name_read(&name, owner);
	if (name.labels < zone)
		return 0;
	found = policy_search_one(&s, UPDATE_POLICY_NAME,
		policy_name_hash(&name, key, UPDATE_POLICY_NAME), name.octets,
		name.at[name.labels]);
	if (found == 0)
		found = policy_search_one(&s, UPDATE_POLICY_ANY,
			hash_begin(key, UPDATE_POLICY_ANY), name.octets, 0);
	if (found == 0)
		found = policy_search_labels(&s, &name, name.labels - zone);
	return found != 0 ? found : policy_search_below(&s, &name);
}
