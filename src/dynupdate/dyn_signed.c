/* dyn_signed.c - the check of a message for a signed zone. */
#include "dynupdate/dyn_signed.h"

#include <stdlib.h>

#include "base/grow.h"

/* Names below cuts that come or go with a message. */
#define STEPS_MAX 1000u

/* ---- an RRset and its signatures ----------------------------------------- */

/* Checks an RRset of a signed zone and its signatures: both may be absent. */
static enum nsd_err
check_pair(struct dyn_check *c, const struct dyn_name *name, uint16_t type)
{
	const struct dyn_set *set = dyn_name_find(c->d, name, type, 0);
	struct dyn_set *sigs = dyn_name_find(c->d, name, TYPE_RRSIG, type);
	bool has_sigs = sigs != NULL && sigs->count > 0, is_hidden;
	enum nsd_err err;

	if (set == NULL || set->count == 0)
		return !has_sigs ? NSD_OK : dyn_sigs_refuse(c, name, type,
			"there is a signature of it, but no such RRset");
	err = dyn_denial_is_hidden(c->d, name, &is_hidden);
	if (err != NSD_OK)
		return err;
	/* RFC 4035 section 2.2: NS at a cut, and glue, are not signed. */
	if (is_hidden || (dyn_denial_is_cut(c->d, name) && type != TYPE_DS
			&& type != TYPE_NSEC))
		return !has_sigs ? NSD_OK : dyn_sigs_refuse(c, name, type,
			"it is of a zone cut, and must not be signed");
	return has_sigs ? dyn_sigs_check(c, set, sigs)
			: dyn_sigs_refuse(c, name, type, "it is not signed");
}

/* ---- names --------------------------------------------------------------- */

static enum nsd_err
check_add_name(struct dyn_check *c, struct dyn_name *name)
{
	struct dyn_name **names;

	if (name->checked == c->d->message)
		return NSD_OK;
	names = grow_array(c->names, c->count, &c->room,
		sizeof(struct dyn_name *));
	if (names == NULL)
		return NSD_E_MEMORY;
	name->checked = c->d->message;
	c->names = names;
	c->names[c->count++] = name;
	return NSD_OK;
}

/* Adds a name below a cut that has come or gone. */
static enum nsd_err
check_add_shifted(struct dyn_check *c, struct dyn_name *name)
{
	name->shifted = c->d->message;
	return check_add_name(c, name);
}

static enum nsd_err
check_add_node(struct dyn_check *c, const struct node *node)
{
	uint8_t owner[NAME_MAX_LEN];
	size_t len = node->leaf.name_len;
	struct dyn_name *name;

	memcpy(owner, trie_leaf_name(&node->leaf), len);
	memcpy(owner + len, c->d->apex, c->d->apex_len);
	name = dyn_name_get(c->d, owner, len + c->d->apex_len);
	return name != NULL ? check_add_shifted(c, name) : NSD_E_MEMORY;
}

/* Adds the names of the store below a cut. */
static enum nsd_err
check_add_below(struct dyn_check *c, const struct dyn_name *cut)
{
	uint8_t label_at[NAME_MAX_LABELS + 1];
	struct trie_name relative;
	struct trie_iter iter;
	enum nsd_err err = NSD_OK;
	store_ref ref;

	trie_name_split(&relative, cut->owner,
		(unsigned)cut->len - c->d->apex_len, label_at);
	trie_iter_init_below(&iter, c->d->view, &c->d->zone->names.root,
		&relative);
	while (err == NSD_OK
		&& (ref = trie_iter_next(&iter)) != STORE_NONE) {
		const struct node *node = store_get(c->d->view, ref);

		if (++c->steps > STEPS_MAX)
			return dyn_sigs_refuse(c, cut, TYPE_NS,
				"too many names are below it");
		if ((node->flags & NODE_EMPTY) == 0)
			err = check_add_node(c, node);
	}
	return err;
}

/* True if a cut above the name has come or gone. */
static bool
name_has_shifted(const struct dynupdate *d, const struct dyn_name *name)
{
	const uint8_t *at = name->owner, *end = at + name->len - d->apex_len;
	const struct dyn_name *above;

	while (at < end) {
		at += 1u + *at;
		above = dyn_name_peek(d, at,
			(size_t)(name->owner + name->len - at));
		if (above != NULL && above->cut_changed == d->message)
			return true;
	}
	return false;
}

/* Adds the names of the batch below cuts, which the store may not have. */
static enum nsd_err
check_add_batch(struct dyn_check *c)
{
	enum nsd_err err = NSD_OK;

	for (struct dyn_name *name = c->d->newest;
		name != NULL && err == NSD_OK; name = name->older)
		if (name_has_shifted(c->d, name))
			err = check_add_shifted(c, name);
	return err;
}

/* Adds all names below cuts that have come or gone: they are hidden from now
 * on, or are not any more. */
