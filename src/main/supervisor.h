/*
 * supervisor.h - the state and the loop of main: keeps the other roles alive,
 * passes signals on, ends them.
 */
#ifndef MAIN_SUPERVISOR_H
#define MAIN_SUPERVISOR_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/err.h"
#include "ipc/channel.h"
#include "main/barrier.h"
#include "main/broadcast.h"
#include "main/certificates.h"
#include "main/cookie_keeper.h"
#include "main/crash.h"
#include "main/daemon.h"
#include "main/ends.h"
#include "main/holder.h"
#include "main/inhand.h"
#include "main/key_change.h"
#include "main/pidfile.h"
#include "main/reconfig.h"
#include "main/rssac_log.h"
#include "main/sinks.h"
#include "main/systemd.h"
#include "main/watch.h"
#include "process/link.h"
#include "process/role.h"
#include "process/server.h"

struct event;
struct event_base;
struct store;

/* Readers of a store beside workers: xfrd, the writer, the verifier and the
 * verify server. */
#define SUPERVISOR_READERS 4u
/* Of each worker's service: one that serves, and one that stands by or ends. */
#define SERVICE_READERS 2u

/* How many loaders in a row may die while they take over a store before it is
 * taken for damaged. */
#define TAKE_OVERS_MAX 3

/*
 * A store of main. It outlives the loaders that write it. Only one that is
 * damaged (doc/decisions/0010), has no room for two versions (0067) or whose
 * readers crash (0150) gets a successor; once that is filled, workers that read
 * it replace those that read the old one.
 */
struct generation {
	struct store *store;
	unsigned users;       /* children that were forked with it */
	unsigned take_overs;  /* loaders since one has listed the zones */
	enum store_past past;
	bool damaged;         /* no loader takes it any more */
	bool yields;          /* nor while another one is filled beside it */
	bool altered;         /* by messages UPDATE: zone files lack what these
			       * brought */
};

struct supervisor;

/* A process of main. */
struct child {
	enum ipc_role role;
	unsigned index;
	uint64_t number; /* of all that main has made, from 1 */
	pid_t pid;
	struct link link;
	int stop_fd;                 /* an eventfd: tells it to end */
	struct event *overdue_event; /* told to end, and time is up */
	struct supervisor *supervisor;
	struct generation *generation;
	unsigned reader_slot;
	bool is_reader;
	uint64_t channel_to_xfrd; /* the id of that, unless this is xfrd; 0:
				   * it has none */
	uint64_t channel_to_loader; /* of a verifier; 0: its loader is gone */
	bool verifies;  /* of a worker: the verify server */
	bool stands_by; /* of a worker: it waits to be told to serve */
	bool serving;   /* of a worker: reads its sockets */
	bool told_stop;
	uint64_t stop_heartbeat; /* of an xfrd that was told: as it was */
	unsigned stop_looks;     /* times that it got more time */
	bool reaped;    /* only its last messages are being taken */
	bool has_read;  /* of a worker that is reaped: it had turned to what
			 * its clients sent */
	bool given_up;  /* main has killed it: not to be tried again */
	bool hung;      /* killed as it hangs: another one takes its place */
	/* Numbers of the barriers that it has not come to yet; 0: none. */
	uint64_t pending[BARRIER_COUNT];
	/* Looks that saw a heartbeat and a barrier pending; since the first it
	 * has done nothing that it was told. */
	unsigned unresponsive_looks;
	bool loaded;    /* of a loader: its first pass is over */
	int64_t started_msec;
	struct holder_told told; /* of a reader */
	struct child_page *page; /* pages that it shares with main alone */
	struct watch watch;
};

/* A process of a role that main keeps running. */
struct service {
	struct supervisor *supervisor;
	enum ipc_role role;
	unsigned index;
	struct child *current;
	struct child *leaving; /* serves until current does */
	struct child *next;    /* stands by, to serve when current dies */
	bool wants_next;       /* workers die one after the other */
	int64_t killed_msec;   /* when one last died of messages; 0: none */
	struct child *adopter; /* serves our sockets while no other worker
				* does */
	bool deadly;           /* an adopter has crashed: no other one is to
				* adopt them */
	unsigned failures;     /* in a row: deaths that no message explains,
				* and processes that could not be made */
	int64_t started_msec;  /* when it was last started, or tried to be */
	int64_t rests_until;   /* of the writer and the verifier: not started
				* before, in msec */
	struct event *timer;   /* to start it again */
	int64_t due_msec;      /* when it will, if it is pending */
};

