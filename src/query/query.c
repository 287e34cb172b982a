/* query.c - takes a batch of requests through its stages. */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "dns/rrtype.h"
#include "query/answer.h"
#include "query/cookies.h"
#include "query/keys.h"
#include "query/limit.h"
#include "query/lookup.h"
#include "query/parse.h"
#include "query/proof.h"
#include "query/query.h"
#include "query/reply.h"
#include "query/transfer.h"
#include "query/zones.h"
#include "zone/table.h"

enum nsd_err
query_ctx_create(const struct query_options *options,
	struct counters *counters, struct query_ctx **out)
{
	void *memory;
	struct query_ctx *ctx;

	if (posix_memalign(&memory, 64, sizeof(*ctx)) != 0)
		return NSD_E_MEMORY;
	ctx = memory;
	memset(ctx, 0, sizeof(*ctx));
	ctx->options = *options;
	ctx->counters = counters;
	ctx->chance = options->seed | 1;
	*out = ctx;
	return NSD_OK;
}

void
query_ctx_destroy(struct query_ctx *ctx)
{
	if (ctx == NULL)
		return;
	keys_destroy(ctx);
	explicit_bzero(&ctx->cookie_secrets, sizeof(ctx->cookie_secrets));
	free(ctx);
}

void
query_forget_keys(struct query_ctx *ctx)
{
	keys_destroy(ctx);
}

void
query_set_rssac(struct query_ctx *ctx, struct rssac *rssac)
{
	ctx->options.rssac = rssac;
}

void
query_set_msec(struct query_ctx *ctx, uint64_t now_msec)
{
	ctx->now_tick = now_msec * RRL_TICKS_PER_SEC / 1000;
}

const struct query_block *
query_blocks(const struct query_ctx *ctx, size_t *count)
{
	*count = ctx->block_count;
	return ctx->blocks;
}

const struct query_access *
query_accesses(const struct query_ctx *ctx, size_t *count)
{
	*count = ctx->access_count;
	return ctx->accesses;
}

void
query_set_time(struct query_ctx *ctx, uint64_t now_sec, uint32_t uptime_sec)
{
	ctx->now_sec = now_sec;
	ctx->uptime_sec = uptime_sec;
}

/* Requests that are at the same step and go on together. */
struct query_group {
	size_t count;
	struct query *queries[EXCHANGE_BATCH_MAX];
};

static void
group_add(struct query_group *group, struct query *q)
{
	ASSERT_HOT(group->count < EXCHANGE_BATCH_MAX);
	group->queries[group->count++] = q;
}

/* Drops the requests that are at another step. */
static void
group_keep(struct query_group *group, enum query_step step)
{
	size_t kept = 0;

	for (size_t i = 0; i < group->count; i++) {
		group->queries[kept] = group->queries[i];
		kept += group->queries[i]->step == step;
	}
	group->count = kept;
}

/* Searches for the name of each request in its zone. */
static void
find_names(struct query_ctx *ctx, struct query_group *group)
{
	struct trie_walk *walks[EXCHANGE_BATCH_MAX];

	for (size_t i = 0; i < group->count; i++) {
		struct query *q = group->queries[i];

		lookup_walk_init(&q->walk, &q->search);
		walks[i] = &q->walk;
		/* If there is only one zone, these stay in the cache anyway. */
		if (ctx->table->only == STORE_NONE) {
			store_prefetch(ctx->view, q->search.zone->apex);
			store_prefetch(ctx->view, q->search.zone->soa);
		}
	}
	if (group->count > 0)
		trie_find_batch(ctx->view, walks, group->count);
}

/* Sets the outcome of each search from the node where its walk ended. The walks
 * have prefetched these nodes. */
static void
resolve_group(struct query_ctx *ctx, struct query_group *group)
{
	struct trie_walk *walks[EXCHANGE_BATCH_MAX];
	struct query_group wild;

	wild.count = 0;
	for (size_t i = 0; i < group->count; i++) {
		struct query *q = group->queries[i];

		lookup_resolve(ctx->view, &q->search, &q->walk,
			q->question.type);
		if (q->search.outcome != OUTCOME_WILDCARD)
			continue;
		lookup_wildcard_init(&q->walk, &q->search, q->wildcard,
			q->wildcard_label_at);
		walks[wild.count] = &q->walk;
		group_add(&wild, q);
	}
	if (wild.count == 0)
		return;
	trie_find_batch(ctx->view, walks, wild.count);
	for (size_t i = 0; i < wild.count; i++)
		lookup_resolve_wildcard(ctx->view, &wild.queries[i]->search,
			&wild.queries[i]->walk,
			wild.queries[i]->question.type);
}

