/* again.h - waits for addresses that those who have them may be leaving. */
#ifndef PROCESS_AGAIN_H
#define PROCESS_AGAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "net/socket.h"

/* To be called when a try has failed, with its errno: true if the address is in
 * use and there is time for another try until_msec (clock.h), after a little
 * wait. */
bool again_is_due(int64_t until_msec) MUST_USE;

/* Opens the socket for a moment, and tries until until_msec. returns as
 * net_listen, with errno. */
enum nsd_err again_probe(const struct net_listen *listen, int64_t until_msec,
	struct diag_sink *sink) MUST_USE;

#endif
