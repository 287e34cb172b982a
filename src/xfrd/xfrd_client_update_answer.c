/* xfrd_client_update_answer.c - answers workers about UPDATEs of clients. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "xfrd/xfrd.h"
#include "xfrd/xfrd_client_updates.h"

void
xfrd_client_update_answer(struct xfrd *xfrd, struct client_update *update,
	const struct client_update_end *end)
{
	struct peer *worker = peers_find(&xfrd->role.peers, update->channel);
	size_t len = strnlen(end->why, sizeof(end->why));
	struct ipc_client_updated updated = {
		.ticket = update->ticket,
		.rcode = (uint16_t)end->rcode,
		.ede = end->ede,
	};
	const struct link_message answer = {
		.type = IPC_CLIENT_UPDATED,
		.payload = &updated,
		.len = IPC_CLIENT_UPDATED_MIN + len,
	};

	_Static_assert(CLIENT_UPDATE_WHY_MAX <= IPC_CLIENT_UPDATED_MAX,
		"a text has room");
	memcpy(updated.text, end->why, len);
	/* The credit comes first: the worker may have the next request sent
	 * when it reads the answer. */
	if (worker != NULL)
		link_return(&worker->link, IPC_CLIENT_UPDATE);
	if (worker != NULL && link_send(&worker->link, &answer) != NSD_OK)
		link_end(&worker->link);
	xfrd->updates.octets -= update->len;
	free(update);
}
