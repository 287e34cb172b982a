/* server.c - what follows from what main has set up. */
#include "config.h"

#include <stdio.h>

#include "base/secrets.h"
#include "role/server.h"

void
server_leave_secrets(struct server *server)
{
	control_doors_leave(&server->control);
	vault_leave(server->vault);
	secrets_drop(server->tls);
	secrets_drop(server->tls_clients);
	server->tls = NULL;
	server->tls_clients = NULL;
}

/* What files of ours lie beside. */
static const char *
server_find_beside(const struct server *server)
{
	const struct conf_server *o = &server->conf->server;
	const char *beside = o->xfrdfile != NULL && *o->xfrdfile != '\0'
		? o->xfrdfile
		: o->zonelistfile;

	return conf_path_in_chroot(server->chroot, beside);
}

bool
server_find_journal(const struct server *server, char *out, size_t size)
{
	int len = snprintf(out, size, "%s.journal",
		server_find_beside(server));

	return len > 0 && (size_t)len < size;
}

bool
server_find_in_hand(const struct server *server, unsigned number, char *out,
	size_t size)
{
	int len = snprintf(out, size, "%s.in-hand.%u",
		server_find_beside(server), number);

	return len > 0 && (size_t)len < size;
}
