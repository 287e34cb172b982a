/* power.c - a disk that loses power. */
#include "config.h"

#include "lib/power.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/chance.h"
#include "lib/failing.h"

#define FD_MAX 1024
#define FILE_MAX 512
#define SECTOR 512u
#define NAME 24

/* The linker puts these in front of libc's (--wrap). */
int __real_openat(int dirfd, const char *name, int flags, ...);
int __real_close(int fd);
ssize_t __real_write(int fd, const void *data, size_t len);
ssize_t __real_pwrite(int fd, const void *data, size_t len, off_t offset);
int __real_ftruncate(int fd, off_t len);
int __real_renameat(int from_dir, const char *from, int to_dir,
	const char *to);
int __real_unlinkat(int dirfd, const char *name, int flags);
int __wrap_openat(int dirfd, const char *name, int flags, ...);
int __wrap_close(int fd);
ssize_t __wrap_write(int fd, const void *data, size_t len);
ssize_t __wrap_pwrite(int fd, const void *data, size_t len, off_t offset);
int __wrap_fsync(int fd);
int __wrap_fdatasync(int fd);
int __wrap_ftruncate(int fd, off_t len);
int __wrap_renameat(int from_dir, const char *from, int to_dir,
	const char *to);
int __wrap_unlinkat(int dirfd, const char *name, int flags);

enum kind { CREATE, WRITE, CUT, SYNC, SYNC_FAILED, RENAME, UNLINK, SYNC_DIR };

struct operation {
	enum kind kind;
	int file;         /* number from 1 */
	char name[NAME];  /* of the file, then or from now on */
	uint64_t offset;  /* CUT: the length */
	uint8_t *data;
	size_t len;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool recording;
static dev_t folder_dev;
static ino_t folder_ino;
static struct operation *operations;
static size_t count, room;
static int file_of_fd[FD_MAX];
static char name_of_file[FILE_MAX][NAME]; /* "": it has none */
static int files;
static enum power_fault fault;
static size_t fault_at, fault_count;
static bool has_failed;
static bool in_order;

/* ---- writing down */

static struct operation *
add(enum kind kind, int file)
{
	struct operation *o;

	if (count == room) {
		room = room != 0 ? 2 * room : 256;
		failing_spare(true);
		operations = realloc(operations, room * sizeof(*operations));
		failing_spare(false);
		if (operations == NULL)
			abort();
	}
	o = &operations[count++];
	memset(o, 0, sizeof(*o));
	o->kind = kind;
	o->file = file;
	if (file != 0)
		strcpy(o->name, name_of_file[file]);
	return o;
}

static bool
is_folder(int fd)
{
	struct stat st;

	return recording && fstat(fd, &st) == 0 && st.st_dev == folder_dev
		&& st.st_ino == folder_ino;
}

static int
file_of(int fd)
{
	return recording && fd >= 0 && fd < FD_MAX ? file_of_fd[fd] : 0;
}

static int
file_named(const char *name)
{
	for (int i = 1; i <= files; i++)
		if (strcmp(name_of_file[i], name) == 0)
			return i;
	return 0;
}

/* Is this operation to fail? One that is short is not. */
static bool
fails(bool *is_short)
{
	*is_short = false;
	if (fault_count == 0)
		return false;
	if (fault_at > 0) {
		fault_at--;
		return false;
	}
	fault_count--;
	has_failed = true;
	*is_short = fault == POWER_SHORT;
	errno = fault == POWER_NO_SPACE ? ENOSPC : EIO;
	return !*is_short;
}

int
__wrap_openat(int dirfd, const char *name, int flags, ...)
{
	va_list args;
	mode_t mode;
	bool is_short, is_new;
	int fd = -1;

	va_start(args, flags);
	mode = (flags & O_CREAT) != 0 ? va_arg(args, mode_t) : 0;
	va_end(args);
	pthread_mutex_lock(&lock);
	if (!is_folder(dirfd) || strlen(name) >= NAME
		|| strcmp(name, "lock") == 0) {
		fd = __real_openat(dirfd, name, flags, mode);
	} else {
		is_new = (flags & O_CREAT) != 0
			&& faccessat(dirfd, name, F_OK, 0) == -1;
		if (!is_new || !fails(&is_short))
			fd = __real_openat(dirfd, name, flags, mode);
		if (fd >= FD_MAX)
			abort();
		if (fd != -1 && is_new) {
			if (++files == FILE_MAX)
				abort();
			strcpy(name_of_file[files], name);
			add(CREATE, files);
		}
		if (fd != -1)
			file_of_fd[fd] = file_named(name);
	}
	pthread_mutex_unlock(&lock);
	return fd;
}

int
__wrap_close(int fd)
{
	pthread_mutex_lock(&lock);
	if (fd >= 0 && fd < FD_MAX)
		file_of_fd[fd] = 0;
	pthread_mutex_unlock(&lock);
	return __real_close(fd);
}

static ssize_t
write_at(int fd, const void *data, size_t len, off_t offset)
{
	struct operation *o;
	bool is_short;

	if (fails(&is_short))
		return -1;
	if (is_short && len > 1)
		len /= 2;
	if (__real_pwrite(fd, data, len, offset) != (ssize_t)len)
		abort();
	o = add(WRITE, file_of(fd));
	o->offset = (uint64_t)offset;
	o->len = len;
	failing_spare(true);
	o->data = malloc(len);
	failing_spare(false);
	if (o->data == NULL)
		abort();
	memcpy(o->data, data, len);
	return (ssize_t)len;
}

ssize_t
__wrap_write(int fd, const void *data, size_t len)
{
	ssize_t n;

	pthread_mutex_lock(&lock);
	if (file_of(fd) != 0) {
		n = write_at(fd, data, len, lseek(fd, 0, SEEK_CUR));
		if (n > 0)
			lseek(fd, n, SEEK_CUR);
	} else {
		n = __real_write(fd, data, len);
	}
	pthread_mutex_unlock(&lock);
	return n;
}

ssize_t
__wrap_pwrite(int fd, const void *data, size_t len, off_t offset)
{
	ssize_t n;

	pthread_mutex_lock(&lock);
	n = file_of(fd) != 0 ? write_at(fd, data, len, offset)
			     : __real_pwrite(fd, data, len, offset);
	pthread_mutex_unlock(&lock);
	return n;
}

int
__wrap_fsync(int fd)
{
	int file = 0, result = 0;
	bool is_short;

	pthread_mutex_lock(&lock);
	file = file_of(fd);
	if (file != 0 || is_folder(fd)) {
		if (fails(&is_short))
			result = -1;
		if (file != 0)
			add(result == 0 ? SYNC : SYNC_FAILED, file);
		else if (result == 0)
			add(SYNC_DIR, 0);
	}
	pthread_mutex_unlock(&lock);
	return result;
}

int
__wrap_fdatasync(int fd)
{
	return __wrap_fsync(fd);
}

int
__wrap_ftruncate(int fd, off_t len)
{
	bool is_short;
	int result = -1;

	pthread_mutex_lock(&lock);
	if (file_of(fd) == 0) {
		result = __real_ftruncate(fd, len);
	} else if (!fails(&is_short)) {
		result = __real_ftruncate(fd, len);
		add(CUT, file_of(fd))->offset = (uint64_t)len;
	}
	pthread_mutex_unlock(&lock);
	return result;
}

int
__wrap_renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	bool is_short;
	int result = -1, file;

