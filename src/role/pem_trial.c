/* pem_trial.c - has keys and certificates tried by a process that is
 * confined. */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/trial.h"
#include "role/counts.h"
#include "role/pem_trial.h"
#include "role/server.h"
#include "tls/pem.h"

struct pem_trial {
	const struct server *server;
	pem_trial_fn *fn;
	const struct secrets *texts;
};

/* The first error is what is said. */
struct pem_sink {
	struct diag_sink sink; /* first */
	char *text;
};

static void
pem_on_diag(struct diag_sink *sink, const struct diag *d)
{
	char *text = ((struct pem_sink *)sink)->text;

	if (d->severity == DIAG_ERROR && *text == '\0')
		snprintf(text, TRIAL_TEXT_MAX, "%s", d->text);
}

/* As a worker is, once OpenSSL has read what it reads itself. What main shares
 * with others is for nobody here. */
static enum nsd_err
pem_confine(const struct server *server)
{
	enum nsd_err err;

	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	err = privilege_leave_main(server->user_to_be, false);
	if (err != NSD_OK)
		return err;
	/* Another user has undone that. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	tls_read_settings();
	if (server->counts != NULL)
		counts_leave(server->counts, ROLE_WRITER, 0);
	vault_leave(server->vault);
	return sandbox_enter(&server->sandbox, ROLE_WORKER, NULL);
}

static enum nsd_err
pem_try(void *arg, char text[TRIAL_TEXT_MAX])
{
	const struct pem_trial *trial = arg;
	struct pem_sink said = {{.on_diag = pem_on_diag}, text};

	if (pem_confine(trial->server) == NSD_OK)
		return trial->fn(trial->texts, &said.sink);
	snprintf(text, TRIAL_TEXT_MAX, "keys and certificates are not tried,"
		" as who tries them cannot be confined: %s", strerror(errno));
	return NSD_E_SYSTEM;
}

enum nsd_err
pem_trial_run(const struct server *server, pem_trial_fn *fn,
	const struct secrets *texts, struct diag_sink *sink)
{
	struct pem_trial trial = {server, fn, texts};
	char text[TRIAL_TEXT_MAX];
	enum nsd_err err = trial_run(pem_try, &trial, TRIAL_MSEC, text);
	const char *what = text;

	if (err == NSD_OK)
		return NSD_OK;
	if (*text == '\0')
		what = err == NSD_E_SYSTEM ? strerror(errno)
			: err == NSD_E_PEER ? "who tried them has died"
			: err == NSD_E_AGAIN ? "it took too long"
			: err_text(err);
	diag_emit(sink, DIAG_ERROR, NULL, 0, 0, "%s%s", what == text
			? "" : "keys and certificates could not be tried: ",
		what);
	return err == NSD_E_SYNTAX || err == NSD_E_MEMORY ? err : NSD_E_SYSTEM;
}
