/* role.c - the part that all children of main have in common. */
#include "config.h"

#include <assert.h>
#include <event2/event.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/log.h"
#include "process/role.h"
#include "process/title.h"

void
role_init_name(const char *log_name, const char *title)
{
#ifdef USE_LOG_PROCESS_ROLE
	log_set_program(log_name);
#endif
	title_set("nsd: %s", title);
}

void
role_init_death(const struct server *server, bool die_with_main)
{
	/* A terminal or an administrator may send these to all processes: main
	 * acts on them. TERM to all, by a service manager, is fine. */
	static const int ignored[] = {SIGINT, SIGHUP, SIGUSR1, SIGALRM,
		SIGPIPE};
	sigset_t none;

	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* SIGCONT: a stopped process that outlives main would not be found, and
	 * would keep its share of the queries from the next server. */
	(void)prctl(PR_SET_PDEATHSIG, die_with_main ? SIGKILL : SIGCONT, 0, 0,
		0);
	if (!die_with_main)
		return;
	/* Main may have died before the prctl. */
	if (getppid() != server->main_pid)
		_exit(1);
}

static void
role_told_stop(struct role *role)
{
	if (role->on_stop != NULL)
		role->on_stop(role);
	else
		role_stop(role);
}

static void
role_on_term(evutil_socket_t fd, short what, void *arg)
{
	struct role *role = arg;

	/* The signal is not read, so the event would come again. */
	event_del(role->term_event);
	if (role->on_term != NULL)
		role->on_term(role);
	else
		role_told_stop(role);
}

/* Main sends nothing behind this. Its earlier messages, such as the file for a
 * loader's store, are taken first. */
static void
role_on_stop(evutil_socket_t fd, short what, void *arg)
{
	struct role *role = arg;

	/* The descriptor is not read, so its event would come again. */
	event_del(role->stop_event);
	link_read_out(&role->link);
	role_told_stop(role);
}

/* ---- messages of main ---------------------------------------------------- */

void
role_on_log(struct role *role, const struct ipc_message *m)
{
	struct log_share share;

	memcpy(&share, m->payload, sizeof(share));
	log_use_share(&share, m->fds, m->fd_count);
}

void
role_send_obeyed(struct role *role, uint64_t ticket)
{
	role_send(role, IPC_OBEYED, &ticket, sizeof(ticket));
}

void
role_on_obey(struct role *role, const struct ipc_message *m)
{
	struct ipc_broadcast broadcast;

	memcpy(&broadcast, m->payload, sizeof(broadcast));
	if (broadcast.what == BROADCAST_SETTINGS && broadcast.value != 0
		&& role->on_zones != NULL) {
		role->on_zones(role, broadcast.request.ticket);
		return;
	}
	if (broadcast.what == BROADCAST_SAVE && role->on_save != NULL) {
		role->on_save(role, broadcast.request.ticket);
		return;
	}
	if (broadcast.what == BROADCAST_SAVED && role->on_saved != NULL)
		role->on_saved(role, broadcast.value != 0);
	else if (broadcast.what == BROADCAST_VERBOSITY)
		log_set_verbosity(broadcast.value);
	else if (broadcast.what == BROADCAST_SETTINGS
		&& role->on_settings != NULL)
		role->on_settings(role);
	role_send_obeyed(role, broadcast.request.ticket);
}

static bool
role_on_refused(struct link *link)
{
	log_error("refused a message from main");
	return true;
}

/* Ends a role that has lost a message with its descriptors, for it lacks them
 * for ever; its successor is given all anew. But a worker goes on answering:
 * its clients have taken them, and come again. */
static bool
role_on_lost(struct link *link)
{
	log_error("no descriptor is left for a message from main%s",
		link->channel.self == ROLE_WORKER ? "" : ": ending");
	if (link->channel.self != ROLE_WORKER)
		_exit(1);
	return true;
}

static void
role_take(void *owner, const struct ipc_message *m)
{
	struct role *role = owner;

	assert(m->type < IPC_TYPE_COUNT);
	if (role->handlers[m->type] != NULL)
		role->handlers[m->type](role, m);
	else
		log_error("refused a message from %s", ipc_role_name(m->from));
}

static void
role_on_message(struct link *link, const struct ipc_message *m)
{
	role_take(link->owner, m);
}

static void
role_on_main_room(struct link *link)
{
	struct role *role = link->owner;

	peers_go_on(&role->peers);
	requests_go_on(&role->requests, link);
}

static void
role_on_main_gone(struct link *link)
{
	struct role *role = link->owner;

	if (role->on_main_gone != NULL)
		role->on_main_gone(role);
	else
		role_stop(role);
}

static const struct link_calls role_calls = {
	.on_message = role_on_message,
	.on_refused = role_on_refused,
	.on_lost = role_on_lost,
	.on_gone = role_on_main_gone,
	.on_room = role_on_main_room,
};

/* Ends the process, for a message that cannot even wait: its receiver would
 * wait for it for ever. The successor gets the requests again. */
static __attribute__((noreturn)) void
role_give_up(enum ipc_type type, enum ipc_role to, enum nsd_err err)
{
	log_error("cannot send %s to %s: %s; ending", ipc_rows[type].name,
		ipc_role_name(to), err_text(err));
	_exit(1);
}

