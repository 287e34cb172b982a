/* cpu_limit.c - how much time of the processor the connections of a netblock
 * may take. */
#include "config.h"

#include "worker/cpu_limit.h"

#include <string.h>

/* The kind of this subject: no enum answer_kind. */
#define KIND_CPU UINT32_MAX
/* Time is counted in sixteenths of a microsecond. */
#define UNITS_PER_USEC 16

void
cpu_limit_init(struct cpu_limit *limit, const struct rrl *table)
{
	memset(limit, 0, sizeof(*limit));
	limit->table = table;
}

enum nsd_err
cpu_limit_set(struct cpu_limit *limit, const struct settings *settings)
{
	const struct settings_text *text = &settings->tcp_cpu_whitelist;
	const struct rrl_subject subject = {.kind = KIND_CPU};
	struct acl_list list = {.index = NULL};
	enum nsd_err err = acl_list_make(settings_read_text(settings, text),
		text->len / (uint32_t)sizeof(struct acl_element), &list);

	if (err != NSD_OK)
		return err;
	acl_list_free(&limit->whitelist);
	limit->whitelist = list;
	limit->subject = rrl_hash(limit->table, &subject);
	limit->usec = settings->tcp_cpu_limit;
	limit->ip4 = settings->rrl_ip4;
	limit->ip6 = settings->rrl_ip6;
	return NSD_OK;
}

static const struct settings_netblocks *
netblocks_of(const struct cpu_limit *limit,
	const struct sockaddr_storage *client)
{
	return client->ss_family == AF_INET6 ? &limit->ip6 : &limit->ip4;
}

static bool
is_whitelisted(const struct cpu_limit *limit,
	const struct sockaddr_storage *client)
{
	const struct acl_client who = {.peer = client};

	return limit->whitelist.count > 0
		&& acl_list_allows(&limit->whitelist, &who);
}

/* The bucket of a netblock. */
static uint64_t
hash_netblock(const struct cpu_limit *limit,
	const struct sockaddr_storage *client, unsigned bits)
{
	/* A netblock of IPv4 has no number of one of IPv6. */
	unsigned family = client->ss_family == AF_INET6 ? 128 : 0;

	return rrl_hash_netblock(limit->table, limit->subject,
		rrl_netblock(rrl_address(client), bits), family + bits);
}

/* The limit with a factor, in units. */
static uint32_t
limit_units(const struct cpu_limit *limit, uint32_t factor)
{
	uint64_t usec = (uint64_t)limit->usec * factor;

	return usec < RRL_AMOUNT_MAX / UNITS_PER_USEC
		? (uint32_t)usec * UNITS_PER_USEC : RRL_AMOUNT_MAX;
}

static uint64_t
tick_of(uint64_t msec)
{
	return msec * RRL_TICKS_PER_SEC / 1000;
}

unsigned
cpu_limit_spend(const struct cpu_limit *limit,
	const struct sockaddr_storage *client, int64_t nsec, uint64_t now_msec,
	struct cpu_limit_block blocks[SETTINGS_NETBLOCKS_MAX])
{
	const struct settings_netblocks *all = netblocks_of(limit, client);
	int64_t units = nsec / 1000 * UNITS_PER_USEC
		+ nsec % 1000 * UNITS_PER_USEC / 1000;
	unsigned count = 0;

	if (limit->usec == 0 || is_whitelisted(limit, client))
		return 0;
	if (units > RRL_AMOUNT_MAX)
		units = RRL_AMOUNT_MAX;
	for (uint32_t i = 0; i < all->count; i++) {
		unsigned bits = all->items[i].bits;
		struct rrl_verdict verdict = rrl_spend(limit->table,
			hash_netblock(limit, client, bits), (uint32_t)units,
			limit_units(limit, all->items[i].factor),
			tick_of(now_msec));

		if (verdict.begins || verdict.ends)
			blocks[count++] = (struct cpu_limit_block){
				.client = *client, .bits = bits,
				.begins = verdict.begins};
	}
	return count;
}

bool
cpu_limit_bars(const struct cpu_limit *limit,
	const struct sockaddr_storage *client, uint64_t now_msec)
{
	const struct settings_netblocks *all = netblocks_of(limit, client);

	if (limit->usec == 0)
		return false;
	for (uint32_t i = 0; i < all->count; i++)
		if (rrl_is_spent(limit->table,
			    hash_netblock(limit, client, all->items[i].bits),
			    limit_units(limit, all->items[i].factor),
			    tick_of(now_msec)))
			return !is_whitelisted(limit, client);
	return false;
}
