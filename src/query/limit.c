/*
 * limit.c - which answers count for the same limit, and what becomes of those
 * that are too many.
 *
 * Answers are of the same subject if they are of one kind, go to one netblock,
 * and have a name in common: that of what the answer would be anyway, whatever
 * is asked. So an attacker cannot get around a limit by asking for random names
 * (doc/surface.md 1.7, rrl-whitelist, has the kinds).
 */
#include <string.h>

#include "dns/answer_kind.h"
#include "dns/rrtype.h"
#include "query/cookies.h"
#include "query/limit.h"
#include "zone/zone.h"

/* ---- buckets of a reply -------------------------------------------------- */

struct limit_name {
	const uint8_t *at;
	size_t len;
};

/* The apex of the zone that a query is about; empty if there is none. */
static struct limit_name
name_of_zone(const struct query *q)
{
	const struct zone_entry *entry = q->search.entry;

	if (entry == NULL)
		return (struct limit_name){NULL, 0};
	return (struct limit_name){entry->name, entry->leaf.name_len + 1u};
}

/* The last labels of the question's name, which all names with the same answer
 * share. */
static struct limit_name
name_in_common(const struct query *q)
{
	const struct message_name *name = &q->question.name;
	const uint8_t *at = name->name
		+ name->label_at[name->count - q->common.labels];

	return (struct limit_name){at, (size_t)(name->name + name->len - at)};
}

static struct limit_name
name_of_question(const struct query *q)
{
	const struct message_name *name = &q->question.name;

	return (struct limit_name){name->name, name->len};
}

static enum answer_kind
limit_kind_composed(const struct query *q, struct limit_name *name)
{
	const struct search *s = &q->search;
	bool in_chain = s->name != &q->question.name;

	*name = name_in_common(q);
	if (s->outcome == OUTCOME_DELEGATION) {
		if (in_chain)
			*name = name_of_zone(q);
		return ANSWER_REFERRAL;
	}
	if (q->question.type == TYPE_ANY)
		return ANSWER_ANY;
	if (q->question.type == TYPE_RRSIG)
		return ANSWER_RRSIG;
	return q->common.is_wildcard ? ANSWER_WILDCARD : ANSWER_POSITIVE;
}

/* The kind of a reply, and the name that replies are counted by. */
static enum answer_kind
limit_kind(const struct query *q, struct limit_name *name)
{
	enum answer_kind kind = ANSWER_POSITIVE;

	if (q->reply.rcode != RCODE_NOERROR) {
		*name = name_of_zone(q);
		return q->reply.rcode == RCODE_NXDOMAIN ? ANSWER_NXDOMAIN
							: ANSWER_ERROR;
	}
	*name = name_of_question(q);
	if (q->step == STEP_HEADER)
		*name = (struct limit_name){NULL, 0};
	else if (q->step == STEP_COMPOSE)
		kind = limit_kind_composed(q, name);
	if (kind != ANSWER_POSITIVE)
		return kind;
	if (q->reply.count[SECTION_ANSWER] == 0) {
		*name = name_of_zone(q);
		return ANSWER_NODATA;
	}
	return q->question.type == TYPE_DNSKEY ? ANSWER_DNSKEY
					       : ANSWER_POSITIVE;
}

static bool
limit_is_whitelisted(const struct query_ctx *ctx, const struct query *q,
	enum answer_kind kind)
{
	const struct zone_entry *entry = q->search.entry;
	store_ref ref;

	if (entry == NULL)
		return false;
	ref = store_load_ref(&entry->options);
	return ref != STORE_NONE
		&& (((const struct settings_options *)store_get(ctx->view,
			     ref))->numbers.rrl_whitelist & kind) != 0;
}

static const struct settings_netblocks *
limit_netblocks(const struct query_ctx *ctx, const struct query *q)
{
	return q->exchange->peer->ss_family == AF_INET6
		? &ctx->settings->rrl_ip6
		: &ctx->settings->rrl_ip4;
}

/* Hashes and fetches the buckets of all netblocks that the client is in. */
static void
limit_find_buckets(const struct query_ctx *ctx, struct query *q,
	const struct rrl_subject *subject)
{
	const struct settings_netblocks *blocks = limit_netblocks(ctx, q);
	const struct rrl *limits = ctx->options.limits;
	uint64_t address = rrl_address(q->exchange->peer);
	uint64_t hash = rrl_hash(limits, subject);
	/* A netblock of IPv4 has no number of one of IPv6. */
	unsigned family = blocks == &ctx->settings->rrl_ip6 ? 128 : 0;

	for (uint32_t i = 0; i < blocks->count; i++) {
		unsigned bits = blocks->items[i].bits;

		q->limit_hashes[i] = rrl_hash_netblock(limits, hash,
			rrl_netblock(address, bits), family + bits);
		rrl_prefetch(limits, q->limit_hashes[i]);
	}
}

