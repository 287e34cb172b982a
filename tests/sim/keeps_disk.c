/* keeps_disk.c - the disk with the journal and xfrdfile, in one folder; and the
 * two threads of the journal, which run in turns here. */
#include "config.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/threads.h"
#include "journal/commit.h"
#include "journal/journal.h"
#include "lib/fake_clock.h"
#include "lib/power.h"
#include "sim/keeps.h"

#define FILE_MAX (8u << 20)

/* The linker puts these in front of the real ones (--wrap). */
enum nsd_err __real_journal_open(const struct journal_options *options,
	struct diag_sink *sink, struct journal **journal);
bool __real_jobs_take(struct journal_jobs *jobs, bool wait,
	struct cds_list_head *list);
bool __real_journal_find_newest(const struct journal *journal,
	const uint8_t *apex, struct journal_entry *entry, uint64_t *octets);
enum nsd_err __wrap_journal_open(const struct journal_options *options,
	struct diag_sink *sink, struct journal **journal);
bool __wrap_jobs_take(struct journal_jobs *jobs, bool wait,
	struct cds_list_head *list);
bool __wrap_journal_find_newest(const struct journal *journal,
	const uint8_t *apex, struct journal_entry *entry, uint64_t *octets);
enum nsd_err __wrap_threads_init(struct threads *threads, unsigned max,
	void (*run)(void *arg, unsigned number), void *arg);
bool __wrap_threads_start(struct threads *threads);
void __wrap_threads_join(struct threads *threads);
void __wrap_commit_wait_room(struct commit *commit);
bool __wrap_server_find_journal(const struct server *server, char *out,
	size_t size);

static char folder[] = "/tmp/sim_keeps.XXXXXX", spare[] =
	"/tmp/sim_keeps.XXXXXX";
static char state[64];
static size_t noted;      /* operations */
static struct threads *running[2];
static int64_t at_msec;   /* the next step of the threads */

const char *
disk_folder(void)
{
	return folder;
}

const char *
disk_state(void)
{
	return state;
}

/* ---- threads of the journal ---------------------------------------------- */

enum nsd_err
__wrap_threads_init(struct threads *threads, unsigned max,
	void (*run)(void *arg, unsigned number), void *arg)
{
	*threads = (struct threads){.run = run, .arg = arg, .max = max};
	return NSD_OK;
}

bool
__wrap_threads_start(struct threads *threads)
{
	unsigned i = 0;

	while (i < 2 && running[i] != NULL)
		i++;
	if (i == 2)
		fail("more threads than two");
	running[i] = threads;
	threads->started = 1;
	return true;
}

/* Runs a thread until it has nothing to do. */
static void
thread_run(struct threads *threads)
{
	threads->run(threads->arg, 1);
}

void
__wrap_threads_join(struct threads *threads)
{
	for (unsigned i = 0; i < 2; i++) {
		if (running[i] != threads)
			continue;
		thread_run(threads);
		running[i] = NULL;
	}
}

/* A thread that would wait has had its turn. */
bool
__wrap_jobs_take(struct journal_jobs *jobs, bool wait,
	struct cds_list_head *list)
{
	bool more = __real_jobs_take(jobs, false, list);

	return wait ? !cds_list_empty(list) : more;
}

void
__wrap_commit_wait_room(struct commit *commit)
{
	for (unsigned i = 0; i < 2; i++)
		if (commit->waiting > COMMIT_WAIT)
			thread_run(running[i]);
}

void
disk_turn(void)
{
	unsigned i = below(2);

	if (fake_clock_msec < at_msec && !sim.calm)
		return;
	at_msec = fake_clock_msec + below(one_in(20) ? 1000 : 10);
	if (running[i] != NULL)
		thread_run(running[i]);
	if (sim.calm)
		disk_fail(false);
}

/* ---- the journal --------------------------------------------------------- */

bool
__wrap_server_find_journal(const struct server *server, char *out, size_t size)
{
	snprintf(out, size, "%s", folder);
	return true;
}

/* Segments are small. */
enum nsd_err
__wrap_journal_open(const struct journal_options *options,
	struct diag_sink *sink, struct journal **journal)
{
	struct journal_options small = *options;

