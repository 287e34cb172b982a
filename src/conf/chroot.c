/* chroot.c - paths inside and outside of the chroot. */
#include <stdio.h>
#include <string.h>

#include "conf/chroot.h"

const char *
conf_path_in_chroot(const char *chroot, const char *path)
{
	size_t len = chroot != NULL ? strlen(chroot) : 0;

	while (len > 0 && chroot[len - 1] == '/')
		len--;
	if (len == 0 || strncmp(path, chroot, len) != 0)
		return path;
	if (path[len] == '\0')
		return "/";
	return path[len] == '/' ? path + len : path;
}

bool
conf_path_outside_chroot(const char *chroot, const char *path,
	char outside[PATH_MAX])
{
	size_t len = 0;
	int got;

	if (chroot != NULL && path[0] == '/'
		&& conf_path_in_chroot(chroot, path) == path)
		len = strlen(chroot);
	while (len > 0 && chroot[len - 1] == '/')
		len--;
	got = snprintf(outside, PATH_MAX, "%.*s%s", (int)len,
		len > 0 ? chroot : "", path);
	return got >= 0 && got < PATH_MAX;
}
