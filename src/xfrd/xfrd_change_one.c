/* xfrd_change_one.c - a single change of a zone: created, found and ended. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dns/name.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_changes.h"

void
xfrd_change_free(struct xfrd_change *change)
{
	cds_list_del(&change->node);
	cds_list_del(&change->same);
	free(change->pattern);
	free(change->member);
	free(change->expect);
	free(change);
}

/* Copies a text, or none. False: without memory. */
static bool
change_copy(char **copy, const char *text)
{
	*copy = text != NULL ? strdup(text) : NULL;
	return text == NULL || *copy != NULL;
}

struct xfrd_change *
xfrd_change_create(struct xfrd *xfrd, const struct xfrd_change_ask *ask)
{
	size_t size = strlen(ask->name) + 1;
	struct xfrd_change *change = calloc(1, sizeof(*change) + size);

	assert(ask->kind == XFRD_CHANGE_DELETE || ask->pattern != NULL);
	if (change == NULL)
		return NULL;
	CDS_INIT_LIST_HEAD(&change->node);
	CDS_INIT_LIST_HEAD(&change->same);
	memcpy(change->name, ask->name, size);
	change->xfrd = xfrd;
	change->kind = ask->kind;
	change->on_end = ask->on_end;
	change->ctx = ask->ctx;
	change->no_wait = ask->no_wait;
	change->comes_anew = ask->comes_anew;
	if (change_copy(&change->expect, ask->expect)
		&& (ask->kind == XFRD_CHANGE_DELETE
			|| (change_copy(&change->pattern, ask->pattern)
				&& change_copy(&change->member, ask->member))))
		return change;
	xfrd_change_free(change);
	return NULL;
}

/* Returns the bucket of a zone, in lower case. Others may have chosen its
 * name. */
static struct cds_list_head *
change_bucket(const struct xfrd *xfrd, const uint8_t *wire)
{
	uint64_t hash = siphash(xfrd->zones.table.key, wire, name_len(wire), 1,
		3);

	return &xfrd->changes->same[hash % XFRD_CHANGE_BUCKETS];
}

void
xfrd_change_note(struct xfrd_change *change)
{
	assert(cds_list_empty(&change->same));
	assert(xfrd_change_find(change->xfrd, change->wire) == NULL);
	cds_list_add_tail(&change->same,
		change_bucket(change->xfrd, change->wire));
}

void
xfrd_change_forget(struct xfrd_change *change)
{
	cds_list_del_init(&change->same);
}

struct xfrd_change *
xfrd_change_find(const struct xfrd *xfrd, const uint8_t *wire)
{
	const struct cds_list_head *bucket = change_bucket(xfrd, wire);
	struct xfrd_change *other;

	cds_list_for_each_entry(other, bucket, same)
		if (name_equal(other->wire, wire))
			return other;
	return NULL;
}

bool
xfrd_change_is_told(const struct xfrd_change *change)
{
	return change->expect == NULL && (change->member == NULL
		|| !zonelist_id_is_of_source(change->member));
}

void
xfrd_change_move(struct xfrd_change *change, struct cds_list_head *list)
{
	cds_list_del(&change->node);
	cds_list_add_tail(&change->node, list);
}

void
xfrd_change_end(struct xfrd_change *change, enum xfrd_changed outcome,
	const char *why)
{
	const struct xfrd_change_end end = {
		.outcome = outcome,
		.created = change->created,
		.is_later = change->file == IPC_ZONE_LATER,
		.why = why,
	};
	xfrd_change_on_end *on_end = change->on_end;
	void *ctx = change->ctx;

	if (change->is_held)
		xfrd_client_update_release(change->xfrd, change->wire);
	xfrd_change_free(change);
	if (on_end != NULL)
		on_end(ctx, &end);
}
