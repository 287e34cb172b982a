/* anchors.h - the files of trust anchors that a configuration names
 * (dnssec-verify-anchor). */
#ifndef CONF_ANCHORS_H
#define CONF_ANCHORS_H

#include "conf/conf.h"

/* Calls on_file with the path of each file that a pattern or zone names, as
 * written; more than once, if others are named in between. Linear in zones. */
void conf_walk_anchors(const struct conf *conf,
	void (*on_file)(void *ctx, const char *path), void *ctx);

#endif
