/*
 * inspect_glue.c - finds name servers without addresses in an inspection.
 *
 * Most name servers in the zone have their addresses in the same part, beside
 * the delegation. For the others a hash of each name is kept, with what is
 * there; at the end those that matter are looked for.
 */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "compile/glue_pass.h"
#include "compile/inspect_pass.h"
#include "zonedb/share.h"

#define RRSET_OCTETS_MAX 60000u /* larger ones have targets without glue */

enum name_facts {
	FACT_ADDRESS = 1,
	FACT_CNAME = 2,
	FACT_CUT = 4,
	FACT_OCCLUDED = 8,
	FACT_DNAME = 16, /* a DNAME that is not occluded itself */
	FACT_THERE = 32, /* of a wanted name: the name is there */
	FACTS = 31,
};

/* ---- names --------------------------------------------------------------- */

static uint64_t
name_hash(const struct zone_inspect *s, const uint8_t *name, size_t len)
{
	return share_hash_octets(s->glue.seed, name, len) & ~(uint64_t)FACTS;
}

enum nsd_err
inspect_note_name(struct zone_inspect *s, const struct owner *owner)
{
	struct inspect_glue *g = &s->glue;
	uint64_t facts = 0;
	uint64_t *names = grow_array(g->names, g->name_count, &g->name_room,
		sizeof(*names));

	if (names == NULL)
		return NSD_E_MEMORY;
	g->names = names;
	if ((owner->flags & OWNER_ADDRESS) != 0)
		facts |= FACT_ADDRESS;
	if ((owner->flags & OWNER_CNAME) != 0)
		facts |= FACT_CNAME;
	if ((owner->flags & OWNER_CUT) != 0)
		facts |= FACT_CUT;
	if ((owner->flags & OWNER_OCCLUDED) != 0)
		facts |= FACT_OCCLUDED;
	if ((owner->flags & OWNER_DNAME_TOP) != 0)
		facts |= FACT_DNAME;
	names[g->name_count++] = name_hash(s, owner->name, owner->name_len)
		| facts;
	return NSD_OK;
}

/* ---- RRsets -------------------------------------------------------------- */

/* A build stores equal RRsets once, and tells of the first one alone. *met:
 * there was an equal one; if not, it is added. */
static enum nsd_err
rrsets_meet(struct inspect_glue *g, uint64_t hash, bool *met)
{
	uint64_t *at;

	hash |= 1; /* not 0 */
	if (g->rrset_count * 2 >= g->rrset_room) {
		size_t room = g->rrset_room > 0 ? g->rrset_room * 2 : 64;
		uint64_t *table = calloc(room, sizeof(*table));

		if (table == NULL)
			return NSD_E_MEMORY;
		for (size_t i = 0; i < g->rrset_room; i++) {
			size_t n = g->rrsets[i] >> 8;

			if (g->rrsets[i] == 0)
				continue;
			while (table[n & (room - 1)] != 0)
				n++;
			table[n & (room - 1)] = g->rrsets[i];
		}
		free(g->rrsets);
		g->rrsets = table;
		g->rrset_room = room;
	}
	for (size_t n = hash >> 8;; n++) {
		at = &g->rrsets[n & (g->rrset_room - 1)];
		if (*at == 0 || *at == hash)
			break;
	}
	*met = *at == hash;
	g->rrset_count += !*met;
	*at = hash;
	return NSD_OK;
}

/* True if the name is at or below the owner. */
static bool
target_is_below(const struct owner *owner, const struct owner *target)
{
	return target->labels >= owner->labels
		&& owner_count_common(owner, target) == owner->labels;
}

/* The hash of all that makes an NS RRset equal to another one. */
static uint64_t
servers_hash(const struct zone_inspect *s, const struct item_group *ns)
{
	uint64_t hash = s->glue.seed ^ ns->ttl_sec;

	for (size_t i = 0; i < ns->count; i++) {
		const struct rrbatch_rr *rr = ns->items[i].rr;

		hash = share_hash_octets(hash, rrbatch_rr_rdata(rr),
			rr->rdlen);
	}
	return hash;
}

