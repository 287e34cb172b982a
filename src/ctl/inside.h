/* inside.h - the control channel and its connections, for the files that they
 * are made of: channel.c is above call.c. */
#ifndef CTL_INSIDE_H
#define CTL_INSIDE_H

#include <event2/event.h>

#include "acceptor.h"
#include "base/list.h"
#include "crowd.h"
#include "ctl/channel.h"
#include "throttle.h"

struct bufferevent;

/* A socket that listens. */
struct ctl_listener {
	struct ctl_listener *next;
	struct ctl_channel *channel;
	struct ctl_tls *tls; /* NULL: plain */
	struct acceptor *acceptor;
};

struct ctl_channel {
	struct ctl_channel_options options;
	struct ctl_listener *listeners;
	struct cds_list_head calls; /* by crowd.node, the oldest first */
	unsigned count;             /* of calls with a connection */
	struct ctl_throttle throttle;
};

enum call_state {
	CALL_COMMAND, /* the command's line is to come */
	CALL_RUNS,    /* a handler has it */
	CALL_LINES,   /* the same, and lines are to come */
	CALL_ENDED,   /* the answer is being sent */
	CALL_LINGERS, /* the answer is sent: the client is to close */
};

struct ctl_call {
	struct crowd_one crowd;
	struct ctl_channel *channel;
	enum call_state state;
	struct bufferevent *stream; /* NULL: the client has gone */
	struct event *turn_event;   /* work is due soon */
	struct event *late_event;   /* the client has had its time */
	struct ctl_call_hooks hooks;
	struct ctl_command command;
	unsigned holds;
	ctl_on_sent *on_sent; /* of ctl_end_and; NULL: not called */
	void *sent_ctx;
	int64_t opened_msec; /* clock.h */
	size_t surplus; /* octets that came behind the command, while it ran */
	bool tls;
	bool greeted; /* plain, or hands are shaken: it can be told something */
	struct ctl_tls_gate gate;
	unsigned hellos; /* of its handshake, so far */
	struct sockaddr_storage peer;
	bool eof;  /* the client sends no more */
	bool cut;  /* broken off: its answer is being sent */
	bool over; /* too much waits for it, or it broke the rules: it goes at
		    * the next turn */
	char line[CTL_LINE_MAX + 1];
};

/* Takes a connection; takes fd, copies *peer. False: no memory, and it is
 * closed. */
bool call_open(struct ctl_listener *listener, int fd,
	const struct sockaddr_storage *peer) MUST_USE;
/* Ends a connection: as if the client had gone. */
void call_drop(struct ctl_call *call);
/* True if the client may not wait for the answer: it has shut its side, or
 * sends octets that were not asked for. */
bool call_may_be_deserted(const struct ctl_call *call);
/* True if there is work for the client, or octets to be sent. */
bool call_is_busy(const struct ctl_call *call);

#endif
