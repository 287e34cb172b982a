/*
 * glue.c - the pass that gives each target name in the zone its glue cell. It
 * also reports name servers without addresses.
 */
#include <string.h>

#include "compile/build_pass.h"
#include "compile/glue_pass.h"
#include "store/writer.h"
#include "zonedb/target.h"

/* Uses sorted by name; the index of a name is that of its use. */
struct glue_list {
	struct owner *names;
	struct target_use **uses;
	size_t count;
};

static enum nsd_err
glue_collect(struct build *b, struct glue_list *list)
{
	size_t total = 0;
	struct owner *tmp;

	for (unsigned i = 0; i < b->worker_count; i++)
		total += b->workers[i].packer.use_count;
	list->names = arena_alloc(&b->arena, total * sizeof(*list->names));
	list->uses = arena_alloc(&b->arena, total * sizeof(*list->uses));
	tmp = arena_alloc(&b->arena, total * sizeof(*tmp));
	if (list->names == NULL || list->uses == NULL || tmp == NULL)
		return NSD_E_MEMORY;
	for (unsigned i = 0; i < b->worker_count; i++)
		for (struct target_use *use = b->workers[i].packer.uses;
			use != NULL; use = use->next) {
			list->names[list->count] = use->name;
			list->names[list->count].index =
				(uint32_t)list->count;
			list->uses[list->count++] = use;
		}
	owner_sort(list->names, tmp, list->count);
	return NSD_OK;
}

/* The head of the run with a name, or NULL. */
static const struct owner *
glue_find_name(const struct build *b, const struct owner *name)
{
	size_t at = owner_find(b->names, b->name_count, name);

	if (at < b->name_count && owner_compare(&b->names[at], name) == 0)
		return &b->names[at];
	return NULL;
}

/* *at: where the last search ended. Names are searched for in ascending order,
 * so the next is found in doubling steps from there. */
static const struct owner *
glue_find_ascending(const struct build *b, size_t *at,
	const struct owner *name)
{
	size_t step = 1, left = b->name_count - *at;

	while (step < left && owner_compare(&b->names[*at + step], name) < 0) {
		*at += step;
		left -= step;
		step *= 2;
	}
	*at += owner_find(b->names + *at, step < left ? step + 1 : left, name);
	if (*at < b->name_count && owner_compare(&b->names[*at], name) == 0)
		return &b->names[*at];
	return NULL;
}

/* True if a zone cut or DNAME is at the name or above it, below the apex. The
 * addresses of such a name are not authoritative. */
static bool
glue_is_hidden(const struct build *b, const struct owner *name,
	const struct owner *found)
{
	if (found != NULL)
		return (found->flags & (OWNER_CUT | OWNER_OCCLUDED)) != 0;
	for (unsigned l = 0; l < name->labels; l++) {
		struct owner ancestor;
		const struct owner *o;

		owner_get_ancestor(name, l, &ancestor);
		o = glue_find_name(b, &ancestor);
		if (o == NULL)
			return false;
		if ((o->flags & (OWNER_CUT | OWNER_DNAME_TOP)) != 0)
			return true;
	}
	return false;
}

void
glue_warn(struct build *b, const struct rrbatch_rr *rr,
	const struct glue_lack *lack)
{
	struct findings *findings = &build_packer(b)->findings;
	char name[NAME_TEXT_MAX], target[NAME_TEXT_MAX];

	findings_name_text(lack->owner, name);
	findings_name_text(lack->target, target);
	if (lack->cname)
		findings_add(findings, DIAG_WARNING, rr,
			"%s NS %s is a CNAME (RFC 2181 section 10.3)", name,
			target);
	else if (lack->in_domain)
		findings_add(findings, DIAG_WARNING, rr,
			"%s NS %s has no glue address", name, target);
	else if (!lack->hidden && !b->wildcards)
		findings_add(findings, DIAG_WARNING, rr,
			"%s NS %s has no address", name, target);
}

static void
glue_check_use(struct build *b, const struct target_use *use,
	const struct owner *found, bool addresses, bool hidden)
{
	struct glue_lack lack = {
		.owner = use->owner->name,
		.target = use->name.name,
		.hidden = hidden,
	};
	const struct rrset *rrset;

	if (use->rr->type != TYPE_NS || addresses
		|| (use->owner->flags & OWNER_OCCLUDED) != 0)
		return;
	rrset = store_get(store_writer_view(b->writer), use->rrset);
	lack.cname = found != NULL && (found->flags & OWNER_CNAME) != 0;
	lack.in_domain = use->owner->labels > 0
		&& (rrset_tail_targets(rrset_get_tail(rrset))[use->index].flags
			   & TARGET_IN_DOMAIN) != 0;
	glue_warn(b, use->rr, &lack);
}

enum nsd_err
glue_create_target(struct build *b, const struct owner *name,
	store_ref found, bool hidden)
{
	struct store_heap *heap = build_packer(b)->heap;
	store_ref *ref = &b->targets[b->target_count];
	struct glue_target *t = target_create(heap, name, ref);

	if (t == NULL)
		return NSD_E_MEMORY;
	b->target_count++;
	if (found != STORE_NONE)
		node_read_addresses(store_get(store_heap_view(heap), found),
			&t->cell);
	if (hidden && (t->cell.a != STORE_NONE || t->cell.aaaa != STORE_NONE))
		t->cell.link = GLUE_CELL_HIDDEN;
	return NSD_OK;
}

void
glue_set(struct store_heap *heap, store_ref ref, unsigned index,
	store_ref target)
{
	struct glue_target *t = store_edit(heap, target);
	struct rrset *rrset = store_edit(heap, ref);
	const struct rrset_tail *tail = rrset_get_tail(rrset);
	struct rrset_target *targets = (struct rrset_target *)(void *)
		rrset_tail_targets(tail);

	targets[index].glue = target + GLUE_CELL_GRANULES;
	t->refs++;
}

/* Resolves one name, that of the uses start..end of the list. */
static enum nsd_err
glue_resolve(struct build *b, const struct glue_list *list, size_t start,
	size_t end, size_t *at)
{
	struct store_heap *heap = build_packer(b)->heap;
	const struct owner *name = &list->names[start];
	const struct owner *found = glue_find_ascending(b, at, name);
	bool hidden = glue_is_hidden(b, name, found);
	bool addresses = found != NULL && (found->flags & OWNER_ADDRESS) != 0;

	if (glue_create_target(b, name, addresses
			    ? b->name_nodes[found - b->names] : STORE_NONE,
		    hidden) != NSD_OK)
		return NSD_E_MEMORY;
	for (size_t i = start; i < end; i++) {
		struct target_use *use = list->uses[list->names[i].index];

		glue_set(heap, use->rrset, use->index,
			b->targets[b->target_count - 1]);
		glue_check_use(b, use, found, addresses, hidden);
	}
	return NSD_OK;
}

enum nsd_err
glue_build(struct build *b)
{
	struct glue_list list = {0};
	size_t end, at = 0;
	enum nsd_err err = glue_collect(b, &list);

	if (err != NSD_OK)
		return err;
	b->targets = arena_alloc(&b->arena,
		list.count * sizeof(*b->targets));
	if (b->targets == NULL)
		return NSD_E_MEMORY;
	for (size_t start = 0; start < list.count; start = end) {
		end = start + 1;
		while (end < list.count && owner_compare(&list.names[start],
				&list.names[end]) == 0)
			end++;
		err = glue_resolve(b, &list, start, end, &at);
		if (err != NSD_OK)
			return err;
	}
	return NSD_OK;
}
