/*
 * verifier_env.h - the environment of verifiers: that of the server, and
 * variables about the zone (doc/surface.md 1.4).
 */
#ifndef VERIFIER_VERIFIER_ENV_H
#define VERIFIER_VERIFIER_ENV_H

#include <stdbool.h>

#include "base/err.h"
#include "process/sockets.h"

/* Notes where the verify server listens: those variables are the same for all
 * zones. server: whose sockets. The sockets may be closed afterwards. Once in a
 * process. returns NSD_OK; NSD_E_MEMORY. */
enum nsd_err verifier_env_init(const struct listeners *listeners,
	unsigned server) MUST_USE;

/* In a process that is to become a verifier: sets the variables of a zone.
 * zone: its name, borrowed. feed: its text is on standard input. False: there
 * is no memory. */
bool verifier_env_set_zone(const char *zone, bool feed) MUST_USE;

#endif
