/* catalog_changes.c - which member nodes of a catalog the changesets of its
 * history touch. */
#include <stdlib.h>
#include <string.h>

#include "catalog/catalog.h"
#include "zone/history.h"

struct catalog_changes_read {
	const uint8_t *apex;
	bool (*on_change)(void *ctx, const struct catalog_change *change);
	void *ctx;
	unsigned records;
	struct history_unpacked unpacked;
};

/* Finds the label of a member node in a name at or below it. NULL: the name is
 * another one. *is_node: it is the node itself. */
static const uint8_t *
labels_find_member(const struct history_rr *rr, bool *is_node)
{
	const uint8_t *at = rr->labels, *end = at + rr->labels_len;
	const uint8_t *last = NULL, *before = NULL;

	for (; at < end; at += 1u + *at) {
		before = last;
		last = at;
	}
	if (before == NULL || *last != 5
		|| strncasecmp((const char *)last + 1, "zones", 5) != 0)
		return NULL;
	*is_node = before == rr->labels;
	return before;
}

static enum nsd_err
changes_take_record(struct catalog_changes_read *read,
	const struct history_rr *rr, bool is_removed)
{
	struct catalog_change change = {.is_removed = is_removed};
	const uint8_t *label = labels_find_member(rr, &change.is_ptr);

	/* A cut hides names that the changesets do not have, or shows them. */
	if (rr->type == TYPE_DNAME
		|| (rr->type == TYPE_NS && rr->labels_len > 0))
		return NSD_E_NOT_FOUND;
	if (label == NULL)
		return NSD_OK;
	change.is_ptr &= rr->type == TYPE_PTR;
	for (unsigned i = 0; i <= *label; i++)
		change.label[i] = name_lower_octet(label[i]);
	if (change.is_ptr) {
		if (history_unpack(read->apex, rr, &read->unpacked) != NSD_OK)
			return NSD_E_WIRE;
		name_lower(read->unpacked.rdata);
		change.target = read->unpacked.rdata;
	}
	return read->on_change(read->ctx, &change) ? NSD_OK : NSD_E_LIMIT;
}

/* The second SOA record ends those that are removed. */
static enum nsd_err
changes_read_changeset(struct catalog_changes_read *read,
	const struct zone_changeset *changeset)
{
	unsigned soas = 0;
	struct cursor cursor;
	enum nsd_err err = NSD_OK;

	cursor_init(&cursor, changeset->data, changeset->len);
	while (err == NSD_OK && cursor.at < cursor.end) {
		struct history_rr rr;

		err = history_read(&cursor, &rr);
		if (err == NSD_OK && read->records++ >= CATALOG_CHANGES_MAX)
			err = NSD_E_LIMIT;
		if (err != NSD_OK)
			break;
		if (rr.type == TYPE_SOA && rr.labels_len == 0)
			soas++;
		else
			err = changes_take_record(read, &rr, soas < 2);
	}
	return err;
}

enum nsd_err
catalog_changes(const struct store_view *view, const struct zone_entry *entry,
	const uint8_t *apex, uint32_t from, uint32_t to,
	bool (*on_change)(void *ctx, const struct catalog_change *change),
	void *ctx)
{
	struct catalog_changes_read *read = malloc(sizeof(*read));
	struct history_path path;
	enum nsd_err err;

	if (read == NULL)
		return NSD_E_MEMORY;
	read->apex = apex;
	read->on_change = on_change;
	read->ctx = ctx;
	read->records = 0;
	err = history_find(view, entry, from, to, &path);
	if (err != NSD_OK)
		goto free_read;
	for (size_t i = path.count; i > 0 && err == NSD_OK; i--)
		err = changes_read_changeset(read, store_get(view,
			path.changesets[i - 1]));
	free(path.changesets);
free_read:
	free(read);
	return err;
}
