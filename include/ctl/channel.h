/*
 * channel.h - takes connections of nsd-control, and commands from them.
 *
 * A client is bounded before it has said anything: by the number of connections
 * (the oldest one that sends no command makes room for another), by the time to
 * send a command, by its length, by the time to read the answer and by the
 * octets of it that wait. Commands that may take long get three quarters of the
 * connections. TLS handshakes of clients without a certificate are limited to
 * some 50 in a second, 5 of a network. Nothing here blocks. The process ignores
 * SIGPIPE.
 */
#ifndef CTL_CHANNEL_H
#define CTL_CHANNEL_H

#include <stdint.h>

#include "base/err.h"
#include "ctl/call.h"
#include "ctl/tls.h"

struct event_base;
struct ctl_channel;

/* Connections at a time. */
#define CTL_CONNS_MAX 64u
/* From the connection to the whole command, TLS included. */
#define CTL_COMMAND_MSEC 10000u
/* Between two lines, of a verb with CTL_LINES. */
#define CTL_LINES_MSEC 600000u
/* A client that takes nothing of its answer for this long has gone. */
#define CTL_READ_MSEC 60000u

struct ctl_channel_options {
	struct event_base *base;
	/* A command has come that fits its row in verbs.h. */
	void (*on_call)(void *ctx, struct ctl_call *call);
	void *ctx;
	/* 0: as above */
	unsigned conns_max;
	unsigned command_msec;
	unsigned lines_msec;
	unsigned read_msec;
	/* Random: clients cannot choose networks that share tokens of
	 * handshakes. */
	uint32_t seed;
};

/* Gives *channel. NSD_E_MEMORY. */
enum nsd_err ctl_channel_create(const struct ctl_channel_options *options,
	struct ctl_channel **channel) MUST_USE;

/*
 * Takes connections from a listening socket, non-blocking, which is kept.
 * tls: kept; NULL: plain. NSD_E_MEMORY.
 */
enum nsd_err ctl_channel_listen(struct ctl_channel *channel, int fd,
	struct ctl_tls *tls) MUST_USE;

/* Takes no connection any more. */
void ctl_channel_close(struct ctl_channel *channel);
/* True while an answer is not sent yet, or a call is not ended. */
bool ctl_channel_is_busy(const struct ctl_channel *channel);

/* Calls a function for each call that is not ended; it may end it. */
void ctl_channel_walk(struct ctl_channel *channel,
	void (*fn)(struct ctl_call *call, void *arg), void *arg);

/* Closes connections without a whole command, once a last line is sent: an end
 * without one would be taken for an empty answer. A connection whose handshake
 * is not over is told nothing. */
void ctl_channel_refuse(struct ctl_channel *channel, const char *line);

/* Closes all connections. Calls that are not ended must not be used any
 * more. */
void ctl_channel_destroy(struct ctl_channel *channel);

#endif
