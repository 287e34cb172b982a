/* again.c - waits for addresses that those who have them may be leaving. */
#include "config.h"

#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "process/again.h"

/* Time between two tries. */
#define AGAIN_USEC 5000

bool
again_is_due(int64_t until_msec)
{
	if (errno != EADDRINUSE || clock_now_msec() >= until_msec)
		return false;
	(void)usleep(AGAIN_USEC);
	return true;
}

static enum nsd_err
again_try(const struct net_listen *listen, struct diag_sink *sink)
{
	int fd;
	enum nsd_err err = net_listen(listen, sink, &fd);

	if (err == NSD_OK)
		close(fd);
	return err;
}

enum nsd_err
again_probe(const struct net_listen *listen, int64_t until_msec,
	struct diag_sink *sink)
{
	enum nsd_err err;

	while ((err = again_try(listen, NULL)) != NSD_OK
		&& again_is_due(until_msec))
		;
	/* Once more, to say why. */
	return err == NSD_OK || sink == NULL ? err : again_try(listen, sink);
}
