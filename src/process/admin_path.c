/* admin_path.c - UNIX sockets for operators. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "conf/chroot.h"
#include "process/admin_listeners.h"
#include "process/again.h"

/* Read and write for the owner and the group. */
#define SOCKET_MODE_MASK 0117

static void
path_fail(const struct admin_params *params, const char *path, const char *why)
{
	diag_emit(params->terms.sink, DIAG_ERROR, NULL, 0, 0,
		"%s: can't bind socket %s: %s", params->option, path, why);
}

/* True if no process listens there. Whatever else a connection fails with may
 * be the socket of a living process: one of datagrams (EPROTOTYPE), or one that
 * is not for us (EACCES). */
static bool
path_is_abandoned(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
		0);
	bool abandoned = fd != -1
		&& connect(fd, (const struct sockaddr *)address,
			   sizeof(*address)) == -1
		&& (errno == ECONNREFUSED || errno == ENOENT);

	if (fd != -1)
		close(fd);
	return abandoned;
}

/* Removes the socket that a former server has left. Nothing else is removed. */
static bool
path_clear(const struct sockaddr_un *address)
{
	struct stat st;

	if (lstat(address->sun_path, &st) == -1)
		return errno == ENOENT;
	if (!S_ISSOCK(st.st_mode)) {
		errno = EEXIST;
		return false;
	}
	if (!path_is_abandoned(address)) {
		errno = EADDRINUSE;
		return false;
	}
	return unlink(address->sun_path) == 0 || errno == ENOENT;
}

static int
path_bind(const struct sockaddr_un *address, const struct admin_terms *terms)
{
	const struct privilege_user *user = terms->user;
	int fd, error;
	mode_t mask;
	bool done;

	if (!path_clear(address))
		return -1;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd == -1)
		return -1;
	mask = umask(SOCKET_MODE_MASK);
	done = bind(fd, (const struct sockaddr *)address, sizeof(*address))
		== 0;
	umask(mask);
	if (done && !admin_files_add(terms->made, fd, address->sun_path)) {
		error = errno;
		(void)unlink(address->sun_path);
		errno = error;
		done = false;
	}
	/* lchown: not by way of a link that was put there. */
	if (done && user != NULL && user->change)
		done = lchown(address->sun_path, user->uid, user->gid) == 0;
	if (done)
		done = listen(fd, ADMIN_BACKLOG) == 0;
	if (done)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

/* The path as this process sees it. NULL: it lies outside of the chroot. */
static const char *
path_find_inside(const char *chroot, const char *path)
{
	const char *inside = conf_path_in_chroot(chroot, path);

	if (chroot == NULL || inside != path
		|| chroot[strspn(chroot, "/")] == '\0')
		return inside;
	return NULL;
}

/* Duplicates the descriptor of an open socket with this path; -1: there is
 * none, or its file was removed or replaced. A socket that was bound before the
 * chroot has the whole path. */
static int
path_find_open(const struct admin_terms *terms, const char *path,
	const char *inside)
{
	const struct admin_listeners *there = terms->there;

	for (unsigned i = 0; there != NULL && i < there->count; i++) {
		struct sockaddr_un own = {.sun_family = AF_UNSPEC};
		socklen_t len = sizeof(own);
		int fd = there->fds[i];

		if (getsockname(fd, (struct sockaddr *)&own, &len) == -1
			|| own.sun_family != AF_UNIX)
			continue;
		if (strcmp(own.sun_path, path) != 0
			&& (inside == NULL
				|| strcmp(own.sun_path, inside) != 0))
			continue;
		if (inside == NULL
			|| admin_files_has(terms->known, fd, inside))
			return fcntl(fd, F_DUPFD_CLOEXEC, 0);
	}
	return -1;
}

enum nsd_err
admin_path_open(const struct admin_params *params, const char *path, int *fd)
{
	const struct admin_terms *terms = &params->terms;
	const char *inside = path_find_inside(terms->chroot, path);
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	*fd = path_find_open(terms, path, inside);
	if (*fd != -1)
		return NSD_OK;
	if (inside == NULL) {
		path_fail(params, path, "it lies outside of the chroot");
		return NSD_E_SYSTEM;
	}
	if (strlen(inside) >= sizeof(address.sun_path)) {
		path_fail(params, path, "it is too long");
		return NSD_E_SYNTAX;
	}
	strcpy(address.sun_path, inside);
	while ((*fd = path_bind(&address, terms)) == -1
		&& again_is_due(terms->until_msec))
		;
	if (*fd != -1)
		return NSD_OK;
	path_fail(params, path, strerror(errno));
	return NSD_E_SYSTEM;
}