	pthread_mutex_lock(&lock);
	if (!is_folder(from_dir)) {
		result = __real_renameat(from_dir, from, to_dir, to);
	} else if (!fails(&is_short)) {
		result = __real_renameat(from_dir, from, to_dir, to);
		file = file_named(to);
		if (file != 0)
			name_of_file[file][0] = '\0';
		file = file_named(from);
		strcpy(name_of_file[file], to);
		add(RENAME, file);
	}
	pthread_mutex_unlock(&lock);
	return result;
}

int
__wrap_unlinkat(int dirfd, const char *name, int flags)
{
	bool is_short;
	int result = -1, file;

	pthread_mutex_lock(&lock);
	if (!is_folder(dirfd)) {
		result = __real_unlinkat(dirfd, name, flags);
	} else if (!fails(&is_short)) {
		result = __real_unlinkat(dirfd, name, flags);
		file = file_named(name);
		if (result == 0 && file != 0) {
			add(UNLINK, file);
			name_of_file[file][0] = '\0';
		}
	}
	pthread_mutex_unlock(&lock);
	return result;
}

void
power_begin(const char *folder)
{
	struct stat st;

	power_end();
	if (stat(folder, &st) != 0)
		abort();
	folder_dev = st.st_dev;
	folder_ino = st.st_ino;
	recording = true;
}

void
power_end(void)
{
	recording = false;
	for (size_t i = 0; i < count; i++)
		free(operations[i].data);
	free(operations);
	operations = NULL;
	count = room = 0;
	files = 0;
	memset(file_of_fd, 0, sizeof(file_of_fd));
	memset(name_of_file, 0, sizeof(name_of_file));
	fault_count = 0;
}

size_t
power_count(void)
{
	size_t n;

	pthread_mutex_lock(&lock);
	n = count;
	pthread_mutex_unlock(&lock);
	return n;
}

void
power_fail(enum power_fault what, size_t at, size_t how_many)
{
	pthread_mutex_lock(&lock);
	fault = what;
	fault_at = at;
	fault_count = how_many;
	has_failed = false;
	pthread_mutex_unlock(&lock);
}

bool
power_has_failed(void)
{
	bool failed;

	pthread_mutex_lock(&lock);
	failed = has_failed;
	pthread_mutex_unlock(&lock);
	return failed;
}

void
power_in_order(bool wanted)
{
	in_order = wanted;
}

/* ---- after the cut */

/* A file as it is on the disk. */
struct content {
	uint8_t *data;
	size_t len;
	char name[NAME];
};

static void
content_resize(struct content *c, size_t len)
{
	if (len > c->len) {
		c->data = realloc(c->data, len);
		if (c->data == NULL)
			abort();
		memset(c->data + c->len, 0, len - c->len);
	}
	c->len = len;
}

