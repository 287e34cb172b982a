/*
 * nsd_written.c - nsd that writes down what it does to files: for a test that
 * makes the files anew as they might be if the power had failed in between.
 *
 * Environment: NSD_WRITTEN_OF, a folder, and NSD_WRITTEN, the log. For each
 * operation on something in that folder, in order, the log has
 *
 *   kind 1 ('C' made, 'W' written, 'T' cut, 'S' flushed, 'R' renamed,
 *   'U' removed), length of the path 2, offset 8 ('T': the length), length of
 *   the data 4, path below the folder, data ('R': the new path)
 *
 * in the order of octets of the machine. It needs a server that is not
 * confined. What libc writes by itself (stdio) is seen when it is told to
 * (fflush), and what is written to a mapping (files called *.db) before it is
 * flushed: then all that the file has is in the log.
 */
#include "config.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "main/start.h"

#define PATH_ROOM 512
#define HEAD 15
#define PIECE (64u << 10) /* of what is written down of a whole file */

/* The linker puts these in front of libc's (--wrap). */
int __real_open(const char *name, int flags, ...);
int __real_openat(int dirfd, const char *name, int flags, ...);
ssize_t __real_write(int fd, const void *data, size_t len);
ssize_t __real_pwrite(int fd, const void *data, size_t len, off_t offset);
int __real_fsync(int fd);
int __real_fdatasync(int fd);
int __real_ftruncate(int fd, off_t len);
int __real_renameat(int from_dir, const char *from, int to_dir,
	const char *to);
int __real_unlinkat(int dirfd, const char *name, int flags);
int __real_rename(const char *from, const char *to);
int __real_unlink(const char *name);
int __real_fflush(FILE *stream);
int __wrap_open(const char *name, int flags, ...);
int __wrap_openat(int dirfd, const char *name, int flags, ...);
ssize_t __wrap_write(int fd, const void *data, size_t len);
ssize_t __wrap_pwrite(int fd, const void *data, size_t len, off_t offset);
int __wrap_fsync(int fd);
int __wrap_fdatasync(int fd);
int __wrap_ftruncate(int fd, off_t len);
int __wrap_renameat(int from_dir, const char *from, int to_dir,
	const char *to);
int __wrap_unlinkat(int dirfd, const char *name, int flags);
int __wrap_rename(const char *from, const char *to);
int __wrap_unlink(const char *name);
int __wrap_fflush(FILE *stream);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The part of a path below the folder; or NULL. */
static const char *
below_folder(const char *path)
{
	const char *folder = getenv("NSD_WRITTEN_OF");
	size_t len = folder != NULL ? strlen(folder) : 0;

	if (folder == NULL || strncmp(path, folder, len) != 0
		|| (path[len] != '/' && path[len] != '\0')
		|| strstr(path, " (deleted)") != NULL)
		return NULL;
	return path[len] == '/' ? path + len + 1 : path + len;
}

/* The path of an open file below the folder, in lower[PATH_ROOM]; or NULL. */
static const char *
path_of(int fd, char *lower)
{
	char name[32];
	ssize_t n;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	n = readlink(name, lower, PATH_ROOM - 1);
	if (n < 0)
		return NULL;
	lower[n] = '\0';
	return below_folder(lower);
}

/* The same of a name. */
static const char *
path_named(const char *name, char *lower)
{
	size_t len = 0;

	if (*name != '/') {
		if (getcwd(lower, PATH_ROOM - 1) == NULL)
			return NULL;
		len = strlen(lower);
		lower[len++] = '/';
	}
	snprintf(lower + len, PATH_ROOM - len, "%s", name);
	return below_folder(lower);
}

/* The same of a name in a folder. */
static const char *
path_in(int dirfd, const char *name, char *lower)
{
	const char *folder = path_of(dirfd, lower);
	size_t at;

	if (folder == NULL)
		return NULL;
	at = strlen(folder);
	snprintf(lower + (folder - lower) + at,
		PATH_ROOM - (size_t)(folder - lower) - at, "%s%s",
		at > 0 ? "/" : "", name);
	return folder;
}

