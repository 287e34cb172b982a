/* xfrd_client_update.c - takes UPDATEs of clients from workers. */
#include "config.h"

#include <string.h>

#include "dns/edns.h"
#include "dns/message.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_client_update.h"

void
xfrd_client_update_take(struct xfrd *xfrd, const struct ipc_message *m)
{
	struct peer *worker = peers_find(&xfrd->role.peers, m->channel);
	struct ipc_client_updated updated = {
		.rcode = RCODE_NOTIMP,
		.ede = EDE_NONE,
	};
	const struct link_message answer = {
		.type = IPC_CLIENT_UPDATED,
		.payload = &updated,
		.len = IPC_CLIENT_UPDATED_MIN,
	};

	memcpy(&updated.ticket, m->payload, sizeof(updated.ticket));
	if (worker != NULL && link_send(&worker->link, &answer) != NSD_OK)
		link_end(&worker->link);
}
