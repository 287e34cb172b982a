/* loader.h - the loader's state, for the files that it is made of. */
#ifndef LOADER_LOADER_H
#define LOADER_LOADER_H

#include <event2/util.h>
#include <pthread.h>
#include <stdbool.h>

#include "base/textlist.h"
#include "loader/load_batch.h"
#include "loader/load_candidate.h"
#include "loader/load_compact.h"
#include "loader/load_follow.h"
#include "loader/load_pool.h"
#include "loader/load_prepare.h"
#include "loader/load_retire.h"
#include "loader/load_set.h"
#include "loader/load_settle.h"
#include "loader/load_wait.h"
#include "loader/load_zone.h"
#include "process/role.h"
#include "store/store.h"
#include "zone/measure.h"

struct store_writer;

/* Zones that a pass which ends with LOADED has found not to be as their files
 * say. */
struct loader_unread {
	size_t len; /* of said.reasons */
	struct ipc_loaded said;
};

/* Why the loader looks at zone files. One pass runs at a time. */
enum loader_pass {
	LOADER_PASS_NONE,   /* no pass runs */
	LOADER_PASS_FIRST,  /* at its start, over all zones; ends with LOADED */
	LOADER_PASS_CONFIGURED, /* the same with another configuration, for
				 * zones that are new or have other files */
	LOADER_PASS_RELOAD, /* main has asked for it; ends with RELOADED */
	LOADER_PASS_ASKED,  /* xfrd has, for some zones or all: see
			     * loader_reload.c */
	LOADER_PASS_AGAIN,  /* by itself: for zones that were added, or whose
			     * files changed while they were read */
};

/* The end of the store when the loader is told to end. */
enum loader_close {
	LOADER_CLOSE_NONE,  /* in memory: goes with the server */
	LOADER_CLOSE_FILE,  /* in a file: closed clean */
	LOADER_CLOSE_IMAGE, /* in memory: written to image_fd */
};

/* Giving unused memory of the store back: a job of loader_idle.c. */
struct loader_trim {
	bool wanted;
	uint8_t waits; /* how often to wait for readers, still */
	uint32_t at;   /* where the next step begins */
};

/* Measuring what the zones' memory is used for: a job, too. */
struct loader_kinds {
	bool wanted;
	int64_t begun_msec; /* the last time; 0: never */
	struct zone_measuring measuring;
};

/* The number of threads for long differences of other zones. */
#define LOADER_DIFFS 4u
/* The most threads that wait for verifiers (verifier-count), and zones that
 * wait for these, each with a descriptor. */
#define LOADER_VERDICTS 64u
#define LOADER_VERDICTS_WAITING 128u
#define LOADER_TRANSFERS (1u + LOADER_DIFFS + LOADER_VERDICTS)

/* A transfer that is to be read, or being read; or a file that is to be
 * verified. */
struct loader_transfer {
	struct loader_transfer *next;
	struct load_change change; /* zone->transfer is its text; owned */
	struct load_zone *zone;
	bool replay; /* the journal has it, not change */
	bool is_file; /* the zone's file, not change */
	enum load_which which; /* of a file */
};

/* Versions that are to be verified: see loader_verdicts.c. */
struct loader_verdicts {
	struct loader_transfer *first, *last; /* no thread for them yet */
	size_t count;
	struct loader_transfer *dropped; /* to be sent again by who asked */
	struct load_candidate *candidates; /* threads wait for the verdict */
	unsigned waiting; /* threads with a candidate */
	uint64_t ticket;  /* of the latest candidate */
};

/* Transfers that threads of their own read: see loader_transfers.c. */
struct loader_transfers {
	struct loader *loader;
	struct event *event; /* to go on at once */
	struct loader_transfer *waiting; /* for the next threads */
	size_t waiting_count;
	struct loader_transfer *working; /* in pool */
	struct load_pool *pool;          /* threads that read todo; or NULL */
	struct load_result *results;     /* of the pool, not looked at yet */
	struct load_zone **todo;
	struct load_context context;
	struct load_progress progress;
};

struct loader {
	struct role role;
	struct store_writer *writer;
	struct load_context context;
	struct load_progress progress;
	pthread_mutex_t busy_lock;
	struct load_set set;
	enum store_past past;         /* as this loader found the store */
	enum loader_close close;
	int image_fd;                 /* of LOADER_CLOSE_IMAGE */
	bool stopping;                /* no more zones are read; whatever pass
				       * runs */

