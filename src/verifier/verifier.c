/*
 * verifier.c - the role that runs the programs which judge new versions of
 * zones (`verify:` of nsd.conf).
 *
 * Main forks it when the loader has a version to be judged; it ends when it has
 * had nothing to do for a while, and when its loader dies. A loader says which
 * of the configured programs is to run, and never what a program is: so one
 * that was taken over cannot have another one run.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "conf/command.h"
#include "ipc/handlers.h"
#include "process/role.h"
#include "store/store.h"
#include "verifier/verifier_env.h"
#include "verifier/verifier_job.h"
#include "verifier/verifier_keeper.h"
#include "zone/table.h"
#include "zone/zone.h"

/* The verifier ends after this without a request. */
#define IDLE_SEC 10
/* Programs at once, whatever verifier-count says. */
#define AT_ONCE_MAX 64u
/* Heartbeats for which processes are looked for whose keeper was killed. */
#define STRAYS_BEATS 20u

struct verifier {
	struct role role;
	struct store_reader *reader;
	struct event *idle_event;
	int proc_fd;
	unsigned at_once; /* verifier-count */
	bool is_leaving;  /* told to end, or the loader is gone: no program is
			   * started */
	unsigned strays;  /* heartbeats left */
	struct verifier_job *jobs; /* in the order of requests */
	unsigned running;
};

static void verifier_step(struct verifier *verifier);

/* ---- answers ------------------------------------------------------------- */

static void
verifier_rest(struct verifier *verifier)
{
	static const struct timeval idle = {.tv_sec = IDLE_SEC};

	if (verifier->jobs != NULL)
		event_del(verifier->idle_event);
	else if (verifier->is_leaving)
		role_stop(&verifier->role);
	else
		event_add(verifier->idle_event, &idle);
}

static void
verifier_answer(struct verifier *verifier, const struct verifier_job *job,
	const struct ipc_verified *verified)
{
	struct ipc_verified answer = *verified;

	answer.ticket = job->what.request.ticket;
	role_answer(&verifier->role, job->channel, &(struct role_answer){
		.of = IPC_VERIFY,
		.payload = &answer,
		.len = sizeof(answer),
	});
}

static void
verifier_unpin(struct verifier *verifier, struct verifier_job *job)
{
	if (job->is_pinned)
		store_reader_unpin(verifier->reader, &job->pin);
	job->is_pinned = false;
}

/* Answers a request and forgets it. */
static void
verifier_drop(struct verifier *verifier, struct verifier_job *job,
	const struct ipc_verified *verified)
{
	struct verifier_job **at = &verifier->jobs;

	while (*at != job)
		at = &(*at)->next;
	*at = job->next;
	verifier_answer(verifier, job, verified);
	verifier_unpin(verifier, job);
	free(job);
}

static void
verifier_on_end(struct verifier_job *job, const struct ipc_verified *verified)
{
	struct verifier *verifier = job->owner;

	assert(verifier->running > 0);
	verifier->running--;
	if (verified->verdict == VERDICT_NOT_RUN && verified->error == ECHILD)
		verifier->strays = STRAYS_BEATS;
	verifier_drop(verifier, job, verified);
	verifier_step(verifier);
}

static void
verifier_on_fed(struct verifier_job *job)
{
	verifier_unpin(job->owner, job);
}

/* ---- starting ------------------------------------------------------------ */

/* Finds the candidate, and pins it if the program reads it. The reader is
 * online. */
static bool
verifier_find(struct verifier *verifier, struct verifier_job *job)
{
	const struct store_view *view = store_reader_view(verifier->reader);
	const struct zone_entry *entry;
	char text[NAME_TEXT_MAX];
	store_ref ref;

	if (table_find_apex(view, job->what.apex, &ref) != NSD_OK)
		return false;
	entry = store_get(view, ref);
	snprintf(job->zone, sizeof(job->zone), "%s",
		zone_entry_name(view, entry, text));
	ref = store_load_ref(&entry->candidate);
	if (ref == STORE_NONE)
		return false;
	job->version = store_get(view, ref);
	if (job->version->serial != job->what.serial)
		return false;
	if ((job->what.flags & IPC_VERIFY_FEED) != 0)
		job->is_pinned = store_reader_pin(verifier->reader, &job->pin)
			== NSD_OK;
	return true;
}

