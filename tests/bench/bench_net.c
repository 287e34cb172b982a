/*
 * bench_net.c - the network layer with a handler that only echoes, to be
 * measured beside the bare echo: what the layer itself costs.
 *
 *	bench_net udp|tcp PORT
 */
#include "config.h"

#include <err.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "net/server.h"
#include "net/socket.h"

static void
on_batch(void *ctx, struct exchange *exchanges, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct exchange *x = &exchanges[i];

		memcpy(x->reply, x->request, x->request_len);
		x->reply_len = x->request_len;
	}
}

static struct event_base *
base_create(void)
{
	struct event_config *config = event_config_new();
	struct event_base *base;

	event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
	if (getenv("CHANGELIST") != NULL)
		event_config_set_flag(config,
			EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST);
	base = event_base_new_with_config(config);
	event_config_free(config);
	if (base == NULL)
		errx(1, "event_base_new");
	return base;
}

int
main(int argc, char **argv)
{
	struct net_listen listen = { .tcp_backlog = -1,
		.receive_buffer = 1 << 20 };
	struct net_tcp_options options = { .connections_max = 1000,
		.timeout_sec = 120 };
	struct net_handler handler = { .on_batch = on_batch };
	struct event_base *base = base_create();
	struct net_udp *udp;
	struct net_tcp *tcp;
	enum nsd_err result;
	int fd;

	if (argc != 3)
		errx(2, "usage: bench_net udp|tcp PORT");
	listen.tcp = strcmp(argv[1], "tcp") == 0;
	if (listen.tcp)
		listen.receive_buffer = 0;
	if (net_parse_address("127.0.0.1", (uint16_t)atoi(argv[2]),
		    &listen.address) != NSD_OK
	    || net_listen(&listen, NULL, &fd) != NSD_OK)
		err(1, "listen");
	if (listen.tcp)
		result = net_tcp_open(base, &(struct net_listener){.fd = fd}, 1,
			&options, &handler, &tcp);
	else
		result = net_udp_open(base, fd,
			&(struct net_udp_options){.reply_size = 4096},
			&handler, &udp);
	if (result != NSD_OK)
		errx(1, "%s", err_text(result));
	event_base_dispatch(base);
	return 0;
}
