/* dyn_dname.c - data below a DNAME, which a zone must not have (RFC 6672
 * section 2.4): updates that would bring it are refused, as the build of a zone
 * would refuse it. */
#include <string.h>

#include "dynupdate/dyn.h"

/* Names without data that are passed on the way to one with data: a message
 * before has removed these. */
#define STEPS_MAX 10000u
/* RRsets of a name that is there for its NSEC3 record alone. */
#define HASHED_SETS 2u

/* Says that a name has data below a DNAME. */
static void
refuse_below(const uint8_t *owner, struct dynupdate_result *result)
{
	dyn_refuse_rr(result, RCODE_REFUSED, EDE_PROHIBITED, owner,
		TYPE_DNAME, "there would be data below it");
}

/* True if a name has records that are its own, and not of an NSEC3 chain. */
static bool
name_has_data(const struct dynupdate *d, const struct dyn_name *name)
{
	const struct dyn_set *nsec3, *sigs;
	uint32_t hashed = 0;

	if (name->used_count > HASHED_SETS)
		return true;
	nsec3 = dyn_name_find(d, name, TYPE_NSEC3, 0);
	sigs = dyn_name_find(d, name, TYPE_RRSIG, TYPE_NSEC3);
	hashed += nsec3 != NULL && nsec3->count > 0;
	hashed += sigs != NULL && sigs->count > 0;
	return name->used_count > hashed;
}

/* Looks for a DNAME above a name that has data. */
static enum nsd_err
check_above(struct dynupdate *d, const struct dyn_name *name,
	struct dynupdate_result *result)
{
	const uint8_t *at = name->owner, *end = at + name->len - d->apex_len;

	if (!name_has_data(d, name))
		return NSD_OK;
	while (at < end) {
		const struct dyn_name *above;

		at += 1u + *at;
		above = dyn_name_get(d, at,
			(size_t)(name->owner + name->len - at));
		if (above == NULL)
			return NSD_E_MEMORY;
		if (!dyn_name_has(d, above, TYPE_DNAME))
			continue;
		refuse_below(at, result);
		return NSD_OK;
	}
	return NSD_OK;
}

/* True if a name of the store has data now. */
static bool
node_has_data(const struct dynupdate *d, const struct node *node)
{
	uint8_t owner[NAME_MAX_LEN];
	size_t len = node->leaf.name_len;
	const struct dyn_name *name;

	memcpy(owner, trie_leaf_name(&node->leaf), len);
	memcpy(owner + len, d->apex, d->apex_len);
	name = dyn_name_peek(d, owner, len + d->apex_len);
	return name != NULL ? name_has_data(d, name)
			    : (node->flags & NODE_EMPTY) == 0;
}

/* Looks for data of the store below a DNAME that is new. */
static void
check_below(const struct dynupdate *d, const struct dyn_name *name,
	unsigned *steps, struct dynupdate_result *result)
{
	uint8_t label_at[NAME_MAX_LABELS + 1];
	struct trie_name relative;
	struct trie_iter iter;
	store_ref ref;

	trie_name_split(&relative, name->owner,
		(unsigned)name->len - d->apex_len, label_at);
	trie_iter_init_below(&iter, d->view, &d->zone->names.root, &relative);
	while ((ref = trie_iter_next(&iter)) != STORE_NONE) {
		const struct node *node = store_get(d->view, ref);

		if (node == name->node)
			continue;
		if (++*steps > STEPS_MAX || node_has_data(d, node)) {
			refuse_below(name->owner, result);
			return;
		}
	}
}

/* Looks at all names of the batch: data of earlier messages may be below a
 * DNAME that is new. */
static enum nsd_err
check_all(struct dynupdate *d, struct dynupdate_result *result)
{
	enum nsd_err err = NSD_OK;

	/* Names that are looked at meanwhile have not changed. */
	for (const struct dyn_name *name = d->newest; name != NULL
		&& err == NSD_OK && result->rcode == RCODE_NOERROR;
		name = name->older)
		err = check_above(d, name, result);
	return err;
}

enum nsd_err
dyn_dname_check(struct dynupdate *d, struct dynupdate_result *result)
{
	enum nsd_err err = NSD_OK;
	bool is_new = false;
	unsigned steps = 0;

	for (const struct dyn_set *set = d->touched;
		set != NULL && result->rcode == RCODE_NOERROR;
		set = set->touched)
		if (set->type == TYPE_DNAME && set->count_before == 0
			&& set->count > 0) {
			is_new = true;
			check_below(d, set->name, &steps, result);
		}
	if (is_new && result->rcode == RCODE_NOERROR)
		return check_all(d, result);
	for (const struct dyn_name *name = d->touched_names;
		name != NULL && err == NSD_OK
		&& result->rcode == RCODE_NOERROR; name = name->touched)
		if (name->used_before <= HASHED_SETS)
			err = check_above(d, name, result);
	return err;
}
