/* reference.c - answers by the algorithm of RFC 1034 from lists of records. */
#include <string.h>

#include "reference.h"

struct run {
	const struct world *w;
	const struct world_zone *zone;
	uint8_t name[NAME_MAX_LEN];
	uint16_t qtype;
	bool dnssec;
	struct reference *out;
};

static const struct world_zone *
closest_zone(const struct world *w, const uint8_t *name, bool of_parent)
{
	const struct world_zone *best = NULL;

	for (size_t i = 0; i < w->zone_count; i++) {
		const struct world_zone *z = &w->zones[i];

		if (!name_is_within(name, z->apex)
			|| (of_parent && name_equal(name, z->apex)))
			continue;
		if (best == NULL || name_len(z->apex) > name_len(best->apex))
			best = z;
	}
	return best;
}

static const struct world_zone *
zone_of(const struct run *r, const uint8_t *name)
{
	const struct world_zone *zone;

	if (r->w->options.confine_to_zone && r->zone != NULL)
		return name_is_within(name, r->zone->apex) ? r->zone : NULL;
	zone = closest_zone(r->w, name, r->qtype == TYPE_DS);
	return zone != NULL ? zone : closest_zone(r->w, name, false);
}

static bool
exists(const struct world_zone *zone, const uint8_t *name)
{
	for (size_t i = 0; i < zone->records.count; i++)
		if (name_is_within(zone->records.rrs[i].owner, name))
			return true;
	return false;
}

/* Adds the RRset of a type at `from`, as if `owner` had it, and its signatures
 * if they are asked for. */
static unsigned
add_rrset(const struct run *r, struct world_rrs *to, const uint8_t *from,
	const uint8_t *owner, uint16_t type)
{
	const struct world_rrs *all = &r->zone->records;
	unsigned count = 0;

	for (size_t i = 0; i < all->count; i++) {
		struct world_rr rr = all->rrs[i];
		bool sig = rr.type == TYPE_RRSIG
			&& octets_get_u16(rr.rdata) == type;

		if (!name_equal(rr.owner, from)
			|| (rr.type != type && !(sig && r->dnssec)))
			continue;
		memcpy(rr.owner, owner, name_len(owner));
		if (!rrs_contain(to, &rr))
			rrs_add(to, &rr);
		count++;
	}
	return count;
}

static void
add_soa(const struct run *r)
{
	struct world_rrs *authority = &r->out->section[1];
	size_t first = authority->count;
	const struct world_rr *soa = world_find(r->zone, r->zone->apex,
		TYPE_SOA);
	uint32_t ttl = octets_get_u32(soa->rdata + soa->rdlen - 4);

	if (ttl > soa->ttl_sec)
		ttl = soa->ttl_sec;
	add_rrset(r, authority, r->zone->apex, r->zone->apex, TYPE_SOA);
	for (size_t i = first; i < authority->count; i++)
		authority->rrs[i].ttl_sec = ttl;
}

/* ---- additional data --------------------------------------------------- */

static const uint8_t *
target_of(const struct world_rr *rr)
{
	switch (rr->type) {
	case TYPE_NS:
		return rr->rdata;
	case TYPE_MX:
		return rr->rdata + 2;
	case TYPE_SRV:
		return rr->rdata + 6;
	default:
		return NULL;
	}
}

/* True if the name lies at or below a cut of the zone, or below a DNAME. */
static bool
hidden(const struct world_zone *zone, const uint8_t *name)
{
	for (; !name_equal(name, zone->apex); name = name_skip_labels(name, 1))
		if (world_find(zone, name, TYPE_NS) != NULL
			|| world_find(zone, name_skip_labels(name, 1),
				TYPE_DNAME) != NULL)
			return true;
	return false;
}

/* Sets `from` to the name whose records answer for a name: itself, or the
 * wildcard if it does not exist. */
static void
source_of(const struct world_zone *zone, const uint8_t *name,
	uint8_t from[NAME_MAX_LEN + 2])
{
	const uint8_t *encloser = name;

	memcpy(from, name, name_len(name));
	if (exists(zone, name) || hidden(zone, name))
		return;
	while (!exists(zone, encloser))
		encloser = name_skip_labels(encloser, 1);
	memcpy(from, "\1*", 2);
	memcpy(from + 2, encloser, name_len(encloser));
}

