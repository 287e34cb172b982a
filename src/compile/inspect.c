/* inspect.c - goes through the records of a zone as a build does, part by part,
 * and makes nothing of them. */
#include "compile/inspect.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "compile/apex.h"
#include "compile/inspect_pass.h"
#include "compile/pack_parts.h"
#include "zonedb/share.h"

#define PART_OCTETS ((size_t)4 << 20)
/* Bounds below which a node or an RRset is never too large. */
#define GROUPS_MAX 60000u
#define SIGS_MAX 1000u
#define RRSET_STORED_MAX ((size_t)1 << 24)

/* ---- begin and end ------------------------------------------------------- */

enum nsd_err
inspect_begin(const struct zone_inspect_input *input,
	struct zone_inspect **out)
{
	struct zone_inspect *s = calloc(1, sizeof(*s));
	struct build *b;

	if (s == NULL)
		return NSD_E_MEMORY;
	s->input = *input;
	s->build_input.apex = input->apex;
	s->build_input.threads = 1;
	cut_init(&s->cut, input->part_octets > 0 ? input->part_octets
						 : PART_OCTETS);
	s->glue.seed = share_hash_seed((uintptr_t)s);
	arena_init(&s->glue.arena, NULL, 0);
	b = &s->build;
	b->input = &s->build_input;
	b->carry = &s->carry;
	arena_init(&b->arena, NULL, 0);
	arena_init(&b->part, NULL, 0);
	if (build_start(b, NULL) != NSD_OK
		|| packer_prepare(build_packer(b)) != NSD_OK
		|| (input->sort && cut_sort(&s->cut, b->zone.apex,
			b->zone.apex_len, input->part_octets) != NSD_OK)) {
		inspect_destroy(s);
		return NSD_E_MEMORY;
	}
	*out = s;
	return NSD_OK;
}

void
inspect_destroy(struct zone_inspect *s)
{
	if (s == NULL)
		return;
	cut_fini(&s->cut);
	inspect_glue_fini(&s->glue);
	free(s->params);
	arena_fini(&s->build.part);
	if (s->build.worker_count > 0)
		arena_fini(&build_packer(&s->build)->arena);
	build_fini(&s->build);
	free(s);
}

/* ---- the apex ------------------------------------------------------------ */

static enum nsd_err
inspect_apex(struct zone_inspect *s)
{
	struct build *b = &s->build;
	enum nsd_err err = apex_use(b, &s->params);

	if (err == NSD_OK && s->params != NULL
		&& b->zone.params.iterations > nsec3_params_limit(0))
		return NSD_E_LIMIT;
	return err;
}

/* ---- records ------------------------------------------------------------- */

static enum nsd_err
owner_hand_on(const struct zone_inspect *s, const struct owner *owner)
{
	return s->input.on_owner(s->input.ctx, owner->name,
		(size_t)owner->name_len + s->build.zone.apex_len);
}

static enum nsd_err
group_hand_on(const struct zone_inspect *s, const struct owner *owner,
	const struct item_group *g)
{
	struct zone_rr rr = {
		.owner = owner->name,
		.ttl_sec = g->ttl_sec,
		.type = g->sigs ? TYPE_RRSIG : g->type,
	};
	enum nsd_err err = NSD_OK;

	for (size_t i = 0; i < g->count && err == NSD_OK; i++) {
		rr.rdlen = g->items[i].rr->rdlen;
		rr.rdata = rrbatch_rr_rdata(g->items[i].rr);
		err = s->input.on_rr(s->input.ctx, &rr);
	}
	return err;
}

/* Hands the groups at the packer on, those of the SOA at the apex alone or all
 * others. */
static enum nsd_err
groups_hand_on(const struct zone_inspect *s, const struct owner *owner,
	size_t count, bool soa)
{
	const struct item_group *groups = s->build.workers[0].packer.groups;
	enum nsd_err err = NSD_OK;

	for (size_t i = 0; i < count && err == NSD_OK; i++)
		if ((owner->labels == 0 && groups[i].type == TYPE_SOA) == soa)
			err = group_hand_on(s, owner, &groups[i]);
	return err;
}

