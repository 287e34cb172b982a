/* reply.c - writes header, question and OPT of a reply. */
#include <string.h>

#include "dns/rrtype.h"
#include "query/cookies.h"
#include "query/keys.h"
#include "query/parse.h"
#include "query/reply.h"

#define ZONEVERSION_LEN 6u /* labels, type, serial: RFC 9660 section 2 */
#define EXPIRE_LEN 4u      /* seconds: RFC 7314 section 2 */
#define KEEPALIVE_LEN 2u   /* units of 100 ms: RFC 7828 section 3.1 */

/* RFC 7314 section 2: EXPIRE is for queries for the SOA, or for the zone. */
static bool
wants_expire(const struct query *q)
{
	uint16_t type = q->question.type;

	return q->edns.expire && q->zone != NULL
		&& q->question.name.count == q->zone_labels
		&& (type == TYPE_SOA || type == TYPE_AXFR
			|| type == TYPE_IXFR);
}

/* RFC 7828 section 3.3.2: edns-tcp-keepalive is never sent over UDP. */
static bool
wants_keepalive(const struct query *q)
{
	return q->edns.keepalive && !q->udp;
}

/* The octets of the options that answer options of the request. */
static uint32_t
options_len(const struct query_ctx *ctx, const struct query *q)
{
	uint32_t len = 0;

	if (q->edns.nsid && ctx->settings->nsid.at != 0)
		len += EDNS_OPTION_HEAD + ctx->settings->nsid.len;
	len += cookies_len(q);
	if (q->edns.zoneversion && q->zone != NULL)
		len += EDNS_OPTION_HEAD + ZONEVERSION_LEN;
	if (wants_expire(q))
		len += EDNS_OPTION_HEAD + EXPIRE_LEN;
	if (wants_keepalive(q))
		len += EDNS_OPTION_HEAD + KEEPALIVE_LEN;
	return len;
}

/* The octets of the OPT record that are reserved before the answer is written.
 * Padding, the extended error and the report channel are not counted: they take
 * what room the answer leaves. */
static uint32_t
opt_len(const struct query_ctx *ctx, const struct query *q)
{
	if (!q->edns.present)
		return 0;
	return EDNS_OPT_LEN + (q->edns.any ? options_len(ctx, q) : 0);
}

bool
reply_begin(struct query_ctx *ctx, struct query *q, bool with_question)
{
	struct reply *reply = &q->reply;
	uint32_t len = MESSAGE_HEADER_LEN;
	uint32_t opt;

	if (with_question)
		len += q->question.name.len + MESSAGE_QUESTION_TAIL;
	opt = opt_len(ctx, q);
	/* An NSID that leaves no room for an answer is not sent. */
	if (len + opt > reply->limit && q->edns.nsid) {
		q->edns.nsid = false;
		opt = opt_len(ctx, q);
	}
	/* A signed reply may be as long as its request, whose names it has:
	 * there would be no reply where these are long. */
	if (len + opt > reply->limit && q->tsig == QUERY_TSIG_SIGNED
		&& q->tsig_error == RCODE_NOERROR
		&& len + opt + tsig_len(q->chain.key)
			<= q->exchange->reply_capacity)
		reply->limit = len + opt;
	if (len + opt > reply->limit)
		return false;
	reply->limit -= opt;
	if (with_question)
		memcpy(reply->out + MESSAGE_HEADER_LEN,
			q->exchange->request + MESSAGE_HEADER_LEN,
			len - MESSAGE_HEADER_LEN);
	reply->len = len;
	return true;
}

static uint8_t *
write_option(uint8_t *out, uint16_t code, const void *data, size_t len)
{
	octets_put_u16(out, code);
	octets_put_u16(out + 2, (uint16_t)len);
	memcpy(out + EDNS_OPTION_HEAD, data, len);
	return out + EDNS_OPTION_HEAD + len;
}

static uint8_t *
write_zoneversion(uint8_t *out, const struct query *q)
{
	uint8_t version[ZONEVERSION_LEN] = { q->zone_labels, 0 };

	octets_put_u32(version + 2, q->zone->serial);
	return write_option(out, EDNS_ZONEVERSION, version, sizeof(version));
}

