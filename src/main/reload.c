/* reload.c - zone files that have changed are read. */
#include "config.h"

#include "main/child.h"
#include "main/reload.h"
#include "main/supervisor.h"

void
reload_begin(struct supervisor *s)
{
	if (s->reloading || s->loader.current == NULL) {
		s->reload_wanted = true;
		return;
	}
	/* The message may wait in main for a loader that does not read. */
	s->reloading = child_send(s->loader.current, IPC_RELOAD, NULL, 0, NULL,
			       0)
		== NSD_OK;
	/* The loader may be dead and not reaped yet. */
	s->reload_wanted = !s->reloading;
}
