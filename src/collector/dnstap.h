/*
 * dnstap.h - the collector's part that sends records to a receiver of dnstap.
 * It connects again, after growing pauses, whenever there is no connection.
 */
#ifndef SRC_COLLECTOR_DNSTAP_H
#define SRC_COLLECTOR_DNSTAP_H

#include <stdbool.h>

#include "base/err.h"
#include "process/role.h"
#include "tap/ring.h"

struct dnstap;

/*
 * Opens the files that nsd.conf names, before the process is confined; the role
 * has its loop. counts: kept.
 * returns NSD_OK with *dnstap, NULL: it is not enabled, or not built in;
 *     NSD_E_MEMORY; NSD_E_SYNTAX or NSD_E_SYSTEM: a file cannot be read or
 *     used, as the log says.
 */
enum nsd_err dnstap_open(struct role *role, struct tap_counts *counts,
	struct dnstap **dnstap) MUST_USE;

/* Begins to connect. NULL is fine, here and below. */
void dnstap_begin(struct dnstap *dnstap);
/* Sends the parts of a record that are wanted, all or none: else drops and
 * counts them. */
void dnstap_take(struct dnstap *dnstap, const struct tap_record *record);
/* Hands on what was taken. */
void dnstap_push(struct dnstap *dnstap);
/* Main has answered: a descriptor, taken, or -1 and the error. */
void dnstap_on_sink(struct dnstap *dnstap, int fd, int error);
/* Sends what waits; on_done of the role's loop is called once. False: nothing
 * is to be waited for. */
bool dnstap_stop(struct dnstap *dnstap, void (*on_done)(void *ctx), void *ctx);
/* Ends the connection at once: drops and counts what it has not sent. */
void dnstap_end(struct dnstap *dnstap);

#endif
