/* certificates.c - keys and certificates of TLS come and go. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/trial.h"
#include "main/child.h"
#include "main/children.h"
#include "main/service.h"
#include "main/supervisor.h"
#include "process/tls_texts.h"

/* How often the files are looked at. They are read once they have been the same
 * for this long: a key and its certificate are seldom replaced at once. */
#define LOOK_SEC 5
/* Failures that may pass are tried again after 1, 2, 4, ... looks, at most
 * after this many: 20 minutes. */
#define REST_MAX 256u

/* A message, and the file that goes with it. */
struct texts_telling {
	struct ipc_tls_texts message;
	int fd;
};

static void
certificates_tell_child(struct child *child, void *arg)
{
	const struct texts_telling *telling = arg;

	if (child->role == ROLE_WORKER)
		(void)child_send(child, IPC_TLS_TEXTS, &telling->message,
			sizeof(telling->message), &telling->fd, 1);
}

/* Tells all workers. Workers that are forked later inherit the certificates. */
static void
certificates_tell(struct supervisor *s)
{
	struct texts_telling telling;

	telling.fd = tls_texts_pack(s->server.tls, &telling.message);
	assert(s->server.tls != NULL);
	s->certificates.untold = telling.fd == -1;
	if (telling.fd == -1) {
		log_error("workers keep the certificates that they have, for"
			" now: %s",
			strerror(errno));
		return;
	}
	children_walk(s, certificates_tell_child, &telling);
	close(telling.fd);
}

/* Sets the pause before the next try, after a failure. */
static void
certificates_rest(struct certificates *c)
{
	c->rest = c->failures < 8 ? 1u << c->failures : REST_MAX;
}

void
certificates_tell_control(struct supervisor *s)
{
	struct ipc_tls_texts message;
	struct child *xfrd = s->xfrd.current;
	int fd;

	assert(s->server.control.pem != NULL);
	if (xfrd == NULL)
		return;
	fd = tls_texts_pack(s->server.control.pem, &message);
	if (fd == -1) {
		log_error("cannot tell xfrd of the certificate of the control"
			  " channel: %s", strerror(errno));
		service_restart(&s->xfrd);
		return;
	}
	(void)child_send(xfrd, IPC_TLS_TEXTS, &message, sizeof(message), &fd,
		1);
	close(fd);
}

/* ---- trying -------------------------------------------------------------- */

/* Sends keys and certificates to a process, and waits for its verdict.
 * NSD_E_SYSTEM with errno. */
static enum nsd_err
certificates_ask(struct child *child, const struct secrets *texts,
	char said[TRIAL_TEXT_MAX])
{
	struct ipc_tls_texts message;
	enum nsd_err err = NSD_E_SYSTEM;
	int pair[2], fds[2], error;

	assert(texts != NULL && child->role != ROLE_LOADER);
	if (pipe2(pair, O_CLOEXEC) == -1)
		return NSD_E_SYSTEM;
	fds[0] = tls_texts_pack(texts, &message);
	fds[1] = pair[1];
	if (fds[0] != -1)
		err = child_send(child, IPC_TLS_TEXTS, &message,
			sizeof(message), fds, 2);
	error = errno;
	if (fds[0] != -1)
		close(fds[0]);
	close(pair[1]);
	if (err == NSD_OK) {
		err = trial_hear(pair[0], CERTIFICATES_WAIT_MSEC, said);
		error = errno;
	}
	close(pair[0]);
	errno = error;
	return err;
}

/* Has other workers asked before one that gave no verdict. By now it may use
 * what main does not take, so workers are told again what main has. */
static void
certificates_pass_over(struct certificates *c, const struct child *worker)
{
	c->turn = worker->index + 1;
	c->untold = true;
}