	enum loader_pass pass;
	bool configured;          /* LOADER_PASS_CONFIGURED is to be next */
	bool reload_wanted;       /* another one is to follow this pass */
	struct loader_read *reads; /* xfrd's requests, those that are being
			     * done first */
	struct load_pool *pool;   /* threads that read todo; NULL: none */
	struct load_result *results; /* of the pool, not looked at yet */
	struct load_zone **todo;  /* of the pass */
	size_t todo_count;
	struct load_zone **again; /* zones to be read next: in this pass, or in
				   * one of their own */
	size_t again_count, again_room;
	struct load_zone **suspects; /* at the end of the pass, one by one */
	size_t suspect_count, suspect_next;
	struct ipc_load_result result; /* of the pass */
	struct loader_unread *unread; /* of the first pass; NULL: none */
	uint64_t conf; /* the number of the configuration that the pass is
			* over */
	uint64_t told; /* the channel of the xfrd that knows the served zones;
			* 0: none does */
	bool altered; /* main knows that there was an update */
	bool crowded; /* in the pass, a version had no room beside the one
		       * that is served */

	/* The first is for whole zones, the next are for differences: what
	 * takes long in one holds up none of the others. Those behind have a
	 * thread each, which may wait for a verifier. */
	struct loader_transfers transfers[LOADER_TRANSFERS];
	struct loader_verdicts verdicts;
	struct load_judging judging;
	size_t replays; /* zones that threads bring further by the journal */
	struct load_loop *loop; /* for all threads */
	struct load_journal *journal; /* in the first pass; or NULL */

	/* Work that can wait, done a little at a time. */
	struct load_settle settle;
	struct load_wait wait; /* changes of zones that are busy */
	struct load_follow follow; /* zones that still have another
				    * configuration than the loader */
	struct load_retire retire;
	struct load_prepare prepare;
	struct loader_trim trim;
	size_t gone; /* zones that were removed since the last trim of those */
	struct load_compact compact;
	struct loader_kinds kinds;
	struct textlist_writer *groups; /* of zones that are counted
					 * together */
	bool groups_full;         /* no room for more; logged */
	uint64_t holder_looks; /* at all readers, see holder.h */
	int64_t holder_warned; /* of a reader that is late: see statistics.h */

	struct event *progress_event;
	unsigned progress_steps; /* of the pass */
	struct event *results_event;
	struct event *updates_event;
	struct event *reclaim_event;
	struct event *again_event;
	struct event *idle_event;
	struct event *compact_event;
	struct event *counts_event; /* the store has changed */
	struct event *alone_event; /* SIGTERM has come, and STOP has not */

	/* Zones that have come and gone, and are not published yet, as more
	 * are to follow: see loader_zones.c. */
	struct load_batch changes;
	bool changing;             /* there are such */
	unsigned changes_count;
	struct event *changes_event; /* no more have followed */
};

/* True if threads read zones: versions that they look at must stay. Threads
 * that wait for a verdict do not count: their zones have candidates. */
static inline bool
loader_has_threads(const struct loader *loader)
{
	unsigned count = loader->pool != NULL;

	for (unsigned i = 0; i < LOADER_TRANSFERS; i++)
		count += loader->transfers[i].pool != NULL;
	return count > loader->verdicts.waiting;
}

/* True if a pass runs, or is to come for zones that are listed already: it may
 * look at the places of zones that go. */
static inline bool
loader_has_listed(const struct loader *loader)
{
	return loader->pass != LOADER_PASS_NONE || loader->again_count > 0;
}

/* Ends the loader, if all threads are done. */
static inline void
loader_end_threads(struct loader *loader)
{
	if (!loader_has_threads(loader))
		role_stop(&loader->role);
}

/* ---- loader_pass.c: passes over the zones -------------------------------- */

/* Has zones read with the options of the configuration from now on; no thread
 * of a pass runs. */
void loader_set_options(struct loader *loader);
/* Starts the first pass. */
void loader_start_first_pass(struct loader *loader);
/* Another configuration is published: starts a pass over its zones, or has one
 * follow the one that runs. */
void loader_start_configured_pass(struct loader *loader);
/* The message RELOAD: starts a pass, or has one follow the one that runs. */
void loader_on_reload(struct role *role, const struct ipc_message *m);
/* The message READ: the same for xfrd. */
void loader_on_read(struct role *role, const struct ipc_message *m);
/* Tells xfrd that files have been looked at, once all have been. */
void loader_tell_served(struct loader *loader);
/* Timers. */
void loader_on_again(evutil_socket_t fd, short what, void *arg);
void loader_on_more_results(evutil_socket_t fd, short what, void *arg);
void loader_on_progress(evutil_socket_t fd, short what, void *arg);

/* ---- loader_reload.c: requests of xfrd to read files --------------------- */

/* Takes a READ, to be part of the next pass. False: it is refused, and
 * answered. */
bool loader_add_reload(struct loader *loader, const struct ipc_message *m);
/* True if there are requests. */
bool loader_reload_waits(const struct loader *loader);
/* A pass begins, and all requests are part of it. all: it is over all zones
 * anyway. False: only those of loader_list_reload are wanted. */
