/* xfrd_configure.c - xfrd goes on with other options of the server, and other
 * sockets of operators, which main has read and opened. It reads the options of
 * zones in the store (xfrd_follow.c). Main's part is reconfig_listeners.c. */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "conf/image.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_change.h"
#include "xfrd/xfrd_statistics.h"

static enum nsd_err
coming_add_control(struct control_listeners *listeners, int fd, bool plain)
{
	struct control_listener *items = realloc(listeners->items,
		(listeners->count + 1u) * sizeof(*items));

	if (items == NULL) {
		close(fd);
		return NSD_E_MEMORY;
	}
	listeners->items = items;
	listeners->items[listeners->count++] = (struct control_listener){fd,
		plain};
	return NSD_OK;
}

/* Keeps copies of the sockets of a message, which are closed when it has been
 * taken. */
static enum nsd_err
coming_add(struct xfrd_coming_listeners *coming, const struct ipc_message *m,
	const struct ipc_configure *configure)
{
	enum nsd_err err = NSD_OK;

	for (unsigned i = 1; i < m->fd_count && err == NSD_OK; i++) {
		bool plain = (configure->plain_map >> (i - 1) & 1) != 0;
		int fd = fcntl(m->fds[i], F_DUPFD_CLOEXEC, 0);

		if (fd == -1)
			err = NSD_E_SYSTEM;
		else if ((configure->control_map >> (i - 1) & 1) != 0)
			err = coming_add_control(&coming->control, fd, plain);
		else
			err = admin_listeners_add(&coming->metrics, fd);
	}
	return err;
}

/* Listens to the new sockets. Connections stay. */
static void
configure_listen(struct xfrd *xfrd)
{
	struct server *server = xfrd->role.server;
	struct xfrd_coming_listeners old = {server->control, server->metrics};

	server->control = xfrd->coming.control;
	server->control.pem = old.control.pem;
	server->metrics = xfrd->coming.metrics;
	xfrd->coming = (struct xfrd_coming_listeners){.control.items = NULL};
	control_follow(xfrd);
	xfrd_metrics_follow(xfrd);
	old.control.pem = NULL;
	control_listeners_leave(&old.control);
	admin_listeners_leave(&old.metrics);
}

static enum nsd_err
configure_take(struct xfrd *xfrd, int image,
	const struct ipc_configure *configure)
{
	struct server *server = xfrd->role.server;
	struct conf *old = server->conf, *new;
	enum nsd_err err = conf_image_read(image, &new);

	if (err != NSD_OK)
		return err;
	server->conf = new;
	server->conf_number = configure->number;
	xfrd_asks_follow(&xfrd->asks, &new->server);
	xfrd_write_follow(xfrd);
	configure_listen(xfrd);
	if (old != xfrd->first)
		conf_destroy(old);
	return NSD_OK;
}

void
xfrd_on_configure(struct role *role, const struct ipc_message *m)
{
	struct xfrd *xfrd = (struct xfrd *)role;
	struct ipc_configure configure;
	enum nsd_err err = m->fd_count > 0 ? NSD_OK : NSD_E_WIRE;

	memcpy(&configure, m->payload, sizeof(configure));
	if (err == NSD_OK)
		err = coming_add(&xfrd->coming, m, &configure);
	if (err == NSD_OK && configure.more == 0)
		err = configure_take(xfrd, m->fds[0], &configure);
	if (err == NSD_OK) {
		if (role->server->conf->remote_control.control_enable)
			xfrd_change_need(xfrd);
		return;
	}
	log_error("xfrd cannot take another configuration: %s: ending, so that"
		  " the next one has it", err_text(err));
	role_stop(role);
}
