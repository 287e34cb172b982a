/*
 * reconfig.h - main reads nsd.conf anew, and has the server run with it
 * (reconfig, repattern, SIGHUP with reload-config).
 *
 * The new configuration is read, checked and compared with the one that runs.
 * If anything is wrong with it, or with the files of certificates, nothing has
 * changed. Else main takes it, but for the options that wait for the next
 * start, and hands it to the loader, which publishes what is new in the store
 * that is served, or filled, and reads the files of zones that are new. Workers
 * see what is new in the store, between two batches of
 * queries, and secrets in the key store; what a worker has copied it looks at
 * anew, and says so. xfrd gets options of the server and the sockets of
 * operators in a message, and follows what is published (doc/decisions/0085,
 * 0095, 0158, 0159, 0164).
 */
#ifndef MAIN_RECONFIG_H
#define MAIN_RECONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"
#include "ipc/channel.h"

struct child;
struct flags;
struct report;
struct supervisor;

/* The state of reconfigs. */
struct reconfig {
	const struct flags *flags;  /* win over nsd.conf, as at the start */
	char *path;                 /* of nsd.conf, from the root */
	char *folder;               /* in which the server was started */
	const struct conf *first;   /* of the start, kept: has the values of
				     * options that wait for a restart */
	struct flags *applied;      /* of the configuration that runs */
	bool under_way;             /* the loader publishes it; or */
	bool only_certificates;     /* workers have been told of certificates,
				     * and nothing else is new */
	uint32_t unread;            /* zones whose files could not be read, of
				     * the new configuration */
	struct report *report; /* told at the end; NULL: none is under way */
};

/* Prepares for reconfigs, before main changes its folder. False: there is no
 * memory. */
bool reconfig_init(struct supervisor *s, const struct flags *flags);
/* Prepares for barriers, once there is a loop. NSD_E_MEMORY. */
enum nsd_err reconfig_init_events(struct supervisor *s) MUST_USE;

/* Reads nsd.conf anew for a signal (hup.h), and reports to the log. A reconfig
 * that is under way gives way, and its asker is told. */
void reconfig_begin(struct supervisor *s);

/* The message RECONFIG. It is answered in any case, unless that xfrd dies: once
 * it is begun, if that is all that it wants to know. */
void reconfig_on_reconfig(struct supervisor *s, struct child *xfrd,
	const struct ipc_message *m);

/* A loader has died. If loaders die of the new configuration, the asker is
 * told, and may ask for another reconfig. */
void reconfig_on_loader_end(struct supervisor *s);

/* A loader has looked at all zones. len: octets of its report. */
void reconfig_on_loaded(struct supervisor *s, const struct ipc_loaded *said,
	size_t len);

#endif