void
limit_begin(struct query *q)
{
	const struct search *s = &q->search;
	const struct node *shared = NULL;

	q->common.labels = q->question.name.count;
	q->common.is_wildcard = s->from_wildcard;
	if (s->from_wildcard)
		shared = s->encloser;
	else if (s->outcome == OUTCOME_DELEGATION
		|| s->outcome == OUTCOME_DNAME)
		shared = s->node;
	if (shared != NULL)
		q->common.labels = (uint8_t)(s->zone_labels
			+ shared->leaf.labels);
}

void
limit_classify(struct query_ctx *ctx, struct query *q)
{
	struct limit_name name;
	enum answer_kind kind;

	q->rate = 0;
	if (q->exchange->peer == NULL || cookies_prove_client(q))
		return;
	kind = limit_kind(q, &name);
	q->rate = limit_is_whitelisted(ctx, q, kind)
		? ctx->settings->rrl_whitelist_ratelimit
		: ctx->settings->rrl_ratelimit;
	if (q->rate != 0)
		limit_find_buckets(ctx, q, &(struct rrl_subject){.kind = kind,
			.name = name.at, .name_len = name.len});
}

/* ---- replies beyond the limit -------------------------------------------- */

/* Notes for the log that limiting begins or ends for a netblock of `bits`
 * bits. */
static __attribute__((noinline, cold)) void
limit_note(struct query_ctx *ctx, const struct query *q, unsigned bits,
	bool begins)
{
	struct query_block *block = &ctx->blocks[ctx->block_count];
	struct limit_name name;
	enum answer_kind kind;
	uint64_t number;
	uint8_t *at;

	if (ctx->block_count == QUERY_BLOCKS_MAX)
		return;
	ctx->block_count++;
	kind = limit_kind(q, &name);
	block->begins = begins;
	block->whitelisted = limit_is_whitelisted(ctx, q, kind);
	block->kind = kind;
	block->qtype = q->step == STEP_HEADER ? 0 : q->question.type;
	block->client = *q->exchange->peer;
	block->netblock_bits = bits;
	memset(block->netblock, 0, sizeof(block->netblock));
	number = htobe64(rrl_netblock(rrl_address(&block->client), bits));
	memcpy(block->netblock, &number, sizeof(number));
	block->named = name.len > 0;
	at = block->name;
	/* There is room: a wildcard is no longer than a name it stands for. */
	if (kind == ANSWER_WILDCARD) {
		*at++ = 1;
		*at++ = '*';
	}
	if (name.len > 0)
		memcpy(at, name.at, name.len);
}

/* True if this answer is sent cut short. By chance (xorshift64*), so that
 * attackers cannot foresee it. */
static bool
limit_slips(struct query_ctx *ctx)
{
	uint32_t slip = ctx->settings->rrl_slip;
	uint64_t x = ctx->chance;

	if (slip <= 1)
		return slip == 1;
	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	ctx->chance = x;
	x = x * UINT64_C(0x2545f4914f6cdd1d) >> 32;
	return x * slip >> 32 == 0;
}

/* Leaves header and question, and the cookie among the options: the client's
 * address may be forged, and the reply is to be no longer than the request
 * was. */
static void
limit_cut_short(struct query *q)
{
	struct reply *reply = &q->reply;

	q->edns.nsid = false;
	q->edns.zoneversion = false;
	q->edns.expire = false;
	q->ede = EDE_NONE;
	if (q->step != STEP_HEADER)
		reply->len = MESSAGE_HEADER_LEN + q->question.name.len
			+ MESSAGE_QUESTION_TAIL;
	memset(reply->count, 0, sizeof(reply->count));
	reply->flags |= MESSAGE_TC;
}

/* Counts a reply for each netblock of its client, up to the first whose limit
 * is reached: for wider ones, a reply that is not sent does not count. True: a
 * limit is reached. */
static bool
limit_is_reached(struct query_ctx *ctx, const struct query *q)
{
	const struct settings_netblocks *blocks = limit_netblocks(ctx, q);
	struct rrl_verdict verdict = {.limited = false};

	for (uint32_t i = 0; i < blocks->count && !verdict.limited; i++) {
		uint64_t rate = (uint64_t)q->rate * blocks->items[i].factor;

		if (rate > RRL_LIMIT_MAX)
			rate = RRL_LIMIT_MAX;
		verdict = rrl_count(ctx->options.limits, q->limit_hashes[i],
			(uint32_t)rate, ctx->now_tick);
		if (__builtin_expect(verdict.begins || verdict.ends, 0))
			limit_note(ctx, q, blocks->items[i].bits,
				verdict.begins);
	}
	return verdict.limited;
}

bool
limit_count(struct query_ctx *ctx, struct query *q)
{
	if (q->rate == 0 || !limit_is_reached(ctx, q))
		return true;
	if (!limit_slips(ctx))
		return false;
	limit_cut_short(q);
	return true;
}
