/* role.c - what loader, workers and xfrd have in common. */
#include "config.h"

#include <assert.h>
#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/log.h"
#include "proc/role.h"
#include "proc/title.h"

/* Messages taken in one turn. Timers and threads have turns, too. */
#define MESSAGES_MAX 64

/* A message that main had no room for. */
struct role_waiting {
	struct role_waiting *next;
	enum ipc_type type;
	size_t len;
	uint8_t payload[IPC_PAYLOAD_MAX];
};

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
	if (!die_with_main)
		return;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	/* Main may have died before that. */
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

static void
role_main_gone(struct role *role)
{
	event_del(role->channel_event);
	if (role->on_main_gone != NULL)
		role->on_main_gone(role);
	else
		role_stop(role);
}

void
role_on_stop(struct role *role, const struct ipc_message *m)
{
	role_told_stop(role);
}

void
role_on_log_reopen(struct role *role, const struct ipc_message *m)
{
	if (m->fd_count == 1)
		log_use_fd(m->fds[0]);
}

static void
role_refuse(void)
{
	log_error("refused a message from main");
}

static void
role_take(struct role *role, const struct ipc_message *m)
{
	assert(m->type < IPC_TYPE_COUNT);
	if (role->handlers[m->type] != NULL)
		role->handlers[m->type](role, m);
	else
		role_refuse();
	for (unsigned i = 0; i < m->fd_count; i++)
		close(m->fds[i]);
}

static void
role_on_channel(evutil_socket_t fd, short what, void *arg)
{
	struct role *role = arg;
	struct ipc_message m;

	/* While answers wait for room, messages stay in the channel. Once that
	 * is full, their sender waits. */
	for (unsigned n = 0; n < MESSAGES_MAX && role->waiting == NULL; n++) {
		switch (ipc_receive(&role->channel, &m)) {
		case NSD_OK:
			role_take(role, &m);
			break;
		case NSD_E_AGAIN:
			return;
		case NSD_E_DENIED:
			role_refuse();
			break;
		default:
			role_main_gone(role);
			return;
		}
	}
}

/* ---- messages to main --------------------------------------------------- */

/* False: main has no room for it now. */
static bool
role_try_send(struct role *role, enum ipc_type type, const void *payload,
	size_t len)
{
	enum nsd_err err = ipc_send(&role->channel, type, payload, len, NULL,
		0);

	if (err == NSD_E_AGAIN)
		return false;
	if (err != NSD_OK && err != NSD_E_PEER)
		log_error("cannot send %s to main: %s", ipc_rows[type].name,
			err_text(err));
	return true;
}

static void
role_on_room(evutil_socket_t fd, short what, void *arg)
{
	struct role *role = arg;
	struct role_waiting *m;

	while ((m = role->waiting) != NULL) {
		if (!role_try_send(role, m->type, m->payload, m->len))
			return;
		role->waiting = m->next;
		free(m);
	}
	event_del(role->room_event);
	if (event_add(role->channel_event, NULL) == -1)
		log_error("out of memory for the channel");
}

/* Has a message wait until main reads again. Few wait: until then no message is
 * taken that would need an answer. */
static void
role_put_off(struct role *role, enum ipc_type type, const void *payload,
	size_t len)
{
	struct role_waiting *m = calloc(1, sizeof(*m)), **at = &role->waiting;

	if (m == NULL || (role->waiting == NULL
		&& event_add(role->room_event, NULL) == -1)) {
		log_error("cannot send %s to main: out of memory",
			ipc_rows[type].name);
		free(m);
		return;
	}
	m->type = type;
	m->len = len;
	if (len > 0)
		memcpy(m->payload, payload, len);
	if (role->waiting == NULL)
		event_del(role->channel_event);
	while (*at != NULL)
		at = &(*at)->next;
	*at = m;
}

void
role_send(struct role *role, enum ipc_type type, const void *payload,
	size_t len)
{
	if (role->waiting != NULL
		|| !role_try_send(role, type, payload, len))
		role_put_off(role, type, payload, len);
}

enum nsd_err
role_init_loop(struct role *role, const struct role_start *start)
{
	struct event_config *config = event_config_new();
	sigset_t term;

	role->server = start->server;
	role->channel = start->channel;
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
	role->channel_event = event_new(role->base, role->channel.fd,
		EV_READ | EV_PERSIST, role_on_channel, role);
	role->room_event = event_new(role->base, role->channel.fd,
		EV_WRITE | EV_PERSIST, role_on_room, role);
	role->term_event = event_new(role->base, role->term_fd,
		EV_READ | EV_PERSIST, role_on_term, role);
	if (role->channel_event == NULL || role->term_event == NULL
		|| role->room_event == NULL
		|| event_add(role->channel_event, NULL) == -1
		|| event_add(role->term_event, NULL) == -1)
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
