/* zone_change.h - main's part when zones come and go while the server runs. The
 * loader's part is loader_zones.c. */
#ifndef PROC_ZONE_CHANGE_H
#define PROC_ZONE_CHANGE_H

#include "conf/conf.h"
#include "ipc/channel.h"

/*
 * The message ZONE_CHANGED of a loader: puts into main's configuration what it
 * has done, and only that. The next loader takes its zones from there. So a
 * zone is served for good, or was never told as added. A failure is said in the
 * log.
 */
void zone_change_keep(struct conf *conf, const struct ipc_message *m);

#endif
