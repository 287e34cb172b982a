/* requests.c - requests of xfrd to another process, until they are answered. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "process/requests.h"

struct request {
	struct request *next;
	request_on_end *on_end;
	void *ctx;
	enum ipc_type type;
	unsigned deaths; /* of loaders that had it in hand */
	bool sent;
	bool told;       /* the log says that it could not be sent */
	int fd;          /* -1: none */
	size_t len;
	uint8_t payload[] __attribute__((aligned(8)));
};

static struct ipc_request *
request_head(struct request *one)
{
	return (struct ipc_request *)one->payload;
}

static void
request_free(struct request *one)
{
	if (one->fd != -1)
		close(one->fd);
	explicit_bzero(one->payload, one->len);
	free(one);
}

/* The most loaders that may die with a request in hand. The client of a READ
 * waits for it and can ask again: no other work is to wait behind it then. */
static unsigned
request_deaths_max(enum ipc_type type)
{
	return type == IPC_READ ? 1 : REQUEST_DEATHS_MAX;
}

/* ---- sending ------------------------------------------------------------- */

/* Sends a request. False: no more can be sent now. */
static bool
requests_send(struct requests *requests, struct request *one)
{
	const struct link_message message = {
		.type = one->type,
		.payload = one->payload,
		.len = one->len,
		.fds = &one->fd,
		.fd_count = one->fd != -1,
	};
	enum nsd_err err = link_send(requests->link, &message);

	/* The request is tried again when there is credit, memory, or another
	 * loader. */
	if (err != NSD_OK && err != NSD_E_AGAIN && err != NSD_E_PEER
		&& !one->told) {
		log_error("cannot send %s to %s: %s",
			ipc_rows[one->type].name,
			ipc_role_name(requests->link->channel.peer),
			err_text(err));
		one->told = true;
	}
	one->sent = err == NSD_OK;
	return one->sent;
}

static void
requests_step(struct requests *requests)
{
	struct request *one = requests->first;

	if (requests->link == NULL || requests->unsent == NULL)
		return;
	/* A request that a loader has died of is sent alone. All others stand
	 * behind it: they came later. */
	if (one->deaths > 0) {
		if (requests->unsent == one && requests_send(requests, one))
			requests->unsent = one->next;
		return;
	}
	for (one = requests->unsent; one != NULL; one = one->next)
		if (!one->sent && !requests_send(requests, one)
			&& !requests->any_order)
			break;
	while (requests->unsent != NULL && requests->unsent->sent)
		requests->unsent = requests->unsent->next;
}

void
requests_go_on(struct requests *requests, struct link *link)
{
	requests->link = link;
	requests_step(requests);
}

static enum nsd_err
request_create(const struct link_message *message, struct request **made)
{
	struct request *one = malloc(sizeof(*one) + message->len);

	assert(message->len >= sizeof(struct ipc_request)
		&& ipc_rows[message->type].answer != IPC_NO_ANSWER);
	if (one == NULL)
		return NSD_E_MEMORY;
	memset(one, 0, sizeof(*one));
	one->type = message->type;
	one->len = message->len;
	one->fd = -1;
	memcpy(one->payload, message->payload, message->len);
	if (message->fd_count > 0) {
		one->fd = fcntl(message->fds[0], F_DUPFD_CLOEXEC, 3);
		if (one->fd == -1) {
			free(one);
			return NSD_E_SYSTEM;
		}
	}
	*made = one;
	return NSD_OK;
}

enum nsd_err
requests_add(struct requests *requests, const struct link_message *message,
	request_on_end *on_end, void *ctx)
{
	struct request *one;
	enum nsd_err err;

	assert(message->fd_count <= 1);
	if (requests_are_full(requests))
		return NSD_E_AGAIN;
	err = request_create(message, &one);
	if (err != NSD_OK)
		return err;
	one->on_end = on_end;
	one->ctx = ctx;
	request_head(one)->ticket = ++requests->ticket;
	request_head(one)->again = 0;
	if (requests->tail == NULL)
		requests->tail = &requests->first;
	*requests->tail = one;
	requests->tail = &one->next;
	if (requests->unsent == NULL)
		requests->unsent = one;
	requests->count++;
	requests_step(requests);
	return NSD_OK;
}

/* ---- ends ---------------------------------------------------------------- */

/* Takes a request out of the list. */
static struct request *
requests_remove(struct requests *requests, struct request **at)
{
	struct request *one = *at;

	*at = one->next;
	if (requests->unsent == one)
		requests->unsent = one->next;
	if (*at == NULL)
		requests->tail = at;
	requests->count--;
	return one;
}

static void
request_end(struct request *one, const struct ipc_message *answer)
{
	one->on_end(one->ctx, answer);
	request_free(one);
}

static struct request **
requests_find(struct request **at, uint64_t ticket)
{
	while (*at != NULL && request_head(*at)->ticket != ticket)
		at = &(*at)->next;
	return at;
}

void *
requests_take_delay(struct requests *requests, uint64_t ticket,
	request_on_end *on_end)
{
	struct request **at = requests_find(&requests->first, ticket), *one;

	if (*at == NULL || !(*at)->sent) {
		log_error("refused a delay of nothing");
		return NULL;
	}
	one = requests_remove(requests, at);
	one->next = requests->late;
	requests->late = one;
	requests_step(requests);
	return one->on_end == on_end ? one->ctx : NULL;
}

/* Has the next process be asked what was late, before all else. */
static void
requests_bring_back(struct requests *requests)
{
	struct request *one;

	while ((one = requests->late) != NULL) {
		requests->late = one->next;
		one->next = requests->first;
		requests->first = one;
		if (one->next == NULL)
			requests->tail = &one->next;
		requests->count++;
	}
}

void
requests_take_answer(struct requests *requests, const struct ipc_message *m)
{
	struct request **at, *one;
	uint64_t ticket;
	bool is_late;

	assert(m->len >= sizeof(ticket));
	memcpy(&ticket, m->payload, sizeof(ticket));
	at = requests_find(&requests->late, ticket);
	is_late = *at != NULL;
	if (!is_late)
		at = requests_find(&requests->first, ticket);
	if (*at == NULL || !(*at)->sent
		|| m->from != requests->link->channel.peer
		|| ipc_rows[(*at)->type].answer != m->type) {
		log_error("refused an answer to nothing");
		return;
	}
	one = *at;
	if (is_late)
		*at = one->next;
	else
		one = requests_remove(requests, at);
	request_end(one, m);
	requests_step(requests);
}

/* Returns the place of the next request that is to be given up, or NULL. */
static struct request **
requests_find_deadly(struct requests *requests)
{
	struct request **at = &requests->first;

	while (*at != NULL && (*at)->deaths < request_deaths_max((*at)->type))
		at = &(*at)->next;
	return *at != NULL ? at : NULL;
}

void
requests_stop(struct requests *requests)
{
	const char *role = requests->link != NULL
		? ipc_role_name(requests->link->channel.peer)
		: "loader";
	struct request **at;

	requests->link = NULL;
	requests_bring_back(requests);
	requests->unsent = requests->first;
	for (struct request *one = requests->first; one != NULL;
		one = one->next) {
		if (!one->sent)
			continue;
		one->sent = false;
		request_head(one)->again = 1;
		one->deaths++;
	}
	while ((at = requests_find_deadly(requests)) != NULL) {
		log_error("%u %ss have died with %s %llu in hand: it is"
			  " given up", (*at)->deaths, role,
			ipc_rows[(*at)->type].name,
			(unsigned long long)request_head(*at)->ticket);
		request_end(requests_remove(requests, at), NULL);
	}
}
