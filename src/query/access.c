/* access.c - notes for the log whom access lists have refused. */
#include "query/access.h"

#include <string.h>

#include "base/log.h"
#include "query/acl.h"

static struct sockaddr_storage
copy_address(const struct sockaddr *address)
{
	struct sockaddr_storage copy = {.ss_family = AF_UNSPEC};

	memcpy(&copy, address, address->sa_family == AF_INET6
			? sizeof(struct sockaddr_in6)
			: sizeof(struct sockaddr_in));
	return copy;
}

/* Notes the key of an UPDATE. Other requests are logged as NSD does. */
static void
note_key(struct query_access *access, const struct query_ctx *ctx,
	const struct query *q)
{
	const struct settings_key *key;

	access->key[0] = 0;
	if (access->kind < QUERY_ACCESS_UPDATE || q->key == STORE_NONE)
		return;
	key = store_get(ctx->view, q->key);
	memcpy(access->key, key->name, key->name_len);
}

__attribute__((noinline, cold)) struct query_access *
access_note(struct query_ctx *ctx, const struct query *q,
	enum query_access_kind kind, bool allowed)
{
	static const enum settings_list lists[] = {
		[QUERY_ACCESS_QUERY] = SETTINGS_ALLOW_QUERY,
		[QUERY_ACCESS_NOTIFY] = SETTINGS_ALLOW_NOTIFY,
		[QUERY_ACCESS_AXFR] = SETTINGS_PROVIDE_XFR,
		[QUERY_ACCESS_IXFR] = SETTINGS_PROVIDE_XFR,
		[QUERY_ACCESS_UPDATE] = SETTINGS_ALLOW_UPDATE,
		[QUERY_ACCESS_FORWARD] = SETTINGS_UPDATE_FORWARD,
	};
	struct query_access *access = &ctx->accesses[ctx->access_count];

	if (ctx->access_count == QUERY_ACCESSES_MAX
		|| q->exchange->peer == NULL
		|| q->exchange->seen != EXCHANGE_NEW)
		return NULL;
	ctx->access_count++;
	access->kind = kind;
	access->allowed = allowed;
	access->fault = QUERY_FAULT_NONE;
	/* The element is for the log alone, and may be one of many. */
	access->blocked = !allowed && q->search.entry != NULL
		&& log_verbosity() >= query_access_verbosity(access)
		&& acl_find_block(ctx->view,
		q->search.entry, lists[kind], &QUERY_CLIENT(ctx, q),
		&access->block);
	access->client = *q->exchange->peer;
	if (access->blocked && access->block.of_proxy)
		access->proxy = copy_address(q->exchange->proxy);
	memcpy(access->name, q->question.name.name, q->question.name.len);
	note_key(access, ctx, q);
	return access;
}