	small.segment_size = 4096u << (fate.seed % 6);
	return __real_journal_open(&small, sink, journal);
}

/* Counts octets more than once. */
bool
__wrap_journal_find_newest(const struct journal *journal, const uint8_t *apex,
	struct journal_entry *entry, uint64_t *octets)
{
	bool found = __real_journal_find_newest(journal, apex, entry, octets);

	*octets *= found ? JOURNAL_SCALE : 1;
	return found;
}

/* ---- files --------------------------------------------------------------- */

static void
disk_empty(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir != NULL && (entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.')
			(void)unlinkat(dirfd(dir), entry->d_name, 0);
	closedir(dir);
}

static uint8_t *
disk_read(const char *path, size_t *len)
{
	static uint8_t octets[FILE_MAX];
	int fd = open(path, O_RDONLY);
	ssize_t n = fd == -1 ? -1 : read(fd, octets, sizeof(octets));

	if (n == -1 || n == sizeof(octets))
		fail("%s cannot be read", path);
	close(fd);
	*len = (size_t)n;
	return octets;
}

/* Damages octets, or cuts them. */
static void
disk_break(const char *name, uint8_t *octets, size_t *len)
{
	note("%s is damaged", name);
	sim.has_broken = true;
	if (*len == 0)
		return;
	if (one_in(3)) {
		*len = below((uint32_t)*len);
		return;
	}
	for (unsigned i = 1 + below(4); i > 0; i--)
		octets[below((uint32_t)*len)] ^= (uint8_t)(1u << below(8));
}

/* Writes a file that power.c knows, and flushes it. */
static void
disk_copy(const char *name, bool breaks)
{
	uint8_t *octets;
	char path[300];
	size_t len;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", spare, name);
	octets = disk_read(path, &len);
	if (breaks && one_in(4))
		disk_break(name, octets, &len);
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd == -1 || (len > 0 && write(fd, octets, len) != (ssize_t)len))
		fail("%s cannot be written", path);
	fsync(fd);
	close(fd);
}

static void
disk_copy_all(bool breaks)
{
	DIR *dir = opendir(spare);
	struct dirent *entry;
	int fd;

	while (dir != NULL && (entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.')
			disk_copy(entry->d_name, breaks);
	closedir(dir);
	fd = open(folder, O_RDONLY | O_DIRECTORY);
	fsync(fd);
	close(fd);
}

void
disk_begin(void)
{
	strcpy(strrchr(folder, '.'), ".XXXXXX");
	strcpy(strrchr(spare, '.'), ".XXXXXX");
	if (mkdtemp(folder) == NULL || mkdtemp(spare) == NULL)
		fail("no folder");
	snprintf(state, sizeof(state), "%s/xfrd.state", folder);
	memset(running, 0, sizeof(running));
	at_msec = 0;
	power_begin(folder);
	noted = 0;
}

void
disk_end(void)
{
	power_end();
	disk_empty(folder);
	rmdir(folder);
	rmdir(spare);
}

void
disk_note(void)
{
	noted = power_count();
}

void
disk_fail(bool wanted)
{
	static const enum power_fault faults[] = {
		POWER_NO_SPACE,
		POWER_IO_ERROR,
		POWER_SHORT,
	};

	power_fail(faults[below(3)], below(4), wanted ? 1 + below(12) : 0);
}

void
disk_restart(enum disk_end how, bool breaks)
{
	size_t count = power_count(), until = count;
	uint64_t left = POWER_ALL;

	disk_fail(false);
	if (how != DISK_STOP)
		until = noted + below((uint32_t)(count - noted) + 1);
	if (how == DISK_CUT)
		left = one_in(3) ? POWER_NOTHING : 2 + below(UINT32_MAX);
	disk_empty(spare);
	power_restore(until, left, spare);
	power_end();
	disk_empty(folder);
	power_begin(folder);
	disk_copy_all(breaks);
	disk_empty(spare);
	disk_note();
	memset(running, 0, sizeof(running));
}

int
disk_open_flushed(void)
{
	disk_empty(spare);
	power_restore(power_count(), POWER_NOTHING, spare);
	return open(spare, O_RDONLY | O_DIRECTORY);
}

void
disk_close_flushed(int dirfd)
{
	close(dirfd);
	disk_empty(spare);
}
