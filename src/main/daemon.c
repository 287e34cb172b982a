/* daemon.c - going into the background, once it is known that all is well. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "main/daemon.h"

static void
daemon_wait(int fd)
{
	char octet;
	ssize_t n;

	do
		n = read(fd, &octet, 1);
	while (n == -1 && errno == EINTR);
	_exit(n == 1 ? 0 : 1);
}

enum nsd_err
daemon_start(struct daemon_start *start, bool foreground)
{
	int fds[2];
	pid_t pid;

	start->ready_fd = -1;
	if (foreground)
		return NSD_OK;
	start->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (start->null_fd == -1 || pipe2(fds, O_CLOEXEC) == -1
		|| (pid = fork()) == -1) {
		log_error("cannot go into the background: %s",
			strerror(errno));
		return NSD_E_SYSTEM;
	}
	if (pid > 0) {
		close(fds[1]);
		daemon_wait(fds[0]);
	}
	close(fds[0]);
	start->ready_fd = fds[1];
	setsid();
	return NSD_OK;
}

void
daemon_leave(struct daemon_start *start)
{
	if (start->ready_fd == -1)
		return;
	for (int fd = 0; fd <= 2; fd++)
		(void)dup2(start->null_fd, fd);
	close(start->null_fd);
	close(start->ready_fd);
	start->ready_fd = -1;
}

void
daemon_ready(struct daemon_start *start)
{
	if (start->ready_fd != -1 && write(start->ready_fd, "", 1) != 1)
		log_error("the starting process is gone");
	daemon_leave(start);
}
