/* systemd.c - messages to the service manager, see sd_notify(3). */
#include "config.h"

#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "main/systemd.h"

/* The manager's own limit for a start is 90 s. Reading large zones takes
 * longer, so it is told now and then to wait on. */
#define STILL_LOADING_MSEC 10000
#define STILL_LOADING_USEC "60000000"
/* The number of messages within the time that the manager waits, as
 * sd_watchdog_enabled(3) advises. */
#define WATCHDOG_DIVISOR 2
#define WATCH_MSEC_LEAST 10

/* Returns the length of the socket's address, 0 if the text is none. "@" begins
 * a name without a file. */
static socklen_t
systemd_address(const char *text, struct sockaddr_un *address)
{
	size_t len = strlen(text);

	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	if ((text[0] != '/' && text[0] != '@') || len < 2
		|| len >= sizeof(address->sun_path))
		return 0;
	memcpy(address->sun_path, text, len);
	if (text[0] == '@')
		address->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
}

static int
systemd_connect(const char *text)
{
	struct sockaddr_un address;
	socklen_t len = systemd_address(text, &address);
	int fd = -1;

	errno = EINVAL;
	if (len > 0)
		fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			0);
	if (fd != -1
		&& connect(fd, (struct sockaddr *)&address, len) == 0)
		return fd;
	log_warning("cannot tell the service manager: %s: %s", text,
		strerror(errno));
	if (fd != -1)
		close(fd);
	return -1;
}

/* Returns the period of messages that we live, in milliseconds; 0: none are
 * wanted. */
static uint32_t
systemd_read_watchdog(void)
{
	const char *usec = getenv("WATCHDOG_USEC");
	const char *pid = getenv("WATCHDOG_PID");
	unsigned long long wanted;

	if (usec == NULL || (pid != NULL && atol(pid) != (long)getpid()))
		return 0;
	wanted = strtoull(usec, NULL, 10) / 1000 / WATCHDOG_DIVISOR;
	if (strtoull(usec, NULL, 10) == 0 || wanted > UINT32_MAX)
		return 0;
	return wanted < WATCH_MSEC_LEAST ? WATCH_MSEC_LEAST
					 : (uint32_t)wanted;
}

void
systemd_open(struct systemd *systemd)
{
	const char *text = getenv("NOTIFY_SOCKET");

	*systemd = (struct systemd){.fd = -1, .loading = true};
	if (text != NULL && *text != '\0') {
		systemd->fd = systemd_connect(text);
		systemd->watch_msec = systemd_read_watchdog();
	}
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
}

static void __attribute__((format(printf, 2, 3)))
systemd_tell(const struct systemd *systemd, const char *form, ...)
{
	char text[512];
	va_list args;
	int len;

	if (systemd->fd == -1)
		return;
	va_start(args, form);
	len = vsnprintf(text, sizeof(text), form, args);
	va_end(args);
	/* A full queue, or a manager that has gone: the next word may pass. */
	if (len > 0 && (size_t)len < sizeof(text))
		(void)send(systemd->fd, text, (size_t)len, MSG_NOSIGNAL);
}

static void
systemd_on_timer(evutil_socket_t fd, short what, void *arg)
{
	const struct systemd *systemd = arg;

	if (systemd->watch_msec > 0)
		systemd_tell(systemd, "WATCHDOG=1");
	if (systemd->loading)
		systemd_tell(systemd,
			"EXTEND_TIMEOUT_USEC=" STILL_LOADING_USEC);
}

enum nsd_err
systemd_watch(struct systemd *systemd, struct event_base *base)
{
	uint32_t msec = systemd->watch_msec;
	struct timeval period;

	if (systemd->fd == -1)
		return NSD_OK;
	if (msec == 0 || msec > STILL_LOADING_MSEC)
		msec = STILL_LOADING_MSEC;
	period.tv_sec = (time_t)(msec / 1000);
	period.tv_usec = (suseconds_t)(msec % 1000 * 1000);
	systemd->timer = event_new(base, -1, EV_PERSIST, systemd_on_timer,
		systemd);
	if (systemd->timer == NULL || event_add(systemd->timer, &period) == -1)
		return NSD_E_MEMORY;
	systemd_tell(systemd, "STATUS=reading zones\n"
		"EXTEND_TIMEOUT_USEC=" STILL_LOADING_USEC);
	return NSD_OK;
}

void
systemd_leave(struct systemd *systemd)
{
	if (systemd->fd != -1)
		close(systemd->fd);
	systemd->fd = -1;
}

void
systemd_ready(struct systemd *systemd, uint64_t zones, uint64_t failed)
{
	systemd->ready = true;
	systemd->loading = false;
	systemd_tell(systemd,
		"READY=1\nMAINPID=%ld\nSTATUS=%" PRIu64 " zones, %" PRIu64
		" of them could not be read from their files", (long)getpid(),
		zones, failed);
}

/* The time in the message tells the manager that this answers its latest
 * signal, and not the one before. */
void
systemd_reloading(struct systemd *systemd)
{
	if (!systemd->ready)
		return;
	systemd->loading = true;
	systemd_tell(systemd, "RELOADING=1\nMONOTONIC_USEC=%" PRId64
		"\nSTATUS=reading zones", clock_now_usec());
}

void
systemd_reloaded(struct systemd *systemd)
{
	if (!systemd->ready)
		return;
	systemd->loading = false;
	systemd_tell(systemd, "READY=1");
}

void
systemd_stopping(struct systemd *systemd)
{
	systemd_tell(systemd, "STOPPING=1\nSTATUS=stopping");
}
