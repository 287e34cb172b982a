/* xfrd_tls.c - clients of TLS. */
#include "config.h"

#include <assert.h>
#include <stdlib.h>

#include "base/log.h"
#include "role/server.h"
#include "role/tls_texts.h"
#include "tls/client.h"
#include "xfrd/xfrd_tls.h"

enum nsd_err
xfrd_tls_init(struct xfrd_tls *tls, struct server *server)
{
	const struct conf *conf = server->conf;
	struct diag_sink sink = {.on_diag = log_diag};
	enum nsd_err err = NSD_OK;

	if (server->tls_clients == NULL)
		return NSD_OK;
	tls->clients = calloc(conf->tls_auth_count, sizeof(*tls->clients));
	if (tls->clients == NULL)
		return NSD_E_MEMORY;
	tls->count = conf->tls_auth_count;
	assert(secrets_count(server->tls_clients) == 1 + 2 * tls->count);
	for (size_t i = 0; i < tls->count && err != NSD_E_MEMORY; i++) {
		const struct conf_tls_auth *auth = conf->tls_auths[i];
		const struct tls_client_options options = {
			.name = auth->name,
			.domain = auth->auth_domain_name,
			.bundle = tls_get_text(server->tls_clients, 0),
			.chain = tls_get_text(server->tls_clients, 1 + 2 * i),
			.key = tls_get_text(server->tls_clients, 2 + 2 * i),
			.password = auth->client_key_pw,
		};

		err = tls_client_create(&options, &sink, &tls->clients[i]);
	}
	secrets_drop(server->tls_clients);
	server->tls_clients = NULL;
	return err == NSD_E_MEMORY ? err : NSD_OK;
}

const struct tls_client *
xfrd_tls_find(const struct xfrd_tls *tls, const struct conf *conf,
	const char *name)
{
	const struct conf_tls_auth *auth = conf_find_tls_auth(conf, name);

	for (size_t i = 0; i < tls->count; i++)
		if (conf->tls_auths[i] == auth)
			return tls->clients[i];
	return NULL;
}
