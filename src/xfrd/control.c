/* control.c - the control channel in xfrd: its start and end, and the table of
 * handlers. */
#include "config.h"

#include <event2/event.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/fs.h"
#include "base/log.h"
#include "ctl/channel.h"
#include "process/control_listeners.h"
#include "process/tls_texts.h"
#include "xfrd/control.h"
#include "xfrd/xfrd.h"

/* The pause between looks whether answers are sent, at the end, and the number
 * of these. */
#define END_STEP_USEC 5000
#define END_STEPS 200

/* ---- commands ------------------------------------------------------------ */

static void (*const control_handlers[CTL_VERB_COUNT])(struct xfrd *xfrd,
	struct ctl_call *call) = {CONTROL_HANDLERS(CTL_HANDLER)};
CTL_CHECK_HANDLERS(CONTROL_HANDLERS);

#define LINE_MAX_LEN 512u

/* Prints a command without its secrets. */
static void
control_print(const struct ctl_command *command, char line[LINE_MAX_LEN])
{
	const struct ctl_verb_row *row = &ctl_verb_rows[command->verb];
	unsigned count = (row->flags & CTL_SECRET) != 0 ? 0 : command->count;
	size_t len = (size_t)snprintf(line, LINE_MAX_LEN, "%s", row->word);

	for (unsigned i = 0; i < count && len < LINE_MAX_LEN; i++)
		len += (size_t)snprintf(line + len, LINE_MAX_LEN - len, " %s",
			command->arguments[i]);
}

static const char control_ends[] = "error xfrd, which takes commands, is being"
				   " ended";

static void
control_on_call(void *ctx, struct ctl_call *call)
{
	const struct ctl_command *command = ctl_command(call);
	struct xfrd *xfrd = ctx;
	char line[LINE_MAX_LEN];

	/* At a stop no other command is taken: its changes might not be done
	 * before the end. */
	if (xfrd->told_stop && command->verb != CTL_STOP) {
		ctl_printf(call, "%s\n", control_ends);
		ctl_end(call);
		return;
	}
	control_print(command, line);
	if ((ctl_verb_rows[command->verb].flags & CTL_LOUD) != 0
		|| log_verbosity() >= 2)
		log_info("control cmd:  %s", line);
	child_page_take(xfrd->role.page, CHILD_PAGE_COMMAND, NULL, line,
		strlen(line));
	control_handlers[command->verb](ctx, call);
	child_page_drop(xfrd->role.page);
}

/* ---- start --------------------------------------------------------------- */

static void
control_parse(const struct secrets *pem, struct tls_report *report,
	struct ctl_tls **tls)
{
	tls_report_init(report);
	report->said.err = ctl_tls_create_server(
		tls_get_text(pem, CONTROL_PEM_KEY),
		tls_get_text(pem, CONTROL_PEM_CERT), &report->sink, tls);
}

/* Takes connections at all sockets of the control channel, and no others. */
static enum nsd_err
control_listen(struct xfrd *xfrd)
{
	const struct control_listeners *listeners = &xfrd->role.server->control;
	struct control *control = &xfrd->control;
	enum nsd_err err = NSD_OK;

	ctl_channel_close(control->channel);
	for (unsigned i = 0; i < listeners->count && err == NSD_OK
		&& !xfrd->told_stop; i++)
		err = ctl_channel_listen(control->channel,
			listeners->items[i].fd,
			listeners->items[i].plain ? NULL : control->tls);
	return err;
}

/* Shows other certificates to clients that connect from now on. Without NSD_OK
 * all is as it was. */
static enum nsd_err
control_take_tls(struct xfrd *xfrd, struct ctl_tls *tls)
{
	struct control *control = &xfrd->control;
	struct ctl_tls *old = control->tls;
	enum nsd_err err;

	control->tls = tls;
	/* Without a channel yet, its sockets come later. */
	err = control->channel != NULL ? control_listen(xfrd) : NSD_OK;
	if (err != NSD_OK) {
		control->tls = old;
		ctl_tls_destroy(tls);
		(void)!control_listen(xfrd);
		return err;
	}
	/* Present connections have their own references to it. */
	ctl_tls_destroy(old);
	return NSD_OK;
}

