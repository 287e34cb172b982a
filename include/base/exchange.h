/*
 * exchange.h - a request and the room for its reply: the one thing that net and
 * query share. Its octets have no meaning here.
 */
#ifndef BASE_EXCHANGE_H
#define BASE_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* Most requests that are handed over at once. */
#define EXCHANGE_BATCH_MAX 64

/* Bounds of the replies to one batch from a stream: their octets, and their
 * summed exchange.cost. Beyond either, the handler may put off the rest of the
 * batch, but never all of it. */
#define EXCHANGE_REPLIES_MAX (256u * 1024)
#define EXCHANGE_COST_MAX 1024u

enum exchange_transport { TRANSPORT_UDP, TRANSPORT_TCP, TRANSPORT_TLS };

/* Whether an earlier batch has seen a request. A request from a stream is
 * handed over again if it was put off, or if there was no room for its reply;
 * it is counted once. */
enum exchange_seen {
	EXCHANGE_NEW,
	EXCHANGE_PUT_OFF,  /* counted; there was no reply, or pass_on failed:
			    * then its reply is counted and recorded again */
	EXCHANGE_ANSWERED, /* request and reply are counted; the reply was not
			    * sent */
};

/* The identity that a client has proved by a certificate. */
struct exchange_identity {
	/* True if the identity is this domain name, in ASCII without a dot at
	 * its end. */
	bool (*is_named)(const struct exchange_identity *identity,
		const char *name);
};

struct exchange {
	const uint8_t *request; /* borrowed for the call */
	uint32_t request_len;   /* octets */
	uint32_t reply_capacity;/* octets of room in reply */
	uint8_t *reply;         /* not the request's buffer */
	uint32_t reply_len;     /* set by the handler; 0: send nothing */
	uint32_t cost;          /* set by the handler; 0 when handed over: the
				 * cost of the reply beyond that of any small
				 * one and of its octets, in units of some
				 * 0.3 us */
	enum exchange_transport transport;
	enum exchange_seen seen;
	bool put_off;           /* set by the handler; false when handed over:
				 * there is no reply, hand the request over
				 * again */
	bool pass_on;           /* set by query: the request is to be passed on
				 * to xfrd. The handler clears it when that is
				 * done; if it is still set when the batch is
				 * over, that has failed, and there is no
				 * reply, or one that says so */
	bool is_dated;          /* the connection's protocol is too old for
				 * confidential data: is_dated of
				 * base/filter.h */
	/* On a stream: how long its connection may be idle from now on, in
	 * units of 100 ms; 0: it closes, or this is no stream. */
	uint16_t idle_100ms;
	/* The client's own address, also if a proxy stands between. */
	const struct sockaddr_storage *peer;
	/* The proxy's, if it has named the client; else NULL. */
	const struct sockaddr *proxy;
	/* The address that the client asked: that of the socket, or what the
	 * proxy says. NULL: not known, or nobody wants it (wants_local of
	 * net/server.h). */
	const struct sockaddr *local;
	/* The certificate of the client; NULL: none was shown. */
	const struct exchange_identity *identity;
	/* NULL when the request is handed over. On TCP the handler may set it
	 * if more messages follow the reply (a zone transfer). The transport
	 * then asks for them one by one, with this value: on_stream of
	 * net/server.h. */
	void *stream;
	/* NULL when the request is handed over. The handler may set it, and no
	 * reply_len, if the reply comes later: on_later of net/server.h. A
	 * request that comes again had its reply to come set up before
	 * (EXCHANGE_ANSWERED). */
	void *later;
};

#endif
