/* let_go.c - a worker ends transfers that keep old versions. */
#include "config.h"

#include "base/clock.h"
#include "worker/let_go.h"

static bool
let_go_ends(void *ctx, void *stream, const struct sockaddr_storage *peer)
{
	struct let_go *let_go = ctx;
	const uint8_t *apex = query_stream_find_pinned(let_go->query, stream,
		let_go->epoch);

	if (apex != NULL)
		limit_log_write_ended(let_go->log, apex, peer,
			clock_coarse_sec());
	return apex != NULL;
}

void
let_go_of_streams(struct let_go *let_go, struct net_tcp *tcp)
{
	if (tcp != NULL)
		net_tcp_end_streams(tcp, let_go_ends, let_go);
}
