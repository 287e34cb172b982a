/* worker_tls.c - what a worker's clients are shown when they begin with TLS. */
#include "config.h"

#include <string.h>

#include "base/log.h"
#include "base/secrets.h"
#include "proc/worker_tls.h"
#include "role/tls_texts.h"
#include "tls/server.h"

enum nsd_err
worker_tls_open(struct server *server, struct tls_server **tls)
{
	struct diag_sink sink = {.on_diag = log_diag};
	enum nsd_err err = NSD_OK;

	*tls = NULL;
	if (server->tls != NULL)
		err = tls_server_create(server->tls, &sink, tls);
	secrets_drop(server->tls);
	secrets_drop(server->tls_clients);
	server->tls = NULL;
	server->tls_clients = NULL;
	return err;
}

void
worker_tls_renew(struct tls_server *tls, unsigned index,
	const struct ipc_message *m)
{
	struct diag_sink sink = {.on_diag = log_diag};
	struct ipc_tls_texts message;
	struct secrets *texts;
	enum nsd_err err;

	memcpy(&message, m->payload, sizeof(message));
	if (tls == NULL || m->fd_count != 1)
		return;
	err = tls_texts_unpack(&message, m->fds[0], &texts);
	if (err == NSD_OK) {
		err = tls_server_renew(tls, texts, &sink);
		secrets_drop(texts);
	}
	if (err != NSD_OK)
		log_error("server %u goes on with the certificates that it"
			  " has: %s", index + 1, err_text(err));
}
