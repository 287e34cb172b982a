/* control_listeners.c - the sockets of the control channel, and its keys. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/grow.h"
#include "base/log.h"
#include "process/admin_listeners.h"
#include "process/again.h"
#include "process/control_listeners.h"
#include "process/server.h"
#include "process/tls_texts.h"

/* Connections that wait to be taken. */
#define BACKLOG 128
/* No key or certificate is larger. */
#define PEM_MAX 65536
/* Read and write for the owner and the group. */
#define SOCKET_MODE_MASK 0117

/* The state of opening sockets. */
struct listeners_making {
	const struct server *server;
	const struct conf *conf;
	const struct admin_terms *terms;
	struct control_listeners *listeners;
	size_t room;
	bool plain; /* no TLS anywhere: the first is a path */
};

static void
listeners_fail(const struct listeners_making *m, const char *path,
	const char *why)
{
	diag_emit(m->terms->sink, DIAG_ERROR, NULL, 0, 0,
		"control-interface: can't bind socket %s: %s", path, why);
}

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

/* ---- UNIX sockets -------------------------------------------------------- */

/* True if a process listens there. */
static bool
listeners_is_in_use(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
		0);
	bool in_use = fd != -1
		&& (connect(fd, (const struct sockaddr *)address,
			    sizeof(*address)) == 0
			|| errno == EAGAIN);

	if (fd != -1)
		close(fd);
	return in_use;
}

/* Removes the socket that a former server has left. Nothing else is removed. */
static bool
listeners_clear_path(const struct sockaddr_un *address)
{
	struct stat st;

	if (lstat(address->sun_path, &st) == -1)
		return errno == ENOENT;
	if (!S_ISSOCK(st.st_mode)) {
		errno = EEXIST;
		return false;
	}
	if (listeners_is_in_use(address)) {
		errno = EADDRINUSE;
		return false;
	}
	return unlink(address->sun_path) == 0;
}

static int
listeners_bind_path(const struct sockaddr_un *address,
	const struct privilege_user *user)
{
	int fd, error;
	mode_t mask;
	bool done;

	if (!listeners_clear_path(address))
		return -1;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd == -1)
		return -1;
	mask = umask(SOCKET_MODE_MASK);
	done = bind(fd, (const struct sockaddr *)address, sizeof(*address))
		== 0;
	umask(mask);
	/* lchown: not by way of a link that was put there. */
	if (done && user != NULL && user->change)
		done = lchown(address->sun_path, user->uid, user->gid) == 0;
	if (done)
		done = listen(fd, BACKLOG) == 0;
	if (done)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

/* The path as this process sees it. NULL: it lies outside of the chroot. */
static const char *
listeners_path_inside(const struct server *server, const char *path)
{
	const char *chroot = server->chroot;
	const char *inside = conf_path_in_chroot(chroot, path);

	if (chroot == NULL || inside != path
		|| chroot[strspn(chroot, "/")] == '\0')
		return inside;
	return NULL;
}

static bool
listeners_is_socket(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

/* Duplicates the descriptor of an open socket with this path; -1: there is
 * none, or its path was removed. A socket that was bound before the chroot has
 * the whole path. */
static int
listeners_find_path(const struct listeners_making *m, const char *path,
	const char *inside)
{
	const struct admin_listeners *there = m->terms->there;

	for (unsigned i = 0; there != NULL && i < there->count; i++) {
		struct sockaddr_un own = {.sun_family = AF_UNSPEC};
		socklen_t len = sizeof(own);
		int fd = there->fds[i];

		if (getsockname(fd, (struct sockaddr *)&own, &len) == -1
			|| own.sun_family != AF_UNIX)
			continue;
		if (strcmp(own.sun_path, path) != 0
			&& (inside == NULL
				|| strcmp(own.sun_path, inside) != 0))
			continue;
		if (inside == NULL || listeners_is_socket(inside))
			return fcntl(fd, F_DUPFD_CLOEXEC, 0);
	}
	return -1;
}

static enum nsd_err
listeners_open_path(struct listeners_making *m, const char *path)
{
	const char *inside = listeners_path_inside(m->server, path);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = listeners_find_path(m, path, inside);

	if (fd != -1)
		return making_add(m, fd, true);
	if (inside == NULL) {
		listeners_fail(m, path, "it lies outside of the chroot");
		return NSD_E_SYSTEM;
	}
	if (strlen(inside) >= sizeof(address.sun_path)) {
		listeners_fail(m, path, "it is too long");
		return NSD_E_SYNTAX;
	}
	strcpy(address.sun_path, inside);
	while ((fd = listeners_bind_path(&address, m->server->user_to_be)) == -1
		&& again_is_due(m->terms->until_msec))
		;
	if (fd == -1) {
		listeners_fail(m, path, strerror(errno));
		return NSD_E_SYSTEM;
	}
	return making_add(m, fd, true);
}

/* ---- addresses ----------------------------------------------------------- */

/* Adds sockets that were opened. */
static enum nsd_err
listeners_take(struct listeners_making *m, struct admin_listeners *found)
{
	enum nsd_err err = NSD_OK;

	for (unsigned i = 0; i < found->count; i++)
		if (err == NSD_OK)
			err = making_add(m, found->fds[i], m->plain);
		else
			close(found->fds[i]);
	free(found->fds);
	return err;
}

/* Opens an interface; NULL: both addresses of this machine, or the one that it
 * has. */
static enum nsd_err
listeners_open_interface(struct listeners_making *m,
	const struct conf_interface *one)
{
	const struct admin_params params = {
		.option = "control-interface",
		.or_path = true,
		.port = (uint16_t)m->conf->remote_control.control_port,
		.ip4 = m->conf->server.do_ip4,
		.ip6 = m->conf->server.do_ip6,
		.terms = *m->terms,
	};
	struct admin_listeners found = {.fds = NULL};
	enum nsd_err err;

	if (one != NULL && one->host[0] == '/')
		return listeners_open_path(m, one->host);
	err = one != NULL ? admin_listeners_open_one(&params, one, &found)
			  : admin_listeners_open_local(&params, &found);
	if (err == NSD_OK)
		return listeners_take(m, &found);
	admin_listeners_leave(&found);
	return err;
}

static enum nsd_err
listeners_open_all(struct listeners_making *m)
{
	const struct conf_interfaces *all =
		&m->conf->remote_control.control_interface;
	enum nsd_err err = NSD_OK;

	if (all->count == 0)
		return listeners_open_interface(m, NULL);
	m->plain = all->items[0].host[0] == '/';
	for (uint32_t i = 0; i < all->count && err == NSD_OK; i++) {
		err = listeners_open_interface(m, &all->items[i]);
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
control_listeners_open(const struct server *server, const struct conf *conf,
	const struct admin_terms *terms, struct control_listeners *listeners)
{
	struct listeners_making m = {
		.server = server,
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
