/* xfrd_watch.c - follows the zone files of a folder: see xfrd_watch.h. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "xfrd/xfrd_paused.h"

/* Names that are read, and files that are looked at, in a turn of the loop. */
#define TURN_FILES 500
#define SUFFIX ".zone"
#define SUFFIX_LEN (sizeof(SUFFIX) - 1)
#define EVENTS (IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB             \
	| IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_DELETE_SELF             \
	| IN_MOVE_SELF)
/* Events after which the watch, or its path, leads nowhere. */
#define EVENTS_SELF (IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED)

/* ---- names --------------------------------------------------------------- */

/* Gets NAME of NAME.zone. The zone of the root has the file "..zone". */
static bool
watch_parse(const char *file, char name[NAME_MAX + 1])
{
	size_t len = strlen(file);

	if (len <= SUFFIX_LEN || len > NAME_MAX
		|| strcmp(file + len - SUFFIX_LEN, SUFFIX) != 0
		|| (file[0] == '.' && strcmp(file, "." SUFFIX) != 0))
		return false;
	len -= SUFFIX_LEN;
	memcpy(name, file, len);
	name[len] = '\0';
	return true;
}

/* Gets the kind of a file. Returns 1 if it is one that can be read as a zone
 * file, 0: there is no such file, -1: that is not known. */
static int
watch_stat(const struct xfrd_watch *watch, const char *name, struct stat *st)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s" SUFFIX, watch->path,
		    name)
		>= sizeof(path))
		return 0;
	if (stat(path, st) == 0)
		return S_ISREG(st->st_mode);
	return errno == ENOENT ? 0 : -1;
}

/* ---- single files -------------------------------------------------------- */

bool
xfrd_watch_is_fresh(struct xfrd_watch *watch, const char *name)
{
	int64_t quiet = watch->pauses_msec[XFRD_PAUSE_QUIET];
	struct timespec now;
	struct stat st;
	int64_t age;

	clock_gettime(CLOCK_REALTIME, &now);
	if (watch_stat(watch, name, &st) != 1)
		return false;
	age = ((int64_t)now.tv_sec - st.st_mtim.tv_sec) * 1000
		+ (now.tv_nsec - st.st_mtim.tv_nsec) / 1000000;
	if (age < 0 || age >= quiet)
		return false;
	xfrd_watch_pause(watch, name, XFRD_PAUSE_QUIET);
	return true;
}

bool
xfrd_watch_has(const struct xfrd_watch *watch, const char *name)
{
	struct stat st;

	return watch_stat(watch, name, &st) != 0;
}

/* ---- the folder ---------------------------------------------------------- */

static void
watch_drop_no(struct xfrd_watch *watch)
{
	if (watch->no != -1)
		(void)inotify_rm_watch(watch->fd, watch->no);
	watch->no = -1;
}

/* Watches the folder that the path leads to now. Without a watch it is read at
 * times. */
static void
watch_renew(struct xfrd_watch *watch, const struct stat *st)
{
	if (watch->fd != -1 && (watch->no == -1 || st->st_dev != watch->dev
			|| st->st_ino != watch->ino)) {
		watch_drop_no(watch);
		watch->no = inotify_add_watch(watch->fd, watch->path,
			EVENTS | IN_ONLYDIR);
	}
	watch->dev = st->st_dev;
	watch->ino = st->st_ino;
}

/* True if the path leads to the folder that was read. */
static bool
watch_is_same(const struct xfrd_watch *watch)
{
	struct stat st;

	return watch->why[0] == '\0' && (watch->fd == -1 || watch->no != -1)
		&& stat(watch->path, &st) == 0 && st.st_dev == watch->dev
		&& st.st_ino == watch->ino;
}

/* The name of a zone file from an entry of the folder. */
static bool
watch_parse_entry(const struct xfrd_watch *watch, const struct dirent *entry,
	char name[NAME_MAX + 1])
{
	struct stat st;

	return watch_parse(entry->d_name, name)
		&& (entry->d_type == DT_REG
			|| watch_stat(watch, name, &st) == 1);
}

