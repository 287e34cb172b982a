/*
 * verify_sockets.h - the sockets of the verify server: the worker that answers
 * from versions that are being judged (`verify:` of nsd.conf).
 */
#ifndef PROCESS_VERIFY_SOCKETS_H
#define PROCESS_VERIFY_SOCKETS_H

#include <stdint.h>

#include "base/err.h"
#include "conf/conf.h"
#include "process/sockets.h"

/*
 * Binds the addresses of the clause verify:, as sockets_open does; without
 * verify: enable none. They come behind the listeners that there are, and
 * belong to a server behind the last worker (server-count). Returns as
 * sockets_open; after a failure those before are open still.
 */
enum nsd_err verify_sockets_open(const struct conf *conf, int64_t until_msec,
	struct listeners *listeners) MUST_USE;

#endif
