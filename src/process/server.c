/* server.c - facts that follow from the state that main has set up. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/secrets.h"
#include "conf/chroot.h"
#include "process/server.h"

void
server_leave_secrets(struct server *server)
{
	control_listeners_leave(&server->control);
	key_store_leave(server->key_store);
	secrets_drop(server->tls);
	secrets_drop(server->tls_clients);
	server->tls = NULL;
	server->tls_clients = NULL;
}

static bool
is_set(const char *path)
{
	return path != NULL && *path != '\0';
}

bool
server_find_journal(const struct server *server, char *out, size_t size)
{
	const char *xfrdfile = server->conf->server.xfrdfile;
	bool is_kept = is_set(xfrdfile);
	int len = snprintf(out, size, "%s%s", is_kept
			? conf_path_in_chroot(server->chroot, xfrdfile)
			: server->private_folder,
		is_kept ? ".journal" : "");

	return len > 0 && (size_t)len < size;
}

bool
server_find_in_hand(const struct server *server, unsigned number, char *out,
	size_t size)
{
	const struct conf_server *o = &server->conf->server;
	const char *beside = is_set(o->xfrdfile) ? o->xfrdfile
						 : o->zonelistfile;
	bool is_beside = is_set(beside);
	int len = snprintf(out, size, "%s%s.in-hand.%u",
		conf_path_in_chroot(server->chroot, is_beside ? beside
							      : o->xfrdir),
		is_beside ? "" : "/nsd", number);

	return len > 0 && (size_t)len < size;
}

const char *
server_find_root(const struct server *server, char root[PATH_MAX])
{
	size_t len;

	snprintf(root, PATH_MAX, "%s",
		server->chroot != NULL ? server->chroot : "");
	len = strlen(root);
	if (len > 0 && root[len - 1] == '/')
		root[len - 1] = '\0';
	return root;
}
