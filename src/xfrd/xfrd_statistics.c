/* xfrd_statistics.c - sums up the counters of all processes. */
#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/platform.h"
#include "conf/zonelist.h"
#include "process/counts.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_changes.h"
#include "xfrd/xfrd_statistics.h"

/* ---- counters ------------------------------------------------------------ */

/* Adds up a group over all workers; 0: everything. False: nothing was
 * counted. */
static bool
sum_group(const struct counts *counts, uint32_t group, struct counters *sum)
{
	bool any = false;

	memset(sum, 0, sizeof(*sum));
	for (unsigned i = 0; i < counts_workers(counts); i++) {
		const struct counters *row;
		struct counters_block block;

		counts_get_block(counts, i, &block);
		row = counters_block_find(&block, group);
		if (row == NULL)
			continue;
		counters_add(sum, row);
		any = true;
	}
	return any;
}

/* Takes off a sum what was shown before. reset: the sum is noted in the block
 * that counts once the answer has arrived. */
static void
show_sum(const struct counts *counts, uint32_t group, bool reset,
	struct counters *sum)
{
	struct counters_block block;
	struct counters *row;
	const struct counters *shown;

	if (reset) {
		counts_get_next_base(counts, &block);
		row = counters_block_open(&block, group);
		if (row != NULL)
			*row = *sum;
	}
	counts_get_base(counts, &block);
	shown = counters_block_find(&block, group);
	if (shown != NULL)
		counters_subtract(sum, shown);
}

static void
show_servers(const struct counts *counts, struct xfrd_statistics *look)
{
	const struct counts_reset *base = counts_get_reset(counts);

	for (unsigned i = 0; i < counts_workers(counts); i++) {
		struct counters_block block;
		uint64_t n;

		counts_get_block(counts, i, &block);
		n = look->sums[i] = block.rows->queries;
		look->queries[i] = n > base->queries[i]
			? n - base->queries[i]
			: 0;
	}
}

bool
xfrd_statistics_get_group(void *ctx, uint32_t group, char *name,
	struct counters *counters)
{
	struct xfrd_statistics *look = ctx;
	const struct counts *counts = look->xfrd->role.server->counts;
	struct textlist names;

	if (group > look->groups)
		return false;
	counts_get_names(counts, &names);
	textlist_get(&names, group, name, STATISTICS_NAME_MAX + 1);
	if (sum_group(counts, group, counters))
		show_sum(counts, group, look->reset, counters);
	if (counts_is_empty(counts, group))
		*name = '\0';
	return true;
}

/* ---- the rest ------------------------------------------------------------ */

static void
measure_xfrd(const struct xfrd *xfrd, struct statistics *s)
{
	const struct server *server = xfrd->role.server;
	const struct zonelist *list = xfrd->changes != NULL
		? xfrd->changes->list
		: NULL;
	const struct counts_store *store = counts_get_store(server->counts);
	size_t used, kept;

	for (unsigned i = 0; i < counts_workers(server->counts); i++) {
		const struct latency_block *block = counts_get_latency(
			server->counts, i);

		latency_sum(&s->latency.udp, &block->udp);
		latency_sum(&s->latency.tcp, &block->tcp);
	}
	s->db_mem = __atomic_load_n(&store->mapped, __ATOMIC_RELAXED);
	platform_heap_measure(&used, &kept);
	s->xfrd_mem = used;
	s->config_disk = list != NULL ? list->end : 0;
	s->config_mem = __atomic_load_n(&store->config, __ATOMIC_RELAXED);
	assert(xfrd->zones.secondary_count <= xfrd->zones.table.count);
	s->refused_zones = xfrd->zones.table.refused_count;
	s->secondary_zones = xfrd->zones.secondary_count;
	s->primary_zones = xfrd->zones.table.count - s->secondary_zones;
}

static void
look_at_all(struct xfrd_statistics *look)
{
	const struct server *server = look->xfrd->role.server;
	const struct counts_reset *base = counts_get_reset(server->counts);
	int64_t now = clock_now_usec();
	struct statistics *s = &look->all;

	look->at_usec = now;
	s->server_count = counts_workers(server->counts);
	s->queries = look->queries;
	s->up_usec = now - server->boot_usec;
	s->elapsed_usec = base->at_usec != 0 ? now - base->at_usec
					     : s->up_usec;
	show_servers(server->counts, look);
	(void)sum_group(server->counts, 0, &s->all);
	show_sum(server->counts, 0, look->reset, &s->all);
	measure_xfrd(look->xfrd, s);
}

struct xfrd_statistics *
xfrd_statistics_open(struct xfrd *xfrd, bool reset)
{
	const struct counts *counts = xfrd->role.server->counts;
	struct xfrd_statistics *look = calloc(1, sizeof(*look));
	struct textlist names;

	if (look == NULL)
		return NULL;
	look->queries = calloc(counts_workers(counts) + 1,
		sizeof(*look->queries));
	look->sums = calloc(counts_workers(counts) + 1, sizeof(*look->sums));
	look->xfrd = xfrd;
	if (look->queries == NULL || look->sums == NULL) {
		xfrd_statistics_close(look);
		return NULL;
	}
	look->reset = reset;
	if (reset) {
		if (xfrd->resets != NULL)
			xfrd->resets->reset = false;
		xfrd->resets = look;
	}
	counts_get_names(counts, &names);
	look->groups = textlist_count(&names);
	look_at_all(look);
	return look;
}

void
xfrd_statistics_reset(struct xfrd_statistics *look)
{
	const struct counts *counts = look->xfrd->role.server->counts;
	struct counts_reset *base = counts_get_reset(counts);

	if (!look->reset)
		return;
	assert(look->xfrd->resets == look); /* only the latest look */
	counts_take_next_base(counts);
	memcpy(base->queries, look->sums,
		counts_workers(counts) * sizeof(*look->sums));
	base->at_usec = look->at_usec;
}

void
xfrd_statistics_close(struct xfrd_statistics *look)
{
	assert((look->xfrd->resets == look) == look->reset);
	if (look->xfrd->resets == look)
		look->xfrd->resets = NULL;
	free(look->sums);
	free(look->queries);
	free(look);
}

/* ---- records of queries -------------------------------------------------- */

static uint64_t
record_count(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

void
xfrd_statistics_get_records(const struct xfrd *xfrd,
	struct statistics_records *r)
{
	const struct conf *conf = xfrd->role.server->conf;
	const struct tap_counts *c = counts_get_tap(xfrd->role.server->counts);
	const char *log = conf->server.query_log;

	*r = (struct statistics_records){
		.sent = record_count(&c->sent),
		.dropped = record_count(&c->dropped),
		.is_connected = record_count(&c->connected) != 0,
		.lines = record_count(&c->lines),
		.lines_dropped = record_count(&c->lines_dropped),
		.log_error = (int)record_count(&c->log_error),
	};
	r->has_dnstap = USE_DNSTAP
		&& (conf->dnstap.dnstap_enable || r->sent + r->dropped > 0);
	r->has_log = (log != NULL && *log != '\0')
		|| r->lines + r->lines_dropped > 0;
}
