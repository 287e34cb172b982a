/* dyn_limits.c - limits of the records of one name, and values that break a
 * rule, as the build of a zone sees them: a name that it would refuse must not
 * spoil the updates of others. */
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

static void
check_limits_of_all(const struct dynupdate *d, struct dynupdate_result *result)
{
	uint32_t records = d->options.records_max;
	uint32_t types = d->options.types_max;

	if (records == 0)
		records = UINT32_MAX;
	/* Entries of a node in the store are counted with 16 bits. */
	if (types == 0 || types > UINT16_MAX / 2)
		types = UINT16_MAX / 2;
	for (const struct dyn_set *set = d->touched; set != NULL;
		set = set->touched) {
		if (set->count_before == 0 && set->count > 0)
			set->name->grown = d->message;
		if (set->count > (set->type == TYPE_RRSIG && records
					> UINT16_MAX ? UINT16_MAX : records)
			&& set->count > set->count_before)
			dyn_refuse_rr(result, RCODE_REFUSED, EDE_PROHIBITED,
				set->name->owner, set->type,
				"more records than max-records-per-type");
	}
	for (const struct dyn_name *name = d->touched_names; name != NULL;
		name = name->touched)
		if (name->used_count > types
			&& name->grown == d->message
			&& count_types(d, name) > types)
			dyn_refuse_rr(result, RCODE_REFUSED, EDE_PROHIBITED,
				name->owner, TYPE_ANY,
				"more types than max-types-per-name");
}

/* ---- values -------------------------------------------------------------- */

/* Checks the values of an RRset. Those of updates are right; a zone file may
 * have others, with a warning. */
static enum nsd_err
check_values_of(struct dynupdate *d, struct dyn_set *set,
	struct dynupdate_result *result)
{
	enum nsd_err err = dyn_set_load(d, set);
	const char *why;

	for (uint32_t i = 0; err == NSD_OK && i < set->count; i++) {
		const struct dyn_rdata *rdata = set->records[i]->rdata;

		if (rdata_check(set->type, rdata->octets, rdata->len, &why)
			!= NSD_OK)
			return dyn_refuse_rr(result, RCODE_REFUSED,
				EDE_PROHIBITED, set->name->owner, set->type,
				"the zone has a record with a wrong value, which"
				" has to be removed first");
	}
	return err;
}

/* Checks a name that is made anew: types whose values the build looks at. */
static enum nsd_err
check_values_at(struct dynupdate *d, const struct dyn_name *name,
	struct dynupdate_result *result)
{
	static const uint16_t types[] = {TYPE_DS, TYPE_CDS, TYPE_ZONEMD};
	enum nsd_err err = NSD_OK;

	for (unsigned i = 0; i < sizeof(types) / sizeof(*types); i++) {
		struct dyn_set *set = dyn_name_find(d, name, types[i], 0);

		if (err == NSD_OK && set != NULL && set->count > 0)
			err = check_values_of(d, set, result);
	}
	return err;
}

enum nsd_err
dyn_limits_check(struct dynupdate *d, struct dynupdate_result *result)
{
	enum nsd_err err = NSD_OK;

	check_limits_of_all(d, result);
	for (const struct dyn_name *name = d->touched_names;
		name != NULL && err == NSD_OK
		&& result->rcode == RCODE_NOERROR; name = name->touched)
		err = check_values_at(d, name, result);
	/* The apex changes with each update, as its SOA does. */
	return err == NSD_OK && result->rcode == RCODE_NOERROR
		? check_values_at(d, d->apex_name, result) : err;
}