enum nsd_err
certificates_try(struct supervisor *s, enum ipc_role role,
	const struct secrets *texts, struct diag_sink *sink)
{
	struct child *child = role == ROLE_XFRD ? s->xfrd.current
		: service_find_server(s, s->certificates.turn);
	char said[TRIAL_TEXT_MAX] = "";
	enum nsd_err err;

	errno = ESRCH;
	err = child != NULL ? certificates_ask(child, texts, said)
			    : NSD_E_SYSTEM;
	if (err == NSD_OK)
		return NSD_OK;
	if (role == ROLE_WORKER && (err == NSD_E_AGAIN || err == NSD_E_PEER))
		certificates_pass_over(&s->certificates, child);
	if (*said != '\0')
		diag_emit(sink, DIAG_ERROR, NULL, 0, 0, "%s", said);
	else
		diag_emit(sink, DIAG_ERROR, NULL, 0, 0,
			"keys and certificates could not be tried: %s",
			err == NSD_E_SYSTEM ? strerror(errno)
				: err == NSD_E_PEER ? "who tried them has died"
				: err == NSD_E_AGAIN ? "it took too long"
				: err_text(err));
	return err == NSD_E_SYNTAX || err == NSD_E_MEMORY ? err : NSD_E_SYSTEM;
}

/* ---- the server's -------------------------------------------------------- */

#define SERVER_FILES 4

/* Lists the files of the server's own key and certificates; NULL, or empty:
 * none. */
static void
server_list_files(const struct conf_server *o, const char *files[SERVER_FILES])
{
	files[0] = o->tls_service_key;
	files[1] = o->tls_service_pem;
	files[2] = o->tls_service_ocsp;
	files[3] = o->tls_cert_bundle;
}

/* Returns how these files look now (tls_texts_look_at). */
static uint64_t
server_look(const struct supervisor *s, const struct conf_server *o)
{
	const char *files[SERVER_FILES];
	uint64_t sum = 0;

	server_list_files(o, files);
	for (size_t i = 0; i < SERVER_FILES; i++)
		sum = tls_texts_look_at(files[i], s->server.chroot, sum);
	return sum;
}

/* True if these files look as they did when they were read last, and this user
 * may not read all of them: keys of root alone, read at the start. */
static bool
server_rests(const struct supervisor *s, const struct conf_server *o)
{
	const char *files[SERVER_FILES];
	bool denied = false;

	server_list_files(o, files);
	for (size_t i = 0; i < SERVER_FILES; i++)
		denied = denied || tls_texts_is_denied(files[i],
			s->server.chroot);
	return denied && s->certificates.had == server_look(s, o);
}

enum nsd_err
certificates_read(struct supervisor *s, const struct conf_server *options,
	struct diag_sink *sink, struct secrets **texts)
{
	uint64_t look = server_look(s, options);
	enum nsd_err err;

	*texts = NULL;
	if (s->server.tls == NULL || server_rests(s, options))
		return NSD_OK;
	err = tls_texts_read(&s->server, options, sink, texts);
	if (err == NSD_OK)
		s->certificates.had = look;
	if (err == NSD_OK && tls_texts_are_same(*texts, s->server.tls)) {
		secrets_drop(*texts);
		*texts = NULL;
	}
	return err;
}

bool
certificates_take(struct supervisor *s, struct secrets *texts)
{
	if (texts == NULL)
		return false;
	assert(texts != s->server.tls);
	secrets_drop(s->server.tls);
	s->server.tls = texts;
	log_notice("the key and the certificates of TLS have been read anew");
	certificates_tell(s);
	return true;
}

/* Returns false if the failure may pass. */
static bool
certificates_renew_server(struct supervisor *s)
{
	struct diag_sink sink = {.on_diag = log_diag};
	const struct conf_server *options = &s->server.conf->server;
	struct secrets *texts;
	enum nsd_err err = certificates_read(s, options, &sink, &texts);

	if (err == NSD_OK && texts != NULL) {
		err = certificates_try(s, ROLE_WORKER, texts, &sink);
		if (err != NSD_OK)
			tls_texts_refuse(options, &sink);
	}
	if (err == NSD_OK) {
		(void)certificates_take(s, texts);
	} else {
		secrets_drop(texts);
		log_error("going on with the certificates from before");
	}
	return err == NSD_OK || err == NSD_E_SYNTAX;
}

/* ---- of clients ---------------------------------------------------------- */

