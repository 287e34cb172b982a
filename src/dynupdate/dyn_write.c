/* dyn_write.c - writes the changes of a message as a version of the zone, in
 * the order of RFC 1995 section 4. */
#include <string.h>

#include "base/grow.h"
#include "dynupdate/dyn.h"
#include "xfr/changes.h"

static enum nsd_err
write_record(struct dynupdate *d, const struct dyn_set *set,
	const struct dyn_rdata *rdata, enum changes_action action)
{
	const struct changes_rr rr = {
		.action = action,
		.ttl_sec = action == XFR_ADD ? set->ttl_sec : set->ttl_before,
		.type = set->type,
		.rdlen = rdata->len,
		.owner_len = set->name->len,
		.owner = set->name->owner,
		.rdata = rdata->octets,
	};
	size_t len = changes_rdata_offset(rr.owner_len) + rr.rdlen;
	uint8_t *records;

	if (len > d->options.octets_max - d->records_len)
		return NSD_E_LIMIT;
	records = grow_octets(d->records, d->records_len + len,
		&d->records_room);
	if (records == NULL)
		return NSD_E_MEMORY;
	d->records = records;
	d->records_len += changes_write(records + d->records_len, &rr);
	return NSD_OK;
}

/* True if all records of an RRset that stays have another TTL. */
static bool
set_has_other_ttl(const struct dyn_set *set)
{
	return set->ttl_sec != set->ttl_before && set->count > 0
		&& set->count_before > 0;
}

/* Records that the message has not touched, but that get another TTL. */
static enum nsd_err
write_untouched(struct dynupdate *d, const struct dyn_set *set,
	enum changes_action action, uint32_t *count)
{
	enum nsd_err err = NSD_OK;

	for (uint32_t i = 0; i < set->count && err == NSD_OK; i++) {
		const struct dyn_record *r = set->records[i];

		if (r->message == d->message)
			continue; /* write_touched */
		err = write_record(d, set, r->rdata, action);
		++*count;
	}
	return err;
}

static enum nsd_err
write_touched(struct dynupdate *d, const struct dyn_set *set,
	enum changes_action action, uint32_t *count)
{
	bool all = set_has_other_ttl(set);
	enum nsd_err err = NSD_OK;

	for (const struct dyn_record *r = set->changed;
		r != NULL && err == NSD_OK; r = r->touched) {
		bool is_there = r->at != DYN_ABSENT;

		if (!all && !dyn_record_differs(r))
			continue;
		if (action == XFR_REMOVE ? !r->was_there : !is_there)
			continue;
		err = write_record(d, set,
			action == XFR_REMOVE ? r->before : r->rdata, action);
		++*count;
	}
	return err;
}

static enum nsd_err
write_part(struct dynupdate *d, enum changes_action action, uint32_t *count)
{
	const struct dyn_set *soa = dyn_name_find(d, d->apex_name, TYPE_SOA, 0);
	enum nsd_err err;

	err = write_record(d, soa, action == XFR_REMOVE
		? soa->records[0]->before : soa->records[0]->rdata, action);
	for (const struct dyn_set *set = d->touched;
		set != NULL && err == NSD_OK; set = set->touched) {
		if (set == soa)
			continue;
		err = write_touched(d, set, action, count);
		if (err == NSD_OK && set_has_other_ttl(set))
			err = write_untouched(d, set, action, count);
	}
	return err;
}

enum nsd_err
dyn_write_version(struct dynupdate *d, struct dynupdate_result *result)
{
	size_t before = d->records_len;
	enum nsd_err err = write_part(d, XFR_REMOVE, &result->removed);

	if (err == NSD_OK)
		err = write_part(d, XFR_ADD, &result->added);
	if (err == NSD_OK)
		return NSD_OK;
	d->records_len = before;
	result->removed = 0;
	result->added = 0;
	return err;
}