/* True if all groups find room in a node. */
static bool
groups_are_usual(const struct packer *p, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct item_group *g = &p->groups[i];
		size_t octets = 0;

		if (g->sigs && g->count > SIGS_MAX)
			return false;
		for (size_t n = 0; n < g->count; n++)
			octets += g->items[n].rr->rdlen;
		if (octets > RRSET_STORED_MAX)
			return false;
	}
	return count <= GROUPS_MAX;
}

/* ---- names --------------------------------------------------------------- */

static enum nsd_err
name_check_servers(struct zone_inspect *s, const struct owner *owner,
	size_t count)
{
	const struct item_group *groups = s->build.workers[0].packer.groups;

	if ((owner->flags & OWNER_NS) == 0)
		return NSD_OK;
	for (size_t i = 0; i < count; i++)
		if (groups[i].type == TYPE_NS && !groups[i].sigs)
			return inspect_note_servers(s, owner, &groups[i]);
	return NSD_OK;
}

static enum nsd_err
name_inspect(struct zone_inspect *s, const struct owner *run)
{
	struct build_worker *w = &s->build.workers[0];
	size_t count = 0;
	enum nsd_err err = inspect_note_name(s, run);

	if (err != NSD_OK || run->rr_count == 0)
		return err;
	err = run_list_groups(w, run, ITEMS_ALL, &count);
	if (err != NSD_OK)
		return err;
	check_node(&w->packer, run, w->packer.groups, count);
	if (!groups_are_usual(&w->packer, count))
		return NSD_E_LIMIT;
	err = name_check_servers(s, run, count);
	if (err == NSD_OK)
		err = owner_hand_on(s, run);
	if (err == NSD_OK && run->labels == 0)
		err = groups_hand_on(s, run, count, true);
	return err == NSD_OK ? groups_hand_on(s, run, count, false) : err;
}

/* ---- NSEC3 records ------------------------------------------------------- */

/* True if the record is what the chain wants next at this owner. */
static bool
hash_follows(struct zone_inspect *s, const struct owner *owner,
	const struct rrbatch_rr *rr)
{
	uint8_t hash[NSEC3_HASH_LEN];

	if (!nsec3_has_params(rr, &s->build.zone.params)
		|| !nsec3_has_next(rr) || owner->labels != 1
		|| !nsec3_parse_label(owner->name, hash)
		|| (s->has_hash && memcmp(s->next_hash, hash, NSEC3_HASH_LEN)
			!= 0))
		return false;
	if (!s->has_hash)
		memcpy(s->first_hash, hash, NSEC3_HASH_LEN);
	s->has_hash = true;
	memcpy(s->next_hash, nsec3_get_next(rr), NSEC3_HASH_LEN);
	return true;
}

/* An owner of NSEC3 alone: one record of a chain without faults. */
static enum nsd_err
hash_inspect(struct zone_inspect *s, const struct owner *run)
{
	struct build_worker *w = &s->build.workers[0];
	const struct item_group *groups;
	enum nsd_err err;
	size_t count;

	if (run_list_groups(w, run, ITEMS_ALL, &count) != NSD_OK)
		return NSD_E_MEMORY;
	groups = w->packer.groups;
	if (count == 0 || groups[0].type != TYPE_NSEC3 || groups[0].sigs
		|| groups[0].count != 1 || !groups_are_usual(&w->packer, count)
		|| !hash_follows(s, run, groups[0].items[0].rr))
		return NSD_E_LIMIT;
	if ((err = owner_hand_on(s, run)) != NSD_OK)
		return err;
	return groups_hand_on(s, run, count, false);
}

/* ---- parts --------------------------------------------------------------- */

/* The first owner from `at` on that begins a run. */
static size_t
owners_skip_again(const struct owner *owners, size_t count, size_t at)
{
	while (at < count && (owners[at].flags & OWNER_AGAIN) != 0)
		at++;
	return at;
}

/* The owner that comes first: a name or a hash, which are counted in `names`
 * and `hashes`. NULL at the end. */
