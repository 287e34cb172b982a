/* audit_nsec3.c - the NSEC3 chains of a zone (RFC 5155 section 7.1): the
 * records, and whether each name that must have one does. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "audit/audit_part.h"
#include "base/grow.h"

#define HASHED_AT_ONCE 64u

/* Makes the place of a finding about a record. Its owner is written to
 * `owner`. */
static struct audit_place
record_place(const struct audit *audit, const struct audit_nsec3_record *r,
	uint8_t owner[NAME_MAX_LEN])
{
	owner[0] = NSEC3_LABEL_LEN;
	nsec3_print_label(r->hash, owner + 1);
	memcpy(owner + 1 + NSEC3_LABEL_LEN, audit->options->apex,
		audit->apex_len);
	return (struct audit_place){owner, TYPE_NSEC3, NULL, r->order};
}

/* Writes a hash as the label that it is in names. Returns out. */
static const char *
hash_print(const uint8_t *hash, char out[NSEC3_LABEL_LEN + 1])
{
	nsec3_print_label(hash, (uint8_t *)out);
	out[NSEC3_LABEL_LEN] = '\0';
	return out;
}

/* ---- records ----------------------------------------------------------- */

bool
audit_nsec3_read(const uint8_t *rdata, size_t len, struct nsec3_parts *parts)
{
	struct cursor c;

	cursor_init(&c, rdata, len);
	parts->algorithm = cursor_read_u8(&c);
	parts->flags = cursor_read_u8(&c);
	parts->iterations = cursor_read_u16(&c);
	parts->salt_len = cursor_read_u8(&c);
	parts->salt = cursor_read_octets(&c, parts->salt_len);
	parts->next_len = cursor_read_u8(&c);
	parts->next = cursor_read_octets(&c, parts->next_len);
	parts->bitmap_len = cursor_left(&c);
	parts->bitmap = c.at;
	return !c.failed;
}

/* The index of the NSEC3PARAM with the same parameters; -1: none. */
static int
param_find(const struct audit_nsec3 *n, const struct nsec3_parts *parts)
{
	if (parts->algorithm != NSEC3_ALGORITHM_SHA1)
		return -1;
	for (unsigned i = 0; i < n->param_count; i++)
		if (n->params[i].iterations == parts->iterations
			&& n->params[i].salt_len == parts->salt_len
			&& memcmp(n->params[i].salt, parts->salt,
				   parts->salt_len) == 0)
			return (int)i;
	return -1;
}

static enum nsd_err
record_add(struct audit *audit, const struct audit_nsec3_record *record,
	const struct nsec3_parts *parts)
{
	struct audit_nsec3 *n = &audit->nsec3;
	struct audit_nsec3_record *r = grow_array(n->records, n->count,
		&n->room, sizeof(*r));

	if (r == NULL)
		return NSD_E_MEMORY;
	n->records = r;
	r = &n->records[n->count];
	*r = *record;
	r->bitmap_len = (uint32_t)parts->bitmap_len;
	r->bitmap = arena_copy(&n->arena, parts->bitmap, parts->bitmap_len);
	if (r->bitmap == NULL && parts->bitmap_len > 0)
		return NSD_E_MEMORY;
	n->count++;
	return NSD_OK;
}

static enum nsd_err
record_read(struct audit *audit, const struct audit_owner *owner,
	const struct nsec3_parts *parts)
{
	const struct audit_place place = {owner->name, TYPE_NSEC3, NULL,
		owner->order};
	struct audit_nsec3_record r = {.order = owner->order};
	int param = param_find(&audit->nsec3, parts);
	char name[NAME_TEXT_MAX];

	if (param < 0) {
		audit->nsec3.unused++;
		return NSD_OK;
	}
	/* RFC 5155 section 3: a hash, right below the apex */
	if (owner->name_len != audit->apex_len + 1 + NSEC3_LABEL_LEN
		|| !nsec3_parse_label(owner->name, r.hash)) {
		name_print_text(owner->name, name);
		if (audit->options->strict)
			audit_add(audit, AUDIT_NSEC3_OWNER, false, &place,
				"%s has NSEC3 but its first label is no hash",
				name);
		return NSD_OK;
	}
	/* RFC 5155 section 8.2: validators ignore those with other flags */
	r.has_next = parts->next_len == NSEC3_HASH_LEN;
	if ((parts->flags & ~NSEC3_OPT_OUT) != 0 || !r.has_next)
		name_print_text(owner->name, name);
	if ((parts->flags & ~NSEC3_OPT_OUT) != 0)
		audit_add(audit, AUDIT_NSEC3_FLAGS, false, &place,
			"NSEC3 at %s has flags %u", name, parts->flags);
	if (r.has_next)
		memcpy(r.next, parts->next, NSEC3_HASH_LEN);
	else
		audit_add(audit, AUDIT_NSEC3_NEXT, false, &place,
			"next hash of NSEC3 at %s has %u octets, not %u",
			name, parts->next_len, NSEC3_HASH_LEN);
	r.param = (uint8_t)param;
	r.flags = parts->flags;
	return record_add(audit, &r, parts);
}