struct supervisor {
	/* Handlers of messages of children, by enum ipc_type. */
	void (*const *handlers)(struct supervisor *s, struct child *child,
		const struct ipc_message *m);
	struct server server;
	struct pidfile pidfile;
	struct daemon_start daemon;     /* waits for the end of the start */
	struct systemd systemd;
	struct event_base *base;
	struct event *signal_event;
	struct event *start_event;      /* 1 second after start */
	struct event *end_event;        /* to end after a message: its sender
					 * may have died, and is not freed
					 * before all its messages are read */
	struct event *statistics_event;
	struct event *day_event;        /* the UTC day ends; with rssac002 */
	struct event *watch_event;      /* see watch.h */
	int64_t watched_msec;           /* when main looked last */
	int proc_fd;                    /* /proc, also from a chroot; 0 or -1:
					 * none */
	struct rssac_log rssac_log;
	struct reconfig reconfig;
	struct key_change key_change;
	struct certificates certificates;
	struct cookie_keeper cookies;
	int signal_fd;
	struct generation *serving;     /* workers are forked with it */
	struct generation *building;    /* being filled by the first pass of its
					 * loader */
	int64_t fill_begun_msec;        /* of the last store that was filled, or
					 * was to be, in place of another */
	int64_t fill_ended_msec;        /* 0: there was none */
	struct crashes crashes;
	struct inhand_pace inhand_pace;
	struct ends ends;               /* lines of the log about dead
					 * children */
	int64_t forked_usec;            /* forks are paid for until then: see
					 * standby.h */
	struct barrier barriers[BARRIER_COUNT];
	uint64_t barrier_numbers;       /* number of barriers so far */
	unsigned hup_tells;             /* to xfrd, since the last SIGHUP */
	struct broadcast broadcast;     /* of the operator, to all */
	struct store *database;         /* until the first loader takes it */
	const struct generation *in_file; /* the one of `database:`; or NULL */
	struct store *kept;             /* a damaged database: only its
					 * descriptor is used; or NULL */
	int self_fds;                   /* /proc/self/fd, to make stores in a
					 * chroot; 0: none */
	struct service loader;
	struct service xfrd;
	struct service writer;  /* empty, unless xfrd has something to write */
	struct service verifier; /* empty, unless the loader has something to
				  * be judged */
	struct service collector; /* while there are records to collect */
	struct sinks sinks;
	bool verifier_wanted;    /* when the one that ends has ended */
	struct service verify_server; /* a worker that has its own sockets and
				       * answers from candidates; its index is
				       * worker_count; empty without verify: */
	struct service *workers;
	unsigned worker_count;
	uint64_t children;   /* made so far */
	uint64_t channels;   /* the same, between children */
	unsigned untried;    /* enum ipc_role, or-ed: none of these has parsed
			      * the keys that it has from main. The start is
			      * not over until they have, */
	bool failed;         /* and has failed if one cannot */
	bool loaded;         /* the first pass is over, with this result */
	struct ipc_load_result result;
	bool waited;         /* the second after the start is over */
	bool stopping;
	bool reloading;      /* RELOAD is sent, RELOADED has not come */
	bool reload_wanted;  /* another RELOAD is to follow */
};

/*
 * Opens the database and all else that needs privileges or the outer file
 * system. owner: who the database belongs to.
 * returns NSD_OK; NSD_E_MEMORY; NSD_E_SYSTEM: no descriptor for signals, or no
 * /proc for use in the chroot. A database that cannot be used is no error: it
 * is logged, and zones are kept in memory.
 */
enum nsd_err supervisor_init(struct supervisor *s, bool in_chroot,
	uid_t owner) MUST_USE;

/* How many descriptors main opens from then on until all others are there; or
 * else until a loader and one worker are. */
unsigned supervisor_count_descriptors(const struct supervisor *s, bool all);

/* Runs the server until it is told to stop. All children have ended then.
 * False: it was not, but the start has failed, as the log says. */
bool supervisor_run(struct supervisor *s) MUST_USE;

#endif
