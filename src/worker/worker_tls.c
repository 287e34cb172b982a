/* worker_tls.c - the key and certificates that a worker shows clients over
 * TLS. */
#include "config.h"

#include <string.h>

#include "base/fs.h"
#include "base/log.h"
#include "base/secrets.h"
#include "process/tls_texts.h"
#include "tls/server.h"
#include "worker/worker_tls.h"

enum nsd_err
worker_tls_open(struct role *role, struct tls_server **tls)
{
	struct server *server = role->server;
	struct tls_report report;
	enum nsd_err err = NSD_OK;

	*tls = NULL;
	if (server->tls != NULL) {
		tls_report_init(&report);
		err = tls_server_create(server->tls, &report.sink, tls);
		report.said.err = err;
		role_send(role, IPC_TLS_TRIED, &report.said,
			sizeof(report.said));
	}
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
	struct ipc_tls_texts message;
	struct tls_report report;
	struct secrets *texts;
	enum nsd_err err;

	memcpy(&message, m->payload, sizeof(message));
	if (tls == NULL || m->fd_count == 0)
		return;
	tls_report_init(&report);
	err = tls_texts_unpack(&message, m->fds[0], &texts);
	if (err == NSD_OK) {
		err = tls_server_renew(tls, texts, &report.sink);
		secrets_drop(texts);
	}
	report.said.err = err;
	if (m->fd_count > 1)
		(void)!fs_write_all(m->fds[1], &report.said,
			sizeof(report.said));
	else if (err != NSD_OK)
		log_error("server %u goes on with the certificates that it"
			  " has: %s", index + 1, err_text(err));
}
