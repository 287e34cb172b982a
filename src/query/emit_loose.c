/* emit_loose.c - writes an RRset record by record, where it cannot be copied as
 * it is stored. */
#include <string.h>

#include "dns/rrtype.h"
#include "query/emit.h"
#include "query/emit_fold.h"
#include "zone/unpack.h"

#define MARK_EVERY 256u /* sent octets */
/* The most cells that are followed to compress an RRset anew. Most RRsets need
 * a fraction; the author of a zone could make it a hundred times as many. */
#define FOLD_CELLS_MAX 32768u

/*
 * An RRset that is written record by record. If some pointer of it does not
 * reach (offsets above 16383), only those names are written in full. Such a
 * name stands behind offset 16383 itself. So all that can be reached stands
 * where a packed RRset would have it.
 */
struct loose {
	const struct reply *reply;
	const struct rrset *rrset;
	uint32_t at; /* of the RRset in the reply */
	struct emit_fold *fold; /* the names are compressed anew; or NULL */
	uint32_t cells;         /* followed for that */
	uint32_t records;       /* so far, the one at hand counted */
	uint32_t name_at;       /* of the last name in the RDATA at hand */
	/* For each multiple of MARK_EVERY that was passed, the record where it
	 * lies. From there a cell's end is found in a few steps. */
	unsigned mark_count;
	struct {
		const uint8_t *rr;
		uint32_t sent; /* of the record */
	} marks[RRSET_CELL_REACH / MARK_EVERY + 1];
};

/* Sets the marks that lie in a record. */
static void
loose_mark(struct loose *l, const uint8_t *rr, uint32_t sent)
{
	uint32_t end = sent + rrset_rr_head(l->rrset) + 2u
		+ octets_get_u16(rr);

	while (l->mark_count * MARK_EVERY < end
		&& l->mark_count < RRSET_CELL_REACH / MARK_EVERY + 1) {
		l->marks[l->mark_count].rr = rr;
		l->marks[l->mark_count].sent = sent;
		l->mark_count++;
	}
}

/* The octets in the store that a cell leads to. */
static const uint8_t *
loose_follow(const struct loose *l, uint32_t cell)
{
	uint32_t to = cell & RRSET_CELL_OFFSET;

	if ((cell & RRSET_CELL_INNER) == 0)
		return l->reply->apex + to;
	return unpack_find_sent(l->rrset, l->marks[to / MARK_EVERY].rr,
		l->marks[to / MARK_EVERY].sent, to);
}

/* The place in the reply that a cell leads to, if names stand as in the
 * store. */
static uint32_t
loose_pointer(const struct loose *l, uint32_t cell)
{
	uint32_t to = cell & RRSET_CELL_OFFSET;

	return (cell & RRSET_CELL_INNER) == 0 ? emit_apex_at(l->reply, to)
		: l->at + to;
}

/* Copies a name: a cell that reaches ends it, what others lead to is copied; to
 * be compressed anew, all is. *from moves behind the name. Returns the end of
 * the copy. */
static uint8_t *
loose_copy_name(struct loose *l, const uint8_t **from, uint8_t *out)
{
	const uint8_t *at = *from;

	for (bool inside = true;; inside = false) {
		const uint8_t *start = at;
		uint32_t cell, to;

		while (*at != 0 && !rrset_octet_is_cell(*at))
			at += 1u + *at;
		memcpy(out, start, (size_t)(at - start));
		out += at - start;
		if (inside)
			*from = at + (*at == 0 ? 1 : 2);
		if (*at == 0) {
			*out = 0;
			return out + 1;
		}
		cell = octets_get_u16(at);
		if (l->fold != NULL) {
			l->cells++;
		} else if ((to = loose_pointer(l, cell))
			<= MESSAGE_POINTER_MAX) {
			octets_put_u16(out, (uint16_t)(EMIT_POINTER | to));
			return out + 2;
		}
		at = loose_follow(l, cell);
	}
}

/* Writes a name that may be compressed. Returns its end. */
static uint8_t *
loose_write_name(struct loose *l, const uint8_t **from, uint8_t *out)
{
	uint8_t name[NAME_MAX_LEN];

	if (l->fold == NULL)
		return loose_copy_name(l, from, out);
	loose_copy_name(l, from, name);
	l->name_at = (uint32_t)(out - l->reply->scratch);
	return out + emit_fold_write(l->fold, name, out);
}

