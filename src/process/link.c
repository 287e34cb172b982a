/*
 * link.c - a channel in an event loop.
 *
 * System calls, for the filter of them: recvmsg and sendmsg with
 * SCM_RIGHTS, fcntl(F_DUPFD_CLOEXEC) for descriptors that wait, close, and
 * those of libevent.
 */
#include "config.h"

#include <assert.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "process/link.h"

/* Time to the next try after one that failed for want of memory. */
#define RETRY_USEC 10000

/* A bound of messages that are read out: more than a socket holds. */
#define READ_OUT_MAX 10000u

/* A message that the other side had no room for. */
struct link_waiting {
	struct link_waiting *next;
	enum ipc_type type;
	unsigned fd_count;
	int fds[IPC_FDS_MAX];
	size_t len;
	uint8_t payload[];
};

bool
link_waits(const struct link *link)
{
	return link->first != NULL;
}

/* ---- messages that wait -------------------------------------------------- */

static void
link_free_waiting(struct link_waiting *w)
{
	for (unsigned i = 0; i < w->fd_count; i++)
		close(w->fds[i]);
	/* The payload may have had a secret. */
	explicit_bzero(w->payload, w->len);
	free(w);
}

static void
link_drop_first(struct link *link)
{
	struct link_waiting *w = link->first;

	link->first = w->next;
	if (link->first == NULL)
		link->end = &link->first;
	link->waiting--;
	link_free_waiting(w);
}

static void
link_drop_all(struct link *link)
{
	while (link->first != NULL)
		link_drop_first(link);
}

void
link_end(struct link *link)
{
	link->gone = true;
	event_del(link->read_event);
	event_del(link->retry_event);
	event_del(link->room_event);
	link_drop_all(link);
}

/* ---- taking -------------------------------------------------------------- */

static void
link_rest(struct link *link)
{
	struct timeval wait = {.tv_usec = RETRY_USEC};

	event_add(link->retry_event, &wait);
}

/* True if messages are to be taken. */
static bool
link_is_read(const struct link *link)
{
	return link->channel.fd != -1 && !link->gone
		&& !(link->answers && link_waits(link));
}

static void
link_tell_room(struct link *link)
{
	if (link->calls->on_room != NULL)
		link->calls->on_room(link);
}

/* Hands a message on, and wipes it: it may have a secret. False: the other side
 * may not send that. */
static bool
link_hand(struct link *link, struct ipc_message *m)
{
	bool allowed;

	if (m->type == IPC_CREDIT) {
		allowed = ipc_credits_add(&link->credits, m);
		if (allowed)
			link_tell_room(link);
	} else {
		allowed = ipc_credits_take(&link->credits, m->type);
		if (allowed)
			link->calls->on_message(link, m);
	}
	for (unsigned i = 0; i < m->fd_count; i++)
		close(m->fds[i]);
	explicit_bzero(m->payload, m->len);
	return allowed;
}

/* Takes the next message. False: there is none now, or the link is closed, and
 * perhaps freed. */
static bool
link_take(struct link *link)
{
	struct ipc_message m;

	switch (ipc_receive(&link->channel, &m)) {
	case NSD_OK:
		return link_hand(link, &m) || link->calls->on_refused(link);
	case NSD_E_LIMIT:
		if (link->calls->on_lost != NULL)
			return link->calls->on_lost(link);
		return link->calls->on_refused(link);
	case NSD_E_DENIED:
		return link->calls->on_refused(link);
	case NSD_E_AGAIN:
		return false;
	case NSD_E_MEMORY:
		/* Without memory the peer is not dead: tries again later. */
		event_del(link->read_event);
		link_rest(link);
		return false;
	default:
		link_end(link);
		link->calls->on_gone(link);
		return false;
	}
}

static void
link_on_read(evutil_socket_t fd, short what, void *arg)
{
	struct link *link = arg;

	for (unsigned n = 0; n < link->turn && link_is_read(link); n++)
		if (!link_take(link))
			return;
}

