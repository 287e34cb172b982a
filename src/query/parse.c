/* parse.c - reads requests (RFC 1035 section 4, RFC 6891, RFC 8906). */
#include <netinet/in.h>

#include "base/assert.h"
#include "dns/rrtype.h"
#include "dns/tsig.h"
#include "query/cookies.h"
#include "query/keys.h"
#include "query/parse.h"
#include "settings/acl.h"

/* The most records in the authority section of an IXFR, which has one SOA
 * there. A request with more is refused, as it only costs time. */
#define AUTHORITY_MAX 64

static void
end_with_header(struct query *q, enum rcode rcode, uint16_t flags)
{
	q->step = STEP_HEADER;
	q->reply.rcode = rcode;
	q->reply.flags = MESSAGE_QR | flags;
}

/* Replies FORMERR, with the request's opcode and RD but no other flags. */
static void
end_with_formerr(struct query *q, uint16_t flags)
{
	end_with_header(q, RCODE_FORMERR,
		flags & (MESSAGE_OPCODE_MASK | MESSAGE_RD));
}

static bool
peer_is_ip6(const struct exchange *exchange)
{
	return exchange->peer != NULL
		&& exchange->peer->ss_family == AF_INET6;
}

static inline __attribute__((always_inline)) void
count_transport(struct counters *counters, const struct exchange *exchange,
	bool ip6)
{
	counters->queries++;
	switch (exchange->transport) {
	case TRANSPORT_UDP:
		*(ip6 ? &counters->udp6 : &counters->udp) += 1;
		break;
	case TRANSPORT_TCP:
		*(ip6 ? &counters->tcp6 : &counters->tcp) += 1;
		break;
	case TRANSPORT_TLS:
		*(ip6 ? &counters->tls6 : &counters->tls) += 1;
		break;
	}
}

static inline __attribute__((always_inline)) void
count_question(struct counters *counters,
	const struct message_question *question)
{
	counters->type[counters_find_type(question->type)]++;
	counters->rrclass[counters_find_class(question->rrclass)]++;
}

void
parse_count_group(struct counters *counters, const struct query *q)
{
	const struct exchange *exchange = q->exchange;

	count_transport(counters, exchange, peer_is_ip6(exchange));
	counters->opcode[message_get_opcode(exchange->request)]++;
	count_question(counters, &q->question);
	counters->edns += q->edns.present;
	counters->raxfr += q->question.type == TYPE_AXFR
		&& q->step == STEP_TRANSFER;
	counters->rixfr += q->question.type == TYPE_IXFR;
}

/*
 * Reads the additional section: at most one OPT at the root, and at most one
 * TSIG, which must be the last (RFC 6891 section 6.1.1, RFC 8945 section 5.1).
 * Steps over others, such as SIG(0) (RFC 2931) and TKEY, without looking into
 * them: no answer depends on these. Ends with the message at the latest.
 */
static enum nsd_err
read_additional(struct query *q, struct cursor *c, unsigned count)
{
	struct message_rr rr;
	struct tsig tsig;

	for (unsigned i = 0; i < count; i++) {
		if (message_read_rr(c, &rr) != NSD_OK)
			return NSD_E_WIRE;
		switch (rr.type) {
		case TYPE_OPT:
			if (q->edns.present || !message_rr_at_root(c, &rr)
				|| edns_read(&rr, &q->edns) != NSD_OK)
				return NSD_E_WIRE;
			break;
		case TYPE_TSIG:
			if (i + 1 != count || tsig_read(c->start,
				(size_t)(c->end - c->start),
				rr.owner_at, &tsig) != NSD_OK)
				return NSD_E_WIRE;
			q->tsig_at = (uint16_t)rr.owner_at;
			break;
		default:
			break;
		}
	}
	return NSD_OK;
}

/* Skips the records before the additional section. Each has 11 octets at least.
 * So the loop ends with the message, whatever the count says. */
static enum nsd_err
skip_records(struct cursor *c, unsigned count)
{
	struct message_rr rr;

	for (unsigned i = 0; i < count; i++)
		if (message_read_rr(c, &rr) != NSD_OK)
			return NSD_E_WIRE;
	return NSD_OK;
}

/* Reads what follows the header. returns NSD_OK; NSD_E_WIRE: the reply has to
 * be FORMERR. */