/* EXPIRE says how long the zone may still be served: a zone with primaries
 * until it expires, another as its SOA says (RFC 7314 section 3). at_sec is
 * rounded up and uptime_sec down, so the sum may be two seconds too long.
 * Without this correction two secondaries that have the zone from each other
 * would keep it for ever (doc/decisions/0141). Where the SOA says 0, a
 * secondary says 1 in its place. */
#define EXPIRE_SLACK_SEC 2u

static uint8_t *
write_expire(const struct query_ctx *ctx, uint8_t *out, const struct query *q)
{
	const struct rrset *soa = store_get(ctx->view, q->zone->soa);
	uint32_t at_sec = __atomic_load_n(&q->search.entry->expires_sec,
		__ATOMIC_RELAXED);
	uint32_t of_soa = octets_get_u32(soa->data + rrset_len(soa) - 8);
	uint32_t left = of_soa, least = of_soa == 0 ? 1 : 0;
	uint8_t octets[EXPIRE_LEN];

	if (at_sec != 0) {
		left = at_sec > ctx->uptime_sec + EXPIRE_SLACK_SEC
			? at_sec - ctx->uptime_sec - EXPIRE_SLACK_SEC : least;
		/* Only a primary may send the value of the SOA. */
		left -= left == of_soa;
	}
	octets_put_u32(octets, left);
	return write_option(out, EDNS_EXPIRE, octets, sizeof(octets));
}

static uint8_t *
write_keepalive(uint8_t *out, const struct query *q)
{
	uint8_t octets[KEEPALIVE_LEN];

	octets_put_u16(octets, q->exchange->idle_100ms);
	return write_option(out, EDNS_TCP_KEEPALIVE, octets, sizeof(octets));
}

/* Writes the options that options_len has counted. */
static uint8_t *
write_options(const struct query_ctx *ctx, uint8_t *at, const struct query *q)
{
	const struct settings *settings = ctx->settings;

	if (q->edns.nsid && settings->nsid.at != 0)
		at = write_option(at, EDNS_NSID, settings_read_text(settings,
			&settings->nsid), settings->nsid.len);
	if (q->cookie != COOKIE_NONE) {
		cookies_write(ctx, q, at);
		at += cookies_len(q);
	}
	if (q->edns.zoneversion && q->zone != NULL)
		at = write_zoneversion(at, q);
	if (wants_expire(q))
		at = write_expire(ctx, at, q);
	if (wants_keepalive(q))
		at = write_keepalive(at, q);
	return at;
}

/* Writes the name of the agent that resolvers report errors to (RFC 9567), if
 * there is room. Replies about the agent's own names go without it, as reports
 * about reports would never end (section 6.1). */
static uint8_t *
write_report_channel(const struct settings *settings, uint8_t *out,
	size_t room, const struct query *q)
{
	const struct settings_text *agent = &settings->report_channel;
	const uint8_t *name = settings_read_text(settings, agent);

	if (room < EDNS_OPTION_HEAD + agent->len
		|| q->reply.len == MESSAGE_HEADER_LEN
		|| name_is_within(q->question.name.name, name))
		return out;
	return write_option(out, EDNS_REPORT_CHANNEL, name, agent->len);
}

size_t
reply_pad(uint8_t *out, size_t room, size_t before)
{
	size_t len = before + EDNS_OPTION_HEAD;
	size_t pad = (REPLY_BLOCK - len % REPLY_BLOCK) % REPLY_BLOCK;

	if (pad > room - EDNS_OPTION_HEAD)
		pad = room - EDNS_OPTION_HEAD;
	octets_put_u16(out, EDNS_PADDING);
	octets_put_u16(out + 2, (uint16_t)pad);
	memset(out + EDNS_OPTION_HEAD, 0, pad);
	return EDNS_OPTION_HEAD + pad;
}

/* Pads a reply over TLS; its request was padded, too. */
static uint8_t *
write_padding(uint8_t *out, size_t room, const struct query *q)
{
	size_t len = (size_t)(out - q->reply.out);

	if (room < EDNS_OPTION_HEAD)
		return out;
	if (q->tsig == QUERY_TSIG_SIGNED)
		len += tsig_len(q->chain.key);
	return out + reply_pad(out, room, len);
}

/* Writes the extended error (RFC 8914) if there is room: the code, and the text
 * if there is room for that, too. */