/* True if a sector has what was written to it by an operation: all that was
 * written before a moment of its own. */
static bool
sector_has(size_t sector, const struct operation *o, size_t n, uint64_t left)
{
	uint64_t rng = left + ((uint64_t)o->file << 32) + sector;

	return (size_t)(o - operations) < chance_below(&rng, (uint32_t)n + 1);
}

/* A write, or some of its sectors: the others read as zeros. */
static void
content_write(struct content *c, const struct operation *o, uint64_t *rng,
	bool whole)
{
	size_t end = (size_t)o->offset + o->len;

	if (end > c->len)
		content_resize(c, end);
	for (size_t at = (size_t)o->offset; at < end;) {
		size_t next = (at / SECTOR + 1) * SECTOR;

		if (next > end)
			next = end;
		if (whole || chance_below(rng, 2) == 0)
			memcpy(c->data + at, o->data + (at - o->offset),
				next - at);
		at = next;
	}
}

static void
content_apply(struct content *c, const struct operation *o, uint64_t *rng,
	bool whole)
{
	if (o->kind == WRITE)
		content_write(c, o, rng, whole);
	else if (o->kind == CUT)
		content_resize(c, (size_t)o->offset);
}

/* The part of a write that a disk has which takes sectors as memory has them. A
 * file whose first sector it has not taken is empty. */
static void
content_write_sectors(struct content *c, const struct operation *o, size_t n,
	uint64_t left)
{
	size_t end = (size_t)o->offset + o->len;

	if (o->offset > c->len || (c->len == 0 && !sector_has(0, o, n, left)))
		return;
	if (end > c->len)
		content_resize(c, end);
	for (size_t at = (size_t)o->offset; at < end; at++)
		if (sector_has(at / SECTOR, o, n, left))
			c->data[at] = o->data[at - o->offset];
}

/* Makes the contents of a file after the power cut: flushed writes, and a
 * choice of the others. Data whose fsync failed is not written by a later
 * fsync. */
static void
make_content(struct content *c, int file, size_t n, uint64_t left,
	uint64_t *rng)
{
	bool *safe = calloc(n + 1, sizeof(*safe));
	bool flushed = false;

	if (safe == NULL)
		abort();
	for (size_t i = n; i-- > 0;) {
		const struct operation *o = &operations[i];

		if (o->file == file && (o->kind == SYNC
			|| o->kind == SYNC_FAILED))
			flushed = o->kind == SYNC;
		safe[i] = flushed;
	}
	for (size_t i = 0; i < n; i++) {
		const struct operation *o = &operations[i];

		if (o->file != file)
			continue;
		if (safe[i] || left == POWER_ALL)
			content_apply(c, o, rng, true);
		else if (left != POWER_NOTHING && in_order && o->kind == WRITE)
			content_write_sectors(c, o, n, left);
		else if (left != POWER_NOTHING && chance_below(rng, 3) > 0)
			content_apply(c, o, rng, chance_below(rng, 2) == 0);
	}
	free(safe);
}

static void
apply_name(struct content *contents, const struct operation *o)
{
	for (int i = 1; i <= files; i++)
		if (i != o->file && o->kind != UNLINK
			&& strcmp(contents[i].name, o->name) == 0)
			contents[i].name[0] = '\0';
	if (o->kind == UNLINK)
		contents[o->file].name[0] = '\0';
	else
		strcpy(contents[o->file].name, o->name);
}

/* Which names files have. */
static void
make_names(struct content *contents, size_t n, uint64_t left, uint64_t *rng)
{
	size_t synced = 0, until = n;

	for (size_t i = 0; i < n; i++)
		if (operations[i].kind == SYNC_DIR)
			synced = i;
	if (left == POWER_NOTHING)
		until = synced;
	else if (left != POWER_ALL)
		until = synced + chance_below(rng, (uint32_t)(n - synced + 1));
	for (size_t i = 0; i < n; i++) {
		const struct operation *o = &operations[i];

		if (o->kind == UNLINK && i >= synced && left > POWER_ALL) {
			if (chance_below(rng, 2) == 0)
				apply_name(contents, o);
		} else if (i < until && (o->kind == CREATE
			|| o->kind == RENAME || o->kind == UNLINK)) {
			apply_name(contents, o);
		}
	}
}

void
power_restore(size_t n, uint64_t left, const char *folder)
{
	struct content *contents = calloc(FILE_MAX, sizeof(*contents));
	uint64_t rng = left + n;
	bool was_recording = recording;
	char path[256];
	int fd;

	if (contents == NULL || n > count)
		abort();
	make_names(contents, n, left, &rng);
	recording = false;
	for (int i = 1; i <= files; i++) {
		if (contents[i].name[0] == '\0')
			continue;
		make_content(&contents[i], i, n, left, &rng);
		snprintf(path, sizeof(path), "%s/%s", folder,
			contents[i].name);
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
		if (fd == -1 || __real_write(fd, contents[i].data,
			contents[i].len) != (ssize_t)contents[i].len)
			abort();
		__real_close(fd);
		free(contents[i].data);
	}
	recording = was_recording;
	free(contents);
}
