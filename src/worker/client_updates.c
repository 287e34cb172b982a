/*
 * client_updates.c - UPDATEs of clients on their way to xfrd, and back.
 *
 * System calls that the sandbox must allow: memfd_create, write and close, for
 * a request that a message between processes has no room for.
 */
#include "config.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "dns/edns.h"
#include "dns/message.h"
#include "worker/client_updates.h"

_Static_assert(sizeof(struct sockaddr_in6)
	<= sizeof(((struct ipc_client_update *)0)->address), "an address fits");

/* An UPDATE that is not answered yet. */
struct pending_update {
	struct cds_list_head by_order; /* in waiting, or in sent */
	uint64_t ticket;
	uint64_t channel; /* to the xfrd that has it; 0: it waits */
	uint64_t came_sec;  /* since 1970 */
	uint64_t came_msec; /* of clock_coarse_msec */
	struct net_later *later; /* NULL: not known yet, or no memory */
	struct sockaddr_storage peer;
	struct sockaddr_storage proxy; /* AF_UNSPEC: none */
	enum exchange_transport transport;
	uint16_t idle_100ms;
	uint32_t capacity; /* of the reply */
	struct tap_record record; /* of the reply; no parts: none is written */
	uint32_t len;
	uint8_t request[];
};

static void
updates_init(struct client_updates *updates)
{
	if (updates->is_ready)
		return;
	CDS_INIT_LIST_HEAD(&updates->waiting);
	CDS_INIT_LIST_HEAD(&updates->sent);
	updates->is_ready = true;
}

static socklen_t
address_len(const struct sockaddr *address)
{
	return address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					      : sizeof(struct sockaddr_in);
}

/* ---- the table ----------------------------------------------------------- */

static struct pending_update **
pending_slot(struct client_updates *updates, uint64_t ticket)
{
	return &updates->slots[ticket % CLIENT_UPDATES_MAX];
}

/* Gives an UPDATE its ticket. There is a free slot. */
static void
pending_add(struct client_updates *updates, struct pending_update *u)
{
	ASSERT_HOT(updates->count < CLIENT_UPDATES_MAX);
	do
		u->ticket = ++updates->ticket;
	while (*pending_slot(updates, u->ticket) != NULL);
	*pending_slot(updates, u->ticket) = u;
	updates->count++;
	updates->octets += u->len;
}

/* NULL: the UPDATE was given up. */
static struct pending_update *
pending_find(struct client_updates *updates, uint64_t ticket)
{
	struct pending_update *u = *pending_slot(updates, ticket);

	return u != NULL && u->ticket == ticket ? u : NULL;
}

static void
pending_remove(struct client_updates *updates, struct pending_update *u)
{
	*pending_slot(updates, u->ticket) = NULL;
	updates->count--;
	updates->octets -= u->len;
	cds_list_del(&u->by_order);
	free(u);
}

/* ---- replies ------------------------------------------------------------- */

/* Makes the reply that tells an outcome. Returns its length; 0: none. */
static size_t
reply_make(struct client_updates *updates, const struct pending_update *u,
	const struct query_outcome *outcome)
{
	struct exchange x = {
		.request = u->request,
		.request_len = u->len,
		.reply = updates->reply,
		.reply_capacity = u->capacity,
		.transport = u->transport,
		.seen = EXCHANGE_ANSWERED,
		.idle_100ms = u->idle_100ms,
		.peer = &u->peer,
		.proxy = u->proxy.ss_family != AF_UNSPEC
			? (const struct sockaddr *)&u->proxy : NULL,
	};

	query_set_time(updates->query, u->came_sec, clock_coarse_sec());
	store_reader_online(updates->reader);
	query_answer_update(updates->query, store_reader_view(updates->reader),
		&x, outcome);
	store_reader_offline(updates->reader);
	return x.reply_len;
}

static void
pending_send_reply(struct client_updates *updates, struct pending_update *u,
	const uint8_t *reply, size_t len)
{
	if (u->record.parts != 0)
		worker_tap_write_later(updates->tap, &u->record, reply, len);
	net_later_send(u->later, reply, len);
}

