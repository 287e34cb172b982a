/* log_out.c - writing to one place of the log, which may have no room. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log_out.h"

/* The patience grows again by the GIVE_BACKth part of passed time. */
#define GIVE_BACK 8
/* Waits shorter than this are not worth it. */
#define WAIT_MIN_USEC 1000

/* The patience of the whole process. Threads that wait at once may take it
 * twice. */
static struct {
	int64_t patience_usec; /* -1: for ever */
	int64_t left_usec;     /* of the patience, at at_usec */
	int64_t at_usec;
} log_wait = {.patience_usec = -1};

#define GET(at) __atomic_load_n(&(at), __ATOMIC_RELAXED)
#define SET(at, value) __atomic_store_n(&(at), value, __ATOMIC_RELAXED)

void
log_out_set_patience(int patience_msec)
{
	int64_t usec = patience_msec < 0 ? -1 : patience_msec * INT64_C(1000);

	SET(log_wait.left_usec, usec);
	SET(log_wait.at_usec, clock_now_usec());
	SET(log_wait.patience_usec, usec);
}

void
log_out_own_stderr(void)
{
	struct stat st;
	int fd;

	if (fstat(STDERR_FILENO, &st) == -1 || (!S_ISFIFO(st.st_mode)
			&& isatty(STDERR_FILENO) == 0))
		return;
	/* Standard error is opened anew, not duplicated: O_NONBLOCK belongs to
	 * the open file, which the shell may share. */
	fd = open("/proc/self/fd/2",
		O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd == -1)
		return;
	(void)dup2(fd, STDERR_FILENO);
	close(fd);
}

static bool
log_out_polls(int fd, int msec)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLOUT};

	/* An error, too: writing tells which. */
	return poll(&poll_fd, 1, msec) != 0;
}

bool
log_out_wait(struct log_out *out, int fd)
{
	int64_t patience = GET(log_wait.patience_usec), now, left;
	bool room;

	if (patience == -1)
		return true;
	if (log_out_polls(fd, 0)) {
		SET(out->is_full, false);
		return true;
	}
	if (GET(out->is_full))
		return false;
	now = clock_now_usec();
	left = GET(log_wait.left_usec)
		+ (now - GET(log_wait.at_usec)) / GIVE_BACK;
	if (left > patience)
		left = patience;
	if (left < WAIT_MIN_USEC)
		return false;
	room = log_out_polls(fd, (int)(left / 1000));
	SET(log_wait.at_usec, clock_now_usec());
	SET(log_wait.left_usec, left - (GET(log_wait.at_usec) - now));
	SET(out->is_full, !room);
	return room;
}

static ssize_t
log_out_put(int fd, mode_t mode, const char *line, size_t len)
{
	int flags = MSG_NOSIGNAL;

	if (!S_ISSOCK(mode))
		return write(fd, line, len);
	if (GET(log_wait.patience_usec) != -1)
		flags |= MSG_DONTWAIT;
	return send(fd, line, len, flags);
}

bool
log_out_write(struct log_out *out, int fd, char *line, size_t len)
{
	struct stat st;
	mode_t mode = fstat(fd, &st) == 0 ? st.st_mode : S_IFREG;
	bool cut = len > PIPE_BUF && S_ISFIFO(mode);
	char last = '\n';
	ssize_t n;

	/* A file has room, or says that its disk is full. */
	if (!S_ISREG(mode) && !log_out_wait(out, fd)) {
		errno = EAGAIN;
		return false;
	}
	if (GET(out->is_cut) && log_out_put(fd, mode, "\n", 1) == 1)
		SET(out->is_cut, false);
	if (cut) {
		last = line[PIPE_BUF - 1];
		line[PIPE_BUF - 1] = '\n';
		n = log_out_put(fd, mode, line, PIPE_BUF);
		line[PIPE_BUF - 1] = last;
		return n == PIPE_BUF;
	}
	n = log_out_put(fd, mode, line, len);
	if (n > 0 && (size_t)n < len) {
		SET(out->is_cut, true);
		errno = S_ISREG(mode) ? ENOSPC : EAGAIN;
	}
	return n == (ssize_t)len;
}

void
log_out_count(struct log_out *out, int error)
{
	SET(out->error, error);
	__atomic_fetch_add(&out->lost, 1, __ATOMIC_RELAXED);
}

const char *
log_out_reason(const struct log_out *out)
{
	int error = GET(out->error);

	return error == EAGAIN || error == EPIPE ? "nobody reads it"
						 : strerror(error);
}

uint64_t
log_out_take(struct log_out *out)
{
	if (GET(out->lost) == 0)
		return 0;
	return __atomic_exchange_n(&out->lost, 0, __ATOMIC_RELAXED);
}

void
log_out_return(struct log_out *out, uint64_t lost)
{
	__atomic_fetch_add(&out->lost, lost, __ATOMIC_RELAXED);
}
