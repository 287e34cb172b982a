/* transfer.c - makes the messages of a zone transfer. */
#include <assert.h>
#include <stdlib.h>

#include "query/keys.h"
#include "query/reply.h"
#include "query/transfer_state.h"

/*
 * The length at which a message is full: no pointer reaches further than 16384,
 * so that larger messages would be longer in all, and padded ones are whole
 * blocks. A message that would have no record otherwise may be of any length.
 */
#define MESSAGE_FULL (16384u / REPLY_BLOCK * REPLY_BLOCK)

/* ---- messages ----------------------------------------------------------- */

/* Writes the OPT, if there is one: what answers the request's options is in the
 * first message alone, padding in each. */
static void
put_opt(struct transfer *t, struct reply *reply, uint32_t tsig)
{
	uint8_t *opt = reply->out + reply->len;

	memcpy(opt, t->opt, t->opt_len);
	reply->len += t->opt_len;
	octets_put_u16(reply->out + MESSAGE_ARCOUNT, t->opt_len > 0);
	t->opt_len = 0;
	if (!t->is_padded)
		return;
	reply->len += (uint32_t)reply_pad(reply->out + reply->len,
		MESSAGE_MAX_LEN - tsig - reply->len, reply->len + tsig);
	octets_put_u16(opt + EDNS_OPT_LEN - 2, (uint16_t)(reply->out
		+ reply->len - opt - EDNS_OPT_LEN));
	octets_put_u16(t->opt + EDNS_OPT_LEN - 2, 0);
	t->opt_len = EDNS_OPT_LEN;
}

/* Signs a message if the request was signed. Returns the message's length; 0:
 * no memory. */
static size_t
end_message(const struct query_ctx *ctx, struct transfer *t,
	struct reply *reply, size_t capacity)
{
	struct tsig_stamp stamp = keys_stamp(ctx);
	size_t len = reply->len;

	if (t->is_signed && tsig_sign(&t->chain, reply->out, &len, capacity,
			&stamp) != NSD_OK)
		return 0;
	return len;
}

static void
note_unsent(struct query_ctx *ctx, const struct transfer *t)
{
	struct query_unsent *unsent = &ctx->unsent;

	unsent->of_difference = t->kind == ITEM_STEP;
	memcpy(unsent->zone, t->apex, sizeof(t->apex));
	memcpy(unsent->owner, t->owner->labels, t->owner->len);
	memcpy(unsent->owner + t->owner->len, t->apex, name_len(t->apex));
	ctx->has_unsent = true;
}

size_t
transfer_next(struct query_ctx *ctx, struct transfer *t, uint8_t *out,
	size_t capacity)
{
	uint32_t tsig = t->is_signed ? (uint32_t)tsig_len(&t->key) : 0;
	uint32_t rest = t->opt_len + tsig
		+ (t->is_padded ? EDNS_OPTION_HEAD : 0);
	struct reply reply = {
		.out = out,
		.len = t->head_len,
		.limit = MESSAGE_FULL - rest,
		.view = t->view,
		.scratch = ctx->scratch,
	};

	assert(capacity >= MESSAGE_MAX_LEN);
	if (t->part == TRANSFER_NONE)
		return 0;
	memcpy(out, t->head, t->head_len);
	emit_set_apex(&reply, t->apex, MESSAGE_HEADER_LEN);
	t->names[0].is_placed = t->names[1].is_placed = false;
	transfer_fill(t, &reply);
	reply.limit = MESSAGE_MAX_LEN - rest;
	if (reply.count[SECTION_ANSWER] == 0)
		transfer_fill_one(t, &reply);
	if (reply.count[SECTION_ANSWER] == 0) {
		/* A record without room in any message ends the transfer. */
		note_unsent(ctx, t);
		t->part = TRANSFER_NONE;
		out[MESSAGE_FLAGS + 1] |= RCODE_SERVFAIL;
	}
	octets_put_u16(out + MESSAGE_ANCOUNT, reply.count[SECTION_ANSWER]);
	put_opt(t, &reply, tsig);
	return end_message(ctx, t, &reply, capacity);
}

