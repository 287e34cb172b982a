/* xfrd_client_update.c - takes UPDATEs of clients from workers. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_client_updates.h"
#include "xfrd/xfrd_forward.h"

/* The octets of requests that are here, above which no other is taken. Credits
 * bound them, too, but each may have 64 KiB. */
#define OCTETS_MAX (64u << 20)

/* Reads a message that came in a file. Returns its octets; 0: it is not one, or
 * cannot be read. */
static size_t
update_read_file(int fd, uint8_t message[MESSAGE_MAX_LEN])
{
	struct stat st;
	ssize_t len;

	if (fstat(fd, &st) == -1 || !S_ISREG(st.st_mode)
		|| st.st_size > (off_t)MESSAGE_MAX_LEN)
		return 0;
	len = pread(fd, message, MESSAGE_MAX_LEN, 0);
	return len < 0 ? 0 : (size_t)len;
}

static struct client_update *
update_create(const struct ipc_message *m, const uint8_t *message, size_t len)
{
	const struct ipc_client_update *from
		= (const struct ipc_client_update *)m->payload;
	struct client_update *update = malloc(sizeof(*update) + len);

	if (update == NULL)
		return NULL;
	memset(update, 0, sizeof(*update));
	update->channel = m->channel;
	update->came_msec = clock_now_msec();
	memcpy(&update->ticket, &from->request.ticket, sizeof(update->ticket));
	memcpy(&update->from, from->address, sizeof(from->address));
	update->len = len;
	memcpy(update->message, message, len);
	return update;
}

/* Takes a message that repeats a request which is under way. False: it does
 * not. Without memory it gets no answer, as one whose outcome is not known: it
 * must not be carried out a second time. */
static bool
update_is_repeat(struct xfrd *xfrd, const struct ipc_message *m,
	const uint8_t *message, size_t len)
{
	const struct ipc_client_update *payload
		= (const struct ipc_client_update *)m->payload;
	struct peer *worker = peers_find(&xfrd->role.peers, m->channel);
	struct sockaddr_storage from = {.ss_family = 0};
	struct client_update *first;
	uint64_t ticket;

	memcpy(&from, payload->address, sizeof(payload->address));
	first = xfrd_client_update_repeats_find(xfrd, &from, message, len);
	if (first == NULL)
		return false;
	memcpy(&ticket, &payload->request.ticket, sizeof(ticket));
	if (xfrd_client_update_repeats_note(first, m->channel, ticket) != NSD_OK
		&& worker != NULL)
		link_return(&worker->link, IPC_CLIENT_UPDATE);
	return true;
}

/* Answers a message that no request is made of. */
static void
update_refuse(struct xfrd *xfrd, const struct ipc_message *m, enum rcode rcode,
	const char *why)
{
	struct peer *worker = peers_find(&xfrd->role.peers, m->channel);
	struct ipc_client_updated updated = {.rcode = (uint16_t)rcode,
		.ede = EDE_OTHER};
	size_t len = strlen(why);
	const struct role_answer answer = {
		.of = IPC_CLIENT_UPDATE,
		.payload = &updated,
		.len = IPC_CLIENT_UPDATED_MIN + len,
	};

	memcpy(&updated.ticket, m->payload, sizeof(updated.ticket));
	memcpy(updated.text, why, len);
	/* The credit comes first, as in xfrd_client_update_answer.c. */
	if (worker != NULL)
		link_return(&worker->link, IPC_CLIENT_UPDATE);
	role_answer_late(&xfrd->role, m->channel, &answer);
}

/* True if updates of a zone are for its primaries. */
static bool
update_is_forwarded(struct xfrd *xfrd, const uint8_t *apex)
{
	struct xfrd_options options = xfrd_options_find(xfrd, apex);
	bool is = settings_options_forward_updates(
		xfrd_options_lists(&options));

	xfrd_read_end(xfrd);
	return is;
}

void
xfrd_client_update_take(struct xfrd *xfrd, const struct ipc_message *m)
{
	const struct ipc_client_update *from
		= (const struct ipc_client_update *)m->payload;
	size_t len = m->len - IPC_CLIENT_UPDATE_MIN;
	const uint8_t *message = from->message;
	uint8_t room[MESSAGE_MAX_LEN], apex[NAME_MAX_LEN];
	struct client_update *update;

	if (m->fd_count == 1) {
		len = update_read_file(m->fds[0], room);
		message = room;
	}
	if (!xfrd_client_update_read_zone(message, len, apex)) {
		update_refuse(xfrd, m, RCODE_FORMERR, "no UPDATE of a zone");
		return;
	}
	if (update_is_repeat(xfrd, m, message, len))
		return;
	update = xfrd->updates.octets > OCTETS_MAX ? NULL
		: update_create(m, message, len);
	if (update == NULL) {
		update_refuse(xfrd, m, RCODE_SERVFAIL,
			"too many updates are under way");
		return;
	}
	memcpy(update->apex, apex, name_len(apex));
	xfrd->updates.octets += len;
	xfrd_client_update_repeats_add(xfrd, update);
	if (update_is_forwarded(xfrd, apex))
		xfrd_forward(xfrd, update);
	else
		xfrd_client_update_queue(xfrd, update);
}
