/* log_change.c - main opens the log, and has all processes write to it. */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "conf/chroot.h"
#include "main/child.h"
#include "main/children.h"
#include "main/log_change.h"
#include "main/supervisor.h"

/* ---- to all processes ---------------------------------------------------- */

struct log_telling {
	struct log_share share;
	int fds[LOG_FDS_MAX];
	unsigned count;
};

static void
log_tell_child(struct child *child, void *arg)
{
	const struct log_telling *telling = arg;

	(void)child_send(child, IPC_LOG, &telling->share,
		sizeof(telling->share), telling->fds, telling->count);
}

/* Tells all children. Children that are forked later inherit the log. */
static void
log_tell(struct supervisor *s)
{
	struct log_telling telling;

	telling.count = log_get_share(&telling.share, telling.fds);
	children_walk(s, log_tell_child, &telling);
}

enum nsd_err
log_change_reopen(struct supervisor *s)
{
	enum nsd_err err = log_reopen();
	int error = errno;

	/* Even after a failure, the socket of syslog may be a new one. */
	log_tell(s);
	errno = error;
	return err;
}

/* ---- another configuration ----------------------------------------------- */

static bool
path_is_same(const char *a, const char *b)
{
	return a != NULL && b != NULL ? strcmp(a, b) == 0 : a == b;
}

static struct log_options
log_wanted(const struct server *server, const struct conf_server *o)
{
	return (struct log_options){
		.file = o->logfile == NULL || *o->logfile == '\0' ? NULL
			: conf_path_in_chroot(server->chroot, o->logfile),
		.only_syslog = o->log_only_syslog,
		.time_ascii = o->log_time_ascii,
		.time_iso = o->log_time_iso,
		.verbosity = o->verbosity,
	};
}

enum nsd_err
log_change_open(const struct server *server, const struct conf *new,
	struct diag_sink *sink, struct log_change *change)
{
	const struct conf_server *now = &server->conf->server;
	const struct conf_server *next = &new->server;
	struct log_options options = log_wanted(server, next);

	*change = (struct log_change){.is_open = false};
	if (path_is_same(now->logfile, next->logfile)
		&& now->log_only_syslog == next->log_only_syslog)
		return NSD_OK;
	if (log_open_files(&options, &change->files) != NSD_OK) {
		diag_emit(sink, DIAG_ERROR, NULL, 0, 0,
			"error: logfile: cannot open %s for appending: %s",
			options.file, strerror(errno));
		return NSD_E_SYSTEM;
	}
	change->is_open = true;
	return NSD_OK;
}

void
log_change_drop(struct log_change *change)
{
	if (change->is_open)
		log_close_files(&change->files);
	change->is_open = false;
}

void
log_change_take(struct supervisor *s, const struct conf *before,
	struct log_change *change)
{
	const struct conf_server *o = &s->server.conf->server;
	struct log_options options = log_wanted(&s->server, o);

	/* Verbosity that the operator has set by command stays until the option
	 * changes. */
	if (o->verbosity == before->server.verbosity)
		options.verbosity = log_verbosity();
	if (change->is_open)
		log_notice("reconfig: the log goes to %s from now on",
			options.only_syslog ? "syslog alone"
				: options.file != NULL ? options.file
				: "stderr and syslog");
	log_change(&options, change->is_open ? &change->files : NULL);
	log_change_drop(change);
	log_tell(s);
}
