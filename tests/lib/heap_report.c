/* heap_report.c - how much a process of a server that is tested has taken of
 * the C library and not given back. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/platform.h"
#include "lib/heap_report.h"

static const char *report_dir;

static void
on_report(int signal)
{
	int saved = errno;
	size_t used, kept;
	char path[1024], temp[sizeof(path) + 4];
	int fd;

	(void)signal;
	snprintf(path, sizeof(path), "%s/heap.%ld", report_dir,
		(long)getpid());
	snprintf(temp, sizeof(temp), "%s.new", path);
	/* A signal handler: no call from here on allocates. */
	fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd >= 0 && platform_heap_measure(&used, &kept)) {
		dprintf(fd, "%zu %zu\n", used, kept);
		rename(temp, path);
	}
	if (fd >= 0)
		close(fd);
	errno = saved;
}

void
heap_report_init(void)
{
	struct sigaction action = {
		.sa_handler = on_report,
		.sa_flags = SA_RESTART,
	};

	report_dir = getenv("NSD_HEAP_REPORTS");
	if (report_dir != NULL)
		sigaction(SIGRTMIN + 1, &action, NULL);
}