/* Ends an UPDATE whose outcome is known. */
static void
pending_answer(struct client_updates *updates, struct pending_update *u,
	const struct query_outcome *outcome)
{
	size_t len = net_later_is_wanted(u->later)
		? reply_make(updates, u, outcome) : 0;

	if (len > 0)
		pending_send_reply(updates, u, updates->reply, len);
	else
		net_later_drop(u->later, true);
	pending_remove(updates, u);
}

/* Ends an UPDATE whose outcome is not known. */
static void
pending_forget(struct client_updates *updates, struct pending_update *u)
{
	net_later_drop(u->later, true);
	pending_remove(updates, u);
}

/* Sends the reply of a primary as it is. */
static void
pending_relay(struct client_updates *updates, struct pending_update *u,
	const uint8_t *reply, size_t len)
{
	if (len < MESSAGE_HEADER_LEN || len > u->capacity
		|| message_get_id(reply) != message_get_id(u->request)) {
		pending_forget(updates, u);
		return;
	}
	updates->counters->update_rcode[message_get_rcode(reply)]++;
	pending_send_reply(updates, u, reply, len);
	pending_remove(updates, u);
}

void
client_updates_on_updated(struct client_updates *updates,
	const struct ipc_message *m)
{
	struct ipc_client_updated updated;
	char text[IPC_CLIENT_UPDATED_MAX + 1] = "";
	size_t len = m->len - IPC_CLIENT_UPDATED_MIN;
	struct query_outcome outcome;
	struct pending_update *u;

	memcpy(&updated, m->payload, m->len);
	u = pending_find(updates, updated.ticket);
	if (u == NULL || u->channel != m->channel)
		return;
	if (updated.is_reply != 0) {
		pending_relay(updates, u, updated.text, len);
		return;
	}
	memcpy(text, updated.text, len);
	outcome = (struct query_outcome){
		.rcode = updated.rcode & MESSAGE_RCODE_MASK,
		.ede = updated.ede,
		.text = len > 0 ? text : NULL,
	};
	pending_answer(updates, u, &outcome);
}

/* ---- to xfrd ------------------------------------------------------------- */