/* ---- begin and end ----------------------------------------------------- */

void
transfer_end(struct query_ctx *ctx, struct transfer *t)
{
	store_reader_unpin(ctx->options.reader, &t->pin);
	if (t->is_signed)
		mac_destroy(t->key.mac);
	free(t->path.changesets);
	free(t->condensed);
	free(t);
}

void **
transfer_note(struct transfer *t)
{
	return &t->note;
}

const uint8_t *
transfer_find_pinned(const struct query_ctx *ctx, const struct transfer *t,
	uint64_t epoch)
{
	return store_reader_has_pinned(ctx->options.reader, &t->pin, epoch)
		? t->apex
		: NULL;
}

/* Has all messages signed, if the request is. False: no memory. */
static bool
take_key(struct query_ctx *ctx, struct query *q, struct transfer *t)
{
	t->is_signed = q->tsig == QUERY_TSIG_SIGNED;
	if (!t->is_signed)
		return true;
	if (!keys_copy(ctx, q, &t->key))
		return false;
	t->chain = q->chain;
	t->chain.key = &t->key;
	return true;
}

/* Makes the stream of a transfer, which takes the way. False: no memory or no
 * pin; the way stays the caller's. */
static bool
transfer_open(struct query_ctx *ctx, struct query *q,
	const struct history_path *path)
{
	const struct zone_entry *entry = q->search.entry;
	struct transfer *t = calloc(1, sizeof(*t));
	size_t condensed;

	if (t == NULL || ctx->options.reader == NULL || !take_key(ctx, q, t)) {
		free(t);
		return false;
	}
	if (store_reader_pin(ctx->options.reader, &t->pin) != NSD_OK) {
		if (t->is_signed)
			mac_destroy(t->key.mac);
		free(t);
		return false;
	}
	t->view = ctx->view;
	t->zone = q->zone;
	t->path = *path;
	memcpy(t->apex, entry->name, entry->leaf.name_len + 1u);
	t->head_len = q->reply.len;
	/* A reply without records is what all messages have in common. */
	q->edns.nsid = false;
	q->edns.zoneversion = false;
	t->is_padded = q->edns.padding
		&& q->exchange->transport == TRANSPORT_TLS;
	q->edns.padding = false;
	q->reply.flags |= MESSAGE_AA;
	q->tsig = QUERY_TSIG_NONE;
	reply_end(ctx, q);
	memcpy(t->head, q->reply.out, t->head_len);
	octets_put_u16(t->head + MESSAGE_ARCOUNT, 0);
	t->opt_len = q->reply.len - t->head_len;
	assert(t->opt_len <= sizeof(t->opt));
	memcpy(t->opt, q->reply.out + t->head_len, t->opt_len);
	condensed = transfer_condense(t, TRANSFER_CONDENSE_MAX);
	q->reply.work += WORK_TRANSFER
		+ (uint32_t)(condensed / WORK_OCTETS_CONDENSED);
	transfer_walk_begin(t);
	q->exchange->reply_len = 0;
	q->exchange->stream = t;
	return true;
}

#define SOA_NUMBERS_LEN 20

/* The serial of a SOA in a request (RFC 1035 section 3.3.13: two names, which
 * may be compressed, and five numbers). False: the record is no SOA. */
static bool
transfer_read_soa(const struct exchange *x, const struct message_rr *rr,
	uint32_t *serial)
{
	uint8_t name[NAME_MAX_LEN];
	size_t size;
	struct cursor c;

	cursor_init(&c, x->request, x->request_len);
	c.at = rr->rdata;
	for (unsigned i = 0; i < 2; i++)
		if (name_read(&c, name, &size) != NSD_OK)
			return false;
	if (rr->rdata + rr->rdlen - c.at != SOA_NUMBERS_LEN)
		return false;
	*serial = cursor_read_u32(&c);
	return true;
}

/* True if a record of the request has the name that is asked for. */
static bool
is_of_qname(const struct query *q, const struct message_rr *rr)
{
	const struct exchange *x = q->exchange;
	struct message_name owner;

	return message_expand_name(x->request, x->request_len, rr->owner_at,
			&owner) == NSD_OK
		&& owner.len == q->question.name.len
		&& memcmp(owner.name, q->question.name.name, owner.len)
			== 0;
}

