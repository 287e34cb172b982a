/* emit.c - writes stored RRsets and signatures into a reply. */
#include <string.h>

#include "dns/rrtype.h"
#include "query/emit.h"
#include "query/emit_loose.h"

#define RRSIG_FIXED 18u /* octets of RDATA before the signer, RFC 4034 3.1 */

/* Copies len octets, at least 2, and touches no others. Most RRsets have one or
 * two RRs: a call for the last is a good part of the cost. */
static inline __attribute__((always_inline)) void
copy_octets(uint8_t *out, const uint8_t *from, uint32_t len)
{
	uint32_t i = 0;

	if (len > 128) {
		memcpy(out, from, len);
	} else if (len >= 8) {
		for (; i + 8 < len; i += 8)
			memcpy(out + i, from + i, 8);
		memcpy(out + len - 8, from + len - 8, 8);
	} else if (len >= 4) {
		memcpy(out, from, 4);
		memcpy(out + len - 4, from + len - 4, 4);
	} else {
		memcpy(out, from, 2);
		out[len - 1] = from[len - 1];
	}
}

/*
 * Copies RRs (RDLENGTH and RDATA) and puts the head before each. An RR is
 * copied by words if enough comes behind it. That writes up to 7 octets too
 * many, which the next RR overwrites. The root as owner takes one octet where
 * others take a pointer of two: then head_len is one less and head.owner is 0,
 * of which the rest of the head overwrites the second octet.
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
			copy_octets(out, rr, len);
		else
			for (uint32_t i = 0; i < len; i += 8)
				memcpy(out + i, rr + i, 8);
		out += len;
		rr += len;
	}
	return out;
}

/* Turns the cells of an RRset in the reply into real pointers. rotated:
 * placed->rotated, known to the compiler if it is 0. */
static inline __attribute__((always_inline)) void
patch_cells(const struct reply *reply, const struct rrset_tail *tail,
	const struct placed *placed, uint32_t rotated)
{
	/* Values are copied, as each write to the reply may alter the
	 * originals, for all that the compiler knows. */
	const struct placed place = {.at = placed->at, .len = placed->len,
		.rotated = rotated};
	const uint16_t *fixup = tail->fixups, *end = fixup + tail->fixup_count;
	uint8_t *out = reply->out;

	for (; fixup < end; fixup++) {
		uint8_t *at = out + (place.rotated == 0 ? place.at + *fixup
			: emit_sent_at(&place, *fixup));
		uint16_t cell = octets_get_u16(at);
		uint32_t to = cell & RRSET_CELL_OFFSET;

		to = (cell & RRSET_CELL_INNER) != 0 ? to + place.at
			: emit_apex_at(reply, to);
		octets_put_u16(at, (uint16_t)(EMIT_POINTER | to));
	}
}

