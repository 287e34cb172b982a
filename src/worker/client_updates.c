/* client_updates.c - UPDATEs of clients on their way to xfrd. */
#include "config.h"

#include "process/role.h"
#include "worker/client_updates.h"

void
client_updates_on_updated(struct role *role, const struct ipc_message *m)
{
	/* UPDATEs are not passed on yet. */
}
