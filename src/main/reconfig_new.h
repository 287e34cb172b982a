/*
 * reconfig_new.h - another nsd.conf, read while the server runs. Its files and
 * sockets are opened, read and tried before anything has changed.
 */
#ifndef MAIN_RECONFIG_NEW_H
#define MAIN_RECONFIG_NEW_H

#include <stdbool.h>

#include "base/err.h"
#include "base/secrets.h"
#include "conf/conf.h"
#include "main/cookie_keeper.h"
#include "main/flags.h"
#include "main/log_change.h"
#include "main/reconfig_listeners.h"

struct supervisor;
struct report;

/* Both buffers, the table of limits, and TLS. */
#define RECONFIG_NEW_WAITING_MAX 4u

/* A new configuration, read and checked, with its files and sockets. */
struct reconfig_new {
	struct conf *conf;   /* with its zones, until they are compared */
	int zones;           /* image of its zones; 0: none */
	struct conf_commands *commands; /* of all zones; NULL: no memory */
	struct flags *flags;
	struct cookie_choice cookies;
	bool cookies_differ;
	bool tls_waits;      /* TLS comes or goes with the next start */
	struct secrets *tls; /* NULL: no other certificates */
	struct log_change log;
	struct reconfig_listeners listeners;
	/* Options that the table lets have effect at once, and that cannot this
	 * time. conf has the values that are run with. */
	const char *waiting[RECONFIG_NEW_WAITING_MAX];
	unsigned waiting_count;
};

/*
 * Reads nsd.conf anew. The secrets of its keys are in the key store then. in:
 * new, zeroed.
 * returns NSD_OK; else faults were reported, nothing has changed, and the
 *     key store is as before. *new is to be released with reconfig_new_drop in
 *     any case.
 */
enum nsd_err reconfig_new_load(struct supervisor *s, struct report *report,
	struct reconfig_new *new) MUST_USE;

/* Releases all that was not taken. */
void reconfig_new_drop(struct reconfig_new *new);

#endif
