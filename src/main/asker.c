/* asker.c - the xfrd that has asked something of main. */
#include "config.h"

#include <assert.h>
#include <string.h>

#include "main/asker.h"
#include "main/child.h"

struct asker
asker_of(const struct child *xfrd, const struct ipc_message *m)
{
	struct asker asker = {.child = xfrd->number};

	assert(m->len >= sizeof(struct ipc_request));
	memcpy(&asker.ticket, m->payload, sizeof(asker.ticket));
	return asker;
}

void
asker_answer(struct supervisor *s, struct asker *asker, enum ipc_type request,
	void *payload, size_t len)
{
	struct child *xfrd = s->xfrd.current;
	bool waits = xfrd != NULL && xfrd->number == asker->child;

	assert(len >= sizeof(asker->ticket));
	assert(ipc_rows[request].answer != IPC_NO_ANSWER);
	asker->child = 0;
	if (!waits)
		return;
	memcpy(payload, &asker->ticket, sizeof(asker->ticket));
	(void)child_send(xfrd, (enum ipc_type)ipc_rows[request].answer,
		payload, len, NULL, 0);
	link_return(&xfrd->link, request);
}