static void
add_addresses(struct run *r, const struct world_zone *zone,
	const uint8_t *name, bool must)
{
	const struct world_zone *was = r->zone;
	uint8_t from[NAME_MAX_LEN + 2];

	r->zone = zone;
	source_of(zone, name, from);
	for (unsigned i = 0; i < 2; i++) {
		uint16_t type = i == 0 ? TYPE_A : TYPE_AAAA;
		struct world_rrs found = {0};

		add_rrset(r, &found, from, name, type);
		for (size_t j = 0; j < found.count; j++) {
			struct world_rr *rr = &found.rrs[j];

			if (rrs_contain(&r->out->section[0], rr))
				continue;
			if (!rrs_contain(&r->out->section[2], rr))
				rrs_add(&r->out->section[2], rr);
			if (must && !rrs_contain(&r->out->glue, rr))
				rrs_add(&r->out->glue, rr);
		}
		rrs_fini(&found);
	}
	r->zone = was;
}

static void
add_additional(struct run *r, const struct world_zone *zone,
	const struct world_rr *rr, const uint8_t *cut)
{
	const uint8_t *target = target_of(rr);

	if (target == NULL)
		return;
	if (name_is_within(target, zone->apex)
		&& (rr->type == TYPE_NS || !hidden(zone, target)))
		add_addresses(r, zone, target, cut != NULL
			&& name_is_within(target, cut));
}

/* ---- the answer -------------------------------------------------------- */

enum step { STEP_DONE, STEP_AGAIN };

/* True if a signature covers the DS there. */
static bool
ds_is_signed(const struct run *r, const uint8_t *cut)
{
	for (size_t i = 0; i < r->zone->records.count; i++) {
		const struct world_rr *rr = &r->zone->records.rrs[i];

		if (rr->type == TYPE_RRSIG && name_equal(rr->owner, cut)
			&& octets_get_u16(rr->rdata) == TYPE_DS)
			return true;
	}
	return false;
}

/* True if the zone has a key, and a signature over its SOA. */
static bool
is_signed(const struct world_zone *zone)
{
	for (size_t i = 0; i < zone->records.count; i++) {
		const struct world_rr *rr = &zone->records.rrs[i];

		if (rr->type == TYPE_RRSIG && name_equal(rr->owner, zone->apex)
			&& octets_get_u16(rr->rdata) == TYPE_SOA)
			return world_find(zone, zone->apex, TYPE_DNSKEY)
				!= NULL;
	}
	return false;
}

static enum step
refer(struct run *r, const uint8_t *cut)
{
	struct world_rrs *authority = &r->out->section[1];
	bool dnssec = r->dnssec;

	if (r->out->section[0].count == 0)
		r->out->authoritative = false;
	r->dnssec = false;
	add_rrset(r, authority, cut, cut, TYPE_NS);
	r->dnssec = dnssec;
	for (size_t i = 0; i < authority->count; i++)
		add_additional(r, r->zone, &authority->rrs[i], cut);
	if (dnssec && is_signed(r->zone) && ds_is_signed(r, cut))
		add_rrset(r, authority, cut, cut, TYPE_DS);
	return STEP_DONE;
}

/* Goes on with another name. The answer is done if that is not served, or was
 * seen before. */
static enum step
restart(struct run *r, const uint8_t *target)
{
	struct world_rrs *answer = &r->out->section[0];
	const struct world_zone *zone;

	memcpy(r->name, target, name_len(target));
	name_lower(r->name);
	for (size_t i = 0; i < answer->count; i++)
		if (answer->rrs[i].type == TYPE_CNAME
			&& name_equal(answer->rrs[i].owner, r->name)) {
			r->out->refused_to_follow = true;
			return STEP_DONE;
		}
	zone = zone_of(r, r->name);
	if (zone == NULL || zone->not_loaded || zone->flags != 0) {
		r->out->refused_to_follow = true;
		return STEP_DONE;
	}
	r->zone = zone;
	return STEP_AGAIN;
}

static enum step
substitute(struct run *r, const uint8_t *owner)
{
	const struct world_rr *dname = world_find(r->zone, owner, TYPE_DNAME);
	struct world_rr cname = { .type = TYPE_CNAME, .rrclass = CLASS_IN,
		.ttl_sec = dname->ttl_sec };
	size_t prefix = name_len(r->name) - name_len(owner);

	add_rrset(r, &r->out->section[0], owner, owner, TYPE_DNAME);
	if (prefix + dname->rdlen > NAME_MAX_LEN) {
		r->out->rcode = RCODE_YXDOMAIN;
		r->out->refused_to_follow = true;
		return STEP_DONE;
	}
	memcpy(cname.owner, r->name, name_len(r->name));
	memcpy(cname.rdata, r->name, prefix);
	memcpy(cname.rdata + prefix, dname->rdata, dname->rdlen);
	cname.rdlen = (uint16_t)(prefix + dname->rdlen);
	rrs_add(&r->out->section[0], &cname);
	return r->qtype != TYPE_CNAME ? restart(r, cname.rdata) : STEP_DONE;
}