/* True if a cell leads into the RRset, behind a sent offset. */
static bool
has_inner_cells(const struct rrset *rrset, const struct rrset_tail *tail,
	uint32_t behind)
{
	/* Fixups are offsets in what is sent, where each RR has a head; RRs are
	 * stored without heads. So both are stepped through side by side. */
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

/* Writes the RRs with the first ones behind the last. */
static __attribute__((noinline)) void
put_rotated(const struct reply *reply, const struct emit_rrset *what,
	struct placed *placed, struct emit_head head, uint32_t head_len)
{
	const struct rrset *rrset = what->rrset;
	const struct rrset_tail *tail = rrset_get_tail(rrset);
	const uint8_t *first = rrset->data;
	uint8_t *out = reply->out + placed->at;

	for (uint32_t i = 0; i < what->rotate; i++)
		first += 2u + octets_get_u16(first);
	placed->rotated = (uint32_t)(first - rrset->data)
		+ what->rotate * head_len;
	out = copy_rrs(out, head, head_len, first,
		rrset->data + rrset_len(rrset));
	copy_rrs(out, head, head_len, rrset->data, first);
	if (tail != NULL)
		patch_cells(reply, tail, placed, placed->rotated);
}

/* head_len: rrset_rr_head, known to the compiler. */
static inline __attribute__((always_inline)) bool
emit_with_head(struct reply *reply, const struct emit_rrset *what,
	struct placed *placed, uint32_t head_len)
{
	const struct rrset *rrset = what->rrset;
	const struct rrset_tail *tail = rrset_get_tail(rrset);
	uint32_t sent = rrset_len(rrset) + rrset->count * head_len;
	struct placed unwanted;
	struct emit_head head;

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
	head = emit_make_head(what->owner_at, rrset->type, what->ttl_sec);
	if (head_len != RRSET_RR_HEAD)
		head.owner = 0;
	if (what->rotate > 0) {
		put_rotated(reply, what, placed, head, head_len);
	} else {
		copy_rrs(reply->out + reply->len, head, head_len, rrset->data,
			rrset->data + rrset_len(rrset));
		if (tail != NULL)
			patch_cells(reply, tail, placed, 0);
	}
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

bool
emit_answer(struct reply *reply, uint32_t owner_at, const struct rrset *rrset)
{
	const struct rrset_tail *tail = rrset_get_tail(rrset);
	uint32_t len = rrset_len(rrset), at = reply->len;
	uint32_t sent = len + rrset->count * RRSET_RR_HEAD;

	if ((rrset->len_flags & RRSET_OWNER_ROOT) != 0
		|| owner_at > MESSAGE_POINTER_MAX || !reply->apex_is_whole
		|| at + sent > MESSAGE_POINTER_MAX
		|| reply->apex_at + NAME_MAX_LEN > MESSAGE_POINTER_MAX
		|| sent > emit_room(reply))
		return emit_rrset(reply, &(struct emit_rrset){
			.section = SECTION_ANSWER,
			.owner_at = owner_at,
			.ttl_sec = rrset->ttl_sec,
			.rrset = rrset,
		}, NULL);
	copy_rrs(reply->out + at,
		emit_make_head(owner_at, rrset->type, rrset->ttl_sec),
		RRSET_RR_HEAD, rrset->data, rrset->data + len);
	if (tail != NULL)
		patch_cells(reply, tail, &(struct placed){.at = at}, 0);
	reply->len = at + sent;
	reply->count[SECTION_ANSWER] += rrset->count;
	return true;
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
	struct emit_octets owner;

	emit_make_octets(reply, owner_at, &owner);
	for (unsigned i = 0; i < sigs->count; i++) {
		const struct sig *sig = (const struct sig *)at;
		const struct sig_template *t = store_get(reply->view,
			sig->template_ref);
		uint32_t len = owner.len + EMIT_HEAD_REST + 2u + RRSIG_FIXED
			+ t->signer_len + sig->len;
		uint8_t *out = reply->out + reply->len;

		if (len > emit_room(reply)) {
			emit_reset(reply, &mark);
			return false;
		}
		out = emit_put_octets(out, &owner);
		memcpy(out, &head.rest, sizeof(head.rest));
		write_sig(out + EMIT_HEAD_REST, sig, t);
		reply->len += len;
		reply->count[section]++;
		at += sig_size(sig);
	}
	return true;
}

static inline bool
emit_with_sigs(struct query *q, const struct emit_rrset *what,
	store_ref sigs)
{
	return !query_wants_dnssec(q) || sigs == STORE_NONE
		|| emit_sigs(&q->reply, what->section, sigs, what->owner_at,
			what->ttl_sec);
}

/* The last resort where no client can ask for more room: see emit_folded. */
static __attribute__((noinline, cold)) bool
emit_signed_folded(struct query *q, const struct emit_rrset *what,
	store_ref sigs, struct placed *placed)
{
	struct emit_mark mark = emit_get_mark(&q->reply);
	struct placed unwanted;

	if (!q->udp && emit_folded(&q->reply, what,
			placed != NULL ? placed : &unwanted)
		&& emit_with_sigs(q, what, sigs))
		return true;
	emit_reset(&q->reply, &mark);
	q->reply.flags |= MESSAGE_TC;
	return false;
}

uint8_t *
emit_begin_record(struct reply *reply, const struct emit_record *what)
{
	struct emit_head head = emit_make_head(0, what->type, what->ttl_sec);
	struct emit_octets owner;
	uint8_t *out = reply->out + reply->len;

	emit_make_octets(reply, what->owner_at, &owner);
	if (owner.len + EMIT_HEAD_REST + 2u + what->rdlen > emit_room(reply))
		return NULL;
	out = emit_put_octets(out, &owner);
	memcpy(out, &head.rest, sizeof(head.rest));
	octets_put_u16(out + EMIT_HEAD_REST, what->rdlen);
	reply->len += owner.len + EMIT_HEAD_REST + 2u + what->rdlen;
	reply->count[what->section]++;
	return out + EMIT_HEAD_REST + 2;
}

bool
emit_record(struct reply *reply, const struct emit_record *what)
{
	uint8_t *rdata = emit_begin_record(reply, what);

	if (rdata == NULL)
		return false;
	memcpy(rdata, what->rdata, what->rdlen);
	return true;
}

bool
emit_signed(struct query *q, const struct emit_rrset *what,
	store_ref sigs, struct placed *placed)
{
	struct emit_mark mark;

	if (!query_wants_dnssec(q) || sigs == STORE_NONE)
		return emit_rrset(&q->reply, what, placed)
			|| emit_signed_folded(q, what, sigs, placed);
	mark = emit_get_mark(&q->reply);
	if (emit_rrset(&q->reply, what, placed)) {
		if (emit_with_sigs(q, what, sigs))
			return true;
		emit_reset(&q->reply, &mark);
	}
	return emit_signed_folded(q, what, sigs, placed);
}