/* Writes RDATA to reply->scratch; returns its length. */
static uint32_t
loose_write_rdata(struct loose *l, const uint8_t *rr)
{
	const struct rrtype *row = rrtype_get(l->rrset->type);
	const uint8_t *end = rr + 2 + octets_get_u16(rr);
	unsigned fields = unpack_name_fields(row);
	uint8_t *out = l->reply->scratch;

	rr += 2;
	for (unsigned i = 0; i < fields; i++) {
		unsigned len = unpack_field_len(row->fields[i]);

		if (row->fields[i] == FIELD_NAME_COMPRESSED) {
			out = loose_write_name(l, &rr, out);
			continue;
		}
		memcpy(out, rr, len);
		out += len;
		rr += len;
	}
	memcpy(out, rr, (size_t)(end - rr));
	return (uint32_t)(out + (end - rr) - l->reply->scratch);
}

static bool
loose_write(struct loose *l, struct reply *reply,
	const struct emit_rrset *what, struct placed *placed)
{
	const struct rrset *rrset = what->rrset;
	const uint8_t *end = rrset->data + rrset_len(rrset);
	struct emit_head head = emit_make_head(0, rrset->type, what->ttl_sec);
	struct emit_octets owner;
	uint32_t len = reply->len, sent = 0, head_len = rrset_rr_head(rrset);

	emit_make_octets(reply, what->owner_at, &owner);
	placed->at = len + owner.len + EMIT_HEAD_REST - head_len;
	placed->loose = owner.len;
	for (const uint8_t *rr = rrset->data; rr < end;
		rr += 2u + octets_get_u16(rr)) {
		uint8_t *out = reply->out + len;
		uint32_t rdlen;

		loose_mark(l, rr, sent);
		sent += head_len + 2u + octets_get_u16(rr);
		l->records++;
		rdlen = loose_write_rdata(l, rr);
		len += owner.len + EMIT_HEAD_REST + 2u + rdlen;
		if (len > reply->limit || l->cells > FOLD_CELLS_MAX)
			return false;
		out = emit_put_octets(out, &owner);
		memcpy(out, &head.rest, sizeof(head.rest));
		octets_put_u16(out + EMIT_HEAD_REST, (uint16_t)rdlen);
		memcpy(out + EMIT_HEAD_REST + 2, reply->scratch, rdlen);
		if (l->fold != NULL)
			emit_fold_place(l->fold, len - rdlen + l->name_at);
	}
	reply->len = len;
	reply->count[what->section] += rrset->count;
	return true;
}

bool
emit_loose(struct reply *reply, const struct emit_rrset *what,
	struct placed *placed)
{
	struct loose l = {
		.reply = reply,
		.rrset = what->rrset,
		.at = reply->len,
	};

	return loose_write(&l, reply, what, placed);
}

/* Octets of the least record: the owner, RDLENGTH, and a pointer. */
#define FOLD_RECORD_MIN (1u + EMIT_HEAD_REST + 2u + 2u)

bool
emit_folded(struct reply *reply, const struct emit_rrset *what,
	struct placed *placed)
{
	const struct rrset *rrset = what->rrset;
	struct emit_fold fold;
	struct loose l = {
		.reply = reply,
		.rrset = rrset,
		.at = reply->len,
		.fold = &fold,
	};
	bool fits;

	if (unpack_name_fields(rrtype_get(rrset->type)) == 0
		|| rrset->count * FOLD_RECORD_MIN > emit_room(reply))
		return false;
	emit_fold_init(&fold, reply->out);
	emit_fold_add(&fold, what->owner_at);
	placed->rrset = rrset;
	placed->owner_at = what->owner_at;
	fits = loose_write(&l, reply, what, placed);
	reply->work += l.records * WORK_FOLDED + l.cells * WORK_CELL;
	return fits;
}

uint32_t
emit_find_loose(const struct reply *reply, const struct placed *placed,
	struct emit_place *place, uint32_t offset)
{
	uint32_t head = rrset_rr_head(placed->rrset);

	if (place->rr == NULL) {
		place->rr = placed->rrset->data;
		place->sent = 0;
		place->at = placed->at;
	}
	for (;;) {
		uint32_t len = head + 2u + octets_get_u16(place->rr);

		if (offset < place->sent + len)
			return place->at + (offset - place->sent);
		place->sent += len;
		place->rr += len - head;
		place->at += placed->loose + EMIT_HEAD_REST + 2u
			+ octets_get_u16(reply->out + place->at + head);
	}
}
