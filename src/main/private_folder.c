/* private_folder.c - makes and removes the folder of a journal that is not to
 * outlive the server. */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "conf/chroot.h"
#include "main/private_folder.h"

void
private_folder_make(struct server *server)
{
	const struct conf_server *o = &server->conf->server;
	const char *folder = conf_path_in_chroot(server->chroot, o->xfrdir);
	size_t size = sizeof(server->private_folder);
	int len;

	if (o->xfrdfile != NULL && *o->xfrdfile != '\0')
		return;
	len = snprintf(server->private_folder, size, "%s/nsd-xfr-XXXXXX",
		*folder != '\0' ? folder : ".");
	if (len > 0 && (size_t)len < size
		&& mkdtemp(server->private_folder) != NULL)
		return;
	log_error("cannot make a folder in xfrdir %s: %s", folder,
		strerror(errno));
	server->private_folder[0] = '\0';
}

void
private_folder_remove(const struct server *server)
{
	const struct dirent *entry;
	DIR *dir = NULL;
	int fd;

	if (server->private_folder[0] == '\0')
		return;
	fd = open(server->private_folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW
		| O_CLOEXEC);
	if (fd != -1)
		dir = fdopendir(fd);
	if (dir == NULL)
		return;
	while ((entry = readdir(dir)) != NULL)
		(void)unlinkat(fd, entry->d_name, 0);
	closedir(dir);
	if (rmdir(server->private_folder) == -1)
		log_warning("cannot remove %s: %s", server->private_folder,
			strerror(errno));
}
