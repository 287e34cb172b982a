/*
 * dnstap_stream.h - a connection to a receiver of dnstap: Frame Streams, of the
 * kind where both sides talk (https://farsightsec.github.io/fstrm). We say
 * READY, the receiver ACCEPT, we START, then data and at the end STOP.
 *
 * It never blocks. Frames wait for the receiver up to a bound, also while there
 * is no connection; then there is no room for more. Frames that were given to a
 * connection that ends are lost.
 */
#ifndef SRC_COLLECTOR_DNSTAP_STREAM_H
#define SRC_COLLECTOR_DNSTAP_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct bufferevent;
struct evbuffer;
struct event;
struct event_base;
struct tls_client;

/* Octets of frames that wait. */
#define DNSTAP_STREAM_WAITING_MAX (4u << 20)
/* Time for a connection to be made and accepted, and for a receiver that takes
 * nothing. */
#define DNSTAP_STREAM_OPEN_SEC 10
#define DNSTAP_STREAM_STALL_SEC 60
/* The same at the end: nobody waits for a receiver that has taken nothing for
 * so long, nor longer than this for its FINISH. */
#define DNSTAP_STREAM_END_MSEC 50
#define DNSTAP_STREAM_FINISH_MSEC 10

enum dnstap_stream_state {
	DNSTAP_STREAM_CLOSED,
	DNSTAP_STREAM_CONNECTING,
	DNSTAP_STREAM_GREETING, /* READY is sent, or the TLS handshake runs */
	DNSTAP_STREAM_OPEN,
	DNSTAP_STREAM_STOPPING, /* STOP follows the last frame */
};

/* The owner sets the first fields; all others are zeros at first. */
struct dnstap_stream {
	struct event_base *base;
	const struct tls_client *tls; /* NULL: plain */
	/* The receiver has accepted. */
	void (*on_open)(void *ctx);
	/* The connection has ended; why: lent. */
	void (*on_end)(void *ctx, const char *why);
	void *ctx;
	uint64_t *sent;    /* frames that the system has taken */
	uint64_t *dropped; /* frames that were given to a connection that has
			    * ended, and may not have arrived */

	enum dnstap_stream_state state;
	int fd;               /* while CONNECTING */
	struct bufferevent *bev;
	struct event *ready;  /* while CONNECTING */
	struct event *overdue;
	struct evbuffer *frames;
	uint64_t waiting; /* frames in `frames` */
	uint64_t given;   /* frames that the connection has and the system has
			   * not taken all of */
	int64_t taken_msec; /* when the system last took octets, or had taken
			     * all of them before */
};

/* NSD_E_MEMORY. */
enum nsd_err dnstap_stream_init(struct dnstap_stream *stream) MUST_USE;

/* Goes on with a socket, which may still be connecting; takes it. The stream is
 * CLOSED. on_end is not called from within. False: no memory; the socket is
 * closed. */
bool dnstap_stream_open(struct dnstap_stream *stream, int fd) MUST_USE;

/* Lends the buffer to append the whole frames of one record to, which
 * dnstap_stream_add then counts. NULL: there is no room. */
struct evbuffer *dnstap_stream_room(struct dnstap_stream *stream);
void dnstap_stream_add(struct dnstap_stream *stream, unsigned count);

/* Hands frames on, if the connection takes some. */
void dnstap_stream_push(struct dnstap_stream *stream);

/* Sends what waits, and STOP; on_end follows when the receiver has finished, or
 * has stalled. False: there is no open connection, or it has stalled before. */
bool dnstap_stream_stop(struct dnstap_stream *stream);

/* Ends at once; frames that the system has not taken are dropped. on_end is not
 * called. */
void dnstap_stream_end(struct dnstap_stream *stream);

#endif