static void
note(char kind, const char *path, uint64_t offset, const void *data,
	uint32_t len)
{
	uint16_t path_len = (uint16_t)strlen(path);
	size_t size = (size_t)HEAD + path_len + len;
	char *record = malloc(size);
	int fd = __real_open(getenv("NSD_WRITTEN"), O_WRONLY | O_CREAT
		| O_APPEND | O_CLOEXEC, 0600);

	if (record == NULL || fd == -1)
		abort();
	record[0] = kind;
	memcpy(record + 1, &path_len, 2);
	memcpy(record + 3, &offset, 8);
	memcpy(record + 11, &len, 4);
	memcpy(record + HEAD, path, path_len);
	if (len > 0)
		memcpy(record + HEAD + path_len, data, len);
	if (__real_write(fd, record, size) != (ssize_t)size)
		abort();
	close(fd);
	free(record);
}

/* Logs the contents of a file, without its holes. */
static void
note_contents(int fd, const char *path)
{
	char name[32], *piece = malloc(PIECE);
	off_t at = 0;
	ssize_t n;
	int copy;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	copy = __real_open(name, O_RDONLY | O_CLOEXEC);
	if (copy == -1 || piece == NULL)
		abort();
	while ((at = lseek(copy, at, SEEK_DATA)) != -1
		&& (n = pread(copy, piece, PIECE, at)) > 0) {
		note('W', path, (uint64_t)at, piece, (uint32_t)n);
		at += n;
	}
	close(copy);
	free(piece);
}

static int
opened(int fd, int flags)
{
	char lower[PATH_ROOM];
	const char *path;

	if (fd == -1 || (flags & (O_CREAT | O_TRUNC)) == 0)
		return fd;
	path = path_of(fd, lower);
	if (path != NULL && (flags & O_CREAT) != 0)
		note('C', path, 0, NULL, 0);
	if (path != NULL && (flags & O_TRUNC) != 0)
		note('T', path, 0, NULL, 0);
	return fd;
}

int
__wrap_open(const char *name, int flags, ...)
{
	va_list args;
	mode_t mode;
	int fd;

	va_start(args, flags);
	mode = (flags & O_CREAT) != 0 ? (mode_t)va_arg(args, int) : 0;
	va_end(args);
	pthread_mutex_lock(&lock);
	fd = opened(__real_open(name, flags, mode), flags);
	pthread_mutex_unlock(&lock);
	return fd;
}

int
__wrap_openat(int dirfd, const char *name, int flags, ...)
{
	va_list args;
	mode_t mode;
	int fd;

	va_start(args, flags);
	mode = (flags & O_CREAT) != 0 ? (mode_t)va_arg(args, int) : 0;
	va_end(args);
	pthread_mutex_lock(&lock);
	fd = opened(__real_openat(dirfd, name, flags, mode), flags);
	pthread_mutex_unlock(&lock);
	return fd;
}

static ssize_t
written(int fd, const void *data, ssize_t n, off_t offset)
{
	char lower[PATH_ROOM];
	const char *path = n > 0 ? path_of(fd, lower) : NULL;

	if (path != NULL)
		note('W', path, (uint64_t)offset, data, (uint32_t)n);
	return n;
}

ssize_t
__wrap_write(int fd, const void *data, size_t len)
{
	ssize_t n;

	pthread_mutex_lock(&lock);
	n = __real_write(fd, data, len);
	n = written(fd, data, n, n > 0 ? lseek(fd, 0, SEEK_CUR) - n : 0);
	pthread_mutex_unlock(&lock);
	return n;
}

ssize_t
__wrap_pwrite(int fd, const void *data, size_t len, off_t offset)
{
	ssize_t n;

	pthread_mutex_lock(&lock);
	n = written(fd, data, __real_pwrite(fd, data, len, offset), offset);
	pthread_mutex_unlock(&lock);
	return n;
}