static enum nsd_err
check_add_hidden(struct dyn_check *c)
{
	bool has_cuts = false;
	enum nsd_err err = NSD_OK;

	for (const struct dyn_set *set = c->d->touched;
		set != NULL && err == NSD_OK
		&& c->result->rcode == RCODE_NOERROR; set = set->touched)
		if (set->type == TYPE_NS
			&& (set->count_before == 0) != (set->count == 0)
			&& !dyn_name_is_apex(c->d, set->name)) {
			has_cuts = true;
			set->name->cut_changed = c->d->message;
			err = check_add_below(c, set->name);
		}
	return err == NSD_OK && has_cuts ? check_add_batch(c) : err;
}

static enum nsd_err
check_add_names(struct dyn_check *c)
{
	enum nsd_err err = NSD_OK;

	for (struct dyn_name *name = c->d->touched_names;
		name != NULL && err == NSD_OK; name = name->touched)
		err = check_add_name(c, name);
	return err == NSD_OK ? check_add_hidden(c) : err;
}

/* Checks all RRsets of a name that is hidden from now on, or is not any more,
 * touched or not. */
static enum nsd_err
check_rrsets(struct dyn_check *c, const struct dyn_name *name)
{
	const struct dyn_set *set;
	enum nsd_err err = NSD_OK;

	cds_list_for_each_entry(set, &name->used, node) {
		if (err == NSD_OK && c->result->rcode == RCODE_NOERROR
			&& set->type != TYPE_RRSIG)
			err = check_pair(c, name, set->type);
	}
	return err;
}

/* ---- a message ----------------------------------------------------------- */

static bool
is_signed(const struct dynupdate *d, uint16_t type, uint16_t covered)
{
	const struct dyn_set *set = dyn_name_find(d, d->apex_name, type,
		covered);

	return set != NULL && (set->message == d->message ? set->count_before
							  : set->count) > 0;
}

/* Refuses what would make a zone a signed one: no message brings all that such
 * a zone needs, and each later one would be refused for what it lacks. */
static enum nsd_err
check_unsigned(const struct dyn_check *c)
{
	const struct dynupdate *d = c->d;
	const struct dyn_set *soa = dyn_name_find(d, d->apex_name, TYPE_RRSIG,
		TYPE_SOA);

	if (dyn_name_has(d, d->apex_name, TYPE_DNSKEY))
		return dyn_sigs_refuse(c, d->apex_name, TYPE_DNSKEY,
			"the zone is not signed, and no update signs it");
	return soa == NULL || soa->count == 0 ? NSD_OK
		: dyn_sigs_refuse(c, d->apex_name, TYPE_RRSIG,
			"the zone is not signed, and no update signs it");
}

static enum nsd_err
check_touched(struct dyn_check *c)
{
	enum nsd_err err = NSD_OK;

	for (const struct dyn_set *set = c->d->touched;
		set != NULL && err == NSD_OK
		&& c->result->rcode == RCODE_NOERROR; set = set->touched)
		err = check_pair(c, set->name, set->type == TYPE_RRSIG
				? set->covered : set->type);
	return err;
}

static enum nsd_err
check_names(struct dyn_check *c)
{
	enum nsd_err err = check_add_names(c);

	for (size_t i = 0; i < c->count && err == NSD_OK
		&& c->result->rcode == RCODE_NOERROR; i++) {
		err = dyn_denial_check_name(c, c->names[i]);
		if (err == NSD_OK && c->result->rcode == RCODE_NOERROR
			&& c->names[i]->shifted == c->d->message)
			err = check_rrsets(c, c->names[i]);
	}
	return err;
}

static enum nsd_err
check_run(struct dyn_check *c)
{
	const struct dynupdate *d = c->d;
	enum nsd_err err;

	if (dyn_soa_serial(dyn_soa(d)) == d->to)
		return dyn_sigs_refuse(c, d->apex_name, TYPE_SOA,
			"the zone is signed, so the update needs a newer one");
	if (!dyn_name_has(d, d->apex_name, TYPE_DNSKEY))
		return dyn_sigs_refuse(c, d->apex_name, TYPE_DNSKEY,
			"the zone is signed, so one must stay");
	err = dyn_sigs_read_keys(c);
	if (err == NSD_OK && c->result->rcode == RCODE_NOERROR)
		err = check_touched(c);
	if (err != NSD_OK || c->result->rcode != RCODE_NOERROR)
		return err;
	dyn_denial_init(c);
	err = check_names(c);
	if (err == NSD_OK && c->result->rcode == RCODE_NOERROR)
		err = dyn_denial_check_chain(c);
	return err;
}

enum nsd_err
dyn_signed_check(struct dynupdate *d, struct dynupdate_result *result)
{
	struct dyn_check c = {.d = d, .result = result};
	enum nsd_err err;

	if (d->options.no_check)
		return NSD_OK;
	if (!is_signed(d, TYPE_DNSKEY, 0)
		&& !is_signed(d, TYPE_RRSIG, TYPE_SOA))
		return check_unsigned(&c);
	err = check_run(&c);
	free(c.names);
	free(c.keys);
	free(c.chain.gone.edges);
	free(c.chain.come.edges);
	return err;
}
