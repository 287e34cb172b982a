/* sorter.c - sorts records by their owners: sorted runs, which are merged. */
#include "compile/sorter.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "names/owner.h"

/* Octets of a run: the larger, the fewer runs are to be merged; the smaller,
 * the fewer records wait to be sorted. */
#define RUN_OCTETS ((size_t)8 << 20)
/* Size of a mapping of its own, which goes back to the system when freed. */
#define BLOCK_OCTETS ((size_t)256 << 10)

struct sorted_run {
	struct rrbatch *first;  /* the batch that has next; the rest of the run
				 * follows it */
	const struct rrbatch_rr *next;
	size_t left;            /* records in first, from next on */
	struct owner owner;     /* of next */
};

struct zone_sorter {
	const uint8_t *apex;
	size_t apex_len;
	size_t run_octets;
	/* to be sorted: in file order */
	struct rrbatch *first, *last;
	size_t octets;
	struct owner *owners;
	size_t owner_room;
	/* sorted: runs that come earlier in the file first */
	struct sorted_run *runs;
	size_t run_count;
	size_t run_room;
	struct rrbatch *outside, *outside_last;
	/* being merged */
	struct sorted_run **order; /* by their owners; NULL: not yet */
	size_t order_count;
	struct rrbatch_pool *pool; /* of the batches that are given */
};

enum nsd_err
sorter_create(const uint8_t *apex, size_t apex_len, size_t run_octets,
	struct zone_sorter **out)
{
	struct zone_sorter *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NSD_E_MEMORY;
	s->apex = apex;
	s->apex_len = apex_len;
	s->run_octets = run_octets > 0 ? run_octets : RUN_OCTETS;
	s->pool = rrbatch_pool_create();
	if (s->pool == NULL) {
		free(s);
		return NSD_E_MEMORY;
	}
	*out = s;
	return NSD_OK;
}

static void
sorter_forget_unsorted(struct zone_sorter *s)
{
	rrbatch_destroy_all(s->first);
	s->first = s->last = NULL;
	s->octets = 0;
}

static void
sorter_free_owners(struct zone_sorter *s)
{
	free(s->owners);
	s->owners = NULL;
	s->owner_room = 0;
}

void
sorter_destroy(struct zone_sorter *s)
{
	if (s == NULL)
		return;
	sorter_forget_unsorted(s);
	for (size_t i = 0; i < s->run_count; i++)
		rrbatch_destroy_all(s->runs[i].first);
	rrbatch_destroy_all(s->outside);
	sorter_free_owners(s);
	free(s->runs);
	free(s->order);
	rrbatch_pool_destroy(s->pool);
	free(s);
}

/* ---- runs ---------------------------------------------------------------- */

static enum nsd_err
records_append(struct rrbatch **first, struct rrbatch **last,
	const struct rrbatch_rr *rr, const uint8_t *owner, bool same)
{
	struct rrbatch *block = rrbatch_make_room(first, last, rr->rdlen,
		BLOCK_OCTETS);

	if (block == NULL)
		return NSD_E_MEMORY;
	return rrbatch_append(block, rr, same && block->count > 0 ? NULL
		: owner, rrbatch_rr_rdata(rr));
}

/* Room for an owner of each record that names one, and for as many while they
 * are sorted. */
static enum nsd_err
owners_reserve(struct zone_sorter *s)
{
	size_t count = 0;

	for (const struct rrbatch *b = s->first; b != NULL; b = b->next) {
		const struct rrbatch_rr *rr = rrbatch_first(b);

		for (size_t i = 0; i < b->count; i++, rr = rrbatch_next(rr))
			count += rr->owner_len > 0;
	}
	if (count <= s->owner_room)
		return NSD_OK;
	sorter_free_owners(s);
	s->owners = malloc(2 * count * sizeof(*s->owners));
	if (s->owners == NULL)
		return NSD_E_MEMORY;
	s->owner_room = count;
	return NSD_OK;
}

/* Lists the owners that are in the zone; the records of others are put
 * aside. */
static enum nsd_err
owners_list(struct zone_sorter *s, size_t *count)
{
	enum nsd_err err = NSD_OK;
	size_t n = 0;

	for (const struct rrbatch *b = s->first; b != NULL; b = b->next) {
		const struct rrbatch_rr *rr = rrbatch_first(b), *named = rr;
		bool inside = false;

		for (size_t i = 0; i < b->count && err == NSD_OK;
			i++, rr = rrbatch_next(rr)) {
			if (rr->owner_len > 0) {
				struct owner *o = &s->owners[n];

				named = rr;
				o->rr_count = 0;
				o->flags = 0;
				inside = owner_measure(o, rr->data,
					rr->owner_len, s->apex, s->apex_len);
				n += inside;
			}
			if (inside)
				s->owners[n - 1].rr_count++;
			else
				err = records_append(&s->outside,
					&s->outside_last, rr, named->data,
					false);
		}
	}
	*count = n;
	return err;
}

static enum nsd_err
run_fill(struct sorted_run *run, const struct owner *owners, size_t count)
{
	struct rrbatch *last = NULL;

	for (size_t i = 0; i < count; i++) {
		const struct rrbatch_rr *rr = owner_get_rr(&owners[i]);
		bool same = i > 0 && owner_compare(&owners[i - 1],
			&owners[i]) == 0;

		owner_prefetch_records(owners, i, count);
		for (uint32_t n = owners[i].rr_count; n > 0;
			n--, rr = rrbatch_next(rr), same = true) {
			enum nsd_err err = records_append(&run->first, &last,
				rr, owners[i].name, same);

			if (err != NSD_OK)
				return err;
		}
	}
	return NSD_OK;
}