static int
done(char kind, int fd, uint64_t offset, int code)
{
	char lower[PATH_ROOM];
	const char *path = code == 0 ? path_of(fd, lower) : NULL;

	if (path != NULL)
		note(kind, path, offset, NULL, 0);
	return code;
}

/* Stores to a mapping make no system call, so the database's contents are
 * logged whole. */
static void
note_mapped(int fd)
{
	char lower[PATH_ROOM];
	const char *path = path_of(fd, lower);
	size_t len = path != NULL ? strlen(path) : 0;

	if (len > 3 && strcmp(path + len - 3, ".db") == 0)
		note_contents(fd, path);
}

static int
synced(int fd, int (*real)(int fd))
{
	int code;

	pthread_mutex_lock(&lock);
	note_mapped(fd);
	code = done('S', fd, 0, real(fd));
	pthread_mutex_unlock(&lock);
	return code;
}

int
__wrap_fsync(int fd)
{
	return synced(fd, __real_fsync);
}

int
__wrap_fdatasync(int fd)
{
	return synced(fd, __real_fdatasync);
}

int
__wrap_ftruncate(int fd, off_t len)
{
	int code;

	pthread_mutex_lock(&lock);
	code = done('T', fd, (uint64_t)len, __real_ftruncate(fd, len));
	pthread_mutex_unlock(&lock);
	return code;
}

int
__wrap_renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	char lower[PATH_ROOM], lower_to[PATH_ROOM];
	const char *path, *path_to;
	int code;

	pthread_mutex_lock(&lock);
	code = __real_renameat(from_dir, from, to_dir, to);
	path = path_in(from_dir, from, lower);
	path_to = path_in(to_dir, to, lower_to);
	if (code == 0 && path != NULL && path_to != NULL)
		note('R', path, 0, path_to, (uint32_t)strlen(path_to));
	pthread_mutex_unlock(&lock);
	return code;
}

int
__wrap_unlinkat(int dirfd, const char *name, int flags)
{
	char lower[PATH_ROOM];
	const char *path;
	int code;

	pthread_mutex_lock(&lock);
	code = __real_unlinkat(dirfd, name, flags);
	path = path_in(dirfd, name, lower);
	if (code == 0 && path != NULL)
		note('U', path, 0, NULL, 0);
	pthread_mutex_unlock(&lock);
	return code;
}

int
__wrap_rename(const char *from, const char *to)
{
	char lower[PATH_ROOM], lower_to[PATH_ROOM];
	const char *path, *path_to;
	int code;

	pthread_mutex_lock(&lock);
	code = __real_rename(from, to);
	path = path_named(from, lower);
	path_to = path_named(to, lower_to);
	if (code == 0 && path != NULL && path_to != NULL)
		note('R', path, 0, path_to, (uint32_t)strlen(path_to));
	pthread_mutex_unlock(&lock);
	return code;
}

int
__wrap_unlink(const char *name)
{
	char lower[PATH_ROOM];
	const char *path;
	int code;

	pthread_mutex_lock(&lock);
	code = __real_unlink(name);
	path = path_named(name, lower);
	if (code == 0 && path != NULL)
		note('U', path, 0, NULL, 0);
	pthread_mutex_unlock(&lock);
	return code;
}

int
__wrap_fflush(FILE *stream)
{
	char lower[PATH_ROOM];
	const char *path;
	int code;

	pthread_mutex_lock(&lock);
	code = __real_fflush(stream);
	path = code == 0 && stream != NULL ? path_of(fileno(stream), lower)
					   : NULL;
	if (path != NULL)
		note_contents(fileno(stream), path);
	pthread_mutex_unlock(&lock);
	return code;
}

int
main(int argc, char **argv)
{
	return start_server(argc, argv, NULL);
}