static void
prefetch_object(const struct store_view *view, store_ref ref)
{
	const uint8_t *at = store_get(view, ref);

	__builtin_prefetch(at);
	__builtin_prefetch(at + 64);
}

/* Prefetches the NS records that go beside positive answers. If there is only
 * one zone, they stay in the cache anyway. */
static void
prefetch_apex_ns(struct query_ctx *ctx, struct query_group *group)
{
	/* Before the first publish there is no table, and nothing to do. */
	if (group->count == 0 || ctx->table->only != STORE_NONE
		|| ctx->settings->minimal_responses)
		return;
	for (size_t i = 0; i < group->count; i++) {
		const struct search *s = &group->queries[i]->search;
		const struct node *apex = store_get(ctx->view, s->zone->apex);
		const struct node_rrset *ns;

		if (s->outcome != OUTCOME_HIT)
			continue;
		ns = node_find_entry(apex, TYPE_NS);
		if (ns != NULL)
			prefetch_object(ctx->view, ns->ref);
	}
}

static void
prefetch_entry(const struct query_ctx *ctx, const struct query *q,
	const struct node_rrset *entry)
{
	store_ref sigs;

	prefetch_object(ctx->view, entry->ref);
	if (!query_wants_dnssec(q))
		return;
	sigs = node_entry_sigs(q->search.node, entry);
	if (sigs != STORE_NONE)
		prefetch_object(ctx->view, sigs);
}

/* Prefetches the DS records of a referral. */
static void
prefetch_ds(const struct query_ctx *ctx, const struct query *q)
{
	const struct search *s = &q->search;
	const struct node_rrset *ds;

	if (!query_wants_dnssec(q) || s->outcome != OUTCOME_DELEGATION
		|| (s->node->flags & NODE_HAS_DS) == 0)
		return;
	ds = node_find_entry(s->node, TYPE_DS);
	if (ds != NULL)
		prefetch_entry(ctx, q, ds);
}

/* Prefetches the RRsets of each answer. Here and below, all requests do a step
 * before the first looks at what that step fetched. */
static void
prefetch_rrsets(struct query_ctx *ctx, struct query_group *group)
{
	for (size_t i = 0; i < group->count; i++) {
		const struct query *q = group->queries[i];

		if (q->search.found != NULL)
			prefetch_entry(ctx, q, q->search.found);
		prefetch_ds(ctx, q);
	}
}

/* The most targets of an RRset whose addresses are prefetched. */
#define TARGETS_AHEAD 4

/* The cells that were prefetched, each with the zone that will read it. */
struct cells {
	size_t count;
	struct {
		const struct zone *zone;
		store_ref ref;
	} items[EXCHANGE_BATCH_MAX * TARGETS_AHEAD];
};

/* Prefetches the cells of the targets that an answer has additional data
 * for. */
static void
prefetch_cells(struct query_ctx *ctx, struct query_group *group,
	struct cells *cells)
{
	cells->count = 0;
	for (size_t i = 0; i < group->count; i++) {
		const struct search *s = &group->queries[i]->search;
		const struct rrset_tail *tail;
		const struct rrset_target *target, *end;

		if (s->found == NULL || s->outcome == OUTCOME_HIT_ANY)
			continue;
		tail = rrset_get_tail(store_get(ctx->view, s->found->ref));
		if (tail == NULL)
			continue;
		target = rrset_tail_targets(tail);
		end = target + (tail->target_count < TARGETS_AHEAD
			? tail->target_count : TARGETS_AHEAD);
		for (; target < end; target++) {
			if (target->glue == STORE_NONE)
				continue;
			store_prefetch(ctx->view, target->glue);
			cells->items[cells->count].zone = s->zone;
			cells->items[cells->count++].ref = target->glue;
		}
	}
}

