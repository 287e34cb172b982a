/*
 * nsd_failing.c - nsd whose disk fails when a test says so, and is mended when
 * it says that.
 *
 * Environment: NSD_FAILING, a file of a struct failing, which the test alters
 * while the server runs. It needs a server that is not confined.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "main/start.h"

#define PATH_ROOM 512

/* The calls that fail, as bits. */
enum calls { MAKES = 1, WRITES = 2, FLUSHES = 4, READS = 8 };

struct failing {
	_Atomic uint32_t error;  /* an errno; 0: nothing fails */
	uint32_t calls;
	_Atomic uint64_t failed; /* calls that did */
	char part[PATH_ROOM];    /* of the paths of files that are meant */
};

static struct failing *failing;

/* The linker puts these in front of libc's (--wrap). */
int __real_open(const char *name, int flags, ...);
int __real_openat(int dirfd, const char *name, int flags, ...);
int __real_mkdir(const char *name, mode_t mode);
ssize_t __real_write(int fd, const void *data, size_t len);
ssize_t __real_pwrite(int fd, const void *data, size_t len, off_t offset);
ssize_t __real_pread(int fd, void *data, size_t len, off_t offset);
int __real_fflush(FILE *stream);
int __real_fsync(int fd);
int __real_fdatasync(int fd);
int __wrap_open(const char *name, int flags, ...);
int __wrap_openat(int dirfd, const char *name, int flags, ...);
int __wrap_mkdir(const char *name, mode_t mode);
ssize_t __wrap_write(int fd, const void *data, size_t len);
ssize_t __wrap_pwrite(int fd, const void *data, size_t len, off_t offset);
ssize_t __wrap_pread(int fd, void *data, size_t len, off_t offset);
int __wrap_fflush(FILE *stream);
int __wrap_fsync(int fd);
int __wrap_fdatasync(int fd);

static bool
fails_path(enum calls call, const char *path)
{
	uint32_t error = failing != NULL ? atomic_load(&failing->error) : 0;

	if (error == 0 || (failing->calls & call) == 0
		|| strstr(path, failing->part) == NULL)
		return false;
	atomic_fetch_add(&failing->failed, 1);
	errno = (int)error;
	return true;
}

/* Does a call on a file fail, or on a name in a folder? */
static bool
fails(enum calls call, int fd, const char *name)
{
	char link[32], path[2 * PATH_ROOM] = "";
	ssize_t n = 0;

	if (failing == NULL || atomic_load(&failing->error) == 0)
		return false;
	if (fd != AT_FDCWD) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		n = readlink(link, path, PATH_ROOM);
	}
	if (n < 0)
		return false;
	snprintf(path + n, sizeof(path) - (size_t)n, "/%s", name);
	return fails_path(call, path);
}

int
__wrap_open(const char *name, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = (flags & O_CREAT) != 0 ? (mode_t)va_arg(args, int) : 0;
	va_end(args);
	if ((flags & O_CREAT) != 0 && fails_path(MAKES, name))
		return -1;
	return __real_open(name, flags, mode);
}

int
__wrap_openat(int dirfd, const char *name, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = (flags & O_CREAT) != 0 ? (mode_t)va_arg(args, int) : 0;
	va_end(args);
	if ((flags & O_CREAT) != 0 && fails(MAKES, dirfd, name))
		return -1;
	return __real_openat(dirfd, name, flags, mode);
}

int
__wrap_mkdir(const char *name, mode_t mode)
{
	return fails_path(MAKES, name) ? -1 : __real_mkdir(name, mode);
}

ssize_t
__wrap_write(int fd, const void *data, size_t len)
{
	return fails(WRITES, fd, "") ? -1 : __real_write(fd, data, len);
}

ssize_t
__wrap_pwrite(int fd, const void *data, size_t len, off_t offset)
{
	return fails(WRITES, fd, "") ? -1
				     : __real_pwrite(fd, data, len, offset);
}

ssize_t
__wrap_pread(int fd, void *data, size_t len, off_t offset)
{
	return fails(READS, fd, "") ? -1 : __real_pread(fd, data, len, offset);
}

/* Fails as write does, for stdio's buffer. */
int
__wrap_fflush(FILE *stream)
{
	return stream != NULL && fails(WRITES, fileno(stream), "")
		? EOF : __real_fflush(stream);
}

int
__wrap_fsync(int fd)
{
	return fails(FLUSHES, fd, "") ? -1 : __real_fsync(fd);
}

int
__wrap_fdatasync(int fd)
{
	return fails(FLUSHES, fd, "") ? -1 : __real_fdatasync(fd);
}

int
main(int argc, char **argv)
{
	const char *path = getenv("NSD_FAILING");
	int fd = path != NULL ? __real_open(path, O_RDWR | O_CLOEXEC) : -1;
	void *map = fd != -1 ? mmap(NULL, sizeof(*failing),
		PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;

	if (map == MAP_FAILED) {
		perror("NSD_FAILING");
		return 1;
	}
	failing = map;
	close(fd);
	return start_server(argc, argv, NULL);
}