static enum nsd_err
read_sections(struct query *q, struct counters *counters, struct cursor *c)
{
	const uint8_t *request = q->exchange->request;
	unsigned answers = message_get_count(request, MESSAGE_ANCOUNT);
	unsigned authority = message_get_count(request, MESSAGE_NSCOUNT);

	if (message_read_question(c, &q->question) != NSD_OK)
		return NSD_E_WIRE;
	count_question(counters, &q->question);
	if ((answers | authority) != 0) {
		if (message_get_opcode(request) == OPCODE_QUERY
			&& (answers != 0 || q->question.type != TYPE_IXFR
				|| authority > AUTHORITY_MAX))
			return NSD_E_WIRE;
		if (skip_records(c, answers + authority) != NSD_OK)
			return NSD_E_WIRE;
	}
	return read_additional(q, c,
		message_get_count(request, MESSAGE_ARCOUNT));
}

/* Sets how long the reply may be. RFC 6891 section 6.2.5: a size below 512
 * counts as 512. */
static void
set_reply_limit(struct query *q)
{
	const struct exchange *x = q->exchange;
	uint32_t limit = MESSAGE_MAX_LEN;

	if (q->udp) {
		limit = q->edns.present ? q->edns.udp_size : 0;
		if (limit > q->udp_size)
			limit = q->udp_size;
		if (limit < MESSAGE_UDP_MIN)
			limit = MESSAGE_UDP_MIN;
	}
	if (limit > x->reply_capacity)
		limit = x->reply_capacity;
	q->reply.limit = limit;
}

/*
 * Chooses the reply to a meta type that has a rule of its own; false for other
 * types. The rest of 128..255 are for questions alone (RFC 6895 section 3.1).
 * Few zones have records of these types, and none of type 0, so their answer is
 * mostly "no data", as of NSD and others.
 */
static bool
end_meta_type(struct query *q, uint16_t flags)
{
	uint16_t type = q->question.type;

	switch (type) {
	case TYPE_ANY:
		return false;
	case TYPE_AXFR:
		if (!q->udp)
			q->step = STEP_TRANSFER;
		else
			query_fail(q, RCODE_NOTIMP, EDE_NOT_SUPPORTED, NULL);
		return true;
	case TYPE_IXFR:
		q->step = STEP_TRANSFER;
		return true;
	case TYPE_MAILA:
	case TYPE_MAILB:
		/* RFC 8906 section 3.1.4 allows NOTIMP. "No data" would be
		 * wrong of a name that has MX, or MB, MG or MR. */
		query_fail(q, RCODE_NOTIMP, EDE_NOT_SUPPORTED, NULL);
		return true;
	case TYPE_NXNAME:
		/* RFC 9824 section 3.5 */
		end_with_formerr(q, flags);
		query_set_ede(q, EDE_INVALID_QUERY_TYPE, NULL);
		return true;
	default:
		return false;
	}
}

/* Chooses the step for a well-formed request of opcode QUERY. */
static void
choose_step(struct query_ctx *ctx, struct query *q, uint16_t flags)
{
	q->reply.flags = MESSAGE_QR | (flags & MESSAGE_RD);
	switch (q->question.rrclass) {
	case CLASS_IN:
	case CLASS_ANY:
		break;
	case CLASS_CH:
		q->step = STEP_CHAOS;
		return;
	default:
		end_with_header(q, RCODE_REFUSED, flags & MESSAGE_RD);
		query_set_ede(q, EDE_NOT_SUPPORTED, NULL);
		return;
	}
	if (end_meta_type(q, flags)) {
		/* An AXFR is counted when it is allowed, as NSD does. */
		ctx->counters->rixfr += q->question.type == TYPE_IXFR;
		return;
	}
	if (q->question.type == TYPE_ANY && q->udp
		&& ctx->settings->refuse_any) {
		/* RFC 8482 section 4.4: ask again over TCP. */
		q->step = STEP_QUESTION;
		q->reply.flags |= MESSAGE_TC;
		return;
	}
	q->step = STEP_ZONE;
}

/* Chooses the reply to a request without a question or with several: FORMERR.
 * If an additional section is all that the request has, its OPT is read, and
 * the reply has one, too. A QUERY whose OPT has a cookie asks about that cookie
 * and is no error (RFC 7873 section 5.4). */
