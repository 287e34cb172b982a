/* anchors_check.h - looks at files of trust anchors at a start and at a
 * reconfig, to tell of faults; the loader reads them when they count. */
#ifndef MAIN_ANCHORS_CHECK_H
#define MAIN_ANCHORS_CHECK_H

#include "base/diag.h"
#include "conf/conf.h"

/* Reads each file of trust anchors of a configuration with its zones. chroot:
 * of this process, or NULL; to_be: is entered later, or NULL. The sink gets
 * the faults, as warnings: the server runs without, and refuses what they would
 * have judged. */
void anchors_check(const struct conf *conf, const char *chroot,
	const char *to_be, struct diag_sink *sink);

#endif
