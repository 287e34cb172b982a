/* emit.c - writes stored RRsets and signatures into a reply. */
#include <string.h>

#include "dns/rrtype.h"
#include "query/emit.h"
#include "zone/unpack.h"

#define HEAD_REST 8u /* octets of type, class and TTL */
#define RRSIG_FIXED 18u /* octets of RDATA before the signer, RFC 4034 3.1 */

uint32_t
emit_suffix_at(const uint8_t *out, uint32_t at, unsigned labels)
{
	for (;;) {
		while (out[at] >= EMIT_POINTER >> 8)
			at = octets_get_u16(out + at) & MESSAGE_POINTER_MAX;
		if (labels-- == 0)
			return at;
		at += 1u + out[at];
	}
}

void
emit_set_apex(struct reply *reply, const uint8_t *apex, uint32_t at)
{
	reply->apex = apex;
	reply->apex_at = at;
	while (reply->out[at] != 0 && reply->out[at] < EMIT_POINTER >> 8)
		at += 1u + reply->out[at];
	reply->apex_is_whole = reply->out[at] == 0;
}

/* Where octet `offset` of the apex, which begins a label, is in the reply. If
 * the apex is part of a CNAME's target, there may be pointers before it. */
static uint32_t
apex_suffix_at(const struct reply *reply, uint32_t offset)
{
	unsigned labels = 0;

	if (reply->apex_is_whole)
		return reply->apex_at + offset;
	for (uint32_t at = 0; at < offset; at += 1u + reply->apex[at])
		labels++;
	return emit_suffix_at(reply->out, reply->apex_at, labels);
}

bool
emit_names_equal(const uint8_t *out, uint32_t a, uint32_t b)
{
	for (;;) {
		a = emit_suffix_at(out, a, 0);
		b = emit_suffix_at(out, b, 0);
		if (a == b)
			return true;
		if (out[a] != out[b])
			return false;
		if (out[a] == 0)
			return true;
		for (unsigned i = 1; i <= out[a]; i++)
			if (name_lower_octet(out[a + i])
				!= name_lower_octet(out[b + i]))
				return false;
		a += 1u + out[a];
		b += 1u + out[b];
	}
}

/* The owner of a record, as it is written. */
struct owner_octets {
	uint32_t len;
	uint8_t octets[NAME_MAX_LEN];
};

/* Takes the labels of a name up to its own pointer or to its end. */
static __attribute__((noinline, cold)) void
copy_owner(const struct reply *reply, uint32_t at, struct owner_octets *owner)
{
	const uint8_t *name = reply->out + at;

	while (*name != 0 && *name < EMIT_POINTER >> 8)
		name += 1u + *name;
	owner->len = (uint32_t)(name - (reply->out + at))
		+ (*name == 0 ? 1 : 2);
	memcpy(owner->octets, reply->out + at, owner->len);
}

/* Makes the owner of a record: a pointer; or, if none reaches the name, its
 * octets. Those of the root, too: it is shorter than a pointer. */
static inline void
make_owner(const struct reply *reply, uint32_t at, struct owner_octets *owner)
{
	if (at > MESSAGE_POINTER_MAX || reply->out[at] == 0) {
		copy_owner(reply, at, owner);
		return;
	}
	owner->len = 2;
	octets_put_u16(owner->octets, (uint16_t)(EMIT_POINTER | at));
}

/* Spares a call of memcpy for a pointer. */
static inline uint8_t *
put_owner(uint8_t *out, const struct owner_octets *owner)
{
	if (owner->len == 2)
		memcpy(out, owner->octets, 2);
	else
		memcpy(out, owner->octets, owner->len);
	return out + owner->len;
}

/*
 * Copies RRs (RDLENGTH and RDATA) and puts the head before each. An RR is
 * copied by words if enough comes behind it. That writes up to 7 octets too
 * many, which the next RR overwrites. The octets of the head may be one less
 * than it has: then its owner is 0, and the first of that is the root.
 */
static inline __attribute__((always_inline)) uint8_t *
copy_rrs(uint8_t *out, struct emit_head head, uint32_t head_len,
	const uint8_t *rr, const uint8_t *end)
{
	while (rr < end) {
		uint32_t len = 2u + octets_get_u16(rr);

		memcpy(out, &head.owner, sizeof(head.owner));
		out += head_len;
		memcpy(out - sizeof(head.rest), &head.rest, sizeof(head.rest));
		if ((size_t)(end - rr) < len + 7u)
			memcpy(out, rr, len);
		else
			for (uint32_t i = 0; i < len; i += 8)
				memcpy(out + i, rr + i, 8);
		out += len;
		rr += len;
	}
	return out;
}