/* True if there is a zone file at all. */
static bool
watch_has_files(const struct xfrd_watch *watch)
{
	DIR *dir = opendir(watch->path);
	const struct dirent *entry;
	char name[NAME_MAX + 1];
	bool has = false;

	if (dir == NULL)
		return false;
	while (!has && (entry = readdir(dir)) != NULL)
		has = watch_parse_entry(watch, entry, name)
			&& watch->hooks->is_name(watch->ctx, name);
	closedir(dir);
	return has;
}

/* ---- reading it ---------------------------------------------------------- */

/* error: an errno; 0: the folder was read. */
static void
watch_end_reading(struct xfrd_watch *watch, int error)
{
	if (watch->dir != NULL)
		closedir(watch->dir);
	watch->dir = NULL;
	watch->is_empty = false;
	if (watch->fd == -1 && watch->found != watch->found_before)
		watch->came_msec = clock_now_msec();
	snprintf(watch->why, sizeof(watch->why), "%s",
		error != 0 ? strerror(error) : "");
	watch->hooks->on_read(watch->ctx, error != 0 ? watch->why : NULL);
}

/* Notes that the folder is another one than before, or may be. What has come
 * until now is not known, unless no other one was seen: then nothing has. */
static void
watch_note_anew(struct xfrd_watch *watch, const struct stat *st)
{
	bool is_first = watch->dev == 0 && watch->ino == 0;

	if (watch->why[0] == '\0' && (watch->fd == -1 || watch->no != -1)
		&& st->st_dev == watch->dev && st->st_ino == watch->ino)
		return;
	watch->anew_msec = clock_now_msec();
	if (!is_first)
		watch->came_msec = watch->anew_msec;
}

static void
watch_begin_reading(struct xfrd_watch *watch)
{
	struct stat st;

	watch->dir = opendir(watch->path);
	if (watch->dir == NULL || fstat(dirfd(watch->dir), &st) == -1) {
		watch->again = false;
		watch_end_reading(watch, errno);
		return;
	}
	if (!watch->hooks->on_begin(watch->ctx)) {
		closedir(watch->dir);
		watch->dir = NULL;
		return;
	}
	watch->again = false;
	watch->found_before = watch->found;
	watch->found = 0;
	watch_note_anew(watch, &st);
	/* Watched first: a file that comes is found, or an event tells of
	 * it. */
	watch_renew(watch, &st);
}

static void
watch_read_on(struct xfrd_watch *watch)
{
	const struct dirent *entry = NULL;
	char name[NAME_MAX + 1];

	for (unsigned i = 0; i < TURN_FILES
		&& !watch->hooks->is_busy(watch->ctx); i++) {
		errno = 0;
		entry = readdir(watch->dir);
		if (entry == NULL) {
			watch_end_reading(watch, errno);
			return;
		}
		if (!watch_parse_entry(watch, entry, name))
			continue;
		watch->found += watch->hooks->on_found(watch->ctx, name);
	}
}

/* ---- looking at files ---------------------------------------------------- */

static void
watch_look(struct xfrd_watch *watch, struct watch_paused *paused)
{
	char name[NAME_MAX + 1];
	struct stat st;
	int is = watch_stat(watch, paused->name, &st);
	bool was_gone = paused->kind == XFRD_PAUSE_GONE;
	int64_t first_msec = paused->first_msec;

	snprintf(name, sizeof(name), "%s", paused->name);
	xfrd_paused_drop(watch, paused);
	if (is == 1) {
		/* Files that were missed meanwhile may be gone for good, or
		 * follow. */
		if (watch->is_empty && watch->hooks->is_name(watch->ctx, name))
			watch->anew_msec = first_msec;
		watch->again |= watch->is_empty;
		watch->hooks->on_file(watch->ctx, name);
	} else if (is == 0 && was_gone) {
		watch->hooks->on_gone(watch->ctx, name);
	} else if (is == 0) {
		xfrd_watch_pause(watch, name, XFRD_PAUSE_GONE);
	}
}

