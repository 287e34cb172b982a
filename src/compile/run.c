/* run.c - lists the records of a name. An owner is only the records that stand
 * together in the input, so a name may be a run of several owners. */
#include "compile/build_pass.h"

/* True for a type that a zone cannot have. RFC 6895 section 3.1 keeps a range
 * for questions and messages; types of it without a meaning yet are served, as
 * by other servers, with a warning. */
static bool
run_refuses_type(struct build_worker *w, const struct rrbatch_rr *rr,
	bool tells)
{
	bool refuses = rr->type == 0 || rrtype_is_meta(rr->type);
	char type[RRTYPE_TEXT_MAX];

	if (!tells)
		return refuses;
	rrtype_print(rr->type, type);
	findings_add(&w->packer.findings,
		refuses ? packer_severity(&w->packer) : DIAG_WARNING, rr,
		refuses ? "%s cannot be in a zone"
			: "%s is a type that only questions should have",
		type);
	return refuses;
}

static bool
item_is_chosen(const struct item *item, enum item_choice choice)
{
	bool nsec3 = item->key >> 1 == TYPE_NSEC3;

	return choice == ITEMS_ALL || nsec3 == (choice == ITEMS_CHAIN);
}

/* Lists the records of a run; those that no zone can hold are left out. */
static size_t
run_list_items(struct build_worker *w, const struct owner *run, size_t owners,
	enum item_choice choice)
{
	size_t n = 0;

	for (size_t o = 0; o < owners; o++) {
		const struct rrbatch_rr *rr = owner_get_rr(&run[o]);

		for (uint32_t i = 0; i < run[o].rr_count;
			i++, rr = rrbatch_next(rr)) {
			struct item *item = &w->packer.items[n];

			item->rr = rr;
			item->order = (uint32_t)n;
			item->key = items_key(rr);
			if ((rr->type == 0 || (rr->type >= 128
				    && rr->type < 256)
				|| rr->type == TYPE_OPT)
				&& run_refuses_type(w, rr,
					choice != ITEMS_CHAIN))
				continue;
			n += item_is_chosen(item, choice);
		}
	}
	return n;
}

static bool
items_in_order(const struct item *items, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (items[i - 1].key >= items[i].key)
			return false;
	return true;
}

size_t
run_count(const struct build *b, const struct owner *run)
{
	const struct owner *end = b->names + b->name_count;
	size_t owners = 1;

	if (run >= b->hashes && run < b->hashes + b->hash_count)
		end = b->hashes + b->hash_count;
	while (run + owners < end && (__atomic_load_n(&run[owners].flags,
			__ATOMIC_RELAXED) & OWNER_AGAIN) != 0)
		owners++;
	return owners;
}

enum nsd_err
run_list_groups(struct build_worker *w, const struct owner *run,
	enum item_choice choice, size_t *count)
{
	size_t owners = run_count(w->build, run), total = 0;
	struct packer *p = &w->packer;

	for (size_t i = 0; i < owners; i++)
		total += run[i].rr_count;
	if (total > UINT32_MAX / 2)
		return NSD_E_MEMORY;
	p->items = packer_reserve(p, p->items, &p->items_room, total * 2,
		sizeof(*p->items));
	if (p->items == NULL)
		return NSD_E_MEMORY;
	total = run_list_items(w, run, owners, choice);
	if (!items_in_order(p->items, total))
		items_sort(p->items, p->items + total, total);
	return items_group(p, run, p->items, total, count);
}
