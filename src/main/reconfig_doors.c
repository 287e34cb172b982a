/* reconfig_doors.c - the sockets of operators come and go with a reconfig. */
#include "config.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "conf/compare.h"
#include "main/child.h"
#include "main/reconfig_doors.h"

/* How long an address that is in use is waited for: xfrd may not have heard yet
 * that it listens there no more. */
#define IN_USE_MSEC 500

/* ---- opening ------------------------------------------------------------- */

/* All sockets of operators that main has; they stay the server's. *there is
 * released with free(there->fds). */
static enum nsd_err
there_list(const struct server *server, struct doors *there)
{
	const struct control_doors *control = &server->control;

	*there = (struct doors){.fds = NULL};
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

enum nsd_err
reconfig_doors_open(const struct server *server, const struct conf *conf,
	struct diag_sink *sink, struct reconfig_doors *doors)
{
	struct doors there;
	const struct doors_terms terms = {
		.there = &there,
		.until_msec = clock_now_msec() + IN_USE_MSEC,
		.sink = sink,
	};
	enum nsd_err err = there_list(server, &there);

	if (err != NSD_OK)
		return err;
	doors->metrics_differ = !conf_options_are_same(server->conf, conf,
		"server", "metrics-");
	if (doors->metrics_differ)
		err = doors_open_metrics(&conf->server, &terms,
			&doors->metrics);
	doors->control_differ = !conf_options_are_same(server->conf, conf,
		"remote-control", "control-");
	if (err == NSD_OK && doors->control_differ)
		err = control_doors_open(server, conf, &terms,
			&doors->control);
	free(there.fds);
	return err;
}

enum nsd_err
reconfig_doors_read_pem(const struct server *server, const struct conf *conf,
	struct diag_sink *sink, struct reconfig_doors *doors)
{
	const struct control_doors *control = doors->control_differ
		? &doors->control : &server->control;

	if (!control_doors_have_tls(control))
		return NSD_OK;
	doors->look = control_doors_look(server, &conf->remote_control);
	/* Files that root alone may read were read at the start. */
	if (server->control.pem != NULL
		&& doors->look == server->control.look
		&& control_doors_are_denied(server, &conf->remote_control))
		return NSD_OK;
	return control_doors_read_pem(server, &conf->remote_control, sink,
		&doors->pem);
}

/* ---- taking -------------------------------------------------------------- */

static void
metrics_take(struct server *server, struct doors *metrics)
{
	doors_leave(&server->metrics);
	server->metrics = *metrics;
	*metrics = (struct doors){.fds = NULL};
}

static void
control_take(struct server *server, struct control_doors *control)
{
	struct control_doors *old = &server->control;

	for (unsigned i = 0; i < old->count; i++)
		close(old->items[i].fd);
	free(old->items);
	old->items = control->items;
	old->count = control->count;
	*control = (struct control_doors){.items = NULL};
}

bool
reconfig_doors_take(struct server *server, struct reconfig_doors *doors)
{
	bool other = doors->pem != NULL;

	if (doors->metrics_differ)
		metrics_take(server, &doors->metrics);
	if (doors->control_differ)
		control_take(server, &doors->control);
	if (!other && control_doors_have_tls(&server->control))
		return false;
	secrets_drop(server->control.pem);
	server->control.pem = doors->pem;
	server->control.look = doors->look;
	doors->pem = NULL;
	return other;
}

/* ---- handing on ---------------------------------------------------------- */

/* A message that is being made. */
struct doors_parcel {
	struct child *xfrd;
	struct ipc_configure configure;
	int fds[IPC_FDS_MAX];
	unsigned count; /* with the image */
};

static void
parcel_send(struct doors_parcel *parcel)
{
	(void)child_send(parcel->xfrd, IPC_CONFIGURE, &parcel->configure,
		sizeof(parcel->configure), parcel->fds, parcel->count);
	parcel->configure.control_map = parcel->configure.plain_map = 0;
	parcel->count = 1;
}

/* Adds a descriptor: one that has no room goes with the next message. */
static void
parcel_add(struct doors_parcel *parcel, int fd, bool control, bool plain)
{
	unsigned bit;

	if (parcel->count == IPC_FDS_MAX) {
		parcel->configure.more = 1;
		parcel_send(parcel);
	}
	bit = parcel->count - 1;
	parcel->configure.control_map |= (uint32_t)control << bit;
	parcel->configure.plain_map |= (uint32_t)plain << bit;
	parcel->fds[parcel->count++] = fd;
}

void
reconfig_doors_send(const struct server *server, struct child *xfrd, int image)
{
	const struct control_doors *control = &server->control;
	struct doors_parcel parcel = {
		.xfrd = xfrd,
		.configure.number = server->conf_number,
		.fds = {image},
		.count = 1,
	};

	_Static_assert(IPC_FDS_MAX - 1 <= 32, "maps have a bit for each");
	for (unsigned i = 0; i < control->count; i++)
		parcel_add(&parcel, control->items[i].fd, true,
			control->items[i].plain);
	for (unsigned i = 0; i < server->metrics.count; i++)
		parcel_add(&parcel, server->metrics.fds[i], false, false);
	parcel.configure.more = 0;
	parcel_send(&parcel);
}

void
reconfig_doors_drop(struct reconfig_doors *doors)
{
	doors_leave(&doors->metrics);
	control_doors_leave(&doors->control);
	secrets_drop(doors->pem);
	doors->pem = NULL;
}
