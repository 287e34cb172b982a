/*
 * role.h - the part that all children of main have in common: a channel to it
 * and a libevent loop.
 */
#ifndef PROCESS_ROLE_H
#define PROCESS_ROLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "ipc/channel.h"
#include "process/child_page.h"
#include "process/link.h"
#include "process/peers.h"
#include "process/requests.h"
#include "process/server.h"

struct event_base;
struct store;

/* The time between two heartbeats of a role, and between two looks of main
 * (watch.h). */
#define ROLE_HEARTBEAT_MSEC 250

/* The progress of this server's loaders with a store. */
enum store_past {
	STORE_PAST_NONE,   /* no loader has had it: the store is empty, or was
			    * closed clean */
	STORE_PAST_USED,   /* a loader has had it, and died before it had listed
			    * the zones */
	STORE_PAST_LISTED, /* the names of all zones are in it */
	STORE_PAST_LOADED, /* as LISTED, and a loader has finished its first
			    * pass over their files */
};

/* The resources that a child has from main at the fork. */
struct role_start {
	struct server *server;
	struct store *store;
	struct ipc_channel channel; /* to main */
	int stop_fd;                /* can be read once the child is told to
				     * end */
	unsigned index;             /* of a worker, from 0 */
	unsigned reader_slot;       /* in the store; not of the loader */
	struct child_page *page;    /* NULL: main does not look */
	int proc_fd;                /* of the verifier: /proc; -1: none */
	/* Of a worker: */
	bool verifies;   /* the verify server: answers from candidates */
	bool stands_by;  /* a standby: serves once it is told to */
	bool is_careful; /* workers before this one have died of messages */
	/* Of the loader: */
	enum store_past past;
	bool in_file;   /* the store is a file, to be closed clean at the end */
	/* Of xfrd: */
	bool is_behind; /* another store is being filled beside this one, and
			 * has zones that have come or gone since */
};

struct role {
	struct server *server;
	struct event_base *base;
	struct link link;             /* to main */
	struct requests requests;     /* of main */
	struct peers peers;           /* channels to other children */
	struct event *stop_event;
	struct event *term_event;
	int term_fd;
	struct event *heartbeat_event;
	struct child_page *page; /* NULL: main does not look */
	/* The handlers of messages, by enum ipc_type, which says the sender. A
	 * message's descriptors are closed when its handler returns. */
	void (*const *handlers)(struct role *role,
		const struct ipc_message *m);
	/* The role is told to end: calls role_stop when it can. NULL: ends at
	 * once. */
	void (*on_stop)(struct role *role);
	/* SIGTERM has come, before main's word. NULL: as on_stop. */
	void (*on_term)(struct role *role);
	/* Main has died. NULL: ends at once. */
	void (*on_main_gone)(struct role *role);
	/* Called every ROLE_HEARTBEAT_MSEC. NULL: nothing is done. */
	void (*on_heartbeat)(struct role *role);
	/* New settings are published (BROADCAST_SETTINGS). NULL: nothing is
	 * done. */
	void (*on_settings)(struct role *role);
	/* New settings are published, and zones may be others, too: sends
	 * OBEYED with the ticket once the role follows them. NULL: as
	 * on_settings. */
	void (*on_zones)(struct role *role, uint64_t ticket);
	/* BROADCAST_SAVE: sends OBEYED with the ticket once it is done; and
	 * BROADCAST_SAVED with its value. NULL: nothing is done. */
	void (*on_save)(struct role *role, uint64_t ticket);
	void (*on_saved)(struct role *role, bool is_followed);
	/* on_peer: there is a channel to another role, or more can be sent on
	 * it. on_peer_gone: that role has died. NULL: nothing is done. */
	void (*on_peer)(struct role *role, struct peer *peer);
	void (*on_peer_gone)(struct role *role, struct peer *peer);
};

/* The handlers that all children have: part of each role's list
 * (ipc/handlers.h). */
#define ROLE_HANDLERS(X)                                                     \
	X(LOG, role_on_log)                                                  \
	X(OBEY, role_on_obey)                                                \
	X(PEER, role_on_peer)                                                \
	X(PEER_GONE, role_on_peer_gone)                                      \
	X(CREDIT, NULL) /* link.c takes it */
void role_on_peer(struct role *role, const struct ipc_message *m);
void role_on_peer_gone(struct role *role, const struct ipc_message *m);
void role_on_log(struct role *role, const struct ipc_message *m);
void role_on_obey(struct role *role, const struct ipc_message *m);

/*
 * The steps of a start that are the same for all roles, in this order.
 * die_with_main: the kernel ends this process when main is gone; else it has it
 * go on, should it be stopped. role_init_loop returns NSD_OK or NSD_E_MEMORY.
 * The caller has set role's handlers.
 */
void role_init_name(const char *log_name, const char *title);
void role_init_death(const struct server *server, bool die_with_main);
enum nsd_err role_init_loop(struct role *role, const struct role_start *start)
	MUST_USE;

/* Runs until main says stop, or SIGTERM. */
void role_run(struct role *role);
/* Makes role_run return, once the event at hand is done. */
void role_stop(struct role *role);

/* Raises the heartbeat, a sign of life. The loop does so, too. */
static inline void
role_heartbeat(const struct role *role)
{
	if (role->page != NULL)
		__atomic_store_n(&role->page->heartbeat,
			role->page->heartbeat + 1, __ATOMIC_RELAXED);
}

/* Sends to main; borrows the payload. Does not block. If main has no room, a
 * copy of the message waits, and this role takes no message until it is sent.
 * If it cannot even wait, this process says so in the log and ends: its
 * successor gets the request again. */
void role_send(struct role *role, enum ipc_type type, const void *payload,
	size_t len);

/* Sends OBEYED: an OBEY with this ticket is done. */
void role_send_obeyed(struct role *role, uint64_t ticket);

/*
 * Sends a request to main, as requests_add does. role_on_answer is the handler
 * of the answers.
 * returns as requests_add.
 */
enum nsd_err role_ask(struct role *role, const struct link_message *message,
	request_on_end *on_end, void *ctx) MUST_USE;
void role_on_answer(struct role *role, const struct ipc_message *m);

/*
 * Answers a request that came on a channel (struct ipc_message, channel), and
 * gives its credit back; borrows the payload. of: the request's kind. Does not
 * block: the answer may wait. If the asker has died, the answer is dropped; if
 * it cannot even wait, this process ends as with role_send.
 */
struct role_answer {
	enum ipc_type of;
	const void *payload;
	size_t len;
};
void role_answer(struct role *role, uint64_t channel,
	const struct role_answer *answer);
/* The same for a request whose credit was given back before. */
void role_answer_late(struct role *role, uint64_t channel,
	const struct role_answer *answer);

/* True if an answer on that channel waits. */
bool role_answer_waits(struct role *role, uint64_t channel);

/* The roles; each is called in the child, and does not return. */
void loader_main(const struct role_start *start) __attribute__((noreturn));
void worker_main(const struct role_start *start) __attribute__((noreturn));
void xfrd_main(const struct role_start *start) __attribute__((noreturn));
void writer_main(const struct role_start *start) __attribute__((noreturn));
void collector_main(const struct role_start *start) __attribute__((noreturn));
void verifier_main(const struct role_start *start) __attribute__((noreturn));

#endif