/* Forgets the owner's files that are gone: the folder has no others. */
static void
watch_keep(struct xfrd_watch *watch)
{
	struct watch_paused *paused, *next;

	cds_list_for_each_entry_safe(paused, next,
		&watch->paused[XFRD_PAUSE_GONE], node) {
		if (watch->hooks->is_name(watch->ctx, paused->name))
			xfrd_paused_drop(watch, paused);
		else
			watch_look(watch, paused);
	}
	if (!watch->is_empty)
		watch->hooks->on_empty(watch->ctx);
	watch->is_empty = true;
	watch->anew_msec = 0;
}

static struct watch_paused *
watch_next(struct xfrd_watch *watch, enum xfrd_pause kind, int64_t now)
{
	struct watch_paused *paused;

	if (cds_list_empty(&watch->paused[kind]))
		return NULL;
	paused = cds_list_first_entry(&watch->paused[kind], struct watch_paused,
		node);
	return paused->due_msec <= now ? paused : NULL;
}

static bool
watch_others_come(struct xfrd_watch *watch)
{
	return !cds_list_empty(&watch->paused[XFRD_PAUSE_READY])
		|| !cds_list_empty(&watch->paused[XFRD_PAUSE_QUIET])
		|| !cds_list_empty(&watch->paused[XFRD_PAUSE_OPEN]);
}

/* Finds a file that is gone, and of which that may be told: while others come,
 * as when a folder is filled anew, it may be one of those. */
static struct watch_paused *
watch_next_gone(struct xfrd_watch *watch, int64_t now)
{
	struct watch_paused *paused = watch_next(watch, XFRD_PAUSE_GONE, now);

	if (paused != NULL && xfrd_watch_is_filled(watch))
		return watch_others_come(watch)
				|| xfrd_paused_gone_due(watch, paused) > now
			? NULL : paused;
	return paused == NULL || !watch_others_come(watch)
			|| now - paused->first_msec
				> watch->pauses_msec[XFRD_PAUSE_OPEN]
		? paused : NULL;
}

/* Looks at files whose pause is over. Those that are gone come last: one that
 * has come may have taken the place of another. */
static void
watch_look_on(struct xfrd_watch *watch)
{
	int64_t now = clock_now_msec();
	struct watch_paused *paused;
	unsigned count = 0;

	for (unsigned i = 0; i < XFRD_PAUSE_GONE; i++)
		while (count < TURN_FILES
			&& !watch->hooks->is_busy(watch->ctx)
			&& (paused = watch_next(watch, (enum xfrd_pause)i, now))
				!= NULL) {
			watch_look(watch, paused);
			count++;
		}
	if (watch_next_gone(watch, now) == NULL
		|| watch->hooks->is_busy(watch->ctx))
		return;
	if (!watch_is_same(watch)) {
		watch->again = true;
		return;
	}
	if (!watch->may_empty && watch->hooks->count(watch->ctx) > 0
		&& !watch_has_files(watch)) {
		watch_keep(watch);
		return;
	}
	while (count < TURN_FILES && !watch->hooks->is_busy(watch->ctx)
		&& (paused = watch_next_gone(watch, now)) != NULL) {
		watch_look(watch, paused);
		count++;
	}
}

/* ---- a folder that is filled anew ---------------------------------------- */

/* Finds out whether most files have gone, so that they may come anew; and
 * whether they are there. */
static void
watch_judge_gone(struct xfrd_watch *watch)
{
	bool is_busy = watch->dir != NULL || watch->again || watch->is_empty
		|| watch->hooks->is_busy(watch->ctx);

	if (watch->anew_msec == 0 && watch->gone_count > 1
		&& watch->gone_count * (uint64_t)2
			> watch->hooks->count(watch->ctx))
		watch->anew_msec = clock_now_msec();
	else if (watch->gone_count == 0 && !is_busy)
		watch->anew_msec = 0;
	/* Files without room are found by a reading. */
	if (watch->more_gone && watch->gone_count == 0
		&& watch->paused_count < watch->paused_max / 2) {
		watch->more_gone = false;
		watch->again = true;
	}
}

