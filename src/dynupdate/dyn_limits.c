/* dyn_limits.c - limits of the records of one name, as the build of a zone has
 * them: what it would refuse must not spoil the updates of others. */
#include "dynupdate/dyn.h"

/* Counts the types with records or signatures. */
static uint32_t
count_types(const struct dynupdate *d, const struct dyn_name *name)
{
	const struct dyn_set *set;
	uint32_t types = 0;

	cds_list_for_each_entry(set, &name->used, node)
		types += set->type != TYPE_RRSIG
			|| !dyn_name_has(d, name, set->covered);
	return types;
}

void
dyn_limits_check(struct dynupdate *d, struct dynupdate_result *result)
{
	uint32_t records = d->options.records_max;
	uint32_t types = d->options.types_max;

	if (records == 0)
		records = UINT32_MAX;
	/* Entries of a node in the store are counted with 16 bits. */
	if (types == 0 || types > UINT16_MAX / 2)
		types = UINT16_MAX / 2;
	for (const struct dyn_set *set = d->touched; set != NULL;
		set = set->touched)
		if (set->count > (set->type == TYPE_RRSIG && records
					> UINT16_MAX ? UINT16_MAX : records)
			&& set->count > set->count_before)
			dyn_refuse_rr(result, RCODE_REFUSED, EDE_PROHIBITED,
				set->name->owner, set->type,
				"more records than max-records-per-type");
	for (const struct dyn_name *name = d->touched_names; name != NULL;
		name = name->touched)
		if (name->used_count > types
			&& name->used_count > name->used_before
			&& count_types(d, name) > types)
			dyn_refuse_rr(result, RCODE_REFUSED, EDE_PROHIBITED,
				name->owner, TYPE_ANY,
				"more types than max-types-per-name");
}
