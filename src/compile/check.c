/* check.c - the rules for the records of one name (RFC 1034 section 3.6.2,
 * RFC 2181 section 10.1, RFC 6672 section 2.4, RFC 4035 section 2.5). */
#include <string.h>

#include "compile/pack_parts.h"
#include "dns/rdata.h"

static const struct item_group *
groups_find(const struct item_group *groups, size_t count, uint16_t type)
{
	for (size_t i = 0; i < count; i++)
		if (groups[i].type == type && !groups[i].sigs)
			return &groups[i];
	return NULL;
}

/* The record of a group that stands first in the input. */
static const struct item *
group_get_first(const struct item_group *g)
{
	const struct item *found = &g->items[0];

	for (size_t i = 1; i < g->count; i++)
		if (g->items[i].order < found->order)
			found = &g->items[i];
	return found;
}

static const struct item *
group_get_second(const struct item_group *g)
{
	const struct item *first = group_get_first(g), *found = NULL;

	for (size_t i = 0; i < g->count; i++)
		if (&g->items[i] != first
			&& (found == NULL || g->items[i].order < found->order))
			found = &g->items[i];
	return found;
}

/* The record at which two groups first clash, in the order of the input. */
static const struct rrbatch_rr *
groups_clash(const struct item_group *a, const struct item_group *b)
{
	const struct item *x = group_get_first(a), *y = group_get_first(b);

	return x->order > y->order ? x->rr : y->rr;
}

static void
check_cname(struct packer *p, const struct item_group *cname,
	const struct item_group *groups, size_t count)
{
	enum diag_severity severity = packer_severity(p);
	const struct item_group *dname = groups_find(groups, count, TYPE_DNAME);

	if (cname->count > 1)
		findings_add(&p->findings, severity,
			group_get_second(cname)->rr,
			"multiple CNAMEs at the same name");
	if (dname != NULL)
		findings_add(&p->findings, severity,
			groups_clash(cname, dname),
			"DNAME and CNAME at the same name");
	for (size_t i = 0; i < count; i++) {
		const struct item_group *g = &groups[i];

		if (g->sigs || g->type == TYPE_CNAME
			|| (rrtype_get(g->type)->flags & RR_WITH_CNAME) != 0)
			continue;
		findings_add(&p->findings, severity, groups_clash(cname, g),
			"CNAME and other data at the same name");
		return;
	}
}

/* A SOA of the apex behind the first one. A transfer ends with the SOA that it
 * began with, and so does a file in which one was saved. As of any records that
 * are equal, the lowest TTL counts. */
static void
check_later_soa(struct packer *p, struct item_group *soa,
	const struct rrbatch_rr *first, const struct rrbatch_rr *rr)
{
	char name[NAME_TEXT_MAX];

	if (items_compare_rr(TYPE_SOA, rr, first) != 0) {
		findings_add(&p->findings, packer_severity(p), rr,
			"this SOA record was already encountered");
		return;
	}
	if (rr->ttl_sec < soa->ttl_sec)
		soa->ttl_sec = rr->ttl_sec;
	if (!p->zone->secondary)
		findings_add(&p->findings, DIAG_WARNING, rr,
			"%s duplicate SOA record is left out",
			findings_name_text(p->zone->apex, name));
}

/* The first SOA of the input is the zone's. */
static void
check_apex_soa(struct packer *p, struct item_group *soa)
{
	struct item first = *group_get_first(soa);

	soa->ttl_sec = first.rr->ttl_sec;
	for (size_t i = 0; i < soa->count; i++)
		if (soa->items[i].rr != first.rr)
			check_later_soa(p, soa, first.rr, soa->items[i].rr);
	soa->items[0] = first;
	soa->count = 1;
}

static void
check_soa_below(struct packer *p, const struct owner *owner,
	const struct item_group *soa)
{
	char name[NAME_TEXT_MAX], apex[NAME_TEXT_MAX];

	findings_add(&p->findings, packer_severity(p), soa->items[0].rr,
		"SOA record with invalid domain name, '%s' is not '%s'",
		findings_name_text(owner->name, name),
		findings_name_text(p->zone->apex, apex));
}

/* Values that break a rule, such as digests of the wrong length. In records
 * from files the parser has already reported them. */
static void
check_values(struct packer *p, const struct item_group *g)
{
	for (size_t i = 0; i < g->count; i++) {
		const struct rrbatch_rr *rr = g->items[i].rr;
		char type[RRTYPE_TEXT_MAX];
		const char *why;

		if (rr->line != 0
			|| rdata_check(rr->type, rrbatch_rr_rdata(rr),
				   rr->rdlen, &why) == NSD_OK)
			continue;
		rrtype_print(rr->type, type);
		findings_add(&p->findings, packer_severity(p), rr,
			"%s record needs %s", type, why);
	}
}

static void
check_ds_without_ns(struct packer *p, const struct owner *owner,
	const struct item_group *ds)
{
	char name[NAME_TEXT_MAX];

	if (owner->labels == 0 || (owner->flags & OWNER_OCCLUDED) != 0)
		return;
	findings_add(&p->findings, DIAG_WARNING, ds->items[0].rr,
		"%s has DS but no NS", findings_name_text(owner->name, name));
}