/* ---- uses ---------------------------------------------------------------- */

/* The target of an NS record, in lower case. False: it is not in the zone. */
static bool
server_read(const struct build *b, const struct rrbatch_rr *rr,
	uint8_t lower[NAME_MAX_LEN], struct owner *target)
{
	const uint8_t *name = rrbatch_rr_rdata(rr), *apex = b->zone.apex;
	size_t len = rr->rdlen, apex_len = b->zone.apex_len;

	/* Most name servers are outside of the zone, which the last octets
	 * tell. */
	if (name_is_root(name) || len < apex_len)
		return false;
	for (size_t i = 1; i <= apex_len; i++)
		if (name_lower_octet(name[len - i]) != apex[apex_len - i])
			return false;
	memcpy(lower, name, len);
	name_lower(lower);
	target->flags = 0;
	target->rr_count = 0;
	return owner_measure(target, lower, len, b->zone.apex,
		b->zone.apex_len);
}

/* True if the part at hand has an address of the name. */
static bool
part_has_address(const struct build *b, const struct owner *name)
{
	size_t at = owner_find(b->names, b->name_count, name);

	return at < b->name_count
		&& (b->names[at].flags & OWNER_ADDRESS) != 0
		&& owner_compare(&b->names[at], name) == 0;
}

static enum nsd_err
use_add(struct zone_inspect *s, const struct owner *owner,
	const struct owner *target, const struct rrbatch_rr *rr)
{
	struct inspect_glue *g = &s->glue;
	size_t apex_len = s->build.zone.apex_len;
	struct inspect_use *use = arena_alloc(&g->arena, sizeof(*use));

	if (use == NULL)
		return NSD_E_MEMORY;
	use->line = rr->line;
	use->file = rr->file;
	use->in_domain = owner->labels > 0
		&& target_is_below(owner, target);
	use->target_len = target->name_len;
	use->target_labels = target->labels;
	use->owner = arena_copy(&g->arena, owner->name,
		owner->name_len + apex_len);
	use->target = arena_copy(&g->arena, target->name,
		target->name_len + apex_len);
	if (use->owner == NULL || use->target == NULL)
		return NSD_E_MEMORY;
	use->next = g->uses;
	g->uses = use;
	return NSD_OK;
}

/* Counts the name servers without an address in the part. own: one of them is
 * at or below the owner, so that no other name has an equal RRset. */
static size_t
servers_count(const struct zone_inspect *s, const struct owner *owner,
	const struct item_group *ns, bool *own)
{
	const struct build *b = &s->build;
	size_t count = 0;

	*own = false;
	for (size_t i = 0; i < ns->count; i++) {
		uint8_t lower[NAME_MAX_LEN];
		struct owner target;

		if (!server_read(b, ns->items[i].rr, lower, &target))
			continue;
		*own |= target_is_below(owner, &target);
		count += !part_has_address(b, &target);
	}
	return count;
}

enum nsd_err
inspect_note_servers(struct zone_inspect *s, const struct owner *owner,
	const struct item_group *ns)
{
	const struct build *b = &s->build;
	enum nsd_err err = NSD_OK;
	bool own, met = false;
	size_t octets = 0;

	for (size_t i = 0; i < ns->count; i++)
		octets += 16u + ns->items[i].rr->rdlen;
	if (octets > RRSET_OCTETS_MAX)
		return NSD_E_LIMIT;
	if (servers_count(s, owner, ns, &own) == 0)
		return NSD_OK;
	if (!own && octets - 14 * ns->count <= SHARE_RAW_MAX)
		err = rrsets_meet(&s->glue, servers_hash(s, ns), &met);
	if (met || (owner->flags & OWNER_OCCLUDED) != 0)
		return err;
	for (size_t i = 0; i < ns->count && err == NSD_OK; i++) {
		uint8_t lower[NAME_MAX_LEN];
		struct owner target;

		if (server_read(b, ns->items[i].rr, lower, &target)
			&& !part_has_address(b, &target))
			err = use_add(s, owner, &target, ns->items[i].rr);
	}
	return err;
}

