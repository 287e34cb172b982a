/* transfer_fill.c - writes what a transfer sends into a message. */
#include <string.h>

#include "query/transfer_state.h"
#include "zone/objects.h"
#include "zone/unpack.h"

/* ---- owners -------------------------------------------------------------- */

/* The labels that the owner ends with as the one before does, which is in the
 * message; those that a pointer reaches. */
static inline unsigned
count_shared(const struct transfer_name *a, const struct transfer_name *b)
{
	unsigned shared = 0;

	if (!b->is_placed || a->count == 0 || b->count == 0)
		return 0;
	while (shared < a->count && shared < b->count) {
		const uint8_t *x = a->labels
			+ a->label_at[a->count - shared - 1];
		const uint8_t *y = b->labels
			+ b->label_at[b->count - shared - 1];

		if (*x != *y || x[*x] != y[*y] || memcmp(x, y, 1u + *x) != 0)
			break;
		shared++;
	}
	while (shared > 0 && b->at[b->count - shared] > MESSAGE_POINTER_MAX)
		shared--;
	return shared;
}

/* The way an owner gets into the message. */
struct placing {
	uint32_t start;   /* where the first label goes, or is */
	uint32_t written; /* octets of labels that are to be written */
	uint32_t suffix;  /* offset of the suffix behind them */
	unsigned shared;  /* labels of the suffix, below the apex */
};

/* Finds the longest end of the owner that a pointer reaches. */
static inline void
find_step_place(const struct transfer *t, const struct reply *reply,
	struct placing *p)
{
	const struct transfer_name *name = t->owner, *last = t->last;

	p->shared = count_shared(name, last);
	p->suffix = p->shared > 0 ? last->at[last->count - p->shared]
		: MESSAGE_HEADER_LEN;
	p->written = name->label_at[name->count - p->shared];
	p->start = p->written > 0 ? reply->len : p->suffix;
}

/* Writes labels, where there is room for 8 octets more. */
static inline void
put_labels(uint8_t *out, const uint8_t *labels, uint32_t len)
{
	for (uint32_t i = 0; i < len; i += 8)
		memcpy(out + i, labels + i, 8);
}

/* The owner is in the message from now on. */
static inline void
note_owner(struct transfer *t, const struct placing *p)
{
	struct transfer_name *name = t->owner;
	const struct transfer_name *last = t->last;
	unsigned fresh = name->count - p->shared;

	for (unsigned i = 0; i < fresh; i++)
		name->at[i] = p->start + name->label_at[i];
	for (unsigned i = 0; i < p->shared; i++)
		name->at[fresh + i] = last->at[last->count - p->shared + i];
	name->at[name->count] = MESSAGE_HEADER_LEN;
	name->is_placed = true;
}

/* ---- items --------------------------------------------------------------- */

static bool
emit_scratch(struct reply *reply, uint32_t owner_at, uint16_t type,
	uint32_t ttl_sec, size_t len)
{
	return emit_record(reply, &(struct emit_record){
		.section = SECTION_ANSWER,
		.owner_at = owner_at,
		.type = type,
		.ttl_sec = ttl_sec,
		.rdata = reply->scratch,
		.rdlen = (uint16_t)len,
	});
}

/* Writes an NSEC3 record of the chain, whose RDATA is put together. */
static bool
emit_chain_record(struct transfer *t, struct reply *reply, uint32_t owner_at)
{
	const struct nsec3_record *record = t->object;
	const struct nsec3_template *template = store_get(t->view,
		record->template);
	const struct emit_record what = {
		.section = SECTION_ANSWER,
		.owner_at = owner_at,
		.type = TYPE_NSEC3,
		.ttl_sec = template->ttl_sec,
		.rdlen = (uint16_t)(template->head_len + NSEC3_HASH_LEN
			+ template->bitmap_len),
	};
	uint8_t *rdata = emit_begin_record(reply, &what);

	if (rdata == NULL)
		return false;
	nsec3_unpack_rdata(t->view, record, t->records.next_hash, rdata);
	return true;
}

/* Writes a record of a changeset. Its RDATA leads to the question, if
 * anywhere. */
static bool
emit_changeset_record(struct transfer *t, struct reply *reply,
	uint32_t owner_at)
{
	const struct history_rr *rr = t->object;

	return emit_record(reply, &(struct emit_record){
		.section = SECTION_ANSWER,
		.owner_at = owner_at,
		.type = rr->type,
		.ttl_sec = rr->ttl_sec,
		.rdata = rr->rdata,
		.rdlen = rr->rdlen,
	});
}

