/*
 * hup.h - SIGHUP: logs, certificates and zone files are looked at anew, and
 * nsd.conf with reload-config.
 *
 * Before nsd.conf is read, xfrd has zones that take UPDATEs of clients written
 * to their files, as with the verb reconfig (doc/decisions/0178): the journal
 * goes with its zone. If xfrd dies meanwhile, the next one does it. After half
 * a minute main goes on without, and warns.
 */
#ifndef MAIN_HUP_H
#define MAIN_HUP_H

#include "base/err.h"

struct supervisor;

/* Prepares for signals, once there is a loop. NSD_E_MEMORY. */
enum nsd_err hup_init(struct supervisor *s) MUST_USE;

/* SIGHUP has come. */
void hup_take(struct supervisor *s);

#endif
