/* xfrd_reconfig.h - xfrd has main read nsd.conf anew. */
#ifndef XFRD_XFRD_RECONFIG_H
#define XFRD_XFRD_RECONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "ipc/channel.h"

struct xfrd;

/* What came of it: lent. len: octets of its text. */
typedef void xfrd_reconfig_on_end(void *ctx,
	const struct ipc_reconfigured *what, size_t len);

/* Asks for it, after those who have asked before. on_end is called once, unless
 * this process is replaced before; without memory at once. hasty: once main has
 * the new configuration, it is over. */
void xfrd_reconfig_ask(struct xfrd *xfrd, bool hasty,
	xfrd_reconfig_on_end *on_end, void *ctx);

/* The message RECONFIGURED. */
void xfrd_reconfig_take(struct xfrd *xfrd, const struct ipc_message *m);

#endif
