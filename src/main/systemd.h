/*
 * systemd.h - messages to the service manager that started us: ready,
 * reloading, stopping, alive. The protocol is that of sd_notify(3): lines in a
 * datagram to the socket that NOTIFY_SOCKET names. Without that variable no
 * message is sent. No function here fails: a manager that does not read is not
 * waited for.
 */
#ifndef MAIN_SYSTEMD_H
#define MAIN_SYSTEMD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct event;
struct event_base;

struct systemd {
	int fd;              /* connected; -1: no manager */
	uint32_t watch_msec; /* how often to say that we live; 0: never */
	struct event *timer;
	bool ready;          /* the manager has been told that we are */
	bool loading;        /* the first load or a reload runs */
};

/*
 * Connects to the socket, in the process that stays main and before it enters a
 * chroot. Takes the variables out of the environment. WATCHDOG_USEC counts only
 * if it is for us (WATCHDOG_PID).
 */
void systemd_open(struct systemd *systemd);

/* For main's loop. NSD_OK or NSD_E_MEMORY. */
enum nsd_err systemd_watch(struct systemd *systemd,
	struct event_base *base) MUST_USE;

/* Closes the socket in a child: only main tells the manager. */
void systemd_leave(struct systemd *systemd);

/* All files have been read: the configured zones, and how many of them could
 * not be. Ends a reload, too. */
void systemd_ready(struct systemd *systemd, uint64_t zones,
	uint64_t failed);
/* A SIGHUP, before or after what it asks for is done: READY follows each. */
void systemd_reloading(struct systemd *systemd);
/* A SIGHUP that reads no zone file is done: READY, with the numbers as
 * before. */
void systemd_reloaded(struct systemd *systemd);
void systemd_stopping(struct systemd *systemd);

#endif