static void
prefetch_addresses(struct query_ctx *ctx, const struct cells *cells)
{
	for (size_t i = 0; i < cells->count; i++) {
		const struct glue_cell *cell = glue_cell_get(ctx->view,
			cells->items[i].ref, cells->items[i].zone);

		store_prefetch(ctx->view, cell->a);
		store_prefetch(ctx->view, cell->aaaa);
	}
}

/* Composes a reply. False: there is none, or it is a stream. */
static inline __attribute__((always_inline)) bool
compose_reply(struct query_ctx *ctx, struct query *q)
{
	q->exchange->reply_len = 0;
	if (q->step <= STEP_LATER
		|| !reply_begin(ctx, q, q->step != STEP_HEADER)) {
		ctx->counters->dropped += q->step != STEP_LATER;
		return false;
	}
	if (q->step == STEP_TRANSFER) {
		ctx->counters->raxfr += q->question.type == TYPE_AXFR;
		return transfer_begin(ctx, q);
	}
	if (q->step == STEP_COMPOSE)
		answer_compose(ctx, q);
	else if (q->step == STEP_CHAOS)
		chaos_answer(ctx, q);
	return true;
}

/* Inlining counts: the caller for batches is hot. */
static inline __attribute__((always_inline)) void
finish_query(struct query_ctx *ctx, struct query *q)
{
	if (compose_reply(ctx, q))
		reply_end(ctx, q);
}

/* Composes the replies to a batch, then counts them all, and ends those that
 * are not too many. */
static __attribute__((noinline)) void
finish_limited(struct query_ctx *ctx, size_t count)
{
	struct query_group group = {.count = 0};

	for (size_t i = 0; i < count; i++) {
		struct query *q = &ctx->queries[i];

		if (q->step == STEP_COMPOSE)
			limit_begin(q);
		if (!compose_reply(ctx, q))
			continue;
		limit_classify(ctx, q);
		group_add(&group, q);
	}
	for (size_t i = 0; i < group.count; i++) {
		if (limit_count(ctx, group.queries[i]))
			reply_end(ctx, group.queries[i]);
		else
			ctx->counters->dropped++;
	}
}

/* ---- the cost of a batch of a stream ------------------------------------- */

/* Costs beyond that of a small reply, in the unit of exchange.cost: of a link
 * of a chain, of a hash, and the rounds of SHA-1 that cost 1 (measured:
 * doc/decisions/0030). */
#define COST_LINK 2u
#define COST_HASH 2u
#define COST_ROUNDS 16u
/* Steps back to an NSEC, or units of reply.work, that cost 1. */
#define COST_STEPS 16u

static uint32_t
cost_of(const struct query *q)
{
	return q->link_count * COST_LINK + q->spent.hashes * COST_HASH
		+ q->spent.rounds / COST_ROUNDS
		+ (q->spent.steps + q->reply.work) / COST_STEPS;
}

/* Puts a request off to a later batch: earlier ones of its stream have cost
 * enough. */
static __attribute__((noinline, cold)) void
put_off(struct query_ctx *ctx, struct exchange *x)
{
	x->reply_len = 0;
	x->put_off = true;
	ctx->passed_on -= x->pass_on;
	x->pass_on = false;
}

size_t
query_answer_batch(struct query_ctx *ctx, const struct store_view *view,
	struct exchange *exchanges, size_t count)
{
	struct query_group group;
	struct cells cells;
	struct counters *counters = ctx->counters;
	size_t octets = 0, most = SIZE_MAX, end = count, found;
	uint32_t cost = 0, cost_max = UINT32_MAX, rounds_max = UINT32_MAX;
	bool limited;