void
role_send(struct role *role, enum ipc_type type, const void *payload,
	size_t len)
{
	const struct link_message message = {
		.type = type,
		.payload = payload,
		.len = len,
	};
	enum nsd_err err = link_send(&role->link, &message);

	if (err != NSD_OK && err != NSD_E_PEER)
		role_give_up(type, ROLE_MAIN, err);
}

enum nsd_err
role_ask(struct role *role, const struct link_message *message,
	request_on_end *on_end, void *ctx)
{
	return requests_add(&role->requests, message, on_end, ctx);
}

void
role_on_answer(struct role *role, const struct ipc_message *m)
{
	requests_take_answer(&role->requests, m);
}

/* ---- other roles --------------------------------------------------------- */

void
role_on_peer(struct role *role, const struct ipc_message *m)
{
	peers_add(&role->peers, m);
}

void
role_on_peer_gone(struct role *role, const struct ipc_message *m)
{
	peers_remove(&role->peers, m);
}

static void
role_on_peer_room(void *owner, struct peer *peer)
{
	struct role *role = owner;

	if (role->on_peer != NULL)
		role->on_peer(role, peer);
}

static void
role_on_peer_end(void *owner, struct peer *peer)
{
	struct role *role = owner;

	if (role->on_peer_gone != NULL)
		role->on_peer_gone(role, peer);
}

static void
role_send_answer(struct role *role, uint64_t channel,
	const struct role_answer *answer, bool is_late)
{
	struct peer *peer = peers_find(&role->peers, channel);
	const struct link_message message = {
		.type = (enum ipc_type)ipc_rows[answer->of].answer,
		.payload = answer->payload,
		.len = answer->len,
	};
	enum nsd_err err;

	if (peer == NULL)
		return;
	err = link_send(&peer->link, &message);
	if (err != NSD_OK && err != NSD_E_PEER)
		role_give_up(message.type, peer->link.channel.peer, err);
	if (!is_late)
		link_return(&peer->link, answer->of);
}

void
role_answer(struct role *role, uint64_t channel,
	const struct role_answer *answer)
{
	role_send_answer(role, channel, answer, false);
}

void
role_answer_late(struct role *role, uint64_t channel,
	const struct role_answer *answer)
{
	role_send_answer(role, channel, answer, true);
}

bool
role_answer_waits(struct role *role, uint64_t channel)
{
	const struct peer *peer = peers_find(&role->peers, channel);

	return peer != NULL && link_waits(&peer->link);
}

/* ---- the loop ------------------------------------------------------------ */

static void
role_on_heartbeat(evutil_socket_t fd, short what, void *arg)
{
	struct role *role = arg;

	role_heartbeat(role);
	log_tell_lost();
	if (role->on_heartbeat != NULL)
		role->on_heartbeat(role);
}

/* Begins the heartbeat, which lasts as long as the loop turns. */
static bool
role_init_heartbeat(struct role *role, struct child_page *page)
{
	struct timeval period = {.tv_usec = ROLE_HEARTBEAT_MSEC * 1000};

	role->page = page;
	if (page == NULL)
		return true;
	role->heartbeat_event = event_new(role->base, -1, EV_PERSIST,
		role_on_heartbeat, role);
	return role->heartbeat_event != NULL
		&& event_add(role->heartbeat_event, &period) == 0;
}

enum nsd_err
role_init_loop(struct role *role, const struct role_start *start)
{
	struct event_config *config = event_config_new();
	sigset_t term;

	role->server = start->server;
	role->link = (struct link){
		.channel = start->channel,
		.calls = &role_calls,
		.owner = role,
		.turn = LINK_TURN,
		.answers = true,
	};
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	role->term_fd = signalfd(-1, &term, SFD_NONBLOCK | SFD_CLOEXEC);
	if (config == NULL)
		return NSD_E_MEMORY;
	event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
	role->base = event_base_new_with_config(config);
	event_config_free(config);
	if (role->base == NULL)
		return NSD_E_MEMORY;
	role->peers = (struct peers){
		.self = start->channel.self,
		.base = role->base,
		.main = &role->link,
		.owner = role,
		.on_message = role_take,
		.on_room = role_on_peer_room,
		.on_gone = role_on_peer_end,
	};
	role->requests = (struct requests){
		.any_order = true,
		.link = &role->link,
	};
	role->stop_event = event_new(role->base, start->stop_fd,
		EV_READ | EV_PERSIST, role_on_stop, role);
	role->term_event = event_new(role->base, role->term_fd,
		EV_READ | EV_PERSIST, role_on_term, role);
	if (!link_open(&role->link, role->base) || role->stop_event == NULL
		|| role->term_event == NULL
		|| event_add(role->stop_event, NULL) == -1
		|| event_add(role->term_event, NULL) == -1
		|| !role_init_heartbeat(role, start->page))
		return NSD_E_MEMORY;
	return NSD_OK;
}

void
role_run(struct role *role)
{
	event_base_dispatch(role->base);
}

void
role_stop(struct role *role)
{
	event_base_loopbreak(role->base);
}
