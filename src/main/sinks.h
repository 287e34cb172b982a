/*
 * sinks.h - main's part in the collector: says which records workers write,
 * keeps a collector running while they are wanted, and opens its sinks: the
 * connection to the receiver of dnstap, and the file of the query log. So the
 * collector itself makes no socket and opens no file.
 */
#ifndef MAIN_SINKS_H
#define MAIN_SINKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "ipc/sink.h"
#include "tap/ring.h"

struct child;
struct conf;
struct ipc_message;
struct supervisor;

/* The state of sinks; all zeros at first. */
struct sinks {
	enum tap_said said; /* until a reconfig changes an option of dnstap or
			     * of the query log */
	int64_t opened_msec[SINK_COUNT]; /* when it was last opened; 0: never */
};

/* Says to workers which records are wanted, and starts a collector if any may
 * be. */
void sinks_begin(struct supervisor *s);
/* Another configuration is in use: if it differs in what concerns the
 * collector, that is replaced. The rings keep what is in them. */
void sinks_follow(struct supervisor *s, const struct conf *before);
/* The operator switches records on or off. NSD_E_NOT_FOUND: nsd.conf chooses
 * none that could be switched on. */
enum nsd_err sinks_switch(struct supervisor *s, bool on);
/* The message WANT_SINK. */
void sinks_on_want(struct supervisor *s, struct child *collector,
	const struct ipc_message *m);
/* Opens the file of the query log anew, if there is one: it may have been
 * renamed. While there is no collector the file is made, and the next collector
 * writes to it. NSD_E_SYSTEM with errno: it cannot be opened, and lines go
 * where they went. */
enum nsd_err sinks_reopen_log(struct supervisor *s);

#endif