/* ---- turns --------------------------------------------------------------- */

/* Gets the time between two looks. A folder that is missing is looked for more
 * often than files stay that are gone: they may have been moved there. */
static int64_t
watch_check_pause(const struct xfrd_watch *watch)
{
	if (watch->why[0] == '\0')
		return watch->fd == -1 ? watch->check_msec * XFRD_CHECKS_BLIND
			: watch->check_msec;
	return watch->check_msec < XFRD_WATCH_MISSING_MSEC ? watch->check_msec
		: XFRD_WATCH_MISSING_MSEC;
}

static void
watch_check_path(struct xfrd_watch *watch)
{
	int64_t now = clock_now_msec();

	if (now < watch->checked_msec + watch_check_pause(watch))
		return;
	watch->checked_msec = now;
	if (watch->fd == -1 || !watch_is_same(watch))
		watch->again = true;
}

/* Waits for the next thing to do. If the owner is busy it says when to go
 * on. */
static void
watch_wait(struct xfrd_watch *watch)
{
	int64_t now = clock_now_msec();
	int64_t next = watch->checked_msec + watch_check_pause(watch);
	bool is_busy = watch->hooks->is_busy(watch->ctx);
	const struct watch_paused *paused;
	struct timeval wait;
	int64_t due;

	if (!is_busy && (watch->dir != NULL || watch->again))
		next = now;
	for (unsigned i = 0; i < XFRD_PAUSES && !is_busy
		&& watch->why[0] == '\0'; i++)
		if (!cds_list_empty(&watch->paused[i])
			&& (i != XFRD_PAUSE_GONE
				|| !watch_others_come(watch))) {
			paused = cds_list_first_entry(&watch->paused[i],
				struct watch_paused, node);
			due = i == XFRD_PAUSE_GONE
				? xfrd_paused_gone_due(watch, paused)
				: paused->due_msec;
			if (due < next)
				next = due;
		}
	next = next > now ? next - now : 0;
	wait.tv_sec = next / 1000;
	wait.tv_usec = next % 1000 * 1000;
	event_add(watch->event, &wait);
}

static void
watch_on_turn(evutil_socket_t fd, short what, void *arg)
{
	struct xfrd_watch *watch = arg;

	if (watch->dir == NULL)
		watch_check_path(watch);
	if (watch->dir == NULL && watch->again)
		watch_begin_reading(watch);
	if (watch->dir != NULL)
		watch_read_on(watch);
	else if (!watch->again && watch->why[0] == '\0')
		watch_look_on(watch);
	watch->hooks->on_turn(watch->ctx);
	watch_judge_gone(watch);
	watch_wait(watch);
}

void
xfrd_watch_go_on(struct xfrd_watch *watch)
{
	event_active(watch->event, EV_TIMEOUT, 0);
}

void
xfrd_watch_read(struct xfrd_watch *watch)
{
	watch->again = true;
	xfrd_watch_go_on(watch);
}

/* ---- events -------------------------------------------------------------- */

static void
watch_take_file(struct xfrd_watch *watch, const char *name, uint32_t mask)
{
	enum xfrd_pause pause;
	int64_t left;

	if ((mask & (IN_DELETE | IN_MOVED_FROM)) != 0)
		pause = XFRD_PAUSE_GONE;
	else if ((mask & (IN_CLOSE_WRITE | IN_MOVED_TO)) != 0)
		pause = XFRD_PAUSE_READY;
	else if ((mask & IN_MODIFY) != 0)
		pause = XFRD_PAUSE_OPEN;
	else if ((mask & IN_CREATE) != 0
		|| !xfrd_watch_find(watch, name, &pause, &left))
		pause = XFRD_PAUSE_QUIET;
	else
		return; /* other attributes of a file in a pause */
	xfrd_watch_pause(watch, name, pause);
}