/* RFC 4592 section 4.2 leaves the meaning of NS at a wildcard undefined: the
 * record has less effect than its author expects. */
static void
check_wildcard_ns(struct packer *p, const struct owner *owner,
	const struct item_group *ns)
{
	char name[NAME_TEXT_MAX];

	if ((owner->flags & OWNER_WILDCARD) == 0
		|| (owner->flags & OWNER_CUT) == 0)
		return;
	findings_add(&p->findings, DIAG_WARNING, ns->items[0].rr,
		"%s has NS, but delegates none of the names that it stands for",
		findings_name_text(owner->name, name));
}

/* The hash of a name becomes a label of 32 octets below the apex (RFC 5155
 * section 3). If the apex leaves no room for it, there can be no proofs. */
static void
check_nsec3param(struct packer *p, const struct owner *owner,
	const struct item_group *g)
{
	char name[NAME_TEXT_MAX];

	if (owner->labels == 0 && p->zone->apex_len + 33u > NAME_MAX_LEN)
		findings_add(&p->findings, DIAG_WARNING, g->items[0].rr,
			"%s is too long a name for NSEC3 records",
			findings_name_text(owner->name, name));
}

/* An error for a secondary, too: it serves records that break a rule, as its
 * primary sent them, but not too many. */
static void
limit_exceeded(struct packer *p, const struct owner *owner,
	const struct item_group *g, const char *what, size_t count)
{
	char name[NAME_TEXT_MAX];

	findings_add(&p->findings, DIAG_ERROR, g->items[0].rr,
		"%s has %zu %s, which is more than allowed",
		findings_name_text(owner->name, name), count, what);
}

/* Counts the records of a group's kind that the name had before an update. */
static size_t
former_records(const struct packer *p, const struct item_group *g)
{
	const struct node_rrset *entry = p->former == NULL ? NULL
		: node_find_kind(p->former, g->type,
			g->sigs ? NODE_RRSET_SIGS : 0);
	size_t count;

	if (entry == NULL)
		return 0;
	if (g->sigs) {
		const struct rrset_sigs *sigs =
			store_get(p->zone->view, entry->ref);

		count = sigs->count;
	} else {
		const struct rrset *rrset =
			store_get(p->zone->view, entry->ref);

		count = rrset->count;
	}
	return count < UINT16_MAX ? count : SIZE_MAX; /* or more */
}

static size_t
former_types(const struct packer *p)
{
	const struct node_rrset *e;
	size_t types = 0;

	if (p->former == NULL)
		return 0;
	e = node_entries(p->former);
	for (unsigned i = 0; i < p->former->entry_count; i++)
		types += i == 0 || e[i - 1].type != e[i].type;
	return types;
}

bool
check_limits(struct packer *p, const struct owner *owner,
	const struct item_group *groups, size_t count)
{
	const struct zone_limits *most = &p->zone->limits;
	size_t types = 0;
	bool within = true;

	if (most->records_per_type == 0 && most->types_per_name == 0)
		return true;
	for (size_t i = 0; i < count; i++) {
		const struct item_group *g = &groups[i];
		char what[RRTYPE_TEXT_MAX + sizeof(" records")];

		types += i == 0 || groups[i - 1].type != g->type;
		if (most->records_per_type == 0
			|| g->count <= most->records_per_type
			|| g->count <= former_records(p, g))
			continue;
		rrtype_print(g->items[0].rr->type, what);
		strcat(what, " records");
		limit_exceeded(p, owner, g, what, g->count);
		within = false;
	}
	if (most->types_per_name == 0 || types <= most->types_per_name
		|| types <= former_types(p))
		return within;
	limit_exceeded(p, owner, &groups[0], "types", types);
	return false;
}

void
check_node(struct packer *p, const struct owner *owner,
	struct item_group *groups, size_t count)
{
	const struct item_group *ds = NULL;
	bool ns = false;

	(void)check_limits(p, owner, groups, count);
	for (size_t i = 0; i < count; i++) {
		struct item_group *g = &groups[i];

		if (g->sigs)
			continue;
		switch (g->type) {
		case TYPE_NS:
			ns = true;
			check_wildcard_ns(p, owner, g);
			break;
		case TYPE_CNAME:
			check_cname(p, g, groups, count);
			break;
		case TYPE_SOA:
			if (owner->labels == 0)
				check_apex_soa(p, g);
			else
				check_soa_below(p, owner, g);
			break;
		case TYPE_DNAME:
			if (g->count > 1)
				findings_add(&p->findings,
					packer_severity(p),
					group_get_second(g)->rr,
					"multiple DNAMEs at the same name");
			break;
		case TYPE_DS:
			ds = g;
			check_values(p, g);
			break;
		case TYPE_NSEC3PARAM:
			check_nsec3param(p, owner, g);
			break;
		case TYPE_CDS:
		case TYPE_ZONEMD:
			check_values(p, g);
			break;
		default:
			break;
		}
	}
	if (ds != NULL && !ns)
		check_ds_without_ns(p, owner, ds);
}
