/*
 * xfrd_skipped.c - lines of the zone list that add no zone now, as no
 * pattern of theirs is known. They stay, as the pattern may come back with
 * another start; unless their zone comes with another line, or goes: a line
 * that stayed then would bring the zone back as it was.
 */
#include "config.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "conf/zonelist.h"
#include "xfrd/xfrd_changes.h"

/* A line that was skipped. */
struct skipped_line {
	const uint8_t *wire;         /* must be first: it is looked for */
	struct skipped_line *next; /* of the same zone */
	uint64_t at;
	const char *id;              /* as its ID, for zonelist_restore; NULL */
	bool is_removed;
	uint8_t octets[];
};

static int
skipped_compare(const void *a, const void *b)
{
	return name_compare(*(uint8_t *const *)a, *(uint8_t *const *)b);
}

static struct skipped_line *
skipped_find(const struct xfrd_changes *changes, const uint8_t *wire)
{
	struct skipped_line **found = tfind(&wire, &changes->skipped,
		skipped_compare);

	return found != NULL ? *found : NULL;
}

enum nsd_err
xfrd_skipped_add(struct xfrd_changes *changes, const uint8_t *wire,
	const struct zonelist_line *line)
{
	size_t len = name_len(wire);
	struct skipped_line *skipped = calloc(1, sizeof(*skipped) + len);
	struct skipped_line **found;

	if (skipped == NULL)
		return NSD_E_MEMORY;
	skipped->wire = memcpy(skipped->octets, wire, len);
	skipped->at = line->offset;
	if (line->id != NULL)
		skipped->id = zonelist_id_is_of_source(line->id) ? "." : "x";
	found = tsearch(skipped, &changes->skipped, skipped_compare);
	if (found == NULL) {
		free(skipped);
		return NSD_E_MEMORY;
	}
	if (*found != skipped) {
		skipped->next = (*found)->next;
		(*found)->next = skipped;
	}
	changes->unused++;
	return NSD_OK;
}

bool
xfrd_skipped_has(const struct xfrd_changes *changes, const uint8_t *wire)
{
	return skipped_find(changes, wire) != NULL;
}

enum nsd_err
xfrd_skipped_remove(struct xfrd_changes *changes, const uint8_t *wire)
{
	struct skipped_line *skipped = skipped_find(changes, wire);
	enum nsd_err err = NSD_OK;

	for (; skipped != NULL && err == NSD_OK; skipped = skipped->next) {
		if (!skipped->is_removed)
			err = zonelist_remove(changes->list, skipped->at);
		skipped->is_removed = err == NSD_OK;
	}
	return err;
}

enum nsd_err
xfrd_skipped_restore(struct xfrd_changes *changes, const uint8_t *wire)
{
	struct skipped_line *skipped = skipped_find(changes, wire);
	enum nsd_err err = NSD_OK;

	for (; skipped != NULL && err == NSD_OK; skipped = skipped->next) {
		if (skipped->is_removed)
			err = zonelist_restore(changes->list, skipped->at,
				skipped->id);
		skipped->is_removed = err != NSD_OK;
	}
	return err;
}

static void
skipped_free(void *first)
{
	struct skipped_line *skipped = first, *next;

	for (; skipped != NULL; skipped = next) {
		next = skipped->next;
		free(skipped);
	}
}

void
xfrd_skipped_drop(struct xfrd_changes *changes, const uint8_t *wire)
{
	struct skipped_line *first = skipped_find(changes, wire);

	if (first == NULL)
		return;
	for (const struct skipped_line *i = first; i != NULL; i = i->next) {
		/* Without its zone's new line alone the list is no truth. */
		if (i->is_removed)
			zonelist_free_place(changes->list, i->at);
		else
			changes->list->renew = true;
		changes->unused -= changes->unused > 0;
	}
	tdelete(first, &changes->skipped, skipped_compare);
	skipped_free(first);
}

void
xfrd_skipped_drop_all(struct xfrd_changes *changes)
{
	tdestroy(changes->skipped, skipped_free);
	changes->skipped = NULL;
}
