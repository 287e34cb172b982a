/* zones.c - finds the zone with the longest apex that encloses a name. */
#include <string.h>

#include "dns/rrtype.h"
#include "query/access.h"
#include "query/acl.h"
#include "query/client_update.h"
#include "query/lookup.h"
#include "query/zones.h"
#include "zone/table.h"

static void
whole_name(struct trie_name *out, const struct message_name *name)
{
	out->labels = name->name;
	out->label_at = name->label_at;
	out->len = name->len - 1u;
	out->count = name->count;
}

/* DS is data of the parent (RFC 4035 section 3.1.4.1). So if both sides of a
 * cut are served, the parent answers for the child's apex. */
static store_ref
choose_entry(const struct trie_walk *walk, bool of_parent)
{
	if (walk->exact == STORE_NONE)
		return walk->encloser;
	if (of_parent && walk->encloser != STORE_NONE)
		return walk->encloser;
	return walk->exact;
}

static bool
wants_parent(const struct query *q)
{
	return q->step == STEP_ZONE && q->question.type == TYPE_DS;
}

static void
find_among_many(struct query_ctx *ctx, struct query *const *queries,
	size_t count)
{
	struct trie_walk *walks[EXCHANGE_BATCH_MAX] = { NULL };
	struct query *walkers[EXCHANGE_BATCH_MAX];
	size_t walk_count = 0;

	for (size_t i = 0; i < count; i++) {
		struct query *q = queries[i];

		if (!table_may_serve(ctx->table, q->question.name.name))
			continue;
		q->walk.root = &ctx->table->apexes.root;
		whole_name(&q->walk.name, &q->question.name);
		walkers[walk_count] = q;
		walks[walk_count++] = &q->walk;
	}
	trie_find_batch(ctx->view, walks, walk_count);
	for (size_t i = 0; i < walk_count; i++) {
		store_ref ref = choose_entry(walks[i],
			wants_parent(walkers[i]));

		if (ref == STORE_NONE)
			continue;
		store_prefetch(ctx->view, ref);
		walkers[i]->search.entry = store_get(ctx->view, ref);
	}
}

static void
find_entries(struct query_ctx *ctx, struct query *const *queries, size_t count)
{
	const struct zone_entry *only;

	if (ctx->table == NULL || ctx->table->zone_count == 0)
		return;
	if (ctx->table->only == STORE_NONE) {
		find_among_many(ctx, queries, count);
		return;
	}
	only = store_get(ctx->view, ctx->table->only);
	for (size_t i = 0; i < count; i++)
		if (lookup_is_within(only, &queries[i]->question.name))
			queries[i]->search.entry = only;
}

/* True if the version of an entry has expired: a candidate cannot. */
static bool
version_is_expired(const struct query_ctx *ctx, const struct zone_entry *entry,
	store_ref version)
{
	return zone_entry_is_expired(entry, ctx->uptime_sec)
		&& (!ctx->options.candidates
			|| version == store_load_ref(&entry->zone));
}

/* Goes to the zone of the entry. False: the zone is not loaded or has expired,
 * and the request has failed. */
static inline __attribute__((always_inline)) bool
open_search(struct query_ctx *ctx, struct query *q)
{
	struct search *s = &q->search;
	const struct zone_entry *entry = s->entry;
	store_ref zone = zone_entry_version(entry, ctx->options.candidates);

	if (zone == STORE_NONE) {
		query_fail(q, RCODE_SERVFAIL, EDE_NOT_READY,
			"Zone is configured but not loaded");
		return false;
	}
	if (version_is_expired(ctx, entry, zone)) {
		query_fail(q, RCODE_SERVFAIL, EDE_INVALID_DATA,
			"Zone has expired");
		return false;
	}
	store_prefetch(ctx->view, zone);
	s->zone = store_get(ctx->view, zone);
	s->zone_labels = entry->leaf.labels;
	s->name = &q->question.name;
	s->name_at = MESSAGE_HEADER_LEN;
	q->zone = s->zone;
	q->zone_labels = s->zone_labels;
	return true;
}

/* Has a query answered from its zone, if there is one and the client may ask
 * it. */
static void
begin_search(struct query_ctx *ctx, struct query *q)
{
	const struct zone_entry *entry = q->search.entry;

	if (entry == NULL) {
		query_fail(q, RCODE_REFUSED, EDE_NOT_AUTHORITATIVE, NULL);
		return;
	}
	if (!acl_allows_query(ctx->view, entry,
			&QUERY_CLIENT(ctx, q),
			q->question.type == TYPE_SOA && query_is_of_apex(q))) {
		(void)access_note(ctx, q, QUERY_ACCESS_QUERY, false);
		query_fail(q, RCODE_REFUSED, EDE_PROHIBITED, NULL);
		return;
	}
	if (open_search(ctx, q))
		q->step = STEP_COMPOSE;
}

/* A transfer is for the apex alone, for clients of provide-xfr, and in plain or
 * by TLS as in RFC 9103. */
