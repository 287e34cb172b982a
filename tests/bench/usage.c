/* usage.c - see usage.h. */
#include "config.h"

#include "usage.h"

#include <dirent.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Fields of /proc/PID/stat that stand behind the name's last ")". */
#define FIELD_USER 12
#define FIELD_SYSTEM 13

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

/* Adds the ticks of a process. False: it has ended. */
static int
add_ticks(struct usage *sum, int pid)
{
	const double tick = (double)sysconf(_SC_CLK_TCK);
	char path[64], text[1024], *at;
	unsigned field = 1;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	read_small(text, sizeof(text), path);
	at = strrchr(text, ')');
	if (at == NULL)
		return 0;
	for (at = strtok(at + 1, " "); at != NULL; at = strtok(NULL, " ")) {
		if (field == FIELD_USER)
			sum->user_sec += strtod(at, NULL) / tick;
		if (field == FIELD_SYSTEM)
			sum->system_sec += strtod(at, NULL) / tick;
		field++;
	}
	return 1;
}

static void
add_threads(struct usage *sum, int pid)
{
	char path[96 + sizeof(((struct dirent *)0)->d_name)], text[128];
	const struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (dir == NULL)
		return;
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%s/schedstat", pid,
			entry->d_name);
		read_small(text, sizeof(text), path);
		sum->run_sec += strtod(text, NULL) / 1e9;
	}
	closedir(dir);
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
		if (!add_ticks(&sum, pids[i]))
			continue;
		sum.processes++;
		add_threads(&sum, pids[i]);
		add_memory(&sum, pids[i]);
	}
	return sum;
}
