/* changes_disk.c - the disk with the zone list, and who flushes it. */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl/syncer.h"
#include "lib/fake_clock.h"
#include "lib/power.h"
#include "sim/changes.h"

/* As that of ctl/syncer.c, with its thread played. */
struct syncer {
	syncer_on_done *on_done;
	void *ctx;
	uint64_t asked, done;
	int fd, folder;  /* of the latest that was asked for */
	uint64_t number; /* flush under way: */
	int run_fd, run_folder;
	int error;
	bool runs, is_flushed;
	int64_t at_msec; /* the next step */
};

static struct syncer syncer;
static char folder[] = "/tmp/sim_changes.XXXXXX", spare[] =
	"/tmp/sim_changes.XXXXXX";
static char list[64];
static size_t noted;   /* operations */

const char *
disk_list(void)
{
	return list;
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

/* Writes a file that power.c knows, and flushes it. */
static void
disk_copy(const char *name)
{
	char path[128], octets[65536];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", spare, name);
	fd = open(path, O_RDONLY);
	len = fd == -1 ? -1 : read(fd, octets, sizeof(octets));
	if (len == -1 || len == sizeof(octets))
		fail("%s cannot be read", path);
	close(fd);
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd == -1 || write(fd, octets, (size_t)len) != len)
		fail("%s cannot be written", path);
	fsync(fd);
	close(fd);
}

static void
disk_copy_all(void)
{
	DIR *dir = opendir(spare);
	struct dirent *entry;
	int fd;

	while (dir != NULL && (entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.')
			disk_copy(entry->d_name);
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
	snprintf(list, sizeof(list), "%s/zone.list", folder);
	power_begin(folder);
	/* The zone list has lines that are overwritten in a sector each. */
	power_in_order(true);
	noted = 0;
}

/* Flushes all that was written. */
void
disk_settle(void)
{
	int fd = open(list, O_RDWR), dir = open(folder, O_RDONLY | O_DIRECTORY);

	if (fd != -1) {
		fsync(fd);
		close(fd);
	}
	fsync(dir);
	close(dir);
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
	if (wanted)
		model_doubt();
}

/* Leaves the disk as it was at some moment since disk_note. */
void
disk_die(bool is_cut)
{
	size_t count = power_count();
	size_t until = noted + below((uint32_t)(count - noted) + 1);
	uint64_t left = POWER_ALL;

	disk_fail(false);
	if (is_cut)
		left = one_in(3) ? POWER_NOTHING : 2 + below(UINT32_MAX);
	disk_empty(spare);
	power_restore(until, left, spare);
	power_end();
	disk_empty(folder);
	power_begin(folder);
	disk_copy_all();
	disk_empty(spare);
	disk_note();
	memset(&syncer, 0, sizeof(syncer));
}

/* ---- flushes ------------------------------------------------------------- */

enum nsd_err
syncer_create(struct event_base *base, syncer_on_done *on_done, void *ctx,
	struct syncer **made)
{
	memset(&syncer, 0, sizeof(syncer));
	syncer.on_done = on_done;
	syncer.ctx = ctx;
	syncer.fd = syncer.folder = -1;
	*made = &syncer;
	return NSD_OK;
}

uint64_t
syncer_ask(struct syncer *s, int fd, int at)
{
	may_die(100);
	if (fd != -1)
		s->fd = fd;
	if (at != -1)
		s->folder = at;
	return ++s->asked;
}

bool
disk_is_idle(void)
{
	return syncer.asked == syncer.done && !syncer.runs;
}

/* A flush that fails has done its work, or not: it may be done by the next. */
static void
disk_flush(void)
{
	bool is_lost = !sim.calm && sim.plan.disk_fails && one_in(8);

	/* Only writes fail by power.h. */
	disk_fail(false);
	if (!is_lost || one_in(2)) {
		if (syncer.run_fd != -1)
			(void)fdatasync(syncer.run_fd);
		if (syncer.run_folder != -1)
			(void)fsync(syncer.run_folder);
	}
	if (is_lost) {
		syncer.error = one_in(2) ? EIO : ENOSPC;
		model_doubt();
	}
	syncer.is_flushed = true;
}

static void
disk_tell(void)
{
	syncer.on_done(syncer.ctx, syncer.done, syncer.error);
}

void
disk_turn(void)
{
	if (syncer.runs && fake_clock_msec < syncer.at_msec)
		return;
	if (!syncer.runs) {
		if (syncer.asked == syncer.done)
			return;
		syncer.runs = true;
		syncer.is_flushed = false;
		syncer.error = 0;
		syncer.number = syncer.asked;
		syncer.run_fd = syncer.fd;
		syncer.run_folder = syncer.folder;
		syncer.fd = syncer.folder = -1;
	} else if (!syncer.is_flushed) {
		disk_flush();
	} else {
		syncer.runs = false;
		syncer.done = syncer.number;
		(void)xfrd_call(disk_tell);
		return;
	}
	syncer.at_msec = fake_clock_msec + (one_in(20) ? below(2000)
						       : below(20));
}