static void
end_without_question(struct query_ctx *ctx, struct query *q, struct cursor *c,
	uint16_t flags)
{
	const uint8_t *request = q->exchange->request;
	enum rcode rcode = RCODE_FORMERR;

	if (message_get_count(request, MESSAGE_QDCOUNT) == 0
		&& message_get_count(request, MESSAGE_ANCOUNT) == 0
		&& message_get_count(request, MESSAGE_NSCOUNT) == 0) {
		if (read_additional(q, c, message_get_count(request,
			MESSAGE_ARCOUNT)) != NSD_OK)
			ctx->counters->edns_err++;
		else if (q->tsig_at == 0
			&& message_get_opcode(request) == OPCODE_QUERY)
			cookies_check(ctx, q);
	}
	if (q->cookie != COOKIE_NONE)
		rcode = q->cookie == COOKIE_BAD ? RCODE_BADCOOKIE
			: RCODE_NOERROR;
	set_reply_limit(q);
	end_with_header(q, rcode,
		flags & (MESSAGE_OPCODE_MASK | MESSAGE_RD));
}

bool
parse_check_key(struct query_ctx *ctx, struct query *q)
{
	uint16_t flags = message_get_flags(q->exchange->request);
	enum rcode rcode = keys_check(ctx, q);

	switch (rcode) {
	case RCODE_NOERROR:
		return true;
	case RCODE_FORMERR:
		end_with_formerr(q, flags);
		return false;
	case RCODE_SERVFAIL:
		break;
	default:
		rcode = RCODE_NOTAUTH;
		break;
	}
	end_with_header(q, rcode, flags & (MESSAGE_OPCODE_MASK | MESSAGE_RD));
	return false;
}

void
parse_refuse_opcode(struct query_ctx *ctx, struct query *q)
{
	uint16_t flags = message_get_flags(q->exchange->request);

	q->step = STEP_DROP;
	if (message_get_opcode(q->exchange->request) != OPCODE_UPDATE
		|| !ctx->settings->drop_updates)
		end_with_header(q, RCODE_NOTIMP, flags & (MESSAGE_OPCODE_MASK
			| MESSAGE_AA | MESSAGE_TC | MESSAGE_RD | MESSAGE_RA));
}

/* Reads the zone section of an UPDATE (RFC 2136 section 2.3). The rest waits
 * until it is known whether the zone takes any. */
static void
parse_update(struct query_ctx *ctx, struct query *q, uint16_t flags)
{
	const uint8_t *request = q->exchange->request;
	struct cursor c;

	cursor_init(&c, request, q->exchange->request_len);
	c.at += MESSAGE_HEADER_LEN;
	if (message_get_count(request, MESSAGE_QDCOUNT) != 1) {
		end_without_question(ctx, q, &c, flags);
		return;
	}
	if (message_read_question(&c, &q->question) != NSD_OK) {
		end_with_formerr(q, flags);
		return;
	}
	q->step = STEP_UPDATE;
}

bool
parse_update_rest(struct query_ctx *ctx, struct query *q)
{
	const uint8_t *request = q->exchange->request;
	uint16_t flags = message_get_flags(request);
	struct cursor c;
	enum nsd_err err;

	cursor_init(&c, request, q->exchange->request_len);
	c.at += MESSAGE_HEADER_LEN + q->question.name.len
		+ MESSAGE_QUESTION_TAIL;
	err = skip_records(&c, message_get_count(request, MESSAGE_ANCOUNT)
		+ message_get_count(request, MESSAGE_NSCOUNT));
	if (err == NSD_OK)
		err = read_additional(q, &c, message_get_count(request,
			MESSAGE_ARCOUNT));
	set_reply_limit(q);
	ctx->counters->edns += q->edns.present;
	if (err != NSD_OK || (flags & MESSAGE_RCODE_MASK) != 0
		|| q->question.type != TYPE_SOA) {
		ctx->counters->edns_err += q->edns.present;
		end_with_formerr(q, flags);
		return false;
	}
	cookies_check(ctx, q);
	q->reply.flags = MESSAGE_QR | (flags & (MESSAGE_OPCODE_MASK
		| MESSAGE_RD));
	if (q->edns.present && q->edns.version != EDNS_VERSION) {
		ctx->counters->edns_err++;
		query_fail(q, RCODE_BADVERS, EDE_NONE, NULL);
		return false;
	}
	return true;
}

/* Parses a QUERY or NOTIFY behind its header. The first fault decides the
 * reply; so the order counts: sections, cookie, TSIG, version of EDNS,
 * question. */