/* Starts the program of a request, or answers it. */
static void
verifier_start(struct verifier *verifier, struct verifier_job *job)
{
	const struct server *server = verifier->role.server;
	struct ipc_verified no = {.verdict = VERDICT_GONE};
	const struct verifier_tools tools = {
		.base = verifier->role.base,
		.view = store_reader_view(verifier->reader),
		.argv = conf_commands_find(server->commands,
			job->what.command),
		.proc_fd = verifier->proc_fd,
		.sandbox = &server->sandbox,
	};
	bool found;

	store_reader_online(verifier->reader);
	found = verifier_find(verifier, job);
	store_reader_offline(verifier->reader);
	if (tools.argv == NULL || !server->conf->verify.enable)
		no.verdict = VERDICT_AGAIN;
	if (no.verdict == VERDICT_AGAIN || !found) {
		verifier_drop(verifier, job, &no);
		return;
	}
	verifier->running++;
	verifier_job_start(job, &tools);
}

static struct verifier_job *
verifier_find_waiting(const struct verifier *verifier)
{
	struct verifier_job *job = verifier->jobs;

	while (job != NULL && job->on_end != NULL)
		job = job->next;
	return job;
}

/* Starts what may run now. */
static void
verifier_step(struct verifier *verifier)
{
	const struct ipc_verified again = {.verdict = VERDICT_AGAIN};
	struct verifier_job *job;

	while ((verifier->is_leaving || verifier->running < verifier->at_once)
		&& (job = verifier_find_waiting(verifier)) != NULL) {
		job->on_end = verifier_on_end;
		job->on_fed = verifier_on_fed;
		if (verifier->is_leaving)
			verifier_drop(verifier, job, &again);
		else
			verifier_start(verifier, job);
	}
	verifier_rest(verifier);
}

/* ---- messages ------------------------------------------------------------ */

static void
verifier_on_verify(struct role *role, const struct ipc_message *m)
{
	struct verifier *verifier = (struct verifier *)role;
	struct verifier_job *job = calloc(1, sizeof(*job));
	struct verifier_job **end = &verifier->jobs;
	uint8_t apex[NAME_MAX_LEN];
	struct cursor cursor;
	size_t len;

	if (job == NULL) {
		log_error("out of memory for a verifier");
		_exit(1); /* the next one gets the request */
	}
	memcpy(&job->what, m->payload, m->len);
	job->channel = m->channel;
	job->owner = verifier;
	job->report_fd = job->fed_fd = job->out.fd = job->err.fd = -1;
	cursor_init(&cursor, job->what.apex, sizeof(job->what.apex));
	/* An apex that is not a name counts as the root: the loader could have
	 * asked for that, too. */
	if (name_read_uncompressed(&cursor, apex, &len) != NSD_OK)
		apex[0] = 0;
	memcpy(job->what.apex, apex, sizeof(job->what.apex));
	name_lower(job->what.apex);
	while (*end != NULL)
		end = &(*end)->next;
	*end = job;
	verifier_step(verifier);
}

static void
verifier_on_verify_stop(struct role *role, const struct ipc_message *m)
{
	struct verifier *verifier = (struct verifier *)role;
	const struct ipc_verified again = {.verdict = VERDICT_AGAIN};
	struct verifier_job *job = verifier->jobs;
	struct ipc_verify_stop stop;

	memcpy(&stop, m->payload, sizeof(stop));
	while (job != NULL && job->what.request.ticket != stop.ticket)
		job = job->next;
	if (job == NULL)
		return;
	if (job->on_end == NULL)
		verifier_drop(verifier, job, &again);
	else
		verifier_job_stop(job);
	verifier_rest(verifier);
}

/* Has processes that feed programs read the rest of their zones now. */
static void
verifier_on_let_go(struct role *role, const struct ipc_message *m)
{
	struct verifier *verifier = (struct verifier *)role;
	struct ipc_let_go let_go;

	memcpy(&let_go, m->payload, sizeof(let_go));
	for (struct verifier_job *job = verifier->jobs; job != NULL;
		job = job->next)
		if (job->is_pinned && store_reader_has_pinned(verifier->reader,
				&job->pin, let_go.epoch))
			verifier_job_hurry(job);
}