bool loader_begin_reload(struct loader *loader, bool all);
/* Lists the zones that are wanted; returns how many. */
size_t loader_list_reload(struct loader *loader, struct load_zone **zones,
	size_t max);
/* Notes that a zone of the pass is not served as in its file. before: it was
 * not before, either, and the file has not changed: that is told, and is a
 * failure only of a request for that zone. reasons: lines; NULL: the log has
 * them. */
void loader_note_failed(struct loader *loader, const struct load_zone *zone,
	bool before, const char *reasons);
/* Notes, for LOADED, that a zone or a zone file that another nsd.conf has
 * brought could not be read. */
void loader_note_unread(struct loader *loader,
	const struct load_result *result);
/* Answers all requests of the pass, which cannot be made. */
void loader_fail_reload(struct loader *loader, enum nsd_err err);
/* The pass is over: answers the requests that were part of it. */
void loader_end_reload(struct loader *loader);

/* ---- loader_publish.c: results of reading -------------------------------- */

/* Logs that another serial of a zone is served. old: the one before; NULL: none
 * was. An equal one is not logged. */
void loader_log_serial(const struct load_zone *zone, const uint32_t *old,
	uint32_t serial);
/* Has a zone read after wait_sec: in the pass that runs, or in one of its
 * own. */
void loader_push_again(struct loader *loader, struct load_zone *zone,
	int wait_sec);
/* Publishes a result that is LOAD_COMPARED, LOAD_APPLIED or LOAD_BUILT, any
 * other is NSD_E_BUG. updated: of a transfer, its counts are set; NULL: it is
 * from a file. After a failure the zone is as before. */
enum nsd_err loader_publish(struct loader *loader,
	const struct load_result *result, struct ipc_updated *updated) MUST_USE;
/* Publishes the result of reading a zone, or logs why not. Frees what the
 * result owns, and not the result. */
void loader_take_result(struct loader *loader, struct load_result *result);

/* ---- loader_holders.c: readers that keep old versions -------------------- */

/* Tells main of readers that keep more than they may (holder.h), and warns of
 * one that has kept something for long. Called once a second while something
 * waits. */
void loader_look_at_holders(struct loader *loader);

/* ---- loader_idle.c: work that can wait ----------------------------------- */

/* Has versions retired; arg is the loader: see load_retire.h. */
void loader_on_retire(void *arg);
/* Frees memory that readers have left, now and later. */
void loader_reclaim(struct loader *loader);
/* Has loader_on_idle look soon whether there is something to do. */
void loader_idle(struct loader *loader);
/* Has unused memory given back. */
void loader_trim(struct loader *loader);
/* The message STATISTICS. */
void loader_on_statistics(struct role *role, const struct ipc_message *m);
/* Timers. */
void loader_on_reclaim(evutil_socket_t fd, short what, void *arg);
void loader_on_idle(evutil_socket_t fd, short what, void *arg);
void loader_on_compact(evutil_socket_t fd, short what, void *arg);

/* ---- loader_counts.c: the loader's part of statistics -------------------- */

/* NSD_E_MEMORY. */
enum nsd_err loader_init_counts(struct loader *loader) MUST_USE;
/* Writes the size of the store to the counts, within a second. */
void loader_say_counts(struct loader *loader);
/* Writes the progress of the pass to the counts, or that none runs. */
void loader_say_pass(struct loader *loader);
/* Sets the group that a zone is counted with: it is new in the table, or has
 * another pattern. */
void loader_count_zone(struct loader *loader, const struct load_zone *zone);
void loader_count_zones(struct loader *loader);
/* A timer. */
void loader_on_counts(evutil_socket_t fd, short what, void *arg);

/* ---- loader_written.c: files that the writer has written ----------------- */

/* The message FILE_WRITTEN. */
void loader_on_file_written(struct role *role, const struct ipc_message *m);

/* ---- loader_updates.c: changes of zones ---------------------------------- */

/* The messages UPDATE and EXPIRY. */
void loader_on_update(struct role *role, const struct ipc_message *m);
void loader_on_expiry(struct role *role, const struct ipc_message *m);
/* Applies some changes that wait. False: no more can be applied now. */
bool loader_step_updates(struct loader *loader);
/* Goes on with answers, which can be sent again, or have no asker any more. */
void loader_on_peer(struct role *role, struct peer *peer);
void loader_on_peer_gone(struct role *role, struct peer *peer);
/* A timer. */
void loader_on_updates(evutil_socket_t fd, short what, void *arg);

/* ---- loader_wait.c: changes that wait, and answers ----------------------- */

/* Another configuration cannot be followed: ends the loader. The next one
 * publishes main's configuration. */