enum nsd_err
audit_nsec3_records(struct audit *audit, const struct audit_owner *owner,
	const struct audit_group *group)
{
	const uint8_t *rr = owner->data + group->at, *end = rr + group->len;
	struct nsec3_parts parts;
	enum nsd_err err = NSD_OK;

	for (; rr < end && err == NSD_OK; rr += 2u + octets_get_u16(rr))
		if (audit_nsec3_read(rr + 2, octets_get_u16(rr), &parts))
			err = record_read(audit, owner, &parts);
	return err;
}

/* ---- parameters -------------------------------------------------------- */

static void
param_check_iterations(struct audit *audit,
	const struct audit_nsec3_param *param)
{
	const struct audit_place place = {audit->options->apex,
		TYPE_NSEC3PARAM, NULL, audit->order};

	if (param->iterations > AUDIT_ITERATIONS_MAX && audit->options->strict)
		audit_add(audit, AUDIT_NSEC3_COSTLY, false, &place,
			"NSEC3PARAM has %u iterations: names are not hashed "
			"here, and no validator does it", param->iterations);
	else if (param->iterations <= AUDIT_ITERATIONS_MAX
		&& param->iterations > 0)
		/* RFC 9276 section 3.1 */
		audit_add(audit, AUDIT_NSEC3_ITERATIONS, false, &place,
			"NSEC3PARAM has %u iterations, which should be 0",
			param->iterations);
}

/* NSEC3PARAM with other algorithms or flags are not for use
 * (RFC 5155 section 4.1.2). */
void
audit_nsec3_params(struct audit *audit, const struct audit_rrs *rrs)
{
	struct audit_nsec3 *n = &audit->nsec3;

	for (size_t at = 0; at < rrs->len && n->param_count < AUDIT_PARAMS_MAX;
		at += 2u + octets_get_u16(rrs->data + at)) {
		struct audit_nsec3_param *p = &n->params[n->param_count];
		struct cursor c;
		uint8_t algorithm, flags;
		const uint8_t *salt;

		cursor_init(&c, rrs->data + at + 2,
			octets_get_u16(rrs->data + at));
		algorithm = cursor_read_u8(&c);
		flags = cursor_read_u8(&c);
		p->iterations = cursor_read_u16(&c);
		p->salt_len = cursor_read_u8(&c);
		salt = cursor_read_octets(&c, p->salt_len);
		if (c.failed || algorithm != NSEC3_ALGORITHM_SHA1
			|| flags != 0)
			continue;
		memcpy(p->salt, salt, p->salt_len);
		param_check_iterations(audit, p);
		n->param_count++;
	}
}

/* ---- matching ---------------------------------------------------------- */

static uint32_t
hash_prefix(const uint8_t *hash)
{
	return (uint32_t)hash[0] << 8 | hash[1];
}

/* Fills the index for the records of p. */
static void
index_make(struct audit_nsec3 *n, const struct audit_nsec3_param *p)
{
	size_t at = 0;

	for (uint32_t i = 0; i <= 1u << AUDIT_INDEX_BITS; i++) {
		while (at < p->count && hash_prefix(p->records[at].hash) < i)
			at++;
		n->index[i] = (uint32_t)at;
	}
}

