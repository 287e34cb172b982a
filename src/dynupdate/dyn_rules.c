/* dyn_rules.c - the effect of updates (RFC 2136 section 3.4.2), and the serial.
 * Records that a rule forbids are left out, without a word. */
#include <assert.h>
#include <string.h>
#include <time.h>

#include "dns/serial.h"
#include "dynupdate/dyn.h"

static struct dyn_set *
soa_set(const struct dynupdate *d)
{
	struct dyn_set *set = dyn_name_find(d, d->apex_name, TYPE_SOA, 0);

	assert(set != NULL && set->is_loaded && set->count > 0);
	return set;
}

const struct dyn_rdata *
dyn_soa(const struct dynupdate *d)
{
	return soa_set(d)->records[0]->rdata;
}

/* ---- additions ----------------------------------------------------------- */

/* RFC 2136 section 3.4.2.2: an SOA below the apex, or one that is not newer,
 * and data beside a CNAME, are left out. RFC 4035 section 2.5 has the types
 * that may stand there. */
static bool
rr_may_be_added(const struct dynupdate *d, const struct dyn_rr *rr)
{
	const struct dyn_name *name = rr->name;
	uint32_t serial;

	if (rr->type == TYPE_SOA) {
		if (!dyn_name_is_apex(d, name))
			return false;
		serial = octets_get_u32(dyn_rr_rdata(d, rr) + rr->rdlen - 20);
		/* Several together must not go round. */
		return serial_is_newer(serial, dyn_soa_serial(dyn_soa(d)))
			&& serial_is_newer(serial, d->to);
	}
	if (rr->type == TYPE_CNAME)
		return name->plain_count == 0;
	return !dyn_name_is_plain(rr->type)
		|| !dyn_name_has(d, name, TYPE_CNAME);
}

static enum nsd_err
rr_add(struct dynupdate *d, const struct dyn_rr *rr)
{
	const uint8_t *rdata = dyn_rr_rdata(d, rr);
	struct dyn_set *set;

	if (!rr_may_be_added(d, rr))
		return NSD_OK;
	set = dyn_name_get_set(d, rr->name, rr->type,
		dyn_covered(rr->type, rdata));
	return set == NULL ? NSD_E_MEMORY
		: dyn_set_add(d, set, rdata, rr->rdlen, rr->ttl_sec);
}

/* ---- deletions ----------------------------------------------------------- */

/* The SOA and the NS records of the apex stay (RFC 2136 section 3.4.2.3). */
static bool
set_is_kept(const struct dynupdate *d, const struct dyn_set *set)
{
	return dyn_name_is_apex(d, set->name)
		&& (set->type == TYPE_SOA || set->type == TYPE_NS);
}

static enum nsd_err
set_remove(struct dynupdate *d, struct dyn_set *set)
{
	enum nsd_err err;

	if (set == NULL || set->count == 0 || set_is_kept(d, set))
		return NSD_OK;
	err = dyn_set_load(d, set);
	if (err == NSD_OK)
		dyn_set_clear(d, set);
	return err;
}

/* Removes all RRsets of a name: of signatures, of signatures alone. */
static enum nsd_err
name_remove(struct dynupdate *d, struct dyn_name *name, uint16_t type)
{
	struct dyn_set *set, *next;
	enum nsd_err err = NSD_OK;

	if (type == TYPE_RRSIG && name->sig_count == 0)
		return NSD_OK;
	cds_list_for_each_entry_safe(set, next, &name->used, node) {
		if (type == TYPE_ANY || set->type == type)
			err = set_remove(d, set);
		if (err != NSD_OK)
			break;
	}
	return err;
}

/* RFC 2136 section 3.4.2.3 */
static enum nsd_err
rr_remove_rrset(struct dynupdate *d, const struct dyn_rr *rr)
{
	if (rr->type == TYPE_ANY || rr->type == TYPE_RRSIG)
		return name_remove(d, rr->name, rr->type);
	return set_remove(d, dyn_name_find(d, rr->name, rr->type, 0));
}

/* RFC 2136 section 3.4.2.4: the SOA stays, and the last NS of the apex. */
static enum nsd_err
rr_remove(struct dynupdate *d, const struct dyn_rr *rr)
{
	const uint8_t *rdata = dyn_rr_rdata(d, rr);
	struct dyn_set *set = dyn_name_find(d, rr->name, rr->type,
		dyn_covered(rr->type, rdata));
	struct dyn_record *record;
	enum nsd_err err;

	if (set == NULL || set->count == 0 || (set_is_kept(d, set)
			&& (set->type == TYPE_SOA || set->count == 1)))
		return NSD_OK;
	err = dyn_set_load(d, set);
	if (err != NSD_OK)
		return err;
	record = dyn_set_find(d, set, rdata, rr->rdlen);
	if (record != NULL)
		dyn_set_remove(d, set, record);
	return NSD_OK;
}

enum nsd_err
dyn_rules_apply(struct dynupdate *d)
{
	enum nsd_err err = NSD_OK;

	for (size_t i = 0; i < d->rr_count && err == NSD_OK; i++) {
		const struct dyn_rr *rr = &d->rrs[i];

		if (rr->rrclass == CLASS_IN)
			err = rr_add(d, rr);
		else if (rr->rrclass == CLASS_ANY)
			err = rr_remove_rrset(d, rr);
		else
			err = rr_remove(d, rr);
	}
	return err;
}

/* ---- the serial ---------------------------------------------------------- */

static uint32_t
choose_serial(const struct dynupdate *d, uint32_t serial)
{
	time_t now = (time_t)d->options.now_sec;
	uint32_t wanted = serial;
	struct tm tm;

	if (d->options.policy == DYNUPDATE_UNIXTIME)
		wanted = (uint32_t)now;
	else if (d->options.policy == DYNUPDATE_DATESERIAL
		&& gmtime_r(&now, &tm) != NULL)
		wanted = ((uint32_t)(tm.tm_year + 1900) * 10000
			+ (uint32_t)(tm.tm_mon + 1) * 100
			+ (uint32_t)tm.tm_mday) * 100;
	if (serial_is_newer(wanted, serial))
		return wanted;
	/* Some programs take 0 for no serial. */
	return serial == UINT32_MAX ? 1 : serial + 1;
}

enum nsd_err
dyn_rules_raise_serial(struct dynupdate *d)
{
	struct dyn_set *set = soa_set(d);
	const struct dyn_rdata *soa = dyn_soa(d);
	uint8_t octets[2 * NAME_MAX_LEN + 20];

	if (dyn_soa_serial(soa) != d->to)
		return NSD_OK;
	assert(soa->len <= sizeof(octets));
	memcpy(octets, soa->octets, soa->len);
	octets_put_u32(octets + soa->len - 20, choose_serial(d, d->to));
	return dyn_set_add(d, set, octets, soa->len, set->ttl_sec);
}
