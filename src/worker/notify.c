/* notify.c - NOTIFYs on their way from a worker to xfrd. */
#include "config.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "dns/message.h"
#include "dns/name.h"
#include "worker/notify.h"

_Static_assert(sizeof(struct sockaddr_in6)
	<= sizeof(((struct ipc_notify *)0)->address), "an address fits");

/* A NOTIFY that waits for a credit. */
struct notify_waiting {
	size_t len;   /* of the payload */
	struct ipc_notify notify; /* as much of it as there is */
};

/* Octets of the message that go along. A usual NOTIFY has no more; of a longer
 * one xfrd sees the beginning, which has all that matters. */
static size_t
message_len(const struct exchange *x)
{
	return x->request_len < IPC_NOTIFY_MAX ? x->request_len
					       : IPC_NOTIFY_MAX;
}

/* Returns the octets of the payload. */
static size_t
fill_notify(struct ipc_notify *notify, const struct exchange *x)
{
	size_t len = message_len(x);

	memset(notify->address, 0, sizeof(notify->address));
	memcpy(notify->address, x->peer, x->peer->ss_family == AF_INET6
		? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
	memcpy(notify->message, x->request, len);
	return offsetof(struct ipc_notify, message) + len;
}

static enum nsd_err
send_to_xfrd(struct peers *peers, const struct ipc_notify *notify, size_t len)
{
	struct peer *xfrd = peers_find_role(peers, ROLE_XFRD);
	const struct link_message message = {
		.type = IPC_NOTIFY,
		.payload = notify,
		.len = len,
	};

	return xfrd != NULL ? link_send(&xfrd->link, &message) : NSD_E_AGAIN;
}

/* The place of a waiting NOTIFY for the same zone, or the end. The question is
 * whole: query has read it. */
static size_t
find_zone(const struct notify_queue *queue, const struct exchange *x)
{
	const uint8_t *zone = x->request + MESSAGE_HEADER_LEN;
	size_t i;

	ASSERT_HOT(x->request_len > MESSAGE_HEADER_LEN);
	for (i = 0; i < queue->count; i++)
		if (name_equal(queue->waiting[i]->notify.message
				+ MESSAGE_HEADER_LEN, zone))
			break;
	return i;
}

static bool
let_wait(struct notify_queue *queue, const struct exchange *x)
{
	size_t at = find_zone(queue, x);
	struct notify_waiting *w;

	ASSERT_HOT(queue->count <= NOTIFY_WAITING_MAX);
	if (at == NOTIFY_WAITING_MAX)
		return false;
	w = malloc(offsetof(struct notify_waiting, notify.message)
		+ message_len(x));
	if (w == NULL)
		return false;
	w->len = fill_notify(&w->notify, x);
	if (at == queue->count)
		queue->count++;
	else
		free(queue->waiting[at]);
	queue->waiting[at] = w;
	return true;
}

bool
notify_pass_on(struct notify_queue *queue, struct peers *peers,
	const struct exchange *x)
{
	struct ipc_notify notify;

	if (queue->count == 0
		&& send_to_xfrd(peers, &notify, fill_notify(&notify, x))
		== NSD_OK)
		return true;
	return let_wait(queue, x);
}

void
notify_go_on(struct notify_queue *queue, struct peers *peers)
{
	size_t sent = 0;

	while (sent < queue->count
		&& send_to_xfrd(peers, &queue->waiting[sent]->notify,
			queue->waiting[sent]->len) == NSD_OK)
		free(queue->waiting[sent++]);
	queue->count -= sent;
	memmove(queue->waiting, queue->waiting + sent,
		queue->count * sizeof(queue->waiting[0]));
}
