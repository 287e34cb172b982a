/* loader.h - the loader's state, for the files that it is made of. */
#ifndef PROC_LOADER_H
#define PROC_LOADER_H

#include <event2/util.h>
#include <pthread.h>
#include <stdbool.h>

#include "load/load_leave.h"
#include "load/load_pool.h"
#include "load/load_prepare.h"
#include "load/load_set.h"
#include "load/load_settle.h"
#include "load/load_tidy.h"
#include "load/load_wait.h"
#include "load/load_zone.h"
#include "proc/role.h"
#include "store/store.h"
#include "zone/measure.h"

struct store_writer;

struct loader {
	struct role role;
	struct store_writer *writer;
	struct load_context context;
	struct load_progress progress;
	pthread_mutex_t busy_lock;
	struct load_set set;
	struct load_leaving *leaving; /* to be removed once they are read */

	/* The pass over the zones that is running; NULL: none. */
	struct load_pool *pool;
	struct load_result *results; /* of it, not looked at yet */
	struct load_zone **todo;
	size_t todo_count;
	struct load_zone **again; /* to be read, once more or yet */
	size_t again_count, again_room;
	struct load_zone **suspects; /* then these, one by one */
	size_t suspect_count, suspect_next;
	struct ipc_load_result result;
	bool first_pass;
	bool own_pass;  /* nobody asked for it: zones that were added */
	enum store_past past; /* as this loader found the store */
	bool in_file;   /* it is to be closed */
	int image_fd;   /* the store in memory goes there at the end; or -1 */
	bool stopping;
	bool reload_wanted;

	struct load_settle settle;
	struct load_wait wait; /* changes of zones that are busy */
	struct load_leave leave;
	struct load_prepare prepare;
	bool trimming;         /* the store, from there on */
	uint8_t trim_waits;    /* for readers of what is to be given back */
	uint32_t trim_at;
	struct load_tidy tidy;
	int64_t kinds_msec;    /* when the zones were measured last */
	bool measuring;
	struct zone_measuring kinds;
	int64_t holder_warned; /* of a reader that is late; see statistics.h */

	struct event *progress_event;
	struct event *results_event;
	struct event *updates_event;
	struct event *reclaim_event;
	struct event *again_event;
	struct event *idle_event;
	struct event *tidy_event;
};

/* To be read in a while: in the pass that is running, or one of its own. */
void loader_push_again(struct loader *loader, struct load_zone *zone,
	int wait_sec);
/* Publishes what a zone was read to, or says why not. */
void loader_take_result(struct loader *loader, struct load_result *result);
/* Lets go of a version that was served; none: nothing. */
void loader_leave(struct loader *loader, store_ref zone);
/* Frees what readers have left, now and later. */
void loader_reclaim(struct loader *loader);

/* loader_idle.c: what can wait. Looks whether there is something to do soon;
 * gives unused memory back; IPC_STATISTICS; timers. */
void loader_idle(struct loader *loader);
void loader_trim(struct loader *loader);
void loader_on_statistics(struct role *role, const struct ipc_message *m);
void loader_on_reclaim(evutil_socket_t fd, short what, void *arg);
void loader_on_idle(evutil_socket_t fd, short what, void *arg);
void loader_on_tidy(evutil_socket_t fd, short what, void *arg);

/* loader_updates.c: changes of zones */
void loader_on_update(struct role *role, const struct ipc_message *m);
/* A zone is busy no more: changes that waited for it are to be applied. */
void loader_retry_updates(struct loader *loader);
/* Applies some that wait; false: no more can be. */
bool loader_step_updates(struct loader *loader);
void loader_on_updates(evutil_socket_t fd, short what, void *arg);

/* loader_zones.c: zones that come and go */
void loader_on_change_zone(struct role *role, const struct ipc_message *m);
/* Some results have been taken: removes zones that waited for theirs. */
void loader_retry_leaving(struct loader *loader);

#endif
