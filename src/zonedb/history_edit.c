/* history_edit.c - keeps what the last versions of a zone differ by. */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/octets.h"
#include "dns/message.h"
#include "dns/rdata.h"
#include "store/writer.h"
#include "zone/history.h"
#include "zonedb/history_edit.h"
#include "zonedb/release.h"

#define POINTER 0xc000u    /* RFC 1035 section 4.1.4 */
#define POINTER_LEN 2u
#define RECORD_FIXED 10u   /* TYPE, CLASS, TTL, RDLENGTH */

/* ---- drafts -------------------------------------------------------------- */

void
history_draft_init(struct history_draft *draft, const uint8_t *apex,
	const struct history_limits *limits)
{
	memset(draft, 0, sizeof(*draft));
	draft->apex_len = name_len(apex);
	memcpy(draft->apex, apex, draft->apex_len);
	draft->max = STORE_OBJECT_MAX - sizeof(struct zone_changeset);
	if (limits->octets != 0 && limits->octets < draft->max)
		draft->max = (size_t)limits->octets;
	draft->lost = limits->number == 0;
}

void
history_draft_fini(struct history_draft *draft)
{
	free(draft->octets);
	draft->octets = NULL;
}

/* Finds the begin of the last len octets of the apex, if a label begins there;
 * 0 if not. */
static size_t
find_in_apex(const struct history_draft *draft, size_t len)
{
	size_t at = 0;

	while (draft->apex_len - at > len)
		at += draft->apex[at] + 1u;
	return draft->apex_len - at == len ? MESSAGE_HEADER_LEN + at : 0;
}

/*
 * Writes a name with a pointer in place of the longest end that it has in
 * common with the apex. Returns its octets in *in, and those that are written.
 */
static size_t
history_put_name(const struct history_draft *draft, uint8_t *out,
	const uint8_t *name, size_t *in)
{
	size_t len = name_len(name), at = 0;

	*in = len;
	while (len - at > POINTER_LEN) {
		size_t rest = len - at;
		size_t place = rest <= draft->apex_len
			? find_in_apex(draft, rest) : 0;

		if (place != 0 && memcmp(name + at,
			    draft->apex + (draft->apex_len - rest), rest)
			== 0) {
			memcpy(out, name, at);
			octets_put_u16(out + at, (uint16_t)(POINTER | place));
			return at + POINTER_LEN;
		}
		at += name[at] + 1u;
	}
	memcpy(out, name, len);
	return len;
}

/* Returns the octets of the RDATA as it is sent. */
static size_t
put_rdata(const struct history_draft *draft, uint8_t *out,
	const struct zone_rr *rr)
{
	struct rdata_name names[RDATA_NAMES_MAX];
	unsigned count = rdata_list_names(rr->type, rr->rdata, rr->rdlen,
		names);
	size_t at = 0, len = 0;

	for (unsigned i = 0; i < count; i++) {
		size_t before = names[i].offset - at, name;

		if (!names[i].compressible)
			continue;
		memcpy(out + len, rr->rdata + at, before);
		len += before;
		at += before;
		len += history_put_name(draft, out + len, rr->rdata + at,
			&name);
		at += name;
	}
	memcpy(out + len, rr->rdata + at, rr->rdlen - at);
	return len + rr->rdlen - at;
}

static void
note_soa(struct history_draft *draft, const struct zone_rr *rr)
{
	uint32_t *serial = draft->soa_count == 0 ? &draft->from : &draft->to;

	if (draft->soa_count++ >= 2
		|| !history_read_serial(rr->rdata, rr->rdlen, serial))
		draft->lost = true;
}