/* Reads the client's version from the SOA of an IXFR (RFC 1995 section 3). */
static bool
read_serial(const struct query *q, uint32_t *serial)
{
	const struct exchange *x = q->exchange;
	struct message_rr rr;
	struct cursor c;

	cursor_init(&c, x->request, x->request_len);
	cursor_read_octets(&c, MESSAGE_HEADER_LEN + q->question.name.len
		+ MESSAGE_QUESTION_TAIL);
	if (message_get_count(x->request, MESSAGE_NSCOUNT) == 0
		|| message_read_rr(&c, &rr) != NSD_OK || rr.type != TYPE_SOA
		|| rr.rrclass != CLASS_IN || !is_of_qname(q, &rr))
		return false;
	return transfer_read_soa(x, &rr, serial);
}

/* The reply to a client that has this version, or a later one (RFC 1982), and
 * to one that is to ask over TCP (RFC 1995 section 2). */
static void
answer_soa(struct query_ctx *ctx, struct query *q)
{
	const struct rrset *soa = store_get(ctx->view, q->zone->soa);
	const struct emit_rrset what = {
		.section = SECTION_ANSWER,
		.owner_at = MESSAGE_HEADER_LEN,
		.ttl_sec = soa->ttl_sec,
		.rrset = soa,
	};

	q->reply.flags |= MESSAGE_AA;
	emit_set_apex(&q->reply, q->search.entry->name, MESSAGE_HEADER_LEN);
	if (!emit_rrset(&q->reply, &what, NULL))
		q->reply.flags |= MESSAGE_TC;
}

/* Writes all differences into a datagram. False: there is no room, and nothing
 * is written. */
static bool
answer_changesets(struct query_ctx *ctx, struct query *q,
	const struct history_path *path)
{
	const struct zone_entry *entry = q->search.entry;
	const struct emit_mark mark = emit_get_mark(&q->reply);
	struct transfer t = {
		.view = ctx->view,
		.zone = q->zone,
		.path = *path,
	};

	memcpy(t.apex, entry->name, entry->leaf.name_len + 1u);
	emit_set_apex(&q->reply, entry->name, MESSAGE_HEADER_LEN);
	(void)transfer_condense(&t, TRANSFER_CONDENSE_UDP_MAX);
	transfer_walk_begin(&t);
	transfer_fill(&t, &q->reply);
	free(t.condensed);
	if (t.part == TRANSFER_NONE && !t.changeset.failed) {
		q->reply.flags |= MESSAGE_AA;
		return true;
	}
	emit_reset(&q->reply, &mark);
	return false;
}

/* Answers with differences if there is a path, else with the zone. */
static bool
transfer_choose(struct query_ctx *ctx, struct query *q, uint32_t serial)
{
	struct history_path path = {.changesets = NULL};
	bool is_ixfr = q->question.type == TYPE_IXFR, done = true;

	if (is_ixfr && history_find(ctx->view, q->search.entry, serial,
			q->zone->serial, &path) == NSD_E_MEMORY)
		return false;
	q->reply.work += (uint32_t)path.looked * WORK_CHANGESET;
	if (!q->udp)
		done = transfer_open(ctx, q, &path);
	else if (path.changesets == NULL || !answer_changesets(ctx, q, &path))
		answer_soa(ctx, q);
	if (q->udp || !done)
		free(path.changesets);
	return done;
}

bool
transfer_begin(struct query_ctx *ctx, struct query *q)
{
	bool is_ixfr = q->question.type == TYPE_IXFR;
	uint32_t serial = 0;

	if (is_ixfr && !read_serial(q, &serial))
		q->reply.rcode = RCODE_FORMERR;
	else if (is_ixfr && (int32_t)(q->zone->serial - serial) <= 0)
		answer_soa(ctx, q);
	else if (!transfer_choose(ctx, q, serial))
		q->reply.rcode = RCODE_SERVFAIL;
	return q->exchange->stream == NULL;
}
