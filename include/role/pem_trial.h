/*
 * pem_trial.h - has keys and certificates tried before anybody uses them, by a
 * process that is confined: whoever signed one may have had a hand in it.
 */
#ifndef ROLE_PEM_TRIAL_H
#define ROLE_PEM_TRIAL_H

#include "base/diag.h"
#include "base/err.h"
#include "base/secrets.h"

struct server;

/* Tries the texts. What is wrong with them is an error to the sink.
 * returns NSD_OK, NSD_E_SYNTAX or NSD_E_MEMORY. */
typedef enum nsd_err pem_trial_fn(const struct secrets *texts,
	struct diag_sink *sink);

/*
 * In main. Runs fn in a process of its own, with what a worker may call and
 * open (server->sandbox), as the user that main is or will be
 * (server->user_to_be). It has a copy of main's memory without what main shares
 * with others: the secrets of TSIG keys (they are to be in server->vault) and
 * of cookies (in server->counts), and beats. It can say one line. Blocks for
 * TRIAL_MSEC at most.
 * returns what fn has returned, or NSD_E_SYSTEM: it could not be tried, and
 * later it may be. What is wrong is an error to the sink.
 */
enum nsd_err pem_trial_run(const struct server *server, pem_trial_fn *fn,
	const struct secrets *texts, struct diag_sink *sink) MUST_USE;

#endif