/* Turns the cells of an RRset in the reply into real pointers. */
static inline __attribute__((always_inline)) void
patch_cells(const struct reply *reply, const struct rrset_tail *tail,
	const struct placed *placed)
{
	uint8_t *start = reply->out + placed->at;

	for (unsigned i = 0; i < tail->fixup_count; i++) {
		uint8_t *at = placed->rotated == 0 ? start + tail->fixups[i]
			: reply->out + emit_sent_at(placed, tail->fixups[i]);
		uint16_t cell = octets_get_u16(at);
		uint32_t to = cell & RRSET_CELL_OFFSET;

		to = (cell & RRSET_CELL_INNER) != 0 ? to + placed->at
			: apex_suffix_at(reply, to);
		octets_put_u16(at, (uint16_t)(EMIT_POINTER | to));
	}
}

/* True if a cell leads into the RRset, behind a sent offset. */
static bool
has_inner_cells(const struct rrset *rrset, const struct rrset_tail *tail,
	uint32_t behind)
{
	/* Fixups are in sent coordinates, so the RRs have to be stepped
	 * through beside them. */
	const uint8_t *rr = rrset->data;
	uint32_t head = rrset_rr_head(rrset), sent = head;
	unsigned i = 0;

	while (i < tail->fixup_count) {
		uint32_t len = 2u + octets_get_u16(rr);

		for (; i < tail->fixup_count
			&& tail->fixups[i] < sent + len; i++) {
			unsigned cell = octets_get_u16(rr
				+ (tail->fixups[i] - sent));

			if ((cell & RRSET_CELL_INNER) != 0
				&& (cell & RRSET_CELL_OFFSET) > behind)
				return true;
		}
		rr += len;
		sent += len + head;
	}
	return false;
}

/* ---- beyond the reach of pointers -------------------------------------- */

#define MARK_EVERY 1024u /* sent octets */

/*
 * An RRset that is written record by record, as some pointer of it does not
 * reach (offsets above 16383). Only those names are written in full. Such a
 * name stands behind offset 16383 itself. So all that can be reached stands
 * where a packed RRset would have it.
 */
struct loose {
	const struct reply *reply;
	const struct rrset *rrset;
	uint32_t at; /* of the RRset in the reply */
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

/* Copies a name: a cell that reaches ends it, what others lead to is copied.
 * *from moves behind the name. Returns the end of the copy. */
static uint8_t *
loose_copy_name(const struct loose *l, const uint8_t **from, uint8_t *out)
{
	const uint8_t *at = *from;

	for (bool inside = true;; inside = false) {
		uint32_t cell, to;

		while (*at != 0 && !rrset_octet_is_cell(*at)) {
			memcpy(out, at, 1u + *at);
			out += 1u + *at;
			at += 1u + *at;
		}
		if (inside)
			*from = at + (*at == 0 ? 1 : 2);
		if (*at == 0) {
			*out = 0;
			return out + 1;
		}
		cell = octets_get_u16(at);
		to = cell & RRSET_CELL_OFFSET;
		if ((cell & RRSET_CELL_INNER) == 0) {
			at = l->reply->apex + to;
			to = apex_suffix_at(l->reply, to);
		} else {
			at = unpack_find_sent(l->rrset,
				l->marks[to / MARK_EVERY].rr,
				l->marks[to / MARK_EVERY].sent, to);
			to += l->at;
		}
		if (to <= MESSAGE_POINTER_MAX) {
			octets_put_u16(out, (uint16_t)(EMIT_POINTER | to));
			return out + 2;
		}
	}
}

/* Writes RDATA to reply->scratch; returns its length. */
static uint32_t
loose_write_rdata(const struct loose *l, const uint8_t *rr)
{
	const struct rrtype *row = rrtype_get(l->rrset->type);
	const uint8_t *end = rr + 2 + octets_get_u16(rr);
	unsigned fields = unpack_name_fields(row);
	uint8_t *out = l->reply->scratch;

	rr += 2;
	for (unsigned i = 0; i < fields; i++) {
		unsigned len = unpack_field_len(row->fields[i]);

		if (row->fields[i] == FIELD_NAME_COMPRESSED) {
			out = loose_copy_name(l, &rr, out);
			continue;
		}
		memcpy(out, rr, len);
		out += len;
		rr += len;
	}
	memcpy(out, rr, (size_t)(end - rr));
	return (uint32_t)(out + (end - rr) - l->reply->scratch);
}

static __attribute__((noinline, cold)) bool
emit_loose(struct reply *reply, const struct emit_rrset *what,
	struct placed *placed)
{
	const struct rrset *rrset = what->rrset;
	const uint8_t *end = rrset->data + rrset_len(rrset);
	struct emit_head head = emit_make_head(0, rrset->type, what->ttl_sec);
	struct loose l = {.reply = reply, .rrset = rrset, .at = reply->len};
	struct owner_octets owner;
	uint32_t len = reply->len, sent = 0, head_len = rrset_rr_head(rrset);