void
link_read_out(struct link *link)
{
	enum nsd_err err = NSD_OK;
	struct ipc_message m;

	for (unsigned n = 0; n < READ_OUT_MAX && link->channel.fd != -1
		&& !link->gone && (err == NSD_OK || err == NSD_E_DENIED); n++) {
		err = ipc_receive(&link->channel, &m);
		if (err == NSD_OK && !link_hand(link, &m))
			return;
	}
}

/* ---- sending messages that wait ------------------------------------------ */

void
link_forget(struct link *link, enum ipc_type but)
{
	struct link_waiting **at = &link->first, *w;

	while ((w = *at) != NULL) {
		if (w->type == but) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		link->waiting--;
		link_free_waiting(w);
	}
	link->end = at;
	if (!link_waits(link))
		event_del(link->room_event);
}

/* Has link_go_on called when sending is worth another try. */
static void
link_await(struct link *link, enum nsd_err err)
{
	if (err == NSD_E_MEMORY) {
		/* The socket has room: its event would come at once. */
		event_del(link->room_event);
		link_rest(link);
	} else if (event_add(link->room_event, NULL) == -1) {
		link_rest(link);
	}
}

/* True if nothing may be sent because of another link. */
static bool
link_is_held(const struct link *link)
{
	return link->behind != NULL && link_waits(link->behind);
}

/* Sends what waits, as far as there is room. False: some is left. */
static bool
link_send_waiting(struct link *link)
{
	struct link_waiting *w;

	while ((w = link->first) != NULL && !link_is_held(link)) {
		enum nsd_err err = ipc_send(&link->channel, w->type,
			w->payload, w->len, w->fds, w->fd_count);

		if (err == NSD_E_AGAIN || err == NSD_E_MEMORY) {
			link_await(link, err);
			return false;
		}
		if (err == NSD_E_PEER) {
			/* The peer's last messages are still to be taken; then
			 * it is gone. */
			link_drop_all(link);
			break;
		}
		if (err != NSD_OK)
			log_error("cannot send %s: %s",
				ipc_rows[w->type].name, err_text(err));
		link_drop_first(link);
	}
	return !link_waits(link);
}

/* Gives credits back, behind all messages that wait: a peer that does not take
 * our answers gets none. */
static void
link_give_credits(struct link *link)
{
	struct ipc_credit credit;
	enum nsd_err err;

	while (!link->gone && !link_waits(link) && !link_is_held(link)
		&& ipc_credits_next(&link->credits, &credit)) {
		err = ipc_send(&link->channel, IPC_CREDIT, &credit,
			sizeof(credit), NULL, 0);
		if (err == NSD_E_AGAIN || err == NSD_E_MEMORY)
			link_await(link, err);
		if (err != NSD_OK)
			return;
		ipc_credits_give(&link->credits, &credit);
	}
}

void
link_return(struct link *link, enum ipc_type type)
{
	if (ipc_rows[type].credits == 0)
		return;
	ipc_credits_return(&link->credits, type);
	link_give_credits(link);
}

void
link_go_on(struct link *link)
{
	bool waited = link_waits(link);

	if (link->gone)
		return;
	event_del(link->room_event);
	if (!link_send_waiting(link))
		return;
	link_give_credits(link);
	if (!waited)
		return;
	if (link_is_read(link) && event_add(link->read_event, NULL) == -1)
		link_rest(link);
	link_tell_room(link);
}

static void
link_on_room(evutil_socket_t fd, short what, void *arg)
{
	link_go_on(arg);
}

static void
link_on_retry(evutil_socket_t fd, short what, void *arg)
{
	struct link *link = arg;
	bool is_short = link->is_short;

	link->is_short = false;
	if (link_is_read(link) && event_add(link->read_event, NULL) == -1)
		link_rest(link);
	link_go_on(link);
	if (is_short)
		link_tell_room(link);
}

/* ---- sending ------------------------------------------------------------- */

static enum nsd_err
link_copy_fds(struct link_waiting *w, const struct link_message *p)
{
	for (unsigned i = 0; i < p->fd_count; i++) {
		int fd = fcntl(p->fds[i], F_DUPFD_CLOEXEC, 0);

		if (fd == -1)
			return NSD_E_MEMORY;
		w->fds[w->fd_count++] = fd;
	}
	return NSD_OK;
}