static void
add_positive_extras(struct run *r, const struct world_zone *zone)
{
	struct world_rrs *section = r->out->section;
	size_t answers = section[0].count;
	bool has_ns = false;

	if (r->w->options.minimal_responses && r->qtype != TYPE_NS)
		return;
	for (size_t i = 0; i < answers; i++)
		has_ns = has_ns || (section[0].rrs[i].type == TYPE_NS
			&& name_equal(section[0].rrs[i].owner, zone->apex));
	if (!has_ns && !r->w->options.minimal_responses)
		add_rrset(r, &section[1], zone->apex, zone->apex, TYPE_NS);
	for (size_t i = 0; i < answers; i++)
		add_additional(r, zone, &section[0].rrs[i], NULL);
	for (size_t i = 0; i < section[1].count; i++)
		add_additional(r, zone, &section[1].rrs[i], NULL);
}

/* The records at `from` answer for the name in hand. */
static enum step
answer_from(struct run *r, const uint8_t *from)
{
	struct world_rrs *answer = &r->out->section[0];
	const struct world_rr *cname;
	unsigned found = 0;

	if (r->qtype == TYPE_RRSIG) {
		for (size_t i = 0; i < r->zone->records.count; i++) {
			struct world_rr rr = r->zone->records.rrs[i];

			if (rr.type != TYPE_RRSIG
				|| !name_equal(rr.owner, from))
				continue;
			memcpy(rr.owner, r->name, name_len(r->name));
			if (!rrs_contain(answer, &rr))
				rrs_add(answer, &rr);
			found++;
		}
	} else {
		found = add_rrset(r, answer, from, r->name, r->qtype);
	}
	if (found > 0) {
		/* An answer of DS at a cut has no records beside it. */
		if (r->qtype != TYPE_DS || name_equal(from, r->zone->apex)
			|| world_find(r->zone, from, TYPE_NS) == NULL
			|| !name_equal(from, r->name))
			add_positive_extras(r, r->zone);
		return STEP_DONE;
	}
	cname = world_find(r->zone, from, TYPE_CNAME);
	if (cname != NULL && r->qtype != TYPE_RRSIG && r->qtype != TYPE_NSEC) {
		add_rrset(r, answer, from, r->name, TYPE_CNAME);
		return restart(r, cname->rdata);
	}
	add_soa(r);
	return STEP_DONE;
}

static enum step
answer_step(struct run *r)
{
	unsigned apex_labels = name_count_labels(r->zone->apex);
	unsigned labels = name_count_labels(r->name);
	uint8_t wildcard[NAME_MAX_LEN + 2] = {1, '*'};
	const uint8_t *encloser;

	/* Look from the apex down for a cut, or a DNAME above the name. */
	for (unsigned l = apex_labels; l <= labels; l++) {
		const uint8_t *at = name_skip_labels(r->name, labels - l);

		if (l > apex_labels
			&& world_find(r->zone, at, TYPE_NS) != NULL) {
			if (l == labels && r->qtype == TYPE_DS)
				break;
			return refer(r, at);
		}
		if (l < labels && world_find(r->zone, at, TYPE_DNAME) != NULL)
			return substitute(r, at);
	}
	if (exists(r->zone, r->name))
		return answer_from(r, r->name);
	encloser = name_skip_labels(r->name, 1);
	while (!exists(r->zone, encloser))
		encloser = name_skip_labels(encloser, 1);
	if (name_len(encloser) + 2 <= NAME_MAX_LEN) {
		memcpy(wildcard + 2, encloser, name_len(encloser));
		if (exists(r->zone, wildcard))
			return answer_from(r, wildcard);
	}
	r->out->rcode = RCODE_NXDOMAIN;
	add_soa(r);
	return STEP_DONE;
}

void
reference_answer(const struct world *w, const uint8_t *qname, uint16_t qtype,
	bool dnssec, struct reference *out)
{
	struct run r = { .w = w, .qtype = qtype, .dnssec = dnssec,
		.out = out };

	memset(out, 0, sizeof(*out));
	memcpy(r.name, qname, name_len(qname));
	name_lower(r.name);
	r.zone = zone_of(&r, r.name);
	if (r.zone == NULL) {
		out->rcode = RCODE_REFUSED;
		return;
	}
	if (r.zone->not_loaded || r.zone->flags != 0) {
		out->rcode = RCODE_SERVFAIL;
		return;
	}
	out->authoritative = true;
	for (unsigned links = 0; answer_step(&r) == STEP_AGAIN; links++) {
		if (links == w->query_options.cname_max) {
			out->refused_to_follow = true;
			break;
		}
	}
}

void
reference_fini(struct reference *r)
{
	for (unsigned i = 0; i < 3; i++)
		rrs_fini(&r->section[i]);
	rrs_fini(&r->glue);
}