static void
begin_transfer(struct query_ctx *ctx, struct query *q)
{
	enum query_access_kind kind = q->question.type == TYPE_AXFR
		? QUERY_ACCESS_AXFR : QUERY_ACCESS_IXFR;
	bool allowed;

	if (!query_is_of_apex(q)) {
		query_fail(q, RCODE_NOTAUTH, EDE_NOT_AUTHORITATIVE, NULL);
		return;
	}
	allowed = (!ctx->settings->tls_auth_xfr_only
			  || q->exchange->identity != NULL)
		&& acl_allows_transfer(ctx->view, q->search.entry,
			&QUERY_CLIENT(ctx, q));
	(void)access_note(ctx, q, kind, allowed);
	if (!allowed)
		query_fail(q, RCODE_REFUSED, EDE_PROHIBITED, NULL);
	else if (q->exchange->is_dated)
		query_fail(q, RCODE_REFUSED, EDE_PROHIBITED,
			"Zone transfers over TLS need TLS 1.3");
	else
		(void)open_search(ctx, q);
}

/*
 * A NOTIFY is for a zone of its own and from clients of allow-notify (RFC 1996
 * section 3.10). It counts also if the zone is not loaded or has expired. The
 * reply to a stream may come again; the NOTIFY was passed on before.
 */
static void
take_notify(struct query_ctx *ctx, struct query *q)
{
	struct exchange *x = q->exchange;

	q->step = STEP_HEADER;
	if (!query_is_of_apex(q)) {
		q->reply.rcode = RCODE_NXDOMAIN;
		query_set_ede(q, EDE_NOT_AUTHORITATIVE, NULL);
	} else if (!acl_allows_notify(ctx->view, q->search.entry,
			&QUERY_CLIENT(ctx, q))) {
		(void)access_note(ctx, q, QUERY_ACCESS_NOTIFY, false);
		q->reply.rcode = RCODE_REFUSED;
		query_set_ede(q, EDE_PROHIBITED, NULL);
	} else {
		q->step = STEP_QUESTION;
		q->reply.rcode = RCODE_NOERROR;
		q->reply.flags |= MESSAGE_AA;
		x->pass_on = x->seen != EXCHANGE_ANSWERED;
		ctx->passed_on += x->pass_on;
	}
}

void
zones_find(struct query_ctx *ctx, struct query *const *queries, size_t count)
{
	find_entries(ctx, queries, count);
	for (size_t i = 0; i < count; i++) {
		struct query *q = queries[i];

		if (q->search.entry != NULL)
			q->group = __atomic_load_n(&q->search.entry->group,
				__ATOMIC_RELAXED);
		switch (q->step) {
		case STEP_NOTIFY:
			take_notify(ctx, q);
			break;
		case STEP_UPDATE:
			client_update_take(ctx, q);
			break;
		case STEP_TRANSFER:
			begin_transfer(ctx, q);
			break;
		default:
			begin_search(ctx, q);
			break;
		}
	}
}

/* The zone of an entry; NULL if it is not loaded or has expired, or if the
 * client may not query it. */
static const struct zone *
open_zone(const struct query_ctx *ctx, const struct query *q,
	const struct zone_entry *entry)
{
	store_ref ref = zone_entry_version(entry, ctx->options.candidates);

	if (ref == STORE_NONE || version_is_expired(ctx, entry, ref)
		|| !acl_allows_query(ctx->view, entry,
			&QUERY_CLIENT(ctx, q),
			false))
		return NULL;
	return store_get(ctx->view, ref);
}

/* Finds the zone of a name that a chain of CNAMEs leads to. NULL: none is
 * served, or the chain may not leave its zone. */
static const struct zone_entry *
find_entry(struct query_ctx *ctx, const struct search *s,
	const struct message_name *name, bool of_parent)
{
	struct trie_walk *walk = &ctx->walk;
	store_ref ref;

	if (ctx->settings->confine_to_zone || ctx->table->only != STORE_NONE)
		return lookup_is_within(s->entry, name) ? s->entry : NULL;
	if (!table_may_serve(ctx->table, name->name))
		return NULL;
	walk->root = &ctx->table->apexes.root;
	whole_name(&walk->name, name);
	trie_find(ctx->view, walk);
	ref = choose_entry(walk, of_parent);
	return ref != STORE_NONE ? store_get(ctx->view, ref) : NULL;
}

bool
zones_follow(struct query_ctx *ctx, const struct query *q, struct search *s,
	const struct message_name *name)
{
	const struct zone_entry *entry = find_entry(ctx, s, name,
		q->question.type == TYPE_DS);
	const struct zone *zone;

	if (entry == NULL)
		return false;
	zone = entry == s->entry ? s->zone : open_zone(ctx, q, entry);
	if (zone == NULL)
		return false;
	s->entry = entry;
	s->zone = zone;
	s->zone_labels = entry->leaf.labels;
	s->name = name;
	return true;
}
