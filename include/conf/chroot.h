/* chroot.h - paths inside and outside of the chroot. */
#ifndef CONF_CHROOT_H
#define CONF_CHROOT_H

#include <limits.h>
#include <stdbool.h>

/* Strips the chroot from an absolute path. A path outside of the chroot stays
 * as it is, and so does any path without a chroot (NULL or ""). Lent as long as
 * path is. */
const char *conf_path_in_chroot(const char *chroot, const char *path);

/* Makes the path, as a process outside of the chroot sees it, of a file that
 * those inside find by this path. False: it is too long. */
bool conf_path_outside_chroot(const char *chroot, const char *path,
	char outside[PATH_MAX]);

#endif