/* The record with the hash, or the one that should cover it. */
static struct audit_nsec3_record *
record_find(const struct audit_nsec3 *n, const uint8_t *hash, bool *matches)
{
	const struct audit_nsec3_param *p = n->current;
	size_t low = n->index[hash_prefix(hash)];
	size_t high = n->index[hash_prefix(hash) + 1];

	assert(p->count > 0);
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (memcmp(p->records[middle].hash, hash, NSEC3_HASH_LEN) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*matches = low < p->count
		&& memcmp(p->records[low].hash, hash, NSEC3_HASH_LEN) == 0;
	if (!*matches)
		low = low > 0 ? low - 1 : p->count - 1;
	return &p->records[low];
}

/* Checks that a name has the NSEC3 that it should have. */
static void
name_match(struct audit *audit, const struct audit_name *name,
	const uint8_t *hash)
{
	const struct audit_place place = {name->data, 0, NULL, name->order};
	struct audit_place at;
	struct audit_nsec3_record *r;
	char text[NAME_TEXT_MAX], difference[AUDIT_DIFFERENCE_MAX];
	uint8_t owner[NAME_MAX_LEN];
	char label[NSEC3_LABEL_LEN + 1];
	bool matches;

	r = record_find(&audit->nsec3, hash, &matches);
	if (matches) {
		__atomic_store_n(&r->matched, true, __ATOMIC_RELAXED);
		if (!audit_types_differ(r->bitmap, r->bitmap_len,
				name->data + name->name_len, name->bitmap_len,
				difference))
			return;
		name_print_text(name->data, text);
		at = record_place(audit, r, owner);
		audit_add(audit, AUDIT_NSEC3_BITMAP, false, &at,
			"type bitmap of NSEC3 of %s (%s) %s", text,
			hash_print(hash, label), difference);
	} else if ((!name->optional || (r->flags & NSEC3_OPT_OUT) == 0)
		&& !audit_skip(audit, AUDIT_NSEC3_MISSING, false,
			name->order)) {
		name_print_text(name->data, text);
		audit_add(audit, AUDIT_NSEC3_MISSING, false, &place,
			"%s has no NSEC3 (%s)%s", text,
			hash_print(hash, label),
			name->optional ? " and no opt-out covers it" : "");
	}
}

static size_t
name_size(const struct audit_name *name)
{
	return (sizeof(*name) + name->name_len + name->bitmap_len + 7)
		& ~(size_t)7;
}

/* Hashes the names of a batch that opt-out may cover, or the others, in any
 * thread. */
static void
names_match(struct audit_worker *w, const struct audit_batch *batch)
{
	struct audit *audit = w->audit;
	const struct audit_nsec3_param *p = audit->nsec3.current;
	const struct nsec3_params params = {p->salt, p->salt_len,
		p->iterations};
	struct nsec3_job jobs[HASHED_AT_ONCE], *list[HASHED_AT_ONCE];
	const struct audit_name *names[HASHED_AT_ONCE];
	size_t at = 0;

	while (at < batch->len) {
		size_t count = 0;

		while (at < batch->len && count < HASHED_AT_ONCE) {
			names[count] = (const void *)(batch->data + at);
			jobs[count].name = names[count]->data;
			list[count] = &jobs[count];
			at += name_size(names[count]);
			count += names[count]->optional
				== audit->nsec3.optional;
		}
		nsec3_hash_batch(&params, list, count);
		for (size_t i = 0; i < count; i++)
			name_match(audit, names[i], jobs[i].hash);
	}
}

/* ---- the chain --------------------------------------------------------- */

static int
record_compare(const void *a, const void *b)
{
	const struct audit_nsec3_record *x = a, *y = b;
	int order;

	if (x->param != y->param)
		return x->param < y->param ? -1 : 1;
	order = memcmp(x->hash, y->hash, NSEC3_HASH_LEN);
	return order != 0 ? order : (x->order > y->order)
		- (x->order < y->order);
}

/* True if records are in order. They are if there is one chain, since owners
 * come in canonical order. */
static bool
records_are_sorted(const struct audit_nsec3 *n)
{
	for (size_t i = 1; i < n->count; i++)
		if (record_compare(&n->records[i - 1], &n->records[i]) > 0)
			return false;
	return true;
}

/* True if the build of the zone has warned of faults in the chain already. It
 * does so for the chain in use, and so for an only one. */
static bool
chain_is_told(const struct audit *audit)
{
	return !audit->options->strict && audit->nsec3.param_count == 1;
}

/* Each record leads to the one that follows; the last leads to the first. */
static void
record_check_next(struct audit *audit, const struct audit_nsec3_record *r,
	const struct audit_nsec3_record *next)
{
	uint8_t owner[NAME_MAX_LEN];
	char text[NAME_TEXT_MAX], label[NSEC3_LABEL_LEN + 1],
		want[NSEC3_LABEL_LEN + 1];
	struct audit_place place = record_place(audit, r, owner);

	if (next != r && memcmp(r->hash, next->hash, NSEC3_HASH_LEN) == 0) {
		name_print_text(owner, text);
		audit_add(audit, AUDIT_NSEC3_SEVERAL, false, &place,
			"%s has several NSEC3 with the same parameters", text);
	} else if (r->has_next
		&& memcmp(r->next, next->hash, NSEC3_HASH_LEN) != 0) {
		name_print_text(owner, text);
		audit_add(audit, AUDIT_NSEC3_NEXT, false, &place,
			"next hash of NSEC3 at %s is %s, not %s", text,
			hash_print(r->next, label),
			hash_print(next->hash, want));
	}
}

static void
chain_check(struct audit *audit, const struct audit_nsec3_param *p)
{
	if (chain_is_told(audit))
		return;
	for (size_t i = 0; i < p->count; i++)
		record_check_next(audit, &p->records[i],
			&p->records[i + 1 < p->count ? i + 1 : 0]);
}

/* Records that no name has matched. */
static void
chain_check_strays(struct audit *audit, const struct audit_nsec3_param *p)
{
	for (size_t i = 0; i < p->count; i++) {
		const struct audit_nsec3_record *r = &p->records[i];
		uint8_t owner[NAME_MAX_LEN];
		char text[NAME_TEXT_MAX];
		struct audit_place place;

		/* Of several records with one hash only one is matched. */
		if (r->matched || (i > 0 && memcmp(r[-1].hash, r->hash,
				NSEC3_HASH_LEN) == 0))
			continue;
		place = record_place(audit, r, owner);
		name_print_text(owner, text);
		audit_add(audit, AUDIT_NSEC3_STRAY, false, &place,
			"NSEC3 at %s is of no name in the zone", text);
	}
}

/* True if names that opt-out may cover need not be looked at: all records are
 * of other names, and cover whatever they are asked to. */
static bool
chain_covers_optional(const struct audit_nsec3_param *p)
{
	for (size_t i = 0; i < p->count; i++)
		if (!p->records[i].matched
			|| (p->records[i].flags & NSEC3_OPT_OUT) == 0)
			return false;
	return true;
}

static enum nsd_err
names_match_all(struct audit *audit, bool optional)
{
	audit->nsec3.optional = optional;
	for (struct audit_batch *b = audit->names.first; b != NULL;
		b = b->kept_next)
		audit_pool_submit(audit, b, names_match);
	return audit_pool_drain(audit);
}

static enum nsd_err
param_check(struct audit *audit, const struct audit_nsec3_param *p)
{
	struct audit_nsec3 *n = &audit->nsec3;
	const struct audit_place place = {audit->options->apex,
		TYPE_NSEC3PARAM, NULL, 0};
	enum nsd_err err;

	if (p->count == 0) {
		if (!chain_is_told(audit))
			audit_add(audit, AUDIT_NO_DENIAL, false, &place,
				"no NSEC3 has the parameters of an "
				"NSEC3PARAM");
		return NSD_OK;
	}
	chain_check(audit, p);
	if (p->iterations > AUDIT_ITERATIONS_MAX)
		return NSD_OK;
	n->current = p;
	index_make(n, p);
	err = names_match_all(audit, false);
	if (err == NSD_OK && !chain_covers_optional(p))
		err = names_match_all(audit, true);
	if (err == NSD_OK)
		chain_check_strays(audit, p);
	return err;
}

enum nsd_err
audit_nsec3_finish(struct audit *audit)
{
	struct audit_nsec3 *n = &audit->nsec3;
	const struct audit_place place = {audit->options->apex, 0, NULL, 0};
	enum nsd_err err = NSD_OK;
	size_t at = 0;

	if (n->unused > 0 && (audit->options->strict || n->param_count > 0))
		audit_add(audit, AUDIT_NSEC3_UNUSED, false, &place,
			"%llu NSEC3 records with parameters that no "
			"NSEC3PARAM has", (unsigned long long)n->unused);
	if (n->param_count == 0)
		return NSD_OK;
	n->index = malloc(((1u << AUDIT_INDEX_BITS) + 1) * sizeof(*n->index));
	if (n->index == NULL)
		return NSD_E_MEMORY;
	if (!records_are_sorted(n))
		qsort(n->records, n->count, sizeof(*n->records),
			record_compare);
	for (unsigned i = 0; i < n->param_count && err == NSD_OK; i++) {
		struct audit_nsec3_param *p = &n->params[i];

		p->records = n->records + at;
		while (at < n->count && n->records[at].param == i)
			at++;
		p->count = (size_t)(n->records + at - p->records);
		err = param_check(audit, p);
	}
	return err;
}

void
audit_nsec3_fini(struct audit_nsec3 *nsec3)
{
	free(nsec3->records);
	free(nsec3->index);
	arena_fini(&nsec3->arena);
}