	ASSERT_HOT(count >= 1 && count <= EXCHANGE_BATCH_MAX);
	ctx->view = view;
	ctx->table = table_get(view);
	ctx->settings = settings_get(view);
	ctx->block_count = 0;
	ctx->access_count = 0;
	cookies_begin(ctx);
	group.count = 0;
	ctx->passed_on = 0;
	if (exchanges[0].transport != TRANSPORT_UDP) {
		most = EXCHANGE_REPLIES_MAX;
		cost_max = EXCHANGE_COST_MAX;
		rounds_max = EXCHANGE_COST_MAX * COST_ROUNDS;
	}
	for (size_t i = 0; i < count; i++) {
		struct query *q = &ctx->queries[i];

		/* A request of a stream that had to wait comes again, and was
		 * counted before (enum exchange_seen). */
		if (exchanges[i].seen != EXCHANGE_NEW)
			ctx->counters = &ctx->uncounted;
		parse_request(ctx, q, &exchanges[i]);
		ctx->counters = counters;
		if (q->step >= STEP_NOTIFY && q->step != STEP_CHAOS)
			group_add(&group, q);
	}
	zones_find(ctx, group.queries, group.count);
	group_keep(&group, STEP_COMPOSE);
	find_names(ctx, &group);
	resolve_group(ctx, &group);
	prefetch_rrsets(ctx, &group);
	found = proof_find_batch(ctx, group.queries, group.count, rounds_max);
	/* Requests from here on have to wait. */
	if (found < group.count)
		end = (size_t)(group.queries[found] - ctx->queries);
	prefetch_apex_ns(ctx, &group);
	prefetch_cells(ctx, &group, &cells);
	prefetch_addresses(ctx, &cells);
	limited = limit_applies(ctx, exchanges[0].transport);
	if (limited)
		finish_limited(ctx, count);
	for (size_t i = 0; i < count && !limited; i++) {
		if (octets >= most || cost >= cost_max || i >= end) {
			put_off(ctx, &exchanges[i]);
			continue;
		}
		if (exchanges[i].seen == EXCHANGE_ANSWERED)
			ctx->counters = &ctx->uncounted;
		finish_query(ctx, &ctx->queries[i]);
		ctx->counters = counters;
		octets += exchanges[i].reply_len;
		exchanges[i].cost = cost_of(&ctx->queries[i]);
		cost += exchanges[i].cost;
	}
	if (ctx->options.rssac != NULL)
		rssac_count(ctx->options.rssac, exchanges, count);
	return ctx->passed_on;
}

uint8_t
query_zone_len(const struct query_ctx *ctx, size_t i)
{
	const struct query *q = &ctx->queries[i];
	const struct message_name *name = &q->question.name;
	unsigned labels;

	ASSERT_HOT(i < EXCHANGE_BATCH_MAX);
	/* Behind a CNAME the search is in another zone. */
	if (q->zone != NULL)
		labels = q->zone_labels;
	else if (q->search.entry != NULL)
		labels = q->search.entry->leaf.labels;
	else
		return 0;
	return labels <= name->count
		? (uint8_t)(name->len - name->label_at[name->count - labels])
		: 0;
}

void
query_answer_update(struct query_ctx *ctx, const struct store_view *view,
	struct exchange *x, const struct query_outcome *outcome)
{
	struct counters *counters = ctx->counters;
	struct query *q = &ctx->queries[0];

	ctx->view = view;
	ctx->table = table_get(view);
	ctx->settings = settings_get(view);
	ctx->access_count = 0;
	cookies_begin(ctx);
	/* The request is counted; the reply is not. */
	ctx->counters = &ctx->uncounted;
	ctx->outcome = outcome;
	parse_request(ctx, q, x);
	x->reply_len = 0;
	if (q->step == STEP_UPDATE)
		zones_find(ctx, &q, 1);
	ctx->outcome = NULL;
	ctx->counters = counters;
	finish_query(ctx, q);
	if (x->reply_len > 0 && outcome->rcode < COUNTER_RCODES)
		counters->update_rcode[outcome->rcode]++;
}

size_t
query_stream_next(struct query_ctx *ctx, void *stream, uint8_t *reply,
	size_t capacity)
{
	return transfer_next(ctx, stream, reply, capacity);
}

const struct query_unsent *
query_take_unsent(struct query_ctx *ctx)
{
	bool has = ctx->has_unsent;

	ctx->has_unsent = false;
	return has ? &ctx->unsent : NULL;
}

void
query_stream_end(struct query_ctx *ctx, void *stream)
{
	transfer_end(ctx, stream);
}

void **
query_stream_note(void *stream)
{
	return transfer_note(stream);
}

const uint8_t *
query_stream_find_pinned(const struct query_ctx *ctx, const void *stream,
	uint64_t epoch)
{
	return transfer_find_pinned(ctx, stream, epoch);
}