/* Makes a run of the records at hand. */
static enum nsd_err
sorter_make_run(struct zone_sorter *s)
{
	struct sorted_run *runs;
	enum nsd_err err = owners_reserve(s);
	size_t count = 0;

	if (err == NSD_OK)
		err = owners_list(s, &count);
	if (err == NSD_OK && count > 0) {
		runs = grow_array(s->runs, s->run_count, &s->run_room,
			sizeof(*runs));
		if (runs == NULL)
			return NSD_E_MEMORY;
		s->runs = runs;
		runs += s->run_count++;
		memset(runs, 0, sizeof(*runs));
		owner_sort(s->owners, s->owners + count, count);
		err = run_fill(runs, s->owners, count);
	}
	sorter_forget_unsorted(s);
	return err;
}

enum nsd_err
sorter_take(struct zone_sorter *s, struct rrbatch *batch)
{
	batch->next = NULL;
	if (s->last != NULL)
		s->last->next = batch;
	else
		s->first = batch;
	s->last = batch;
	s->octets += batch->len;
	return s->octets < s->run_octets ? NSD_OK : sorter_make_run(s);
}

/* ---- merging ------------------------------------------------------------- */

/* True if a's next records come before those of b. */
static bool
run_is_before(const struct sorted_run *a, const struct sorted_run *b)
{
	int c = owner_compare(&a->owner, &b->owner);

	return c != 0 ? c < 0 : a < b;
}

/* Puts the first run, which has gone on, where it belongs among the others. */
static void
order_put_first(struct zone_sorter *s)
{
	struct sorted_run *run = s->order[0];
	size_t low = 1, high = s->order_count;

	if (high > 1 && run_is_before(run, s->order[1]))
		return;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (run_is_before(s->order[middle], run))
			low = middle + 1;
		else
			high = middle;
	}
	memmove(s->order, s->order + 1, (low - 1) * sizeof(*s->order));
	s->order[low - 1] = run;
}

/* Goes to the first record of the block that is the run's first now. */
static void
run_enter_block(const struct zone_sorter *s, struct sorted_run *run)
{
	run->next = rrbatch_first(run->first);
	run->left = run->first->count;
	(void)owner_measure(&run->owner, run->next->data,
		run->next->owner_len, s->apex, s->apex_len);
}

/* Goes past the next record of the first run. */
static void
order_go_on(struct zone_sorter *s)
{
	struct sorted_run *run = s->order[0];

	if (--run->left > 0) {
		run->next = rrbatch_next(run->next);
		if (run->next->owner_len == 0)
			return;
		(void)owner_measure(&run->owner, run->next->data,
			run->next->owner_len, s->apex, s->apex_len);
	} else {
		struct rrbatch *done = run->first;

		run->first = done->next;
		rrbatch_destroy(done);
		if (run->first == NULL) {
			memmove(s->order, s->order + 1,
				--s->order_count * sizeof(*s->order));
			return;
		}
		run_enter_block(s, run);
	}
	order_put_first(s);
}

static enum nsd_err
sorter_begin_merge(struct zone_sorter *s)
{
	enum nsd_err err = s->first != NULL ? sorter_make_run(s) : NSD_OK;

	sorter_free_owners(s);
	if (err == NSD_OK) {
		s->order = malloc((s->run_count + 1) * sizeof(*s->order));
		err = s->order != NULL ? NSD_OK : NSD_E_MEMORY;
	}
	/* From the last to the first: each is put before those behind it. */
	for (size_t i = s->run_count; err == NSD_OK && i-- > 0;) {
		memmove(s->order + 1, s->order,
			s->order_count++ * sizeof(*s->order));
		s->order[0] = &s->runs[i];
		run_enter_block(s, s->order[0]);
		order_put_first(s);
	}
	return err;
}

/* Moves records into an empty batch while there is room. Where runs are small,
 * batches are, too. */
static enum nsd_err
sorter_fill(struct zone_sorter *s, struct rrbatch *batch)
{
	struct owner last = {.flags = 0}; /* in the batch */
	enum nsd_err err = NSD_OK;

	while (err == NSD_OK && s->order_count > 0
		&& batch->len < s->run_octets) {
		const struct sorted_run *run = s->order[0];
		const struct rrbatch_rr *rr = run->next;
		struct rrbatch_rr *copy = (struct rrbatch_rr *)(batch->data
			+ batch->len);
		bool same = batch->count > 0
			&& owner_compare(&last, &run->owner) == 0;

		if (batch->capacity - batch->len < sizeof(*rr) + NAME_MAX_LEN
				+ rr->rdlen + 3)
			break;
		err = rrbatch_append(batch, rr, same ? NULL : run->owner.name,
			rrbatch_rr_rdata(rr));
		if (!same) {
			last = run->owner;
			last.name = copy->data;
		}
		if (err == NSD_OK)
			order_go_on(s);
	}
	return err;
}

enum nsd_err
sorter_next(struct zone_sorter *s, struct rrbatch **out)
{
	enum nsd_err err = NSD_OK;
	struct rrbatch *batch;

	*out = NULL;
	if (s->order == NULL)
		err = sorter_begin_merge(s);
	if (err != NSD_OK)
		return err;
	if (s->order_count == 0) {
		batch = s->outside;
		if (batch != NULL)
			s->outside = batch->next;
		*out = batch;
		return NSD_OK;
	}
	batch = rrbatch_pool_take(s->pool, BLOCK_OCTETS);
	if (batch == NULL)
		return NSD_E_MEMORY;
	err = sorter_fill(s, batch);
	if (err == NSD_OK)
		*out = batch;
	else
		rrbatch_destroy(batch);
	return err;
}
