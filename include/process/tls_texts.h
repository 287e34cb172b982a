/*
 * tls_texts.h - keys and certificates of TLS: main reads their files, keeps
 * their octets in memory of its own (base/secrets.h), and hands them to the
 * processes that use them, which parse them and report faults. See
 * doc/decisions/0105 and 0153.
 */
#ifndef PROCESS_TLS_TEXTS_H
#define PROCESS_TLS_TEXTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/err.h"
#include "base/secrets.h"
#include "base/trial.h"
#include "conf/conf.h"
#include "ipc/message.h"

struct server;

/* True if tls-service-key and tls-service-pem are given: both turn TLS on. */
bool tls_texts_are_wanted(const struct conf_server *options);

/*
 * Reads the files that the options name. The secret of tickets is that of
 * server->tls; NULL: a new one.
 * returns NSD_OK with *texts, in the order of enum tls_server_text
 * (secrets_drop); NSD_E_SYNTAX: a file is empty or too large; NSD_E_SYSTEM,
 * NSD_E_MEMORY: a file could not be read, which may pass. Faults are errors to
 * the sink, with the option and the file.
 */
enum nsd_err tls_texts_read(const struct server *server,
	const struct conf_server *options, struct diag_sink *sink,
	struct secrets **texts) MUST_USE;

/* Says by an error to the sink that there is no TLS with these files; the
 * reason was said before. */
void tls_texts_refuse(const struct conf_server *options,
	struct diag_sink *sink);

/* Checks that xfrd could read tls-cert-bundle of the configuration, if it is
 * given and there is a tls-auth. returns NSD_OK; NSD_E_SYSTEM, NSD_E_SYNTAX,
 * NSD_E_MEMORY: it could not, with an error to the sink. */
enum nsd_err tls_texts_check_bundle(const struct server *server,
	const struct conf *conf, struct diag_sink *sink) MUST_USE;

/* The texts of a tls-auth. */
enum tls_client_text {
	TLS_CLIENT_NAME,     /* these three with a NUL; */
	TLS_CLIENT_DOMAIN,
	TLS_CLIENT_PASSWORD, /* empty: none */
	TLS_CLIENT_CHAIN,    /* client-cert */
	TLS_CLIENT_KEY,
	TLS_CLIENT_TEXTS
};

/* The place of a text among the texts of xfrd: tls-cert-bundle is the first. */
static inline size_t
tls_client_index(size_t auth, enum tls_client_text text)
{
	return 1 + auth * TLS_CLIENT_TEXTS + text;
}

/*
 * Gets the texts that xfrd uses with primaries, reading files: tls-cert-bundle,
 * then those of each tls-auth, in their order. A file that cannot be read is
 * named in the log, and its text is as in old, of the same clauses; NULL:
 * empty. whole: false if that may pass.
 * returns NSD_OK with *texts (secrets_drop), NULL: there is no tls-auth;
 * NSD_E_MEMORY.
 */
enum nsd_err tls_texts_read_clients(const struct server *server,
	const struct secrets *old, bool *whole, struct secrets **texts)
	MUST_USE;

/* True if both configurations name the same files of clients, in order. */
bool tls_texts_clients_are_alike(const struct conf *a, const struct conf *b);

/* Looks at the files of clients without reading them. Returns a sum that
 * differs when one of them has changed. */
uint64_t tls_texts_look(const struct server *server);
/* Adds a look at one file to a sum, which changes with another file in its
 * place, other contents and other rights. path may be NULL; chroot: of this
 * process, or NULL. */
uint64_t tls_texts_look_at(const char *path, const char *chroot,
	uint64_t sum);
/* True if this process may not read a file. path may be NULL; chroot: of this
 * process, or NULL. */
bool tls_texts_is_denied(const char *path, const char *chroot) MUST_USE;

/* True if both have the same octets; NULL: there are none. */
bool tls_texts_are_same(const struct secrets *a, const struct secrets *b);

/* Puts IPC_TLS_TEXT_COUNT texts or fewer into a file in memory, for a message.
 * Returns its descriptor; -1 with errno. */
int tls_texts_pack(const struct secrets *texts, struct ipc_tls_texts *message);

/* Makes texts of such a file and its message; texts that it lacks are empty. fd
 * stays the caller's. NSD_E_SYNTAX: the file is not what the message says;
 * NSD_E_MEMORY. */
enum nsd_err tls_texts_unpack(const struct ipc_tls_texts *message, int fd,
	struct secrets **texts) MUST_USE;

/* Pack and unpack any number of texts, also none (NULL), without a message: the
 * file says how long each is. */
int tls_texts_pack_all(const struct secrets *texts);
enum nsd_err tls_texts_unpack_all(int fd, struct secrets **texts) MUST_USE;

/* The report of a process that has parsed texts. Zeroed but for said.err. */
struct tls_report {
	struct diag_sink sink; /* first: the first error is what is said */
	struct trial_report said;
};

void tls_report_init(struct tls_report *report);

#endif