void loader_check_follows(enum nsd_err err);
/* A zone is no longer busy: has it follow another configuration, and the
 * changes applied that waited for it. */
void loader_retry_updates(struct loader *loader);
/* Tells xfrd that a change waits for a verifier: it does not count among those
 * under way any more. */
void loader_say_late(struct loader *loader, struct load_change *change);
/* Finds a zone of the configuration that is published. apex: in lower case.
 * NULL: there is none. */
struct load_zone *loader_find_zone(struct loader *loader,
	const uint8_t *apex);
/* Answers the UPDATE that has come with a ticket on a channel, and sets what is
 * left of *result. apex: in lower case. */
void loader_answer_update(struct loader *loader,
	const struct load_change *change, const uint8_t *apex,
	struct ipc_updated *result);

/* ---- loader_queue.c: the queue for threads ------------------------------- */

/* Returns idle transfers for differences, or else those where least waits. */
struct loader_transfers *loader_choose_diffs(struct loader *loader);
/* Has a thread read a transfer, which is t's from here on. */
void loader_queue_transfer(struct loader_transfers *t,
	struct loader_transfer *one);
/* In the first pass, a zone was read: goes on with entries of the journal
 * beyond that, and ends the zone's claim then. */
void loader_replay(struct loader *loader, struct load_zone *zone);
/* Ends the claim, once the zone is as far as the journal leads. */
void loader_end_replay(struct loader *loader, struct load_zone *zone);

/* ---- loader_verdicts.c: versions that are verified by programs ----------- */

/* Prepares to have versions verified. */
void loader_init_verdicts(struct loader *loader);
/* Follows the configuration. */
void loader_set_judging(struct loader *loader);
/* True if the threads of t wait for verifiers. */
bool loader_transfers_await(const struct loader_transfers *t);
/* True if no more may wait there: changes wait in load_wait.h. */
bool loader_verdicts_are_full(const struct loader *loader);
/* Has a thread read a transfer of a claimed zone, and wait for the verifier. */
void loader_queue_judged(struct loader *loader, struct loader_transfer *one);
/* The same with the zone's file. False: no memory. */
bool loader_queue_file(struct loader *loader, struct load_zone *zone);
/* Starts threads for zones that wait. */
void loader_verdicts_go_on(struct loader *loader);
/* Goes on with a verifier that has come, or has gone. */
void loader_on_verifier(struct loader *loader);
void loader_on_verifier_gone(struct loader *loader,
	const struct peer *peer);
/* Follows another configuration, server->conf: zones that are gone, or need no
 * verifier any more, do not wait for one. */
void loader_follow_verdicts(struct loader *loader);
/* Withdraws the version of a zone that is being verified; NULL: all. Threads
 * that wait go on. */
void loader_drop_verdict(struct loader *loader, const struct load_zone *zone);
/* The message VERIFIED. */
void loader_on_verified(struct role *role, const struct ipc_message *m);

/* ---- loader_transfers.c: transfers that threads read --------------------- */

/* Has a whole zone read, or differences that take too long for the loop:
 * borrows the change. *later: threads read it, and it is answered then. Else
 * result->err is the outcome; NSD_E_AGAIN: the zone is being read, try
 * again. */
void loader_take_transfer(struct loader *loader,
	const struct load_change *change, const uint8_t *apex,
	struct ipc_updated *result, bool *later);
/* NSD_E_MEMORY. */
enum nsd_err loader_init_transfers(struct loader *loader) MUST_USE;
/* Cancels all transfers, as the loader is to end. */
void loader_cancel_transfers(struct loader *loader);

/* ---- loader_zones.c: zones that come and go ------------------------------ */

/* The message CHANGE_ZONE. */
void loader_on_change_zone(struct role *role, const struct ipc_message *m);

/* Begins a batch of zones that come, go or change, until they are published. */
struct load_batch loader_begin_batch(struct loader *loader);
/* Publishes zones that have come and gone, if more were to follow. To be called
 * before anything that looks at a zone by its name. */
void loader_publish_zones(struct loader *loader);
/* A timer. */
void loader_on_changes(evutil_socket_t fd, short what, void *arg);
/* Ends all work on a zone that was removed. ctx: the loader. */
void loader_on_removed(void *ctx, store_ref entry);

/* ---- loader_configure.c: another configuration --------------------------- */

/* Prepares to follow configurations. */
void loader_init_follow(struct loader *loader);
/* The message CONFIGURE. */
void loader_on_configure(struct role *role, const struct ipc_message *m);

/* ---- loader_keys.c: keys that come and go -------------------------------- */

/* The message CHANGE_KEY. */
void loader_on_change_key(struct role *role, const struct ipc_message *m);

#endif