void
control_on_tls_texts(struct role *role, const struct ipc_message *m)
{
	struct xfrd *xfrd = (struct xfrd *)role;
	struct ipc_tls_texts message;
	struct tls_report report;
	struct ctl_tls *tls;
	struct secrets *pem;
	bool tries = m->fd_count == 2;
	enum nsd_err err;

	memcpy(&message, m->payload, sizeof(message));
	if (m->fd_count == 0
		|| tls_texts_unpack(&message, m->fds[0], &pem) != NSD_OK)
		return;
	control_parse(pem, &report, &tls);
	secrets_drop(pem);
	err = (enum nsd_err)report.said.err;
	if (tries) {
		if (err == NSD_OK)
			ctl_tls_destroy(tls);
		(void)!fs_write_all(m->fds[1], &report.said,
			sizeof(report.said));
		return;
	}
	if (err == NSD_OK)
		err = control_take_tls(xfrd, tls);
	if (err != NSD_OK)
		log_error("the control channel goes on with the certificate"
			  " that it has: %s", err_text(err));
}

static enum nsd_err
control_open_tls(struct xfrd *xfrd)
{
	const struct control_listeners *listeners = &xfrd->role.server->control;
	struct tls_report report;

	/* Another key may have come already. */
	if (listeners->pem == NULL || xfrd->control.tls != NULL)
		return NSD_OK;
	control_parse(listeners->pem, &report, &xfrd->control.tls);
	role_send(&xfrd->role, IPC_TLS_TRIED, &report.said,
		sizeof(report.said));
	return (enum nsd_err)report.said.err;
}

static enum nsd_err
control_open(struct xfrd *xfrd)
{
	struct ctl_channel_options options = {
		.base = xfrd->role.base,
		.on_call = control_on_call,
		.ctx = xfrd,
	};
	enum nsd_err err = control_open_tls(xfrd);

	if (err == NSD_OK && getrandom(&options.seed, sizeof(options.seed), 0)
			!= sizeof(options.seed))
		err = NSD_E_SYSTEM;
	if (err == NSD_OK)
		err = ctl_channel_create(&options, &xfrd->control.channel);
	return err != NSD_OK ? err : control_listen(xfrd);
}

void
control_init(struct xfrd *xfrd)
{
	enum nsd_err err;

	CDS_INIT_LIST_HEAD(&xfrd->control.waits);
	/* Keys, also those for primaries, are parsed later, when xfrd can open
	 * no file. */
	tls_read_settings();
	err = control_open(xfrd);
	if (err == NSD_OK)
		return;
	/* Without a control channel, zones are kept fresh all the same. */
	log_error("there is no control channel: %s", err_text(err));
	ctl_channel_destroy(xfrd->control.channel);
	xfrd->control.channel = NULL;
}

void
control_follow(struct xfrd *xfrd)
{
	enum nsd_err err = xfrd->control.channel != NULL ? control_listen(xfrd)
							 : control_open(xfrd);

	if (err != NSD_OK)
		log_error("there is no control channel, or a part of it: %s",
			err_text(err));
}

/* ---- end ----------------------------------------------------------------- */

/* Ends a call at the end: a stop with ok, as main has been told and nothing
 * keeps the server from its end; others with an error. */
static void
control_end_call(struct ctl_call *call, void *arg)
{
	ctl_break_off(call, ctl_command(call)->verb == CTL_STOP
			? "ok"
			: control_ends);
}

static void
control_on_end(evutil_socket_t fd, short what, void *arg)
{
	const struct timeval step = {.tv_usec = END_STEP_USEC};
	struct xfrd *xfrd = arg;
	struct control *control = &xfrd->control;

	if (ctl_channel_is_busy(control->channel)
		&& control->end_waits++ < END_STEPS
		&& event_add(control->end_event, &step) == 0)
		return;
	role_stop(&xfrd->role);
}

void
control_close(struct xfrd *xfrd)
{
	if (xfrd->control.channel != NULL)
		ctl_channel_close(xfrd->control.channel);
}

void
control_finish(struct xfrd *xfrd)
{
	struct control *control = &xfrd->control;

	if (control->channel == NULL) {
		role_stop(&xfrd->role);
		return;
	}
	ctl_channel_close(control->channel);
	ctl_channel_walk(control->channel, control_end_call, NULL);
	ctl_channel_refuse(control->channel, control_ends);
	control->end_event = event_new(xfrd->role.base, -1, 0, control_on_end,
		xfrd);
	if (control->end_event == NULL)
		role_stop(&xfrd->role);
	else
		control_on_end(-1, 0, xfrd);
}