/* ---- resolving ----------------------------------------------------------- */

/* The names that are wanted: a hash table. A hash of 0 is a free slot. */
struct wanted_names {
	struct wanted_slot {
		uint64_t hash;
		unsigned facts;
	} *slots;
	size_t mask;
};

static struct wanted_slot *
wanted_find(const struct wanted_names *w, uint64_t hash)
{
	size_t n = hash >> 8;

	while (w->slots[n & w->mask].hash != hash
		&& w->slots[n & w->mask].hash != 0)
		n++;
	return &w->slots[n & w->mask];
}

/* The hash of a target's ancestor with `labels` labels below the apex. */
static uint64_t
ancestor_hash(const struct zone_inspect *s, const struct inspect_use *use,
	unsigned labels)
{
	const uint8_t *name = name_skip_labels(use->target,
		use->target_labels - labels);
	size_t skipped = (size_t)(name - use->target);

	return name_hash(s, name, use->target_len - skipped) | 1;
}

static enum nsd_err
wanted_make(const struct zone_inspect *s, struct wanted_names *w)
{
	size_t count = 0, room = 64;

	for (const struct inspect_use *u = s->glue.uses; u != NULL;
		u = u->next)
		count += u->target_labels + 1u;
	while (room < count * 2)
		room *= 2;
	w->slots = calloc(room, sizeof(*w->slots));
	w->mask = room - 1;
	if (w->slots == NULL)
		return NSD_E_MEMORY;
	for (const struct inspect_use *u = s->glue.uses; u != NULL;
		u = u->next)
		for (unsigned l = 0; l <= u->target_labels; l++) {
			uint64_t hash = ancestor_hash(s, u, l);

			wanted_find(w, hash)->hash = hash;
		}
	for (size_t i = 0; i < s->glue.name_count; i++) {
		uint64_t name = s->glue.names[i];
		struct wanted_slot *slot = wanted_find(w,
			(name & ~(uint64_t)FACTS) | 1);

		if (slot->hash != 0)
			slot->facts = (unsigned)(name & FACTS) | FACT_THERE;
	}
	return NSD_OK;
}

/* As glue_is_hidden in glue.c. */
static bool
target_is_hidden(const struct zone_inspect *s, const struct wanted_names *w,
	const struct inspect_use *use, unsigned found)
{
	if ((found & FACT_THERE) != 0)
		return (found & (FACT_CUT | FACT_OCCLUDED)) != 0;
	for (unsigned l = 0; l < use->target_labels; l++) {
		unsigned facts = wanted_find(w, ancestor_hash(s, use, l))
			->facts;

		if ((facts & FACT_THERE) == 0)
			return false;
		if ((facts & (FACT_CUT | FACT_DNAME)) != 0)
			return true;
	}
	return false;
}

static void
inspect_use_check(struct zone_inspect *s, const struct wanted_names *w,
	const struct inspect_use *use)
{
	unsigned found = wanted_find(w, ancestor_hash(s, use,
		use->target_labels))->facts;
	const struct rrbatch_rr rr = {.line = use->line, .file = use->file};
	struct glue_lack lack = {
		.owner = use->owner,
		.target = use->target,
		.cname = (found & FACT_CNAME) != 0,
		.in_domain = use->in_domain,
		.hidden = target_is_hidden(s, w, use, found),
	};

	if ((found & FACT_ADDRESS) == 0)
		glue_warn(&s->build, &rr, &lack);
}

enum nsd_err
inspect_resolve(struct zone_inspect *s)
{
	struct wanted_names w;

	if (s->glue.uses == NULL)
		return NSD_OK;
	if (wanted_make(s, &w) != NSD_OK)
		return NSD_E_MEMORY;
	for (const struct inspect_use *u = s->glue.uses; u != NULL;
		u = u->next)
		inspect_use_check(s, &w, u);
	free(w.slots);
	return NSD_OK;
}

void
inspect_glue_fini(struct inspect_glue *g)
{
	free(g->names);
	free(g->rrsets);
	arena_fini(&g->arena);
}
