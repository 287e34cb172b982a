/*
 * shape.c - the second pass: walks the names in order. It adds the empty
 * non-terminals and finds wildcards, zone cuts, and the names that cuts and
 * DNAMEs hide.
 */
#include <assert.h>
#include <string.h>

#include "base/assert.h"
#include "compile/build_pass.h"
#include "compile/carry.h"

/* In canonical order the ancestors of a name are the last name seen at each
 * depth. */
void
shape_place(struct shape_walk *s, struct owner *o, unsigned common)
{
	ASSERT_HOT(o->labels <= NAME_MAX_LABELS);
	ASSERT_HOT(o->labels == 0 || s->path[o->labels - 1] != NULL);
	if (s->covered && common < s->cover)
		s->covered = false;
	if (s->covered)
		o->flags |= OWNER_OCCLUDED;
	else if (o->labels > 0 && (o->flags & OWNER_NS) != 0)
		o->flags |= OWNER_CUT;
	if (!s->covered && (o->flags & OWNER_DNAME) != 0)
		o->flags |= OWNER_DNAME_TOP;
	if (!s->covered && (o->flags & (OWNER_CUT | OWNER_DNAME)) != 0) {
		s->covered = true;
		s->cover = o->labels;
	}
	if (o->labels > 0 && name_is_wildcard(o->name)) {
		o->flags |= OWNER_WILDCARD;
		s->path[o->labels - 1]->flags |= OWNER_WILDCARD_CHILD;
		s->wildcards++;
	}
	if ((o->flags & OWNER_DNAME_TOP) != 0)
		s->dnames++;
	s->path[o->labels] = o;
}

void
shape_check_dname(struct shape_walk *s, struct packer *p,
	const struct owner *owner)
{
	struct owner *dname = s->path[s->cover];
	char text[NAME_TEXT_MAX];

	if ((dname->flags & OWNER_DNAME_TOP) == 0
		|| (dname->flags & OWNER_CUT) != 0
		|| (dname->flags & OWNER_DNAME) == 0)
		return;
	dname->flags &= (uint16_t)~OWNER_DNAME; /* told */
	findings_add(&p->findings, packer_severity(p), owner_get_rr(owner),
		"DNAME at %s has data below it. This is not allowed "
		"(RFC 6672 section 2.4)",
		findings_name_text(dname->name, text));
}

struct shape {
	struct build *build;
	struct owner *out;
	size_t count;
	struct shape_walk *walk;
	bool empty; /* no name has been there yet, in any part */
};

/* Appends a name. */
static void
shape_append(struct shape *s, const struct owner *owner, unsigned common)
{
	struct owner *o = &s->out[s->count++];

	if (o != owner)
		*o = *owner;
	shape_place(s->walk, o, common);
	s->empty = false;
}

/* Marks the owners that have the name of the first, and gives it the flags of
 * all. Returns how many they are, the first included. */
static size_t
shape_join_run(struct owner *run, size_t count)
{
	size_t n;

	for (n = 1; n < count; n++) {
		owner_prefetch_name(run, n, count);
		if (owner_compare(&run[0], &run[n]) != 0)
			break;
		run[0].flags |= run[n].flags & (OWNER_NS | OWNER_DNAME
			| OWNER_CNAME | OWNER_ADDRESS | OWNER_OTHER
			| OWNER_NSEC3);
		run[n].flags |= OWNER_AGAIN;
	}
	return n;
}

/* Counts the empty non-terminals that a name needs above it. */
static unsigned
shape_count_missing(const struct owner *owner, unsigned common)
{
	return owner->labels > common + 1 ? owner->labels - common - 1 : 0;
}

/* Joins runs and counts the empty non-terminals. */
static size_t
shape_count(struct build *b)
{
	const struct owner *before = carry_get_last(b->carry);
	size_t missing = 0, n;

	for (size_t i = 0; i < b->name_count; i += n) {
		struct owner *o = &b->names[i];

		n = shape_join_run(o, b->name_count - i);
		if (before == NULL)
			missing += o->labels; /* ancestors, the apex, too */
		else if (o->labels > 1)
			missing += shape_count_missing(o,
				owner_count_common(before, o));
		before = o;
	}
	return missing;
}

static void
shape_add_run(struct shape *s, const struct owner *run, size_t n,
	unsigned common)
{
	unsigned missing = s->empty ? run->labels
				    : shape_count_missing(run, common);

	for (unsigned l = run->labels - missing; l < run->labels; l++) {
		struct owner parent;

		owner_get_ancestor(run, l, &parent);
		shape_append(s, &parent, common);
		common = l;
	}
	shape_append(s, run, common);
	if ((s->out[s->count - 1].flags & OWNER_OCCLUDED) != 0)
		shape_check_dname(s->walk, build_packer(s->build),
			run);
	for (size_t i = 1; i < n; i++) {
		if (&s->out[s->count] != &run[i])
			s->out[s->count] = run[i];
		s->count++;
	}
}

enum nsd_err
shape_build(struct build *b)
{
	struct shape_walk walk = {.covered = false};
	struct shape s = {.build = b, .out = b->names, .walk = &walk};
	size_t missing = shape_count(b), n;
	const struct owner *before = carry_get_last(b->carry);

	if (b->carry != NULL)
		s.walk = &b->carry->walk;
	s.empty = before == NULL;

	if (missing > 0) {
		s.out = arena_alloc(build_part(b),
			(b->name_count + missing) * sizeof(*s.out));
		if (s.out == NULL)
			return NSD_E_MEMORY;
	}
	for (size_t i = 0; i < b->name_count; i += n) {
		const struct owner *o = &b->names[i];
		unsigned common = before == NULL ? 0
			: owner_count_common(before, o);

		for (n = 1; i + n < b->name_count; n++) {
			owner_prefetch_name(o, n, b->name_count - i);
			if ((o[n].flags & OWNER_AGAIN) == 0)
				break;
		}
		shape_add_run(&s, o, n, common);
		before = o;
	}
	assert(s.count == b->name_count + missing);
	b->names = s.out;
	b->name_count = s.count;
	b->wildcards = s.walk->wildcards;
	b->dnames = s.walk->dnames;
	for (size_t i = 0; i < b->hash_count; i += n)
		n = shape_join_run(&b->hashes[i], b->hash_count - i);
	return NSD_OK;
}
