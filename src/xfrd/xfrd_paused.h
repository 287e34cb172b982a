/* xfrd_paused.h - files of a folder that are left alone for a while: for
 * xfrd_watch.c. */
#ifndef XFRD_XFRD_PAUSED_H
#define XFRD_XFRD_PAUSED_H

#include <stdint.h>

#include "base/list.h"
#include "xfrd/xfrd_watch.h"

/* Readings without inotify: one in so many checks. */
#define XFRD_CHECKS_BLIND 6

/* A file in a pause. */
struct watch_paused {
	struct cds_list_head node;
	enum xfrd_pause kind;
	int64_t first_msec; /* of its first event */
	int64_t due_msec;
	const char *name;   /* in text */
	char text[];
};

void xfrd_paused_drop(struct xfrd_watch *watch,
	struct watch_paused *paused);
void xfrd_paused_drop_all(struct xfrd_watch *watch);
/* Has all files looked at: any may have come, changed or gone. */
void xfrd_paused_lose(struct xfrd_watch *watch);
/* Gets when a file that is gone may be told of, unless others come. */
int64_t xfrd_paused_gone_due(const struct xfrd_watch *watch,
	const struct watch_paused *paused);

#endif
