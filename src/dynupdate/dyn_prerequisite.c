/* dyn_prerequisite.c - prerequisites of dynamic updates (RFC 2136 section
 * 3.2): what must be there, or must not. */
#include "dynupdate/dyn.h"

static bool
rr_is_met(const struct dynupdate *d, const struct dyn_rr *rr)
{
	bool wanted = rr->rrclass == CLASS_ANY;

	return (rr->type == TYPE_ANY ? rr->name->used_count > 0
		: dyn_name_has(d, rr->name, rr->type)) == wanted;
}

/* RFC 2136 section 3.2.1 to RFC 2136 section 3.2.4, without values. */
static void
check_presence(const struct dynupdate *d, const struct dyn_rr *rr,
	struct dynupdate_result *result)
{
	bool wanted = rr->rrclass == CLASS_ANY;

	if (rr_is_met(d, rr))
		return;
	if (rr->type == TYPE_ANY)
		dyn_refuse_rr(result,
			wanted ? RCODE_NXDOMAIN : RCODE_YXDOMAIN, EDE_OTHER,
			rr->name->owner, rr->type, wanted
			? "prerequisite: the name is not in use"
			: "prerequisite: the name is in use");
	else
		dyn_refuse_rr(result, wanted ? RCODE_NXRRSET : RCODE_YXRRSET,
			EDE_OTHER, rr->name->owner, rr->type, wanted
			? "prerequisite: there is no such RRset"
			: "prerequisite: there is such an RRset");
}

static void
refuse_value(const struct dyn_rr *rr, struct dynupdate_result *result)
{
	dyn_refuse_rr(result, RCODE_NXRRSET, EDE_OTHER, rr->name->owner,
		rr->type, "prerequisite: the RRset has other records");
}

/* Notes that a record of an RRset is needed. A set that has more than there are
 * records in the message is not the same, whatever it has. */
static enum nsd_err
note_value(struct dynupdate *d, const struct dyn_rr *rr,
	struct dynupdate_result *result)
{
	const uint8_t *rdata = dyn_rr_rdata(d, rr);
	struct dyn_set *set = dyn_name_find(d, rr->name, rr->type,
		dyn_covered(rr->type, rdata));
	struct dyn_record *record;
	enum nsd_err err;

	if (set == NULL || set->count == 0 || set->count > d->rr_count) {
		refuse_value(rr, result);
		return NSD_OK;
	}
	err = dyn_set_load(d, set);
	if (err != NSD_OK)
		return err;
	record = dyn_set_find(d, set, rdata, rr->rdlen);
	if (record == NULL) {
		refuse_value(rr, result);
		return NSD_OK;
	}
	if (set->needed != d->message) {
		set->needed = d->message;
		set->needed_count = 0;
	}
	set->needed_count += record->needed != d->message;
	record->needed = d->message;
	return NSD_OK;
}

static bool
set_is_whole(const struct dynupdate *d, const struct dyn_set *set)
{
	return set->needed == d->message && set->needed_count == set->count;
}

/* True if each record of the name and type has been noted; signatures of all
 * types that they cover are of one RRset. */
static bool
rrset_is_whole(const struct dynupdate *d, const struct dyn_rr *rr)
{
	const struct dyn_set *set;

	if (rr->type != TYPE_RRSIG)
		return set_is_whole(d, dyn_name_find(d, rr->name, rr->type, 0));
	if (rr->name->needed == d->message)
		return true;
	rr->name->needed = d->message;
	cds_list_for_each_entry(set, &rr->name->used, node)
		if (set->type == TYPE_RRSIG && !set_is_whole(d, set))
			return false;
	return true;
}

enum nsd_err
dyn_prerequisite_check(struct dynupdate *d, struct dynupdate_result *result)
{
	enum nsd_err err = NSD_OK;

	for (size_t i = 0; i < d->rr_count && result->rcode == RCODE_NOERROR;
		i++)
		if (d->rrs[i].rrclass != CLASS_IN)
			check_presence(d, &d->rrs[i], result);
	/* RFC 2136 section 3.2.3: whole RRsets, compared as sets. */
	for (size_t i = 0; i < d->rr_count && err == NSD_OK
		&& result->rcode == RCODE_NOERROR; i++)
		if (d->rrs[i].rrclass == CLASS_IN)
			err = note_value(d, &d->rrs[i], result);
	for (size_t i = 0; i < d->rr_count && err == NSD_OK
		&& result->rcode == RCODE_NOERROR; i++)
		if (d->rrs[i].rrclass == CLASS_IN
			&& !rrset_is_whole(d, &d->rrs[i]))
			refuse_value(&d->rrs[i], result);
	return err;
}