	make_owner(reply, what->owner_at, &owner);
	placed->at = len + owner.len + HEAD_REST - head_len;
	placed->loose = owner.len;
	for (const uint8_t *rr = rrset->data; rr < end;
		rr += 2u + octets_get_u16(rr)) {
		uint8_t *out = reply->out + len;
		uint32_t rdlen;

		loose_mark(&l, rr, sent);
		sent += head_len + 2u + octets_get_u16(rr);
		rdlen = loose_write_rdata(&l, rr);
		len += owner.len + HEAD_REST + 2u + rdlen;
		if (len > reply->limit)
			return false;
		out = put_owner(out, &owner);
		memcpy(out, &head.rest, sizeof(head.rest));
		octets_put_u16(out + HEAD_REST, (uint16_t)rdlen);
		memcpy(out + HEAD_REST + 2, reply->scratch, rdlen);
	}
	reply->len = len;
	reply->count[what->section] += rrset->count;
	return true;
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
		place->at += placed->loose + HEAD_REST + 2u
			+ octets_get_u16(reply->out + place->at + head);
	}
}

/* ---- RRsets ------------------------------------------------------------ */

/* False if some pointer of a large message does not reach. */
static __attribute__((noinline, cold)) bool
pointers_reach(const struct reply *reply, const struct rrset *rrset,
	const struct rrset_tail *tail)
{
	return reply->len + RRSET_CELL_REACH <= MESSAGE_POINTER_MAX + 1u
		|| !has_inner_cells(rrset, tail,
			reply->len < MESSAGE_POINTER_MAX
			? MESSAGE_POINTER_MAX - reply->len : 0);
}

/* False if some pointer of the RRset might not reach. */
static inline __attribute__((always_inline)) bool
can_be_packed(const struct reply *reply, const struct emit_rrset *what,
	const struct rrset_tail *tail, uint32_t sent)
{
	return what->owner_at <= MESSAGE_POINTER_MAX && (tail == NULL
		|| tail->fixup_count == 0
		|| (reply->apex_at + NAME_MAX_LEN <= MESSAGE_POINTER_MAX
			&& (reply->len + sent <= MESSAGE_POINTER_MAX
				|| pointers_reach(reply, what->rrset, tail))));
}

bool
emit_can_rotate(const struct rrset *rrset)
{
	const struct rrset_tail *tail = rrset_get_tail(rrset);

	return rrset->count > 1
		&& (tail == NULL || !has_inner_cells(rrset, tail, 0));
}

/* head_len: rrset_rr_head, known to the compiler. */
static inline __attribute__((always_inline)) bool
emit_with_head(struct reply *reply, const struct emit_rrset *what,
	struct placed *placed, uint32_t head_len)
{
	const struct rrset *rrset = what->rrset;
	const struct rrset_tail *tail = rrset_get_tail(rrset);
	const uint8_t *first = rrset->data;
	const uint8_t *end = first + rrset_len(rrset);
	uint32_t sent = rrset_len(rrset) + rrset->count * head_len;
	struct placed unwanted;
	struct emit_head head;
	uint8_t *out;

