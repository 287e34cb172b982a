/*
 * role.h - what loader, workers and xfrd have in common: a child of main with
 * a channel to it and a libevent loop.
 */
#ifndef PROC_ROLE_H
#define PROC_ROLE_H

#include <stdbool.h>

#include "base/err.h"
#include "ipc/channel.h"
#include "proc/server.h"

struct event;
struct event_base;
struct store;

/* What main gives to a child at the fork. */
struct role_start {
	struct server *server;
	struct store *store;
	struct ipc_channel channel; /* to main */
	unsigned index;             /* workers: which, from 0 */
	unsigned reader_slot;       /* workers and xfrd: in the store */
	/* Of the loader: */
	bool take_over; /* one of this server has listed the zones before */
	bool loaded;    /* one of this server has finished a pass over them */
	bool used;      /* one has had the store, and not closed it clean */
	bool in_file;   /* it is to be closed clean at the end */
};

struct role {
	struct server *server;
	struct event_base *base;
	struct ipc_channel channel;
	struct event *channel_event;
	struct event *room_event;     /* main reads again */
	struct role_waiting *waiting; /* messages that it had no room for */
	struct event *term_event;
	int term_fd;
	/* A message for this role; its descriptors are closed behind it.
	 * STOP and LOG_REOPEN are seen to already. */
	void (*on_message)(struct role *role, const struct ipc_message *m);
	/* Told to end: calls role_stop when it can. NULL: at once. */
	void (*on_stop)(struct role *role);
	/* Main died. NULL: end at once. */
	void (*on_main_gone)(struct role *role);
};

/*
 * The steps of a role's start that are the same for all, in this order.
 * die_with_main: the kernel ends this process when main is gone.
 */
void role_init_name(const char *log_name, const char *title);
void role_init_death(const struct server *server, bool die_with_main);
enum nsd_err role_init_loop(struct role *role, const struct role_start *start)
	MUST_USE;

/* Runs until STOP or SIGTERM. */
void role_run(struct role *role);
void role_stop(struct role *role);

/* Sends to main; a failure is a line in the log. */
void role_send(struct role *role, enum ipc_type type, const void *payload,
	size_t len);

/* The roles; each is called in the child, and does not return. */
void loader_main(const struct role_start *start) __attribute__((noreturn));
void worker_main(const struct role_start *start) __attribute__((noreturn));
void xfrd_main(const struct role_start *start) __attribute__((noreturn));

#endif
