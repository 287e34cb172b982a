/*
 * emit.h - puts RRsets of the store into a reply.
 *
 * Owners are written as pointers. Each is in the reply already: as the
 * question's name, as a name in RDATA before, or as the end of one of these. An
 * owner that no pointer reaches, and the root, is written in full. A function
 * writes all of its records, or nothing if they do not fit.
 */
#ifndef QUERY_EMIT_H
#define QUERY_EMIT_H

#include <endian.h>
#include <string.h>

#include "query/emit_loose.h"
#include "query/emit_name.h"
#include "query/state.h"

/* An RRset to be written. */
struct emit_rrset {
	enum section section;
	uint32_t owner_at;   /* where the owner is in the reply */
	uint32_t ttl_sec;
	uint32_t rotate;     /* RRs that move to the end; 0 unless
			      * emit_can_rotate */
	const struct rrset *rrset;
};

/*
 * Writes an RRset. Its names that end in the apex get a pointer there
 * (emit_set_apex).
 * out: placed (may be NULL) gets at, owner_at, rrset, rotated, len and loose.
 * Names that no pointer would reach (16383 octets) are written in full; then
 * `loose` is not 0, and only the first RDATA is where emit_sent_at says.
 * returns false, with nothing in the reply, if it does not fit.
 */
bool emit_rrset(struct reply *reply, const struct emit_rrset *what,
	struct placed *placed);

/* Writes an RRset into the answer section, with its TTL, as emit_rrset but
 * without the place: for transfers, which have many. */
bool emit_answer(struct reply *reply, uint32_t owner_at,
	const struct rrset *rrset);

/* True if the RRset may begin with another of its RRs. It may not if RRs have
 * pointers to names in earlier ones, for these must stay behind them. */
bool emit_can_rotate(const struct rrset *rrset);

/* Writes the signatures of one RRset, all or none, with this TTL. False: no
 * room. */
bool emit_sigs(struct reply *reply, enum section section, store_ref sigs,
	uint32_t owner_at, uint32_t ttl_sec);
bool emit_sig_list(struct reply *reply, enum section section,
	const struct rrset_sigs *sigs, uint32_t owner_at, uint32_t ttl_sec);

/* A record whose RDATA, without pointers, is at hand. */
struct emit_record {
	enum section section;
	uint32_t owner_at;
	uint16_t type;
	uint16_t rdlen;
	uint32_t ttl_sec;
	const uint8_t *rdata; /* emit_begin_record: not looked at */
};

/* Writes all but the RDATA. Returns where the caller has to write that; NULL:
 * no room, and nothing is written. */
uint8_t *emit_begin_record(struct reply *reply,
	const struct emit_record *what);
/* Writes all. False: no room. */
bool emit_record(struct reply *reply, const struct emit_record *what);

/*
 * Writes an RRset and, for a client that set DO, its signatures: both or
 * neither (RFC 4035 section 3.1.1). sigs may be STORE_NONE; placed as in
 * emit_rrset. An RRset that does not fit a message over TCP is tried once more
 * with names that lose their case (emit_folded).
 * returns false, with TC set, if they do not fit.
 */
bool emit_signed(struct query *q, const struct emit_rrset *what,
	store_ref sigs, struct placed *placed);

/* A point to go back to if records that belong together do not all fit. */
struct emit_mark {
	uint32_t len;
	uint16_t count[SECTION_COUNT];
};

static inline struct emit_mark
emit_get_mark(const struct reply *reply)
{
	struct emit_mark mark = { reply->len, { reply->count[0],
		reply->count[1], reply->count[2] } };

	return mark;
}

static inline void
emit_reset(struct reply *reply, const struct emit_mark *mark)
{
	reply->work += (reply->len - mark->len) / WORK_OCTETS_LOST;
	reply->len = mark->len;
	for (unsigned i = 0; i < SECTION_COUNT; i++)
		reply->count[i] = mark->count[i];
}

/* The place of an octet of a packed RRset in the reply; offset: in sent
 * coordinates. */
static inline uint32_t
emit_sent_at(const struct placed *placed, uint32_t offset)
{
	offset = offset >= placed->rotated ? offset - placed->rotated
		: offset + placed->len - placed->rotated;
	return placed->at + offset;
}

/*
 * The place of a sent offset of a placed RRset in the reply: of a target, or of
 * another place before the first name of a record has ended. Offsets have to
 * ascend from one call to the next with the same place.
 */
static inline uint32_t
emit_find_sent(const struct reply *reply, const struct placed *placed,
	struct emit_place *place, uint32_t offset)
{
	if (__builtin_expect(placed->loose != 0, false))
		return emit_find_loose(reply, placed, place, offset);
	return emit_sent_at(placed, offset);
}

/* The place of the RDATA of the first RR. */
static inline uint32_t
emit_rdata_at(const struct placed *placed)
{
	return placed->at + rrset_rr_head(placed->rrset) + 2u;
}

static inline uint32_t
emit_room(const struct reply *reply)
{
	return reply->len < reply->limit ? reply->limit - reply->len : 0;
}

/*
 * Owner, type, class and TTL of a record, in the octets of the message. They
 * are kept in registers: a processor stalls when it loads a word that was just
 * stored octet by octet.
 */
#define EMIT_HEAD_REST 8u /* octets of type, class and TTL */

struct emit_head {
	uint16_t owner;
	uint64_t rest;
};

static inline struct emit_head
emit_make_head(uint32_t owner_at, uint16_t type, uint32_t ttl_sec)
{
	struct emit_head head = {
		.owner = htobe16((uint16_t)(EMIT_POINTER | owner_at)),
		.rest = htobe64((uint64_t)type << 48
			| (uint64_t)CLASS_IN << 32 | ttl_sec),
	};

	return head;
}

static inline void
emit_put_head(uint8_t *out, struct emit_head head)
{
	memcpy(out, &head.owner, sizeof(head.owner));
	memcpy(out + sizeof(head.owner), &head.rest, sizeof(head.rest));
}

/* Writes an RRset into the additional section if it is one RR of rr_len octets
 * (RDLENGTH included) without names. False, with nothing written: it is not, or
 * it does not fit; emit_rrset finds out which. */
static inline bool
emit_single(struct reply *reply, uint32_t owner_at, const struct rrset *rrset,
	uint16_t type, uint32_t rr_len)
{
	uint8_t *out = reply->out + reply->len;

	if (rrset->len_flags != rr_len || rrset->count != 1
		|| owner_at > MESSAGE_POINTER_MAX
		|| reply->len + RRSET_RR_HEAD + rr_len > reply->limit)
		return false;
	emit_put_head(out, emit_make_head(owner_at, type, rrset->ttl_sec));
	memcpy(out + RRSET_RR_HEAD, rrset->data, rr_len);
	reply->len += RRSET_RR_HEAD + rr_len;
	reply->count[SECTION_ADDITIONAL]++;
	return true;
}

#endif