static inline bool
emit_item(struct transfer *t, struct reply *reply, uint32_t owner_at)
{
	const struct rrset *rrset = t->object;
	const struct rrset_sigs *sigs = t->object;

	if (t->kind == ITEM_RRSET)
		return emit_answer(reply, owner_at, rrset);
	if (t->kind == ITEM_SIGS)
		return emit_sig_list(reply, SECTION_ANSWER, sigs, owner_at,
			sigs->ttl_sec);
	if (t->kind == ITEM_NSEC3)
		return emit_chain_record(t, reply, owner_at);
	return emit_changeset_record(t, reply, owner_at);
}

/* Writes one record of an item that fits into no message as a whole. */
static bool
emit_one(struct transfer *t, struct reply *reply, uint32_t owner_at)
{
	const struct rrset *rrset = t->object;
	const struct rrset_sigs *sigs = t->object;
	const uint8_t *at;
	size_t len;

	if (t->kind != ITEM_RRSET && t->kind != ITEM_SIGS)
		return false;
	if (t->kind == ITEM_SIGS) {
		at = sigs->data + t->sent;
		len = unpack_sig_rdata(t->view, (const struct sig *)at,
			reply->scratch);
		return emit_scratch(reply, owner_at, TYPE_RRSIG, sigs->ttl_sec,
			len);
	}
	at = rrset->data + t->sent;
	len = unpack_rdata(rrset, at, t->apex, reply->scratch);
	return emit_scratch(reply, owner_at, rrset->type, rrset->ttl_sec, len);
}

/* Steps over a record that emit_one has written. False: it was the last. */
static bool
step_one(struct transfer *t)
{
	const struct rrset *rrset = t->object;
	const struct rrset_sigs *sigs = t->object;

	if (t->kind == ITEM_RRSET) {
		t->sent += 2u + octets_get_u16(rrset->data + t->sent);
		return t->sent < rrset_len(rrset);
	}
	t->sent += (uint32_t)sig_size(
		(const struct sig *)(sigs->data + t->sent));
	return t->sent < rrset_sigs_size(sigs) - sizeof(*sigs);
}

/*
 * Writes with `emit` what is at an owner that is not in the message, or out of
 * reach of a pointer. `emit` writes owners as pointers to a name that is there
 * already. So the first labels of the first owner go before what it writes, and
 * what it has as a pointer to them leads to the labels behind them. Where no
 * pointer reaches it copies the name instead.
 */
static inline __attribute__((always_inline)) bool
put_with_owner(struct transfer *t, struct reply *reply,
	bool (*emit)(struct transfer *t, struct reply *reply,
		uint32_t owner_at))
{
	uint32_t before = reply->len, room = emit_room(reply);
	uint8_t *out = reply->out + before;
	struct placing p;
	bool is_split;

	find_step_place(t, reply, &p);
	if (p.written + 8u <= room)
		put_labels(out, t->owner->labels, p.written);
	else if (p.written + 2u <= room)
		memcpy(out, t->owner->labels, p.written);
	else
		return false;
	octets_put_u16(out + p.written, (uint16_t)(EMIT_POINTER | p.suffix));
	is_split = p.written > 0 && p.start <= MESSAGE_POINTER_MAX;
	if (is_split)
		reply->len += p.written;
	if (!emit(t, reply, p.start)) {
		reply->len = before;
		return false;
	}
	if (is_split)
		octets_put_u16(out + p.written,
			(uint16_t)(EMIT_POINTER | p.suffix));
	note_owner(t, &p);
	return true;
}

/* Writes with `emit` what is at the owner: all, or nothing. False: no room. */
static inline __attribute__((always_inline)) bool
put_at_owner(struct transfer *t, struct reply *reply,
	bool (*emit)(struct transfer *t, struct reply *reply,
		uint32_t owner_at))
{
	const struct transfer_name *name = t->owner;

	if (name->is_placed && name->at[0] <= MESSAGE_POINTER_MAX)
		return emit(t, reply, name->at[0]);
	return put_with_owner(t, reply, emit);
}

/* ---- messages ------------------------------------------------------------ */

void
transfer_fill(struct transfer *t, struct reply *reply)
{
	if (t->sent != 0)
		return;
	while (t->part != TRANSFER_NONE && put_at_owner(t, reply, emit_item))
		transfer_walk_next(t);
}

void
transfer_fill_one(struct transfer *t, struct reply *reply)
{
	if (t->sent == 0 && put_at_owner(t, reply, emit_item)) {
		transfer_walk_next(t);
		return;
	}
	while (put_at_owner(t, reply, emit_one))
		if (!step_one(t)) {
			transfer_walk_next(t);
			return;
		}
}
