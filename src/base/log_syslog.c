/* log_syslog.c - lines to a syslog daemon. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "base/log_syslog.h"

static int
syslog_try(const char *path, int type)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd, error;

	if (strlen(path) >= sizeof(address.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd == -1 || connect(fd, (const struct sockaddr *)&address,
			sizeof(address)) == 0)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

int
log_syslog_connect(const char *path, bool *is_stream)
{
	int fd;

	if (path == NULL)
		path = _PATH_LOG;
	*is_stream = false;
	fd = syslog_try(path, SOCK_DGRAM);
	if (fd == -1 && errno == EPROTOTYPE) {
		*is_stream = true;
		fd = syslog_try(path, SOCK_STREAM);
	}
	return fd;
}

size_t
log_syslog_print_head(char *out, size_t size, int priority,
	const char *program)
{
	time_t now = time(NULL);
	char when[32] = "Jan  1 00:00:00";
	struct tm tm;
	int len;

	if (localtime_r(&now, &tm) != NULL)
		strftime(when, sizeof(when), "%b %e %H:%M:%S", &tm);
	len = snprintf(out, size, "<%d>%s %.64s[%ld]: ", priority, when,
		program, (long)getpid());
	return len < 0 ? 0 : (size_t)len < size ? (size_t)len : size - 1;
}

bool
log_syslog_send(int fd, bool is_stream, const char *line, size_t len)
{
	/* In a stream the NUL is the end of the line. */
	return send(fd, line, len + is_stream, MSG_NOSIGNAL) >= 0;
}
