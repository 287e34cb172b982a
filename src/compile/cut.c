/* cut.c - cuts the batches of a file into parts. The last owner of a batch may
 * have more records in the next one, so it goes to the next part. */
#include "compile/cut.h"

#include <string.h>

static void
cut_append(struct cut *c, struct rrbatch *batch)
{
	batch->next = NULL;
	if (c->last != NULL)
		c->last->next = batch;
	else
		c->first = batch;
	c->last = batch;
	c->octets += batch->len;
}

/* Finds the begin of the records of the last owner of a batch; before: the
 * count of records in front of them. NULL: the batch has one owner. */
static struct rrbatch_rr *
batch_find_last_owner(struct rrbatch *batch, size_t *before)
{
	const struct rrbatch_rr *rr = rrbatch_first(batch), *owner = rr;
	size_t found = 0;

	for (size_t i = 0; i < batch->count; i++, rr = rrbatch_next(rr)) {
		if (rr->owner_len == 0 || (rr->owner_len == owner->owner_len
				&& memcmp(rr->data, owner->data,
					   rr->owner_len) == 0))
			continue;
		owner = rr;
		found = (size_t)((const uint8_t *)rr - batch->data);
		*before = i;
	}
	return found == 0 ? NULL : (struct rrbatch_rr *)(batch->data + found);
}

/* Takes the records of the last owner out of the last batch, unless all its
 * records are of one owner. */
static enum nsd_err
cut_split(struct cut *c)
{
	struct rrbatch *batch = c->last;
	size_t before = 0, len;
	struct rrbatch_rr *from = batch_find_last_owner(batch, &before);

	if (from == NULL)
		return NSD_OK;
	len = (size_t)(batch->data + batch->len - (uint8_t *)from);
	c->rest = rrbatch_create(len);
	if (c->rest == NULL)
		return NSD_E_MEMORY;
	memcpy(c->rest->data, from, len);
	c->rest->len = len;
	c->rest->count = batch->count - before;
	batch->len -= len;
	batch->count = before;
	return NSD_OK;
}

void
cut_init(struct cut *c, size_t part_octets)
{
	c->part_octets = part_octets;
}

enum nsd_err
cut_sort(struct cut *c, const uint8_t *apex, size_t apex_len,
	size_t run_octets)
{
	return sorter_create(apex, apex_len, run_octets, &c->sorter);
}

/* As cut_add, for a batch that is in order. */
static enum nsd_err
cut_take(struct cut *c, struct rrbatch *batch, bool *complete)
{
	enum nsd_err err;

	if (batch->count == 0) {
		rrbatch_destroy(batch);
		return NSD_OK;
	}
	cut_append(c, batch);
	if (c->octets < c->part_octets)
		return NSD_OK;
	err = cut_split(c);
	*complete = c->rest != NULL;
	return err;
}

enum nsd_err
cut_add(struct cut *c, struct rrbatch *batch, bool *complete)
{
	*complete = false;
	return c->sorter != NULL ? sorter_take(c->sorter, batch)
				 : cut_take(c, batch, complete);
}

enum nsd_err
cut_next(struct cut *c, bool *complete)
{
	struct rrbatch *batch;
	enum nsd_err err = NSD_OK;

	*complete = false;
	while (err == NSD_OK && c->sorter != NULL && !*complete) {
		err = sorter_next(c->sorter, &batch);
		if (err != NSD_OK || batch == NULL)
			break;
		err = cut_take(c, batch, complete);
	}
	return err;
}

void
cut_forget(struct cut *c)
{
	struct rrbatch *rest = c->rest;

	rrbatch_destroy_all(c->first);
	c->first = c->last = c->rest = NULL;
	c->octets = 0;
	if (rest != NULL)
		cut_append(c, rest);
}

void
cut_fini(struct cut *c)
{
	rrbatch_destroy_all(c->first);
	rrbatch_destroy(c->rest);
	c->first = c->last = c->rest = NULL;
	sorter_destroy(c->sorter);
	c->sorter = NULL;
}

uint64_t
cut_count(const struct cut *c)
{
	uint64_t count = 0;

	for (const struct rrbatch *b = c->first; b != NULL; b = b->next)
		count += b->count;
	return count;
}
