/* pidfile.c - the file with main's process id. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "main/pidfile.h"

static pid_t
pidfile_read(const char *path)
{
	char text[32], *end;
	long pid;
	ssize_t n;
	/* O_NONBLOCK: a FIFO of that name does not hold us up. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd == -1) {
		if (errno != ENOENT)
			log_error("cannot read pid file %s: %s", path,
				strerror(errno));
		return 0;
	}
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return 0; /* emptied by a server that ended */
	text[n] = '\0';
	pid = strtol(text, &end, 10);
	if (pid <= 0 || pid > INT32_MAX || (*end != '\n' && *end != '\0')) {
		log_warning("pid file %s holds no pid", path);
		return 0;
	}
	return (pid_t)pid;
}

pid_t
pidfile_check(const char *path)
{
	pid_t pid = pidfile_read(path);

	/* Our own number: it is in use again. */
	if (pid == 0 || pid == getpid() || pid == getppid())
		return 0;
	if (kill(pid, 0) == 0 || errno == EPERM)
		log_warning("nsd is already running as %ld, continuing",
			(long)pid);
	else
		log_error("...stale pid file from process %ld", (long)pid);
	return pid;
}

enum nsd_err
pidfile_write(struct pidfile *pidfile, const char *path)
{
	struct fs_replace file;
	char text[32];
	int len = snprintf(text, sizeof(text), "%ld\n", (long)getpid());
	enum nsd_err err = fs_replace_open(&file, path, 0644);

	if (err != NSD_OK)
		goto fail;
	err = fs_write_all(file.fd, text, (size_t)len);
	if (err != NSD_OK) {
		fs_replace_abort(&file);
		goto fail;
	}
	err = fs_replace_commit(&file, &pidfile->fd);
	if (err != NSD_OK)
		goto fail;
	pidfile->path = path;
	return NSD_OK;
fail:
	log_error("cannot overwrite the pidfile %s: %s", path,
		err_reason(err));
	return err;
}

void
pidfile_set_path(struct pidfile *pidfile, const char *path)
{
	if (pidfile->fd != -1)
		pidfile->path = path;
}

void
pidfile_remove(struct pidfile *pidfile)
{
	struct stat ours, there;

	if (pidfile->fd == -1)
		return;
	if (ftruncate(pidfile->fd, 0) == -1)
		log_error("cannot empty pid file %s: %s", pidfile->path,
			strerror(errno));
	/* Another server may have put its own file there. */
	if (fstat(pidfile->fd, &ours) == 0
		&& lstat(pidfile->path, &there) == 0
		&& ours.st_ino == there.st_ino && ours.st_dev == there.st_dev
		&& unlink(pidfile->path) == -1 && errno != EACCES
		&& errno != EPERM && errno != EROFS)
		log_error("cannot remove pid file %s: %s", pidfile->path,
			strerror(errno));
	close(pidfile->fd);
	pidfile->fd = -1;
}