	if (sent > emit_room(reply))
		return false;
	if (placed == NULL)
		placed = &unwanted;
	placed->rrset = rrset;
	placed->at = reply->len;
	placed->owner_at = what->owner_at;
	placed->rotated = 0;
	placed->len = sent;
	placed->loose = 0;
	if (!can_be_packed(reply, what, tail, sent))
		return emit_loose(reply, what, placed);
	for (uint32_t i = 0; i < what->rotate; i++)
		first += 2u + octets_get_u16(first);
	placed->rotated = (uint32_t)(first - rrset->data)
		+ what->rotate * head_len;
	head = emit_make_head(what->owner_at, rrset->type, what->ttl_sec);
	if (head_len != RRSET_RR_HEAD)
		head.owner = 0;
	out = copy_rrs(reply->out + reply->len, head, head_len, first, end);
	if (first != rrset->data)
		copy_rrs(out, head, head_len, rrset->data, first);
	if (tail != NULL && tail->fixup_count > 0)
		patch_cells(reply, tail, placed);
	reply->len += sent;
	reply->count[what->section] += rrset->count;
	return true;
}

static __attribute__((noinline)) bool
emit_of_root(struct reply *reply, const struct emit_rrset *what,
	struct placed *placed)
{
	return emit_with_head(reply, what, placed, RRSET_RR_HEAD - 1);
}

static __attribute__((noinline)) bool
emit_of_name(struct reply *reply, const struct emit_rrset *what,
	struct placed *placed)
{
	return emit_with_head(reply, what, placed, RRSET_RR_HEAD);
}

bool
emit_rrset(struct reply *reply, const struct emit_rrset *what,
	struct placed *placed)
{
	return (what->rrset->len_flags & RRSET_OWNER_ROOT) != 0
		? emit_of_root(reply, what, placed)
		: emit_of_name(reply, what, placed);
}

/* Writes RDLENGTH and RDATA of an RRSIG (RFC 4034 section 3.1). */
static uint8_t *
write_sig(uint8_t *out, const struct sig *sig, const struct sig_template *t)
{
	octets_put_u16(out, (uint16_t)(RRSIG_FIXED + t->signer_len
		+ sig->len));
	octets_put_u16(out + 2, t->covered);
	out[4] = t->algorithm;
	out[5] = sig->labels;
	octets_put_u32(out + 6, t->original_ttl_sec);
	octets_put_u32(out + 10, sig->expiration);
	octets_put_u32(out + 14, sig->inception);
	octets_put_u16(out + 18, t->key_tag);
	out += 2 + RRSIG_FIXED;
	memcpy(out, t->signer, t->signer_len);
	out += t->signer_len;
	memcpy(out, sig->signature, sig->len);
	return out + sig->len;
}

bool
emit_sigs(struct reply *reply, enum section section, store_ref sigs,
	uint32_t owner_at, uint32_t ttl_sec)
{
	return emit_sig_list(reply, section, store_get(reply->view, sigs),
		owner_at, ttl_sec);
}

bool
emit_sig_list(struct reply *reply, enum section section,
	const struct rrset_sigs *sigs, uint32_t owner_at, uint32_t ttl_sec)
{
	const uint8_t *at = sigs->data;
	struct emit_mark mark = emit_get_mark(reply);
	struct emit_head head = emit_make_head(0, TYPE_RRSIG, ttl_sec);
	struct owner_octets owner;

	make_owner(reply, owner_at, &owner);
	for (unsigned i = 0; i < sigs->count; i++) {
		const struct sig *sig = (const struct sig *)at;
		const struct sig_template *t = store_get(reply->view,
			sig->template_ref);
		uint32_t len = owner.len + HEAD_REST + 2u + RRSIG_FIXED
			+ t->signer_len + sig->len;
		uint8_t *out = reply->out + reply->len;

		if (len > emit_room(reply)) {
			emit_reset(reply, &mark);
			return false;
		}
		out = put_owner(out, &owner);
		memcpy(out, &head.rest, sizeof(head.rest));
		write_sig(out + HEAD_REST, sig, t);
		reply->len += len;
		reply->count[section]++;
		at += sig_size(sig);
	}
	return true;
}

bool
emit_signed(struct query *q, const struct emit_rrset *what,
	store_ref sigs, struct placed *placed)
{
	struct emit_mark mark = emit_get_mark(&q->reply);

	if (emit_rrset(&q->reply, what, placed)) {
		if (!query_wants_dnssec(q) || sigs == STORE_NONE
			|| emit_sigs(&q->reply, what->section, sigs,
				what->owner_at, what->ttl_sec))
			return true;
		emit_reset(&q->reply, &mark);
	}
	q->reply.flags |= MESSAGE_TC;
	return false;
}
