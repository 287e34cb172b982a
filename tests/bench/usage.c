/* usage.c - see usage.h. */
#include "config.h"

#include "usage.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A field of /proc/PID/stat, from the name's last ")" on. */
#define FIELD_USER 12

size_t
usage_parse_pids(const char *text, int *pids, size_t max)
{
	size_t count = 0;
	char *end;

	for (const char *at = text; *at != '\0'; at = end + (*end == ',')) {
		long pid = strtol(at, &end, 10);

		if (end == at || pid <= 0 || (*end != '\0' && *end != ','))
			errx(1, "%s: not a list of process ids", text);
		if (count == max)
			errx(1, "more than %zu processes", max);
		pids[count++] = (int)pid;
	}
	return count;
}

/* Reads a file of /proc; an empty string if it is not there. */
static void
read_small(char *into, size_t size, const char *path)
{
	FILE *f = fopen(path, "r");
	size_t got = 0;

	if (f != NULL) {
		got = fread(into, 1, size - 1, f);
		fclose(f);
	}
	into[got] = '\0';
}

/* Reads the time in user mode, in ticks. False: the process has ended. */
static int
read_user(double *sec, int pid)
{
	const double tick = (double)sysconf(_SC_CLK_TCK);
	char path[64], text[1024], *at;
	unsigned field = 1;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	read_small(text, sizeof(text), path);
	at = strrchr(text, ')');
	if (at == NULL)
		return 0;
	for (at = strtok(at + 1, " "); at != NULL; at = strtok(NULL, " "))
		if (field++ == FIELD_USER)
			*sec = strtod(at, NULL) / tick;
	return 1;
}

/* Adds the time of a process, also of threads that have ended. The clock of all
 * is exact, and what is not of user mode is the kernel's. */
static int
add_time(struct usage *sum, int pid)
{
	struct timespec all;
	clockid_t clock;
	double user = 0;

	if (!read_user(&user, pid) || clock_getcpuclockid(pid, &clock) != 0
		|| clock_gettime(clock, &all) != 0)
		return 0;
	sum->user_sec += user;
	sum->system_sec += (double)all.tv_sec + (double)all.tv_nsec / 1e9
		- user;
	return 1;
}

static void
add_memory(struct usage *sum, int pid)
{
	char path[64], text[4096], *at;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", pid);
	read_small(text, sizeof(text), path);
	at = strstr(text, "\nPss:");
	if (at != NULL)
		sum->pss_kib += strtoull(at + strlen("\nPss:"), NULL, 10);
}

struct usage
usage_read(const int *pids, size_t count)
{
	struct usage sum = { .processes = 0 };

	for (size_t i = 0; i < count; i++) {
		if (!add_time(&sum, pids[i]))
			continue;
		sum.processes++;
		add_memory(&sum, pids[i]);
	}
	return sum;
}