static const struct owner *
part_next(const struct build *b, size_t *names, size_t *hashes, bool *is_name)
{
	const struct owner *name, *hash;

	*names = owners_skip_again(b->names, b->name_count, *names);
	*hashes = owners_skip_again(b->hashes, b->hash_count, *hashes);
	name = *names < b->name_count ? &b->names[*names] : NULL;
	hash = *hashes < b->hash_count ? &b->hashes[*hashes] : NULL;
	*is_name = hash == NULL
		|| (name != NULL && owner_compare(name, hash) < 0);
	if (*is_name) {
		++*names;
		return name;
	}
	++*hashes;
	return hash;
}

static enum nsd_err
part_walk(struct zone_inspect *s)
{
	size_t names = 0, hashes = 0;
	const struct owner *o, *last = NULL;
	enum nsd_err err = NSD_OK;
	bool is_name;

	while (err == NSD_OK && (o = part_next(&s->build, &names, &hashes,
			&is_name)) != NULL) {
		/* Owners have to follow those of earlier parts, too. */
		if (last == NULL && s->begun
			&& owner_compare(&s->last, o) >= 0)
			return NSD_E_LIMIT;
		err = is_name ? name_inspect(s, o) : hash_inspect(s, o);
		last = o;
	}
	if (last != NULL)
		owner_copy(last, s->build.zone.apex_len, &s->last,
			s->last_name);
	return err;
}

static void
part_forget(struct zone_inspect *s)
{
	struct build *b = &s->build;

	arena_reset(&b->workers[0].part);
	arena_reset(&b->part);
	b->names = b->hashes = NULL;
	b->name_count = b->hash_count = 0;
	cut_forget(&s->cut);
}

/* True if all findings are kept, and none is an error. Else a build has to
 * report: of too many findings, its order decides which are kept. */
static bool
inspect_has_room(const struct zone_inspect *s)
{
	const struct findings *f = &s->build.workers[0].packer.findings;

	return f->count[DIAG_ERROR] == 0
		&& f->count[DIAG_WARNING] < FINDINGS_KEPT_MAX;
}

static enum nsd_err
part_inspect(struct zone_inspect *s)
{
	struct build *b = &s->build;
	enum nsd_err err;

	b->rr_total = cut_count(&s->cut);
	if (b->rr_total == 0)
		return NSD_OK;
	s->build_input.batches = s->cut.first;
	err = index_build(b);
	if (err == NSD_OK && b->nsec3_in_names)
		err = NSD_E_LIMIT;
	if (err == NSD_OK && !s->begun)
		err = inspect_apex(s);
	if (err == NSD_OK && b->hash_count > 0 && s->params == NULL)
		err = NSD_E_LIMIT;
	if (err == NSD_OK)
		err = shape_build(b);
	if (err == NSD_OK)
		err = part_walk(s);
	if (err == NSD_OK && !inspect_has_room(s))
		err = NSD_E_LIMIT;
	if (err == NSD_OK)
		err = s->input.on_part(s->input.ctx, s->cut.first);
	if (err != NSD_OK)
		return err;
	carry_keep_path(&s->carry, b);
	s->begun = true;
	part_forget(s);
	return NSD_OK;
}

enum nsd_err
inspect_take(struct zone_inspect *s, struct rrbatch *batch)
{
	bool complete;
	enum nsd_err err = cut_add(&s->cut, batch, &complete);

	return err == NSD_OK && complete ? part_inspect(s) : err;
}

enum nsd_err
inspect_finish(struct zone_inspect *s)
{
	bool complete;
	enum nsd_err err;

	do {
		err = cut_next(&s->cut, &complete);
		if (err == NSD_OK)
			err = part_inspect(s);
	} while (err == NSD_OK && complete);
	if (err != NSD_OK)
		return err;
	if (!s->begun || (s->params != NULL && (!s->has_hash
			|| memcmp(s->next_hash, s->first_hash, NSEC3_HASH_LEN)
				!= 0)))
		return NSD_E_LIMIT;
	s->build.wildcards = s->carry.walk.wildcards;
	err = inspect_resolve(s);
	return err == NSD_OK && !inspect_has_room(s) ? NSD_E_LIMIT : err;
}

void
inspect_tell(struct zone_inspect *s, const char *const *files,
	size_t file_count, struct diag_sink *sink)
{
	s->build_input.files = files;
	s->build_input.file_count = file_count;
	build_emit(&s->build, sink);
}
