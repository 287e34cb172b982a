/* dnstap_none.c - a build without dnstap. */
#include "config.h"

#include "collector/dnstap.h"

#include <unistd.h>

enum nsd_err
dnstap_open(struct role *role, struct tap_counts *counts,
	struct dnstap **dnstap)
{
	*dnstap = NULL;
	return NSD_OK;
}

void
dnstap_begin(struct dnstap *dnstap)
{
}

void
dnstap_take(struct dnstap *dnstap, const struct tap_record *record)
{
}

void
dnstap_push(struct dnstap *dnstap)
{
}

void
dnstap_on_sink(struct dnstap *dnstap, int fd, int error)
{
	if (fd != -1)
		close(fd);
}

bool
dnstap_stop(struct dnstap *dnstap, void (*on_done)(void *ctx), void *ctx)
{
	return false;
}

void
dnstap_end(struct dnstap *d)
{
}