/* Reads certificates for primaries; one that cannot be read stays as in old.
 * Returns false without memory: *texts is NULL then. */
static bool
clients_read(struct supervisor *s, const struct secrets *old,
	struct secrets **texts)
{
	bool whole;
	enum nsd_err err = tls_texts_read_clients(&s->server, old, &whole,
		texts);

	if (err != NSD_OK)
		log_error("no memory for the certificates of tls-auth");
	if (err != NSD_OK || !whole)
		certificates_rest(&s->certificates);
	return err == NSD_OK;
}

/* Tells xfrd. The next xfrd inherits them from main. */
static void
clients_tell(struct supervisor *s)
{
	struct child *xfrd = s->xfrd.current;
	int fd;

	if (xfrd == NULL)
		return;
	fd = tls_texts_pack_all(s->server.tls_clients);
	if (fd == -1) {
		log_error("cannot tell xfrd of certificates for primaries: %s",
			strerror(errno));
		service_restart(&s->xfrd);
		return;
	}
	(void)child_send(xfrd, IPC_TLS_CLIENTS, NULL, 0, &fd, 1);
	close(fd);
}

void
certificates_renew_clients(struct supervisor *s)
{
	struct secrets *texts;

	if (!clients_read(s, s->server.tls_clients, &texts))
		return;
	if (tls_texts_are_same(texts, s->server.tls_clients)) {
		secrets_drop(texts);
		return;
	}
	secrets_drop(s->server.tls_clients);
	s->server.tls_clients = texts;
	log_notice("certificates for primaries have been read anew");
	clients_tell(s);
}

void
certificates_follow_settings(struct supervisor *s, const struct conf *before)
{
	struct secrets *old = s->server.tls_clients;

	/* Texts have the order of the tls-auth clauses in the settings: old
	 * ones are of no use if the clauses are others. */
	(void)clients_read(s,
		tls_texts_clients_are_alike(before, s->server.conf) ? old
								    : NULL,
		&s->server.tls_clients);
	if (!tls_texts_are_same(old, s->server.tls_clients))
		clients_tell(s);
	secrets_drop(old);
}

/* ---- looking ------------------------------------------------------------- */

void
certificates_renew(struct supervisor *s)
{
	struct certificates *c = &s->certificates;

	c->tried = c->seen = tls_texts_look(&s->server);
	c->rest = 0;
	if (!certificates_renew_server(s))
		certificates_rest(c);
	certificates_renew_clients(s);
	c->failures = c->rest > 0 ? c->failures + 1 : 0;
}

static void
certificates_on_look(evutil_socket_t fd, short what, void *arg)
{
	struct supervisor *s = arg;
	struct certificates *c = &s->certificates;
	uint64_t seen = tls_texts_look(&s->server);
	bool settled = seen == c->seen;

	if (c->untold)
		certificates_tell(s);
	c->seen = seen;
	if (!settled || s->stopping)
		return;
	if (seen != c->tried || (c->rest > 0 && --c->rest == 0))
		certificates_renew(s);
}

enum nsd_err
certificates_read_first(struct supervisor *s)
{
	const struct conf_server *options = &s->server.conf->server;
	struct diag_sink sink = {.on_diag = log_diag};
	enum nsd_err err = NSD_OK;

	s->certificates.had = server_look(s, options);
	if (tls_texts_are_wanted(options))
		err = tls_texts_read(&s->server, options, &sink,
			&s->server.tls);
	if (err == NSD_OK && !clients_read(s, NULL, &s->server.tls_clients))
		err = NSD_E_MEMORY;
	return err;
}

enum nsd_err
certificates_init(struct supervisor *s)
{
	const struct timeval period = {.tv_sec = LOOK_SEC};
	struct certificates *c = &s->certificates;

	c->tried = c->seen = tls_texts_look(&s->server);
	c->event = event_new(s->base, -1, EV_PERSIST, certificates_on_look, s);
	if (c->event == NULL || event_add(c->event, &period) == -1)
		return NSD_E_MEMORY;
	return NSD_OK;
}