void
history_draft_add(struct history_draft *draft, const struct zone_rr *rr)
{
	size_t owner_len = name_len(rr->owner);
	size_t labels = owner_len - draft->apex_len;
	size_t most = labels + POINTER_LEN + RECORD_FIXED + rr->rdlen;
	uint8_t *at, *octets;

	if (draft->lost)
		return;
	octets = grow_octets(draft->octets, draft->len + most, &draft->room);
	if (octets == NULL) {
		draft->lost = true;
		return;
	}
	draft->octets = octets;
	at = octets + draft->len;
	for (size_t i = 0; i < labels; i++)
		at[i] = name_lower_octet(rr->owner[i]);
	at += labels;
	octets_put_u16(at, POINTER | MESSAGE_HEADER_LEN);
	octets_put_u16(at + 2, rr->type);
	octets_put_u16(at + 4, CLASS_IN);
	octets_put_u32(at + 6, rr->ttl_sec);
	at += POINTER_LEN + RECORD_FIXED;
	draft->len += most - rr->rdlen;
	octets_put_u16(at - 2, (uint16_t)put_rdata(draft, at, rr));
	draft->len += octets_get_u16(at - 2);
	if (rr->type == TYPE_SOA)
		note_soa(draft, rr);
	draft->lost |= draft->len > draft->max;
}

/* ---- changesets ---------------------------------------------------------- */

static struct releaser
make_releaser(struct store_writer *writer)
{
	return (struct releaser){store_writer_view(writer),
		store_writer_heap(writer), writer, NULL};
}

/* Lets go of what a reference leads to, which becomes none. */
static void
drop_object(struct store_writer *writer, store_ref *cell)
{
	struct releaser r = make_releaser(writer);
	store_ref ref = *cell;

	if (ref == STORE_NONE)
		return;
	store_publish_ref(writer, cell, STORE_NONE);
	release_history(&r, ref);
}

/* Lets go of the newest changesets up to one that leads to a serial. */
static void
align_history(struct store_writer *writer, struct zone_entry *entry,
	uint32_t serial)
{
	struct releaser r = make_releaser(writer);

	while (entry->history != STORE_NONE) {
		store_ref ref = entry->history;
		const struct zone_changeset *changeset = store_get(r.view, ref);

		if (changeset->to == serial)
			break;
		store_publish_ref(writer, &entry->history, changeset->older);
		release_object(&r, ref, zone_changeset_size(changeset));
	}
}

void
history_push(struct store_writer *writer, store_ref ref,
	const struct history_draft *draft)
{
	struct store_heap *heap = store_writer_heap(writer);
	struct zone_entry *entry = store_edit(heap, ref);
	struct zone_changeset *changeset = NULL;
	store_ref changeset_ref;

	if (!draft->lost && draft->soa_count == 2 && draft->from != draft->to)
		changeset = store_alloc(heap, sizeof(*changeset) + draft->len,
			&changeset_ref);
	if (changeset == NULL) {
		history_clear(writer, ref);
		return;
	}
	align_history(writer, entry, draft->from);
	changeset->from = draft->from;
	changeset->to = draft->to;
	changeset->len = (uint32_t)draft->len;
	changeset->older = entry->history;
	memcpy(changeset->data, draft->octets, draft->len);
	store_publish_ref(writer, &entry->history, changeset_ref);
}

void
history_clear(struct store_writer *writer, store_ref ref)
{
	struct zone_entry *entry = store_edit(store_writer_heap(writer), ref);

	drop_object(writer, &entry->history);
}

void
history_prune(struct store_writer *writer, store_ref ref,
	const struct history_limits *limits)
{
	struct store_heap *heap = store_writer_heap(writer);
	struct zone_entry *entry = store_edit(heap, ref);
	const struct zone *zone;
	uint32_t number = limits->number < HISTORY_CHANGESETS_MAX
		? limits->number : HISTORY_CHANGESETS_MAX;
	uint64_t octets = 0;
	store_ref *cell = &entry->history;

	if (entry->history == STORE_NONE)
		return;
	if (entry->zone == STORE_NONE) {
		drop_object(writer, cell);
		return;
	}
	zone = store_edit(heap, entry->zone);
	align_history(writer, entry, zone->serial);
	for (uint32_t i = 0; *cell != STORE_NONE; i++) {
		struct zone_changeset *changeset = store_edit(heap, *cell);

		octets += changeset->len;
		if (i == number
			|| (limits->octets != 0 && octets > limits->octets)) {
			drop_object(writer, cell);
			return;
		}
		cell = &changeset->older;
	}
}
