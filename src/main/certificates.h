/*
 * certificates.h - main reads the keys and certificates of TLS, anew when their
 * files change. It parses none: a process that uses such ones says whether it
 * can, and else the old ones stay. What could not be had for a reason that may
 * pass is tried again, later each time.
 */
#ifndef MAIN_CERTIFICATES_H
#define MAIN_CERTIFICATES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/err.h"
#include "ipc/message.h"

struct conf;
struct conf_server;
struct event;
struct secrets;
struct supervisor;

struct certificates {
	struct event *event; /* looks at the files */
	uint64_t tried;      /* tls_texts_look when they were to be read, */
	uint64_t seen;       /* and when they were looked at last */
	uint64_t had;        /* how the server's own looked when they were read
			      * last */
	unsigned failures;   /* in a row, of what may pass */
	unsigned rest;       /* looks until they are tried again; 0: there is
			      * no need */
	bool untold;         /* workers do not have those that main has */
};

/* At the start. What is wrong is said in the log. returns NSD_OK; NSD_E_SYSTEM,
 * NSD_E_SYNTAX: the server's own cannot be read; NSD_E_MEMORY. */
enum nsd_err certificates_read_first(struct supervisor *s) MUST_USE;

/* Looks at the files from now on. NSD_E_MEMORY. */
enum nsd_err certificates_init(struct supervisor *s) MUST_USE;

/* Reads the files, whether they look changed or not. What cannot be used is
 * said in the log, and changes nothing. */
void certificates_renew(struct supervisor *s);

/*
 * Has a worker use the server's own, or xfrd look at those of the control
 * channel: the one by whose word others get them, too. Blocks for TRIAL_MSEC at
 * most. What is wrong is an error to the sink.
 * returns NSD_OK; NSD_E_SYNTAX: they cannot be used; NSD_E_SYSTEM,
 * NSD_E_MEMORY: nobody can say so now.
 */
enum nsd_err certificates_try(struct supervisor *s, enum ipc_role role,
	const struct secrets *texts, struct diag_sink *sink) MUST_USE;

/*
 * Reads the server's own that the options name: they do if there is TLS. What
 * cannot be used is an error to the sink; but not that main may not read them,
 * if they look as they did when it read them last.
 * returns NSD_OK with *texts, for certificates_try and certificates_take or
 * secrets_drop; NULL: they are what main has, or there is no TLS.
 * NSD_E_SYSTEM, NSD_E_SYNTAX, NSD_E_MEMORY: as tls_texts_read.
 */
enum nsd_err certificates_read(struct supervisor *s,
	const struct conf_server *options, struct diag_sink *sink,
	struct secrets **texts) MUST_USE;
/* Tells the workers. True: there was something to take. */
bool certificates_take(struct supervisor *s, struct secrets *texts);

/* Reads those of clients, and tells xfrd if they are others; what cannot be
 * read stays as it was. */
void certificates_renew_clients(struct supervisor *s);

/* Sends xfrd the key and the certificate of the control channel. */
void certificates_tell_control(struct supervisor *s);

/* Has those of clients be what other settings name, and tells xfrd. What cannot
 * be read stays as it was if the settings before named the same files. */
void certificates_follow_settings(struct supervisor *s,
	const struct conf *before);

#endif
