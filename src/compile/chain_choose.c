/* chain_choose.c - chooses the chain of NSEC3 records that is used: that with
 * the parameters of an NSEC3PARAM at the apex (RFC 5155 section 4). */
#include <assert.h>
#include <string.h>

#include "compile/build_pass.h"
#include "compile/pack_parts.h"

#define CHOICES_MAX 16u

struct chain_option {
	struct nsec3_params params;
	const struct rrbatch_rr *rr;
	size_t records; /* of the chain; atomic */
};

struct choices {
	struct chain_option items[CHOICES_MAX];
	size_t count;
};

bool
chain_use_params(struct build *b, const struct rrbatch_rr *rr)
{
	const uint8_t *rdata = rrbatch_rr_rdata(rr);

	if (!nsec3_params_read(rr, &b->zone.params)
		|| rdata[0] != NSEC3_ALGORITHM_SHA1 || rdata[1] != 0)
		return false;
	b->params_rr = rr;
	return true;
}

/* Keeps parameters in order, each once. Of too many the first stay. */
static void
choices_insert(struct choices *choices, const struct nsec3_params *params,
	const struct rrbatch_rr *rr)
{
	struct chain_option *items = choices->items;
	size_t at = 0;

	while (at < choices->count
		&& nsec3_params_compare(&items[at].params, params) < 0)
		at++;
	if (at == CHOICES_MAX || (at < choices->count
			&& nsec3_params_compare(&items[at].params, params)
				== 0))
		return;
	assert(choices->count <= CHOICES_MAX);
	if (choices->count == CHOICES_MAX)
		choices->count--;
	memmove(&items[at + 1], &items[at],
		(choices->count - at) * sizeof(*items));
	items[at].params = *params;
	items[at].rr = rr;
	items[at].records = 0;
	choices->count++;
}

static void
choices_add(struct build *b, struct choices *choices,
	const struct rrbatch_rr *rr)
{
	struct findings *findings = &build_packer(b)->findings;
	const uint8_t *rdata = rrbatch_rr_rdata(rr);
	struct nsec3_params params;

	if (!nsec3_params_read(rr, &params))
		return;
	if (rdata[0] != NSEC3_ALGORITHM_SHA1) {
		findings_add(findings, DIAG_WARNING, rr,
			"NSEC3PARAM with hash algorithm %u is not used",
			(unsigned)rdata[0]);
		return;
	}
	/* RFC 5155 section 4.1.2: a chain with flags may be incomplete; it is
	 * not for authoritative servers. */
	if (rdata[1] != 0) {
		findings_add(findings, DIAG_WARNING, rr,
			"NSEC3PARAM with flags %u is not used",
			(unsigned)rdata[1]);
		return;
	}
	choices_insert(choices, &params, rr);
}

static void
choices_list(struct build *b, struct choices *choices)
{
	for (size_t i = 0; i < b->name_count && b->names[i].labels == 0; i++) {
		const struct rrbatch_rr *rr;

		if (b->names[i].rr_count == 0)
			continue;
		rr = owner_get_rr(&b->names[i]);
		for (uint32_t n = 0; n < b->names[i].rr_count;
			n++, rr = rrbatch_next(rr))
			if (rr->type == TYPE_NSEC3PARAM)
				choices_add(b, choices, rr);
	}
}

/* ---- of several -------------------------------------------------------- */

/* True if the run of owners has an NSEC3 record with the parameters. */
static bool
run_has_params(const struct build *b, const struct owner *run,
	const struct nsec3_params *params)
{
	size_t owners = run_count(b, run);

	for (size_t o = 0; o < owners; o++) {
		const struct rrbatch_rr *rr;

		if (run[o].rr_count == 0)
			continue;
		rr = owner_get_rr(&run[o]);
		for (uint32_t n = 0; n < run[o].rr_count;
			n++, rr = rrbatch_next(rr))
			if (rr->type == TYPE_NSEC3
				&& nsec3_has_params(rr, params))
				return true;
	}
	return false;
}

