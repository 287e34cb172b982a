/* control_listeners.c - the sockets of the control channel, and its keys. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/grow.h"
#include "base/log.h"
#include "conf/chroot.h"
#include "conf/families.h"
#include "process/admin_listeners.h"
#include "process/control_listeners.h"
#include "process/server.h"
#include "process/tls_texts.h"

/* No key or certificate is larger. */
#define PEM_MAX 65536

/* The state of opening sockets. */
struct listeners_making {
	const struct conf *conf;
	const struct admin_terms *terms;
	struct control_listeners *listeners;
	size_t room;
	bool plain; /* no TLS anywhere: the first is a path */
};

static enum nsd_err
making_add(struct listeners_making *m, int fd, bool plain)
{
	struct control_listener *items = grow_array(m->listeners->items,
		m->listeners->count, &m->room, sizeof(*items));

	if (items == NULL) {
		close(fd);
		return NSD_E_MEMORY;
	}
	m->listeners->items = items;
	items[m->listeners->count++] = (struct control_listener){fd, plain};
	return NSD_OK;
}

/* ---- sockets ------------------------------------------------------------- */

/* Adds sockets that were opened. */
static enum nsd_err
listeners_take(struct listeners_making *m, struct admin_listeners *found,
	bool plain)
{
	enum nsd_err err = NSD_OK;

	for (unsigned i = 0; i < found->count; i++)
		if (err == NSD_OK)
			err = making_add(m, found->fds[i], plain);
		else
			close(found->fds[i]);
	free(found->fds);
	return err;
}

/* Opens an interface; NULL: both addresses of this machine, or the one that it
 * has. */
static enum nsd_err
listeners_open_interface(struct listeners_making *m,
	const struct admin_params *params, const struct conf_interface *one)
{
	struct admin_listeners found = {.fds = NULL};
	enum nsd_err err;

	err = one != NULL ? admin_listeners_open_one(params, one, &found)
			  : admin_listeners_open_local(params, &found);
	if (err == NSD_OK)
		return listeners_take(m, &found, m->plain
				|| (one != NULL && one->host[0] == '/'));
	admin_listeners_leave(&found);
	return err;
}

static enum nsd_err
listeners_open_all(struct listeners_making *m)
{
	const struct conf_interfaces *all =
		&m->conf->remote_control.control_interface;
	const struct admin_params params = {
		.option = "control-interface",
		.port = (uint16_t)m->conf->remote_control.control_port,
		.ip4 = conf_server_has_ip4(&m->conf->server),
		.ip6 = conf_server_has_ip6(&m->conf->server),
		.terms = *m->terms,
	};
	enum nsd_err err = NSD_OK;

	if (all->count == 0)
		return listeners_open_interface(m, &params, NULL);
	m->plain = all->items[0].host[0] == '/';
	for (uint32_t i = 0; i < all->count && err == NSD_OK; i++) {
		if (admin_listeners_is_again(&params, all, i))
			continue;
		err = listeners_open_interface(m, &params, &all->items[i]);
		if (err == NSD_OK && m->plain && all->items[i].host[0] != '/')
			log_warning("control-interface %s: whoever can connect"
				    " controls this server, as the first"
				    " control-interface is a path: there is no"
				    " TLS", all->items[i].text);
	}
	return err;
}

/* ---- keys ---------------------------------------------------------------- */

static enum nsd_err
listeners_read_file(const struct server *server, const char *option,
	const char *path, struct diag_sink *sink, uint8_t *pem, size_t *len)
{
	enum nsd_err err = fs_read_small(conf_path_in_chroot(server->chroot,
			path), pem, PEM_MAX, len);

	if (err == NSD_OK)
		return NSD_OK;
	diag_emit(sink, DIAG_ERROR, NULL, 0, 0, "%s: cannot read %s: %s",
		option, path,
		err == NSD_E_LIMIT ? "it is too large"
				   : fs_open_error_text(errno));
	return NSD_E_SYSTEM;
}

static enum nsd_err
listeners_make_pem(struct secrets_octets key, struct secrets_octets cert,
	struct secrets **pem)
{
	enum nsd_err err = secrets_create(CONTROL_PEM_COUNT,
		key.len + cert.len, pem);

	if (err != NSD_OK)
		return err;
	secrets_add(*pem, key);
	secrets_add(*pem, cert);
	secrets_seal(*pem);
	return NSD_OK;
}

uint64_t
control_listeners_look(const struct server *server,
	const struct conf_remote_control *o)
{
	uint64_t sum = tls_texts_look_at(o->server_key_file, server->chroot, 0);

	return tls_texts_look_at(o->server_cert_file, server->chroot, sum);
}

bool
control_listeners_are_denied(const struct server *server,
	const struct conf_remote_control *o)
{
	return tls_texts_is_denied(o->server_key_file, server->chroot)
		|| tls_texts_is_denied(o->server_cert_file, server->chroot);
}

enum nsd_err
control_listeners_read_pem(const struct server *server,
	const struct conf_remote_control *o, struct diag_sink *sink,
	struct secrets **pem)
{
	uint8_t *key = malloc(PEM_MAX), *cert = malloc(PEM_MAX);
	size_t key_len, cert_len;
	struct secrets *made = NULL;
	enum nsd_err err = key != NULL && cert != NULL ? NSD_OK
						       : NSD_E_MEMORY;

	if (err == NSD_OK)
		err = listeners_read_file(server, "server-key-file",
			o->server_key_file, sink, key, &key_len);
	if (err == NSD_OK)
		err = listeners_read_file(server, "server-cert-file",
			o->server_cert_file, sink, cert, &cert_len);
	if (err == NSD_OK)
		err = listeners_make_pem((struct secrets_octets){key, key_len},
			(struct secrets_octets){cert, cert_len}, &made);
	if (key != NULL)
		explicit_bzero(key, PEM_MAX);
	free(key);
	free(cert);
	if (err == NSD_OK && tls_texts_are_same(made, server->control.pem)) {
		secrets_drop(made);
		made = NULL;
	}
	*pem = made;
	return err;
}

void
control_listeners_refuse(void)
{
	log_error("could not set up the control channel;"
		  " nsd-control-setup makes its keys,"
		  " control-enable: no does without it");
}

/* ---- both ---------------------------------------------------------------- */

bool
control_listeners_have_tls(const struct control_listeners *listeners)
{
	for (unsigned i = 0; i < listeners->count; i++)
		if (!listeners->items[i].plain)
			return true;
	return false;
}

enum nsd_err
control_listeners_open(const struct conf *conf,
	const struct admin_terms *terms, struct control_listeners *listeners)
{
	struct listeners_making m = {
		.conf = conf,
		.terms = terms,
		.listeners = listeners,
	};
	enum nsd_err err = NSD_OK;

	*listeners = (struct control_listeners){.items = NULL};
	if (conf->remote_control.control_enable)
		err = listeners_open_all(&m);
	if (err != NSD_OK)
		control_listeners_leave(listeners);
	return err;
}

void
control_listeners_leave(struct control_listeners *listeners)
{
	for (unsigned i = 0; i < listeners->count; i++)
		close(listeners->items[i].fd);
	free(listeners->items);
	secrets_drop(listeners->pem);
	*listeners = (struct control_listeners){.items = NULL};
}