/* Writes a long request to a file in memory; -1: the system refuses. */
static int
file_make(const struct pending_update *u)
{
	int fd = memfd_create("nsd-update", MFD_CLOEXEC);

	if (fd != -1 && write(fd, u->request, u->len) != (ssize_t)u->len) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Sends an UPDATE to xfrd. False: there is no xfrd, no credit or no memory, so
 * it goes on waiting. */
static bool
pending_send(struct client_updates *updates, struct pending_update *u)
{
	struct peer *xfrd = peers_find_role(updates->peers, ROLE_XFRD);
	bool is_long = u->len > IPC_CLIENT_UPDATE_MAX;
	struct ipc_client_update payload;
	int fd = -1;
	struct link_message message = {
		.type = IPC_CLIENT_UPDATE,
		.payload = &payload,
		.len = IPC_CLIENT_UPDATE_MIN + (is_long ? 0 : u->len),
		.fds = &fd,
		.fd_count = is_long,
	};
	enum nsd_err err;

	if (xfrd == NULL)
		return false;
	memset(&payload, 0, offsetof(struct ipc_client_update, message));
	payload.request.ticket = u->ticket;
	memcpy(payload.address, &u->peer,
		address_len((const struct sockaddr *)&u->peer));
	if (is_long)
		fd = file_make(u);
	else
		memcpy(payload.message, u->request, u->len);
	if (is_long && fd == -1)
		return false;
	err = link_send(&xfrd->link, &message);
	if (fd != -1)
		close(fd);
	if (err != NSD_OK)
		return false;
	u->channel = xfrd->link.channel.id;
	cds_list_del(&u->by_order);
	cds_list_add_tail(&u->by_order, &updates->sent);
	return true;
}

void
client_updates_go_on(struct client_updates *updates)
{
	struct pending_update *u;

	updates_init(updates);
	do
		u = list_first_or_null(&updates->waiting, struct pending_update,
			by_order);
	while (u != NULL && pending_send(updates, u));
}

void
client_updates_on_gone(struct client_updates *updates, uint64_t channel)
{
	struct pending_update *u, *next;

	updates_init(updates);
	cds_list_for_each_entry_safe(u, next, &updates->sent, by_order)
		if (u->channel == channel)
			pending_forget(updates, u);
	/* The successor may be there already. */
	client_updates_go_on(updates);
}

/* ---- requests ------------------------------------------------------------ */

/* NULL: there is no memory, or no room. */
static struct pending_update *
pending_create(struct client_updates *updates, const struct exchange *x,
	const struct client_updates_now *now)
{
	struct pending_update *u;

	if (updates->count >= CLIENT_UPDATES_MAX
		|| updates->octets + x->request_len > CLIENT_UPDATES_OCTETS)
		return NULL;
	u = malloc(sizeof(*u) + x->request_len);
	if (u == NULL)
		return NULL;
	memset(u, 0, sizeof(*u));
	u->came_sec = now->sec;
	u->came_msec = now->msec;
	memcpy(&u->peer, x->peer,
		address_len((const struct sockaddr *)x->peer));
	if (x->proxy != NULL)
		memcpy(&u->proxy, x->proxy, address_len(x->proxy));
	u->transport = x->transport;
	u->idle_100ms = x->idle_100ms;
	u->capacity = x->reply_capacity;
	u->len = x->request_len;
	memcpy(u->request, x->request, x->request_len);
	pending_add(updates, u);
	cds_list_add_tail(&u->by_order, &updates->waiting);
	return u;
}

static void
refuse_for_room(struct client_updates *updates, struct exchange *x)
{
	static const struct query_outcome outcome = {
		.rcode = RCODE_SERVFAIL,
		.ede = EDE_OTHER,
		.text = "Too many updates wait",
	};

	updates->missed++;
	x->reply_len = 0;
	if (x->transport == TRANSPORT_UDP)
		return;
	store_reader_online(updates->reader);
	query_answer_update(updates->query, store_reader_view(updates->reader),
		x, &outcome);
	store_reader_offline(updates->reader);
}

void
client_updates_take(struct client_updates *updates, struct exchange *x,
	const struct client_updates_now *now)
{
	struct pending_update *u;

	updates_init(updates);
	u = pending_create(updates, x, now);
	if (u == NULL)
		refuse_for_room(updates, x);
	x->pass_on = u == NULL;
	x->later = u;
	if (u != NULL)
		client_updates_go_on(updates);
}

void
client_updates_note(void *later, const struct tap_record *record)
{
	struct pending_update *u = later;

	u->record = *record;
	u->record.query = u->request;
}

void
client_updates_on_later(struct client_updates *updates, void *later,
	struct net_later *reply)
{
	struct pending_update *u = later;

	ASSERT_HOT(pending_find(updates, u->ticket) == u && u->later == NULL);
	u->later = reply;
}

void
client_updates_on_time(struct client_updates *updates, uint64_t now_msec)
{
	static const struct query_outcome outcome = {
		.rcode = RCODE_SERVFAIL,
		.ede = EDE_OTHER,
		.text = "The update has waited for too long; it is not made",
	};
	struct pending_update *u;

	updates_init(updates);
	if (updates->missed > 0)
		log_warning("%llu updates were not taken: too many wait",
			(unsigned long long)updates->missed);
	updates->missed = 0;
	while ((u = list_first_or_null(&updates->waiting, struct pending_update,
			by_order)) != NULL
		&& u->came_msec + CLIENT_UPDATES_MSEC <= now_msec)
		pending_answer(updates, u, &outcome);
	while ((u = list_first_or_null(&updates->sent, struct pending_update,
			by_order)) != NULL
		&& u->came_msec + CLIENT_UPDATES_MSEC <= now_msec)
		pending_forget(updates, u);
}