static enum nsd_err
link_copy(const struct link_message *p, struct link_waiting **copy)
{
	struct link_waiting *w = malloc(sizeof(*w) + p->len);
	enum nsd_err err;

	if (w == NULL)
		return NSD_E_MEMORY;
	w->type = p->type;
	w->fd_count = 0;
	w->len = p->len;
	if (p->len > 0)
		memcpy(w->payload, p->payload, p->len);
	err = link_copy_fds(w, p);
	if (err == NSD_OK)
		*copy = w;
	else
		link_free_waiting(w);
	return err;
}

/* True if a message makes waiting ones of its type obsolete. */
static bool
link_replaces(const struct link_message *p)
{
	return p->len == 0 || p->type == IPC_LOG;
}

/* Returns the place of the waiting message that this one replaces, or the
 * end. */
static struct link_waiting **
link_find_place(struct link *link, const struct link_message *p)
{
	struct link_waiting **at = &link->first;

	if (!link_replaces(p))
		return link->end;
	while (*at != NULL && (*at)->type != p->type)
		at = &(*at)->next;
	return at;
}

static enum nsd_err
link_put_off(struct link *link, const struct link_message *p)
{
	struct link_waiting *w, **at = link_find_place(link, p);
	enum nsd_err err;

	if (*at == NULL && link->waiting == LINK_WAITING_MAX)
		return NSD_E_LIMIT;
	err = link_copy(p, &w);
	if (err != NSD_OK)
		return err;
	w->next = *at != NULL ? (*at)->next : NULL;
	if (*at != NULL)
		link_free_waiting(*at);
	else
		link->waiting++;
	*at = w;
	if (w->next == NULL)
		link->end = &w->next;
	if (link->answers)
		event_del(link->read_event);
	return NSD_OK;
}

enum nsd_err
link_send(struct link *link, const struct link_message *p)
{
	bool first = !link_waits(link) && !link_is_held(link);
	enum nsd_err err = NSD_E_AGAIN, put_off;

	if (link->gone)
		return NSD_E_PEER;
	if (!ipc_credits_has(&link->credits, p->type))
		return NSD_E_AGAIN;
	if (first)
		err = ipc_send(&link->channel, p->type, p->payload, p->len,
			p->fds, p->fd_count);
	if (err == NSD_E_AGAIN || err == NSD_E_MEMORY) {
		put_off = link_put_off(link, p);
		if (put_off == NSD_OK && first)
			link_await(link, err);
		if (put_off == NSD_E_MEMORY) {
			link->is_short = true;
			link_rest(link);
		}
		err = put_off;
	}
	if (err == NSD_OK)
		ipc_credits_spend(&link->credits, p->type);
	return err;
}

/* ---- begin and end ------------------------------------------------------- */

bool
link_open(struct link *link, struct event_base *base)
{
	link->first = NULL;
	link->end = &link->first;
	link->waiting = 0;
	link->is_short = false;
	link->gone = false;
	ipc_credits_init(&link->credits, &link->channel);
	link->read_event = event_new(base, link->channel.fd,
		EV_READ | EV_PERSIST, link_on_read, link);
	link->room_event = event_new(base, link->channel.fd,
		EV_WRITE | EV_PERSIST, link_on_room, link);
	link->retry_event = event_new(base, -1, 0, link_on_retry, link);
	if (link->read_event == NULL || link->room_event == NULL
		|| link->retry_event == NULL
		|| event_add(link->read_event, NULL) != 0)
		return false;
	/* The loop makes room for a timer now: later there may be no memory
	 * for it, which is when it is needed. */
	link_rest(link);
	return event_del(link->retry_event) == 0;
}

void
link_close(struct link *link)
{
	struct event **events[] = {&link->read_event, &link->room_event,
		&link->retry_event};

	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++) {
		if (*events[i] != NULL)
			event_free(*events[i]);
		*events[i] = NULL;
	}
	link_drop_all(link);
	ipc_channel_close(&link->channel);
}