static void
watch_take(struct xfrd_watch *watch, const struct inotify_event *e)
{
	char name[NAME_MAX + 1];

	if ((e->mask & IN_Q_OVERFLOW) != 0) {
		xfrd_paused_lose(watch);
		return;
	}
	/* A watch from before. */
	if (e->wd != watch->no)
		return;
	if ((e->mask & EVENTS_SELF) != 0) {
		if ((e->mask & IN_IGNORED) == 0)
			watch_drop_no(watch);
		watch->no = -1;
		watch->again = true;
		return;
	}
	if (e->len > 0 && watch_parse(e->name, name))
		watch_take_file(watch, name, e->mask);
	/* Also files of other names, which are moved to theirs at the end. */
	if (e->len > 0 && (e->mask & (IN_DELETE | IN_MOVED_FROM)) == 0)
		watch->came_msec = clock_now_msec();
}

static void
watch_on_events(evutil_socket_t fd, short what, void *arg)
{
	union {
		struct inotify_event event;
		char octets[65536];
	} buffer;
	struct xfrd_watch *watch = arg;
	ssize_t len = read(fd, buffer.octets, sizeof(buffer.octets));

	for (ssize_t at = 0; at < len;) {
		const struct inotify_event *e = (const struct inotify_event *)
			(buffer.octets + at);

		watch_take(watch, e);
		at += (ssize_t)(sizeof(*e) + e->len);
	}
	xfrd_watch_go_on(watch);
}

/* ---- begin and end ------------------------------------------------------- */

/* Without inotify the folder is read at times. */
static void
watch_init_inotify(struct xfrd_watch *watch)
{
	watch->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (watch->fd == -1)
		return;
	watch->inotify = event_new(watch->base, watch->fd,
		EV_READ | EV_PERSIST, watch_on_events, watch);
	if (watch->inotify != NULL && event_add(watch->inotify, NULL) == 0)
		return;
	close(watch->fd);
	watch->fd = -1;
}

enum nsd_err
xfrd_watch_init(struct xfrd_watch *watch, struct event_base *base,
	const char *path, const struct xfrd_watch_hooks *hooks, void *ctx)
{
	*watch = (struct xfrd_watch){.base = base, .hooks = hooks, .ctx = ctx,
		.pauses_msec = {[XFRD_PAUSE_READY] = XFRD_WATCH_READY_MSEC,
			[XFRD_PAUSE_QUIET] = XFRD_WATCH_QUIET_MSEC,
			[XFRD_PAUSE_OPEN] = XFRD_WATCH_OPEN_MSEC,
			[XFRD_PAUSE_GONE] = XFRD_WATCH_GONE_MSEC},
		.paused_max = XFRD_WATCH_PAUSED_MAX,
		.check_msec = XFRD_WATCH_CHECK_MSEC,
		.fill_msec = XFRD_WATCH_FILL_MSEC,
		.fill_max_msec = XFRD_WATCH_FILL_MAX_MSEC,
		.checked_msec = clock_now_msec(), .fd = -1, .no = -1,
		.again = true};
	for (unsigned i = 0; i < XFRD_PAUSES; i++)
		CDS_INIT_LIST_HEAD(&watch->paused[i]);
	watch->path = strdup(path);
	watch->event = event_new(base, -1, 0, watch_on_turn, watch);
	if (watch->path == NULL || watch->event == NULL) {
		xfrd_watch_fini(watch);
		return NSD_E_MEMORY;
	}
	watch_init_inotify(watch);
	xfrd_watch_go_on(watch);
	return NSD_OK;
}

void
xfrd_watch_fini(struct xfrd_watch *watch)
{
	xfrd_paused_drop_all(watch);
	if (watch->inotify != NULL)
		event_free(watch->inotify);
	if (watch->event != NULL)
		event_free(watch->event);
	if (watch->dir != NULL)
		closedir(watch->dir);
	if (watch->fd != -1)
		close(watch->fd);
	free(watch->path);
}
