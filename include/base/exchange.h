/*
 * exchange.h - one request that came in and the place for its reply: the only
 * thing that net and query share. What the octets mean is not known here.
 */
#ifndef BASE_EXCHANGE_H
#define BASE_EXCHANGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* Most requests that are handed over at once. */
#define EXCHANGE_BATCH_MAX 64

enum exchange_transport { TRANSPORT_UDP, TRANSPORT_TCP, TRANSPORT_TLS };

struct exchange {
	const uint8_t *request; /* borrowed for the call */
	uint32_t request_len;   /* octets */
	uint32_t reply_capacity;/* octets of room in reply */
	uint8_t *reply;         /* not the request's buffer */
	uint32_t reply_len;     /* set by the handler; 0: send nothing */
	enum exchange_transport transport;
	/* The client's own address, also if a proxy stands between. */
	const struct sockaddr_storage *peer;
	/* NULL when the request is handed over. On TCP the handler may set it
	 * if more messages follow the reply (a zone transfer). The transport
	 * then asks for them one by one, with this value: on_stream of
	 * net/server.h. */
	void *stream;
};

#endif
