/* reconfig_doors.c - the sockets of operators come and go with a reconfig. */
#include "config.h"

#include <stdlib.h>

#include "conf/compare.h"
#include "proc/reconfig_doors.h"

/* ---- opening ------------------------------------------------------------- */

/* All sockets of operators that main has; they stay the server's. *there is
 * released with free(there->fds). */
static enum nsd_err
there_list(const struct server *server, struct doors *there)
{
	const struct doors *lists[] = {&server->metrics, &server->former};
	const struct control_doors *control = &server->control;

	*there = (struct doors){.fds = NULL};
	there->fds = calloc(server->metrics.count + server->former.count
			+ control->count + 1u, sizeof(there->fds[0]));
	if (there->fds == NULL)
		return NSD_E_MEMORY;
	for (unsigned i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		for (unsigned n = 0; n < lists[i]->count; n++)
			there->fds[there->count++] = lists[i]->fds[n];
	for (unsigned i = 0; i < control->count; i++)
		there->fds[there->count++] = control->items[i].fd;
	return NSD_OK;
}

enum nsd_err
reconfig_doors_open(const struct server *server, const struct conf *conf,
	struct diag_sink *sink, struct reconfig_doors *doors)
{
	struct doors there;
	const struct doors_terms terms = {.there = &there, .sink = sink};
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
	/* Keys of root alone, read at the start. */
	if (server->control.pem != NULL
		&& doors->look == server->control.look
		&& control_doors_are_denied(server, &conf->remote_control))
		return NSD_OK;
	return control_doors_read_pem(server, &conf->remote_control, sink,
		&doors->pem);
}

/* ---- taking -------------------------------------------------------------- */

/* The xfrd that is there has them yet. What there is no memory for is closed
 * here: at worst its address is in use for another reconfig that comes before
 * the next xfrd. */
static void
former_add(struct doors *former, int fd)
{
	(void)!doors_add(former, fd);
}

static void
metrics_take(struct server *server, struct doors *metrics)
{
	struct doors *old = &server->metrics;

	for (unsigned i = 0; i < old->count; i++)
		former_add(&server->former, old->fds[i]);
	free(old->fds);
	*old = *metrics;
	*metrics = (struct doors){.fds = NULL};
}

static void
control_take(struct server *server, struct control_doors *control)
{
	struct control_doors *old = &server->control;

	for (unsigned i = 0; i < old->count; i++)
		former_add(&server->former, old->items[i].fd);
	free(old->items);
	old->items = control->items;
	old->count = control->count;
	*control = (struct control_doors){.items = NULL};
}

void
reconfig_doors_take(struct server *server, struct reconfig_doors *doors)
{
	if (doors->metrics_differ)
		metrics_take(server, &doors->metrics);
	if (doors->control_differ)
		control_take(server, &doors->control);
	if (doors->pem == NULL && control_doors_have_tls(&server->control))
		return;
	secrets_drop(server->control.pem);
	server->control.pem = doors->pem;
	server->control.look = doors->look;
	doors->pem = NULL;
}

void
reconfig_doors_drop(struct reconfig_doors *doors)
{
	doors_leave(&doors->metrics);
	control_doors_leave(&doors->control);
	secrets_drop(doors->pem);
	doors->pem = NULL;
}