#define VERIFIER_HANDLERS(X)                                                 \
	ROLE_HANDLERS(X)                                                     \
	X(LET_GO, verifier_on_let_go)                                        \
	X(VERIFY, verifier_on_verify)                                        \
	X(VERIFY_STOP, verifier_on_verify_stop)

static void (*const verifier_handlers[IPC_TYPE_COUNT])(struct role *role,
	const struct ipc_message *m) = {VERIFIER_HANDLERS(IPC_HANDLER)};
IPC_CHECK_HANDLERS(VERIFIER_HANDLERS, IPC_TO_VERIFIER);

/* ---- begin and end ------------------------------------------------------- */

static void
verifier_on_idle(evutil_socket_t fd, short what, void *arg)
{
	role_stop(arg);
}

/* Ends the programs, and then the process: what is not judged is judged again
 * by the next one. */
static void
verifier_leave(struct role *role)
{
	struct verifier *verifier = (struct verifier *)role;

	verifier->is_leaving = true;
	for (const struct verifier_job *job = verifier->jobs; job != NULL;
		job = job->next)
		verifier_job_stop(job);
	verifier_step(verifier);
}

static void
verifier_on_peer_gone(struct role *role, struct peer *peer)
{
	verifier_leave(role);
}

/* Kills processes whose keeper was killed. */
static void
verifier_end_strays(const struct verifier *verifier)
{
	int64_t keepers[AT_ONCE_MAX];
	unsigned count = 0;

	for (const struct verifier_job *job = verifier->jobs; job != NULL;
		job = job->next)
		if (job->keeper > 0 && count < AT_ONCE_MAX)
			keepers[count++] = job->keeper;
	(void)verifier_keeper_kill_children(verifier->proc_fd, keepers, count);
}

static void
verifier_on_heartbeat(struct role *role)
{
	struct verifier *verifier = (struct verifier *)role;

	if (verifier->strays > 0) {
		verifier->strays--;
		verifier_end_strays(verifier);
	}
	while (waitpid(-1, NULL, WNOHANG) > 0)
		continue;
}

static void
verifier_set_handlers(struct role *role)
{
	role->handlers = verifier_handlers;
	role->on_peer_gone = verifier_on_peer_gone;
	role->on_stop = verifier_leave;
	role->on_heartbeat = verifier_on_heartbeat;
}

static enum nsd_err
verifier_init(struct verifier *verifier, const struct role_start *start)
{
	const struct server *server = start->server;
	int keep[3 + LOG_FDS_MAX] = {start->channel.fd, start->stop_fd,
		start->proc_fd};
	unsigned first = start->proc_fd == -1 ? 2 : 3;
	unsigned kept = first + log_list_fds(keep + first);
	uint32_t wanted = server->conf->verify.verifier_count;
	enum nsd_err err;

	verifier_set_handlers(&verifier->role);
	verifier->proc_fd = start->proc_fd;
	verifier->at_once = wanted == 0 ? 1
		: wanted < AT_ONCE_MAX ? wanted : AT_ONCE_MAX;
	role_init_name("verifier", "verifier");
	role_init_death(server, true);
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	err = verifier_env_init(&server->listeners,
		server->conf->server.server_count);
	server_leave_secrets(start->server);
	if (err == NSD_OK)
		err = store_reader_open(start->store, start->reader_slot,
			"verifier", &verifier->reader);
	if (err != NSD_OK)
		return err;
	fs_close_all_but(keep, kept);
	err = role_init_loop(&verifier->role, start);
	if (err != NSD_OK)
		return err;
	verifier->idle_event = event_new(verifier->role.base, -1, 0,
		verifier_on_idle, &verifier->role);
	if (verifier->idle_event == NULL)
		return NSD_E_MEMORY;
	verifier_rest(verifier);
	return NSD_OK;
}

void
verifier_main(const struct role_start *start)
{
	struct verifier *verifier = calloc(1, sizeof(*verifier));
	enum nsd_err err = verifier != NULL ? verifier_init(verifier, start)
					    : NSD_E_MEMORY;

	if (err != NSD_OK) {
		log_error("the verifier cannot start: %s", err_text(err));
		_exit(1);
	}
	role_run(&verifier->role);
	_exit(0);
}