static void
parse_message(struct query_ctx *ctx, struct query *q, uint16_t flags)
{
	const uint8_t *request = q->exchange->request;
	struct counters *counters = ctx->counters;
	struct cursor c;
	enum nsd_err err;

	cursor_init(&c, request, q->exchange->request_len);
	c.at += MESSAGE_HEADER_LEN;
	if (message_get_count(request, MESSAGE_QDCOUNT) != 1) {
		end_without_question(ctx, q, &c, flags);
		return;
	}
	err = read_sections(q, counters, &c);
	set_reply_limit(q);
	if (q->edns.present)
		counters->edns++;
	if (err != NSD_OK || (flags & MESSAGE_RCODE_MASK) != 0) {
		if (q->edns.present)
			counters->edns_err++;
		end_with_formerr(q, flags);
		return;
	}
	cookies_check(ctx, q);
	if (q->tsig_at != 0 && !parse_check_key(ctx, q))
		return;
	if (q->edns.present && q->edns.version != EDNS_VERSION) {
		counters->edns_err++;
		q->reply.flags = MESSAGE_QR | (flags & (MESSAGE_OPCODE_MASK
			| MESSAGE_RD));
		query_fail(q, RCODE_BADVERS, EDE_NONE, NULL);
		return;
	}
	if (message_get_opcode(request) == OPCODE_NOTIFY) {
		end_with_header(q, RCODE_REFUSED, flags & (MESSAGE_AA
			| MESSAGE_OPCODE_MASK | MESSAGE_RD));
		if (q->question.type != TYPE_SOA)
			end_with_formerr(q, flags);
		/* The verify server has no xfrd that would look at it. */
		else if (q->question.rrclass == CLASS_IN
			&& !ctx->options.candidates)
			q->step = STEP_NOTIFY;
		return;
	}
	choose_step(ctx, q, flags);
}

void
parse_request(struct query_ctx *ctx, struct query *q,
	struct exchange *exchange)
{
	struct counters *counters = ctx->counters;
	const uint8_t *request = exchange->request;
	bool ip6 = peer_is_ip6(exchange);
	uint16_t flags;
	unsigned opcode;

	POISON_HOT(q, sizeof(*q));
	POISON_HOT(exchange->reply, exchange->reply_capacity);
	exchange->pass_on = false;
	q->exchange = exchange;
	q->step = STEP_DROP;
	q->udp = exchange->transport == TRANSPORT_UDP;
	q->udp_size = ip6 ? ctx->settings->udp6_size
		: ctx->settings->udp4_size;
	q->ede = EDE_NONE;
	q->ede_text = NULL;
	q->tsig_at = 0;
	q->tsig = QUERY_TSIG_NONE;
	q->tsig_error = RCODE_NOERROR;
	q->key = STORE_NONE;
	q->chain.key = NULL;
	q->question.type = 0;
	q->question.rrclass = 0;
	q->question.name.len = 0;
	q->question.name.count = 0;
	q->cookie = COOKIE_NONE;
	memset(&q->edns, 0, sizeof(q->edns));
	memset(q->reply.count, 0, sizeof(q->reply.count));
	q->reply.work = 0;
	q->reply.out = exchange->reply;
	q->reply.rcode = RCODE_NOERROR;
	q->reply.flags = MESSAGE_QR;
	q->reply.limit = exchange->reply_capacity;
	q->reply.view = ctx->view;
	q->reply.scratch = ctx->scratch;
	q->placed_count = 0;
	q->link_count = 0;
	q->expansion_count = 0;
	q->denial_count = 0;
	memset(&q->spent, 0, sizeof(q->spent));
	q->proof.kind = PROOF_NONE;
	q->dname_count = 0;
	q->zone = NULL;
	q->group = 0;
	q->search.entry = NULL;
	q->search.zone = NULL;

	count_transport(counters, exchange, ip6);
	/* Drop replies, since replies to them would loop. Drop requests from
	 * port 0: no socket has it. */
	if (exchange->request_len < MESSAGE_HEADER_LEN
		|| exchange->reply_capacity < MESSAGE_HEADER_LEN
		|| (request[MESSAGE_FLAGS] & (MESSAGE_QR >> 8)) != 0
		|| (q->udp && acl_peer_port_is_zero(exchange->peer)))
		return;
	flags = message_get_flags(request);
	opcode = message_get_opcode(request);
	counters->opcode[opcode]++;
	if (opcode != OPCODE_QUERY && opcode != OPCODE_NOTIFY) {
		/* The reply is a header alone: the rest of a message of an
		 * unknown opcode may mean anything. */
		if (opcode == OPCODE_UPDATE && !ctx->options.candidates
			&& (ctx->settings->takes_updates
				|| ctx->outcome != NULL))
			parse_update(ctx, q, flags);
		else
			parse_refuse_opcode(ctx, q);
		return;
	}
	parse_message(ctx, q, flags);
}
