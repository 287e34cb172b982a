/*
 * supervisor.h - what main does for as long as the server runs: keeps the
 * other roles alive, passes signals on, ends them.
 */
#ifndef PROC_SUPERVISOR_H
#define PROC_SUPERVISOR_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/err.h"
#include "ipc/channel.h"
#include "proc/pidfile.h"
#include "proc/server.h"

struct event;
struct event_base;
struct store;
struct zone_change;

/* How many loaders in a row may die while they take over a store before it is
 * taken for damaged. */
#define TAKE_OVERS_MAX 3

/*
 * A store. It outlives the loaders that write it; only one that is damaged
 * gets a successor, and once that is filled the workers are replaced by such
 * that read it. See doc/decisions/0010-loader-dies.md.
 */
struct generation {
	struct store *store;
	unsigned users;      /* children that were forked with it */
	unsigned take_overs; /* loaders since one has listed the zones */
	bool used;           /* a loader has had it, and not closed it clean */
	bool in_file;        /* the one of `database:` */
	bool listed;         /* its zones have names */
	bool loaded;         /* a loader has looked at all their files */
	bool damaged;        /* no loader takes it any more */
};

struct supervisor;

/* A process. */
struct child {
	enum ipc_role role;
	unsigned index;
	pid_t pid;
	struct ipc_channel channel;
	struct event *event;
	struct event *overdue_event; /* told to end, and time is up */
	struct supervisor *supervisor;
	struct generation *generation;
	unsigned reader_slot;
	bool is_reader;
	bool serving;   /* worker: it reads its sockets */
	bool told_stop;
	bool given_up;  /* we have killed it: it is not to try again */
	int64_t started_msec;
};

/* A role that is always to be filled by a process. */
struct post {
	struct supervisor *supervisor;
	enum ipc_role role;
	unsigned index;
	struct child *current;
	struct child *leaving; /* serves until current does */
	struct child *adopter; /* serves our sockets while nobody else does */
	unsigned failures;     /* in a row */
	struct event *timer;   /* to fill it again */
};

/* For a program that plays main and more: the tests'. */
struct supervisor_hooks {
	/* In main, before its loop. */
	void (*on_run)(struct supervisor *s, void *ctx);
	/* What became of an update that it sent. */
	void (*on_updated)(const struct ipc_updated *result, void *ctx);
	/* What became of a zone_change_request. */
	void (*on_zone_changed)(const struct zone_change *change, void *ctx);
	void *ctx;
};

struct supervisor {
	const struct supervisor_hooks *hooks; /* NULL: none */
	struct server server;
	struct pidfile pidfile;
	struct event_base *base;
	struct event *signal_event;
	struct event *start_event;      /* 1 second after start */
	struct event *statistics_event;
	int signal_fd;
	struct generation *serving;     /* workers are forked with it */
	struct generation *building;    /* its loader is at the first pass */
	struct store *database;         /* until the first loader takes it */
	struct store *kept;             /* its file alone: it was damaged */
	int self_fds;                   /* for stores made in a chroot; 0: none */
	struct post loader;
	struct post xfrd;
	struct post *workers;
	unsigned worker_count;
	bool waited;         /* the second is over */
	bool stopping;
	bool reloading;      /* RELOAD sent, RELOADED not come yet */
	bool reload_wanted;
};

/* Opens the database and everything else that needs
 * privileges or the outer file system. owner: who the database belongs to. */
enum nsd_err supervisor_init(struct supervisor *s, bool in_chroot,
	uid_t owner) MUST_USE;

/* The program: from its arguments to its exit code (start.c). Once. */
int server_run(int argc, char **argv, const struct supervisor_hooks *hooks);

/* Runs the server until it is told to stop; then all children have ended. */
void supervisor_run(struct supervisor *s);

#endif