static uint8_t *
write_ede(uint8_t *out, size_t room, const struct query *q)
{
	size_t text = q->ede_text != NULL ? strlen(q->ede_text) : 0;
	size_t len = EDNS_OPTION_HEAD + 2;

	if (q->ede == EDE_NONE || room < len)
		return out;
	if (room < len + text)
		text = 0;
	octets_put_u16(out, EDNS_EDE);
	octets_put_u16(out + 2, (uint16_t)(2 + text));
	octets_put_u16(out + 4, q->ede);
	if (text > 0)
		memcpy(out + len, q->ede_text, text);
	return out + len + text;
}

static void
write_opt(const struct query_ctx *ctx, struct query *q)
{
	const struct settings *settings = ctx->settings;
	struct reply *reply = &q->reply;
	uint8_t *opt = reply->out + reply->len;
	uint8_t *at = opt + EDNS_OPT_LEN;
	/* Options behind these may use the room that the answer left. */
	const uint8_t *end = reply->out + reply->limit + opt_len(ctx, q);

	opt[0] = 0; /* the root */
	octets_put_u16(opt + 1, TYPE_OPT);
	octets_put_u16(opt + 3, q->udp_size);
	opt[5] = (uint8_t)(reply->rcode >> 4);
	opt[6] = EDNS_VERSION;
	octets_put_u16(opt + 7, q->edns.dnssec_ok ? EDNS_DO : 0);
	if (q->edns.any)
		at = write_options(ctx, at, q);
	if (q->ede != EDE_NONE)
		at = write_ede(at, (size_t)(end - at), q);
	/* The channel is left out of transfers, and of truncated replies: the
	 * client asks again over TCP, and gets it there. */
	if (settings->report_channel.at != 0 && q->step != STEP_TRANSFER
		&& (reply->flags & MESSAGE_TC) == 0)
		at = write_report_channel(settings, at, (size_t)(end - at), q);
	if (q->edns.padding && q->exchange->transport == TRANSPORT_TLS)
		at = write_padding(at, (size_t)(end - at), q);
	octets_put_u16(opt + 9, (uint16_t)(at - opt - EDNS_OPT_LEN));
	reply->len = (uint32_t)(at - reply->out);
	reply->count[SECTION_ADDITIONAL]++;
}

static inline __attribute__((always_inline)) void
count_reply(struct counters *counters, const struct reply *reply)
{
	if (reply->rcode < COUNTER_RCODES)
		counters->rcode[reply->rcode]++;
	if (reply->rcode == RCODE_NOERROR && (reply->flags & MESSAGE_AA) == 0)
		counters->answer_wo_aa++;
	if ((reply->flags & MESSAGE_TC) != 0)
		counters->truncated++;
}

/* Counts a request and its reply for the group of their zone. */
static __attribute__((noinline)) void
count_group(struct query_ctx *ctx, const struct query *q)
{
	struct counters *counters;

	/* The request may have been counted before; see exchange_seen. */
	if (ctx->options.block == NULL || ctx->counters == &ctx->uncounted)
		return;
	counters = counters_block_open(ctx->options.block, q->group);
	if (counters == NULL)
		return;
	parse_count_group(counters, q);
	count_reply(counters, &q->reply);
}

void
reply_end(struct query_ctx *ctx, struct query *q)
{
	struct reply *reply = &q->reply;
	uint8_t *out = reply->out;
	bool with_question = reply->len > MESSAGE_HEADER_LEN;

	if (q->edns.present)
		write_opt(ctx, q);
	memcpy(out, q->exchange->request, 2); /* ID */
	octets_put_u16(out + MESSAGE_FLAGS,
		reply->flags | (reply->rcode & MESSAGE_RCODE_MASK));
	octets_put_u16(out + MESSAGE_QDCOUNT, with_question);
	octets_put_u16(out + MESSAGE_ANCOUNT, reply->count[SECTION_ANSWER]);
	octets_put_u16(out + MESSAGE_NSCOUNT, reply->count[SECTION_AUTHORITY]);
	octets_put_u16(out + MESSAGE_ARCOUNT,
		reply->count[SECTION_ADDITIONAL]);
	if (q->tsig != QUERY_TSIG_NONE)
		keys_sign(ctx, q);
	q->exchange->reply_len = reply->len;
	count_reply(ctx->counters, reply);
	if (q->group != 0)
		count_group(ctx, q);
}
