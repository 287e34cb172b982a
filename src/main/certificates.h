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

/* The time in which a process has to say how keys and certificates are. Main
 * does nothing else meanwhile. */
#define CERTIFICATES_WAIT_MSEC 3000

struct conf;
struct conf_server;
struct event;
struct secrets;
struct supervisor;

struct certificates {
	struct event *event; /* looks at the files */
	uint64_t tried;      /* tls_texts_look when they were to be read, */
	uint64_t seen;       /* and when they were looked at last */
	uint64_t had;        /* look of the server's own files when they were
			      * read last */
	unsigned failures;   /* in a row, that may pass */
	unsigned rest;       /* looks until the next try; 0: none is needed */
	unsigned turn;       /* index of the worker that is asked first */
	bool untold;         /* workers may not have main's certificates */
};

/* Reads the files at the start. Faults are logged. returns NSD_OK;
 * NSD_E_SYSTEM, NSD_E_SYNTAX: the server's own key or certificates cannot be
 * read; NSD_E_MEMORY. */
enum nsd_err certificates_read_first(struct supervisor *s) MUST_USE;

/* Looks at the files from now on. NSD_E_MEMORY. */
enum nsd_err certificates_init(struct supervisor *s) MUST_USE;

/* Reads the files, whether they look changed or not. Faults are logged, and
 * change nothing. */
void certificates_renew(struct supervisor *s);

/*
 * Has a worker try the server's own key and certificates, or xfrd those of the
 * control channel: its verdict counts for all. Blocks for
 * CERTIFICATES_WAIT_MSEC at most. A worker that says nothing is asked last from
 * then on. Faults are errors to the sink.
 * returns NSD_OK; NSD_E_SYNTAX: they cannot be used; NSD_E_SYSTEM,
 * NSD_E_MEMORY: nobody can say so now.
 */
enum nsd_err certificates_try(struct supervisor *s, enum ipc_role role,
	const struct secrets *texts, struct diag_sink *sink) MUST_USE;

/*
 * Reads the server's own key and certificates, which the options name if there
 * is TLS. Faults are errors to the sink; but files that main may not read are
 * none, if they look as they did when it read them last.
 * returns NSD_OK with *texts, for certificates_try and certificates_take or
 * secrets_drop; NULL: they are what main has, or there is no TLS. NSD_E_SYSTEM,
 * NSD_E_SYNTAX, NSD_E_MEMORY: as tls_texts_read.
 */
enum nsd_err certificates_read(struct supervisor *s,
	const struct conf_server *options, struct diag_sink *sink,
	struct secrets **texts) MUST_USE;
/* Takes new texts (NULL: there are none), and tells the workers. True: there
 * were some. */
bool certificates_take(struct supervisor *s, struct secrets *texts);

/* Reads the certificates for primaries, and tells xfrd if they have changed;
 * those that cannot be read stay as they were. */
void certificates_renew_clients(struct supervisor *s);

/* Sends xfrd the key and the certificate of the control channel. */
void certificates_tell_control(struct supervisor *s);

/* Reads the certificates for primaries that new settings name, and tells xfrd.
 * Those that cannot be read stay as they were if the settings before named the
 * same files. */
void certificates_follow_settings(struct supervisor *s,
	const struct conf *before);

#endif