/* Counts names, not records: a name with two counts once. */
static void
count_owners(const struct build_worker *w, const struct owner *owners,
	size_t count, const struct choices *choices, size_t found[CHOICES_MAX])
{
	unsigned workers = w->build->worker_count;
	size_t start = count * w->number / workers;
	size_t end = count * (w->number + 1) / workers;

	for (size_t i = start; i < end; i++) {
		if ((owners[i].flags & OWNER_AGAIN) != 0
			|| (owners[i].flags & OWNER_NSEC3) == 0)
			continue;
		for (size_t c = 0; c < choices->count; c++)
			found[c] += run_has_params(w->build, &owners[i],
				&choices->items[c].params);
	}
}

static enum nsd_err
count_worker(struct build_worker *w)
{
	const struct build *b = w->build;
	struct choices *choices = (struct choices *)w->pass_arg;
	size_t found[CHOICES_MAX] = {0};

	count_owners(w, b->hashes, b->hash_count, choices, found);
	if (b->nsec3_in_names)
		count_owners(w, b->names, b->name_count, choices, found);
	for (size_t c = 0; c < choices->count; c++)
		__atomic_fetch_add(&choices->items[c].records, found[c],
			__ATOMIC_RELAXED);
	return NSD_OK;
}

/*
 * While the parameters change there are two chains, and one of them may be
 * incomplete. The chain with the most records is the best choice. Of chains
 * with equally many, the one with fewer iterations counts, whatever the order
 * of the input. So an update chooses the same.
 */
static enum nsd_err
choices_find_best(struct build *b, struct choices *choices, size_t *best)
{
	enum nsd_err err;

	*best = 0;
	if (choices->count == 1)
		return NSD_OK;
	for (unsigned i = 0; i < b->worker_count; i++)
		b->workers[i].pass_arg = choices;
	err = workers_run(b, count_worker);
	for (size_t c = 1; c < choices->count; c++)
		if (choices->items[c].records > choices->items[*best].records)
			*best = c;
	findings_add(&build_packer(b)->findings, DIAG_WARNING,
		choices->items[*best].rr,
		"of %zu NSEC3PARAM records this one is used, with %zu NSEC3 "
		"records", choices->count, choices->items[*best].records);
	return err;
}

/* ---- none -------------------------------------------------------------- */

static const struct rrbatch_rr *
owners_find_nsec3(const struct owner *owners, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct rrbatch_rr *rr;

		if ((owners[i].flags & OWNER_NSEC3) == 0
			|| owners[i].rr_count == 0)
			continue;
		rr = owner_get_rr(&owners[i]);
		for (uint32_t n = 0; n < owners[i].rr_count;
			n++, rr = rrbatch_next(rr))
			if (rr->type == TYPE_NSEC3)
				return rr;
	}
	return NULL;
}

static void
chain_warn_of_none(struct build *b)
{
	const struct rrbatch_rr *rr = owners_find_nsec3(b->hashes,
		b->hash_count);

	if (rr == NULL && b->nsec3_in_names)
		rr = owners_find_nsec3(b->names, b->name_count);
	if (rr != NULL)
		findings_add(&build_packer(b)->findings, DIAG_WARNING, rr,
			"NSEC3 records are not used: there is no NSEC3PARAM "
			"for them");
}

enum nsd_err
chain_choose(struct build *b)
{
	struct choices choices = {.count = 0};
	size_t best;
	enum nsd_err err;

	choices_list(b, &choices);
	if (choices.count == 0) {
		chain_warn_of_none(b);
		return NSD_OK;
	}
	err = choices_find_best(b, &choices, &best);
	if (err != NSD_OK)
		return err;
	b->zone.params = choices.items[best].params;
	b->params_rr = choices.items[best].rr;
	return NSD_OK;
}
