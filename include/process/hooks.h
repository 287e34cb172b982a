/*
 * hooks.h - for test programs that are nsd with additions:
 * tests/lib/nsd_update.c, tests/lib/nsd_taken.c. The program nsd has no hooks.
 */
#ifndef PROCESS_HOOKS_H
#define PROCESS_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "ipc/message.h"

struct role;
struct supervisor;
struct xfrd;

/* Functions of tests. Each may be NULL. */
struct role_hooks {
	/* In main, before its loop. */
	void (*on_main)(struct supervisor *s);
	/* In xfrd, before its loop. */
	void (*on_xfrd)(struct xfrd *xfrd);
	/* In xfrd: a worker has sent a NOTIFY. len: octets of its payload. */
	void (*on_notify)(unsigned server, const struct ipc_notify *notify,
		size_t len);
	/* In a worker, before its loop. */
	void (*on_worker)(struct role *role);
	/* In the loader: an UPDATE is to be applied, or has been and is to be
	 * answered. */
	void (*on_update)(const uint8_t *data, uint64_t len, bool applied);
	/* The loader takes LOAD_UPDATE_CHANGE, which no transfer brings. */
	bool takes_changes;
};

#endif
