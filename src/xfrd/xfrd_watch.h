/*
 * xfrd_watch.h - the zone files of a folder, NAME.zone, as they come, change
 * and go.
 *
 * The folder is read as a whole at first, when that is asked for, when the
 * kernel has lost events, and when the path leads to another folder than
 * before. In between events tell of single files. An event alone says nothing:
 * an editor that saves a file may move it away, write it anew, or change it in
 * steps. So after an event the file is left alone for a while, and only then
 * looked at:
 *   ready  its writer has closed it, or it was moved here as a whole
 *   quiet  it was made, as by a link, or found a moment after it was written
 *   open   somebody writes to it
 *   gone   it is not there
 * Each event begins the pause anew, for XFRD_WATCH_OPEN_MSEC at most.
 *
 * Files of a folder that is filled anew may be on their way: it was empty, or
 * cannot have been seen, or is another one, or most of its files have gone.
 * Then files that are gone stay so until nothing has come for
 * XFRD_WATCH_FILL_MSEC, for XFRD_WATCH_FILL_MAX_MSEC at most.
 *
 * Names are given without .zone. Names that begin with a dot are those of
 * editors and rsync(1): nobody hears of them, or of other names.
 *
 * Without inotify the folder is read once a minute.
 */
#ifndef XFRD_XFRD_WATCH_H
#define XFRD_XFRD_WATCH_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/list.h"

#define XFRD_WATCH_READY_MSEC 200
#define XFRD_WATCH_QUIET_MSEC 3000
#define XFRD_WATCH_OPEN_MSEC 60000
#define XFRD_WATCH_GONE_MSEC 5000
/* The time between looks whether the path leads where it did. */
#define XFRD_WATCH_CHECK_MSEC 10000
/* As long as it leads nowhere. */
#define XFRD_WATCH_MISSING_MSEC 1000
#define XFRD_WATCH_FILL_MSEC 30000
#define XFRD_WATCH_FILL_MAX_MSEC 3600000
/* Files in a pause, at most: with more, the whole folder is read; once some
 * have gone, if these are too many. */
#define XFRD_WATCH_PAUSED_MAX 100000u

struct event;
struct event_base;

enum xfrd_pause { XFRD_PAUSE_READY, XFRD_PAUSE_QUIET, XFRD_PAUSE_OPEN,
	XFRD_PAUSE_GONE, XFRD_PAUSES };

/* Calls to the owner, with its ctx. */
struct xfrd_watch_hooks {
	/* True if the owner takes no files now: it calls xfrd_watch_go_on. */
	bool (*is_busy)(void *ctx);
	/* The folder is to be read. False: not now: xfrd_watch_go_on. */
	bool (*on_begin)(void *ctx);
	/* True if a file with this name is one of the owner's. */
	bool (*is_name)(void *ctx, const char *name);
	/* Returns how many files the owner knows of. */
	uint64_t (*count)(void *ctx);
	/* A file that is there; of the reading that has begun. False: its name
	 * is none of the owner's. */
	bool (*on_found)(void *ctx, const char *name);
	/* The folder was read. why: NULL, or why it cannot be: then nothing is
	 * known about its files. Called without on_begin if it cannot be
	 * opened. */
	void (*on_read)(void *ctx, const char *why);
	/* A file has come, or may have changed. */
	void (*on_file)(void *ctx, const char *name);
	/* A file has gone, and its pause is over. There are others, or
	 * may_empty is set, or the owner knows of none. */
	void (*on_gone)(void *ctx, const char *name);
	/* The last of the owner's files has gone, and is not told of. */
	void (*on_empty)(void *ctx);
	/* The calls of a turn are over. */
	void (*on_turn)(void *ctx);
	/* Events were lost: any file may have changed. */
	void (*on_lost)(void *ctx);
};

struct xfrd_watch {
	struct event_base *base;
	char *path;
	const struct xfrd_watch_hooks *hooks;
	void *ctx;
	bool may_empty;        /* set by the owner: files that go may be the
				* last ones */
	int64_t pauses_msec[XFRD_PAUSES];
	int64_t check_msec, checked_msec;
	int64_t fill_msec, fill_max_msec;
	int64_t anew_msec;     /* when the folder began to be filled anew; 0: it
				* is not */
	int64_t came_msec;     /* when something came the last time */
	int fd;                /* inotify; -1: there is none */
	int no;                /* of the watch; -1: there is none */
	dev_t dev;             /* the folder that is watched, or was read */
	ino_t ino;
	DIR *dir;              /* is being read; NULL */
	uint64_t found;        /* the owner's files so far, or in the last
				* reading; and in the one before: */
	uint64_t found_before;
	bool again;            /* the folder is to be read (again) */
	bool is_empty;         /* on_empty was called */
	char why[64];          /* of on_read, the last time */
	struct cds_list_head paused[XFRD_PAUSES]; /* in the order in which they
						 * end */
	void *tree;            /* the same, of <search.h>, by name */
	unsigned paused_count, paused_max;
	unsigned gone_count;   /* of these */
	bool more_gone;        /* no room was left for others */
	struct event *event;   /* the next turn */
	struct event *inotify; /* NULL: none */
};

/* Begins to follow a folder; it is read soon. Copies path; keeps the rest until
 * the end. NSD_E_MEMORY. */
enum nsd_err xfrd_watch_init(struct xfrd_watch *watch, struct event_base *base,
	const char *path, const struct xfrd_watch_hooks *hooks, void *ctx)
	MUST_USE;
void xfrd_watch_fini(struct xfrd_watch *watch);

/* Has the folder read anew. */
void xfrd_watch_read(struct xfrd_watch *watch);
/* The owner takes files again. */
void xfrd_watch_go_on(struct xfrd_watch *watch);
/* Has a file looked at after a pause. */
void xfrd_watch_pause(struct xfrd_watch *watch, const char *name,
	enum xfrd_pause pause);
/* Finds the pause of a file, and for how long it still lasts; false: none. */
bool xfrd_watch_find(const struct xfrd_watch *watch, const char *name,
	enum xfrd_pause *pause, int64_t *left_msec);
/* Returns how many files are gone, and in a pause, and for how long still if
 * nothing comes. */
unsigned xfrd_watch_count_gone(const struct xfrd_watch *watch,
	int64_t *left_msec);
/* True if the folder is being filled anew. */
bool xfrd_watch_is_filled(const struct xfrd_watch *watch);
/* True if a file was written to a moment ago: it is in a pause now. */
bool xfrd_watch_is_fresh(struct xfrd_watch *watch, const char *name);
/* True if there is a file with this name; false: there is none, for sure. */
bool xfrd_watch_has(const struct xfrd_watch *watch, const char *name);

#endif
