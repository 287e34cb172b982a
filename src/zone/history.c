/* history.c - reads what the last versions of a zone differ by. */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "dns/message.h"
#include "dns/name.h"
#include "zone/history.h"

#define POINTER 0xc0u /* RFC 1035 section 4.1.4 */

/* ---- changesets ---------------------------------------------------------- */

static enum nsd_err
path_add(struct history_path *path, store_ref ref)
{
	store_ref *changesets = grow_array(path->changesets, path->count,
		&path->room, sizeof(*changesets));

	if (changesets == NULL)
		return NSD_E_MEMORY;
	path->changesets = changesets;
	path->changesets[path->count++] = ref;
	return NSD_OK;
}

/* Walks the changesets that lead to a serial, up to one that begins at *from
 * (NULL: all). */
static enum nsd_err
path_walk(const struct store_view *view, const struct zone_entry *entry,
	const uint32_t *from, uint32_t to, struct history_path *path)
{
	store_ref ref = store_load_ref(&entry->history);

	for (unsigned i = 0; i < HISTORY_CHANGESETS_MAX
		&& ref != STORE_NONE; i++) {
		const struct zone_changeset *changeset = store_get(view, ref);

		path->looked++;
		if (changeset->to == to) {
			if (path_add(path, ref) != NSD_OK)
				return NSD_E_MEMORY;
			if (from != NULL && changeset->from == *from)
				return NSD_OK;
			to = changeset->from;
		} else if (path->count > 0) {
			break;
		}
		ref = store_load_ref(&changeset->older);
	}
	return from != NULL ? NSD_E_NOT_FOUND : NSD_OK;
}

static enum nsd_err
path_find(const struct store_view *view, const struct zone_entry *entry,
	const uint32_t *from, uint32_t to, struct history_path *path)
{
	enum nsd_err err;

	*path = (struct history_path){.changesets = NULL};
	err = path_walk(view, entry, from, to, path);
	if (err != NSD_OK) {
		free(path->changesets);
		*path = (struct history_path){.looked = path->looked};
	}
	return err;
}

enum nsd_err
history_find(const struct store_view *view, const struct zone_entry *entry,
	uint32_t from, uint32_t to, struct history_path *path)
{
	return path_find(view, entry, &from, to, path);
}

enum nsd_err
history_list(const struct store_view *view, const struct zone_entry *entry,
	uint32_t to, struct history_path *path)
{
	return path_find(view, entry, NULL, to, path);
}

/* ---- records ------------------------------------------------------------- */

/* Moves behind the labels of an owner, and behind its pointer. */
static void
read_labels(struct cursor *c, struct history_rr *rr)
{
	const uint8_t *start = c->at;
	uint8_t len;

	while ((len = cursor_read_u8(c)) != POINTER) {
		if (len == 0 || len > LABEL_MAX_LEN)
			c->failed = true;
		if (cursor_read_octets(c, len) == NULL)
			return;
	}
	if (c->at - start > NAME_MAX_LEN
		|| cursor_read_u8(c) != MESSAGE_HEADER_LEN) {
		c->failed = true;
		return;
	}
	rr->labels = start;
	rr->labels_len = (uint8_t)(c->at - start - 2);
}

enum nsd_err
history_read(struct cursor *c, struct history_rr *rr)
{
	read_labels(c, rr);
	rr->type = cursor_read_u16(c);
	if (cursor_read_u16(c) != CLASS_IN)
		c->failed = true;
	rr->ttl_sec = cursor_read_u32(c);
	rr->rdlen = cursor_read_u16(c);
	rr->rdata = cursor_read_octets(c, rr->rdlen);
	return c->failed ? NSD_E_WIRE : NSD_OK;
}

enum nsd_err
history_unpack(const uint8_t *apex, const struct history_rr *rr,
	struct history_unpacked *out)
{
	size_t apex_len = name_len(apex);
	size_t at = MESSAGE_HEADER_LEN + apex_len;
	struct cursor c;

	if (rr->labels_len + apex_len > NAME_MAX_LEN)
		return NSD_E_WIRE;
	memcpy(out->owner, rr->labels, rr->labels_len);
	memcpy(out->owner + rr->labels_len, apex, apex_len);
	memset(out->message, 0, MESSAGE_HEADER_LEN);
	memcpy(out->message + MESSAGE_HEADER_LEN, apex, apex_len);
	memcpy(out->message + at, rr->rdata, rr->rdlen);
	cursor_init(&c, out->message, at + rr->rdlen);
	(void)cursor_read_octets(&c, at);
	return rdata_read(rr->type, &c, rr->rdlen, out->rdata, &out->rdlen);
}
