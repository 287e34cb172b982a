/* xfrd_client_update_answer.c - answers workers about UPDATEs of clients. */
#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "xfrd/xfrd.h"
#include "xfrd/xfrd_client_updates.h"

static void
answer_send(struct xfrd *xfrd, uint64_t channel,
	const struct role_answer *answer)
{
	struct peer *worker = peers_find(&xfrd->role.peers, channel);

	/* The credit comes first: the worker may have the next request sent
	 * when it reads the answer. */
	if (worker != NULL)
		link_return(&worker->link, IPC_CLIENT_UPDATE);
	role_answer_late(&xfrd->role, channel, answer);
}

/* Answers a request and its repeats, and frees it. len: octets of the text. */
static void
answer_all(struct xfrd *xfrd, struct client_update *update,
	struct ipc_client_updated *updated, size_t len)
{
	const struct role_answer answer = {
		.of = IPC_CLIENT_UPDATE,
		.payload = updated,
		.len = IPC_CLIENT_UPDATED_MIN + len,
	};
	uint64_t channel = update->channel;

	updated->ticket = update->ticket;
	do
		answer_send(xfrd, channel, &answer);
	while (xfrd_client_update_repeats_take(update, &channel,
		&updated->ticket));
	xfrd->updates.octets -= update->len;
	cds_list_del(&update->id_node);
	free(update);
}

void
xfrd_client_update_answer(struct xfrd *xfrd, struct client_update *update,
	const struct client_update_end *end)
{
	size_t len = strnlen(end->why, sizeof(end->why));
	struct ipc_client_updated updated = {
		.rcode = (uint16_t)end->rcode,
		.ede = end->ede,
	};

	_Static_assert(CLIENT_UPDATE_WHY_MAX <= IPC_CLIENT_UPDATED_MAX,
		"a text has room");
	memcpy(updated.text, end->why, len);
	answer_all(xfrd, update, &updated, len);
}

void
xfrd_client_update_pass_back(struct xfrd *xfrd, struct client_update *update,
	const uint8_t *message, size_t len)
{
	struct ipc_client_updated updated = {.is_reply = 1};

	assert(len <= sizeof(updated.text));
	memcpy(updated.text, message, len);
	answer_all(xfrd, update, &updated, len);
}
