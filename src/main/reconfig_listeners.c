/* reconfig_listeners.c - the sockets of operators come and go with a reconfig.
 * */
#include "config.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "conf/compare.h"
#include "main/child.h"
#include "main/reconfig_listeners.h"

/* How long an address that is in use is waited for: xfrd may not have heard yet
 * that it listens there no more. */
#define IN_USE_MSEC 500

/* ---- opening ------------------------------------------------------------- */

/* All sockets of operators that main has; they stay the server's. *there is
 * released with free(there->fds). */
static enum nsd_err
there_list(const struct server *server, struct admin_listeners *there)
{
	const struct control_listeners *control = &server->control;

	*there = (struct admin_listeners){.fds = NULL};
	there->fds = calloc(server->metrics.count + control->count + 1u,
		sizeof(there->fds[0]));
	if (there->fds == NULL)
		return NSD_E_MEMORY;
	for (unsigned i = 0; i < server->metrics.count; i++)
		there->fds[there->count++] = server->metrics.fds[i];
	for (unsigned i = 0; i < control->count; i++)
		there->fds[there->count++] = control->items[i].fd;
	return NSD_OK;
}

static bool
listeners_are_one(int a, int b)
{
	struct stat st_a, st_b;

	return fstat(a, &st_a) == 0 && fstat(b, &st_b) == 0
		&& st_a.st_dev == st_b.st_dev && st_a.st_ino == st_b.st_ino;
}

/* Both channels cannot have one socket: an open one of the other's would be
 * taken over. */
static enum nsd_err
listeners_check_apart(const struct admin_listeners *metrics,
	const struct control_listeners *control, struct diag_sink *sink)
{
	for (unsigned i = 0; i < metrics->count; i++)
		for (unsigned j = 0; j < control->count; j++)
			if (listeners_are_one(metrics->fds[i],
				    control->items[j].fd)) {
				diag_emit(sink, DIAG_ERROR, NULL, 0, 0,
					"metrics-interface: control-interface"
					" has the same address or path");
				return NSD_E_SYSTEM;
			}
	return NSD_OK;
}

enum nsd_err
reconfig_listeners_open(const struct server *server, const struct conf *conf,
	struct diag_sink *sink, struct reconfig_listeners *listeners)
{
	struct admin_listeners there;
	const struct admin_terms terms = {
		.there = &there,
		.known = &server->files,
		.until_msec = clock_now_msec() + IN_USE_MSEC,
		.chroot = server->chroot,
		.user = server->user_to_be,
		.made = &listeners->files,
		.sink = sink,
	};
	enum nsd_err err = there_list(server, &there);

	if (err != NSD_OK)
		return err;
	listeners->metrics_differ = !conf_options_are_same(server->conf, conf,
		"server", "metrics-");
	if (listeners->metrics_differ)
		err = admin_listeners_open_metrics(&conf->server, &terms,
			&listeners->metrics);
	listeners->control_differ = !conf_options_are_same(server->conf, conf,
		"remote-control", "control-");
	if (err == NSD_OK && listeners->control_differ)
		err = control_listeners_open(conf, &terms, &listeners->control);
	if (err == NSD_OK)
		err = listeners_check_apart(listeners->metrics_differ
				? &listeners->metrics : &server->metrics,
			listeners->control_differ ? &listeners->control
						  : &server->control, sink);
	free(there.fds);
	return err;
}

enum nsd_err
reconfig_listeners_read_pem(const struct server *server,
	const struct conf *conf,
	struct diag_sink *sink, struct reconfig_listeners *listeners)
{
	const struct control_listeners *control = listeners->control_differ
		? &listeners->control : &server->control;

	if (!control_listeners_have_tls(control))
		return NSD_OK;
	listeners->look = control_listeners_look(server, &conf->remote_control);
	/* Files that root alone may read were read at the start. */
	if (server->control.pem != NULL
		&& listeners->look == server->control.look
		&& control_listeners_are_denied(server, &conf->remote_control))
		return NSD_OK;
	return control_listeners_read_pem(server, &conf->remote_control, sink,
		&listeners->pem);
}

/* ---- taking -------------------------------------------------------------- */

static void
metrics_take(struct server *server, struct admin_listeners *metrics)
{
	admin_listeners_leave(&server->metrics);
	server->metrics = *metrics;
	*metrics = (struct admin_listeners){.fds = NULL};
}

static void
control_take(struct server *server, struct control_listeners *control)
{
	struct control_listeners *old = &server->control;

	for (unsigned i = 0; i < old->count; i++)
		close(old->items[i].fd);
	free(old->items);
	old->items = control->items;
	old->count = control->count;
	*control = (struct control_listeners){.items = NULL};
}

/* Without memory what is of closed sockets stays until the next time. */
static void
files_take(struct server *server, struct admin_files *made)
{
	struct admin_listeners there;

	admin_files_take(&server->files, made);
	if (there_list(server, &there) == NSD_OK)
		admin_files_drop_closed(&server->files, there.fds,
			there.count);
	free(there.fds);
}

bool
reconfig_listeners_take(struct server *server,
	struct reconfig_listeners *listeners)
{
	bool other = listeners->pem != NULL;

	if (listeners->metrics_differ)
		metrics_take(server, &listeners->metrics);
	if (listeners->control_differ)
		control_take(server, &listeners->control);
	files_take(server, &listeners->files);
	if (!other && control_listeners_have_tls(&server->control))
		return false;
	secrets_drop(server->control.pem);
	server->control.pem = listeners->pem;
	server->control.look = listeners->look;
	listeners->pem = NULL;
	return other;
}

/* ---- handing on ---------------------------------------------------------- */

/* A message that is being made. */
struct listeners_message {
	struct child *xfrd;
	struct ipc_configure configure;
	int fds[IPC_FDS_MAX];
	unsigned count; /* with the image */
};

static void
message_send(struct listeners_message *message)
{
	(void)child_send(message->xfrd, IPC_CONFIGURE, &message->configure,
		sizeof(message->configure), message->fds, message->count);
	message->configure.control_map = message->configure.plain_map = 0;
	message->count = 1;
}

/* Adds a descriptor: one that has no room goes with the next message. */
static void
message_add(struct listeners_message *message, int fd, bool control, bool plain)
{
	unsigned bit;

	if (message->count == IPC_FDS_MAX) {
		message->configure.more = 1;
		message_send(message);
	}
	bit = message->count - 1;
	message->configure.control_map |= (uint32_t)control << bit;
	message->configure.plain_map |= (uint32_t)plain << bit;
	message->fds[message->count++] = fd;
}

void
reconfig_listeners_send(const struct server *server, struct child *xfrd,
	int image)
{
	const struct control_listeners *control = &server->control;
	struct listeners_message message = {
		.xfrd = xfrd,
		.configure.number = server->conf_number,
		.fds = {image},
		.count = 1,
	};

	_Static_assert(IPC_FDS_MAX - 1 <= 32, "maps have a bit for each");
	for (unsigned i = 0; i < control->count; i++)
		message_add(&message, control->items[i].fd, true,
			control->items[i].plain);
	for (unsigned i = 0; i < server->metrics.count; i++)
		message_add(&message, server->metrics.fds[i], false, false);
	message.configure.more = 0;
	message_send(&message);
}

void
reconfig_listeners_drop(struct reconfig_listeners *listeners)
{
	admin_files_remove(&listeners->files);
	admin_listeners_leave(&listeners->metrics);
	control_listeners_leave(&listeners->control);
	secrets_drop(listeners->pem);
	listeners->pem = NULL;
}
