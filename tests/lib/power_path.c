/*
 * power_path.c - the disk that loses power, for files that are opened by their
 * path: $(WRAP_PATHS) beside $(WRAP_POWER). power_begin has to be given the
 * folder as these paths have it.
 */
#include "config.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/power.h"

/* The linker puts these in front of libc's (--wrap). */
int __real_open(const char *path, int flags, ...);
int __real_rename(const char *from, const char *to);
int __real_unlink(const char *path);
int __wrap_open(const char *path, int flags, ...);
int __wrap_rename(const char *from, const char *to);
int __wrap_unlink(const char *path);

/* The folder, to be closed, and *name, the file's in it. */
static int
open_folder(const char *path, const char **name)
{
	const char *slash = strrchr(path, '/');
	char folder[256];

	if (slash == NULL || (size_t)(slash - path) >= sizeof(folder))
		return -1;
	memcpy(folder, path, (size_t)(slash - path));
	folder[slash - path] = '\0';
	*name = slash + 1;
	return __real_open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int
__wrap_open(const char *path, int flags, ...)
{
	const char *name;
	va_list args;
	mode_t mode;
	int folder, fd;

	va_start(args, flags);
	mode = (flags & O_CREAT) != 0 ? va_arg(args, mode_t) : 0;
	va_end(args);
	folder = open_folder(path, &name);
	if (folder == -1)
		return __real_open(path, flags, mode);
	fd = openat(folder, name, flags, mode);
	close(folder);
	return fd;
}

int
__wrap_rename(const char *from, const char *to)
{
	const char *from_name, *to_name = strrchr(to, '/');
	int folder = open_folder(from, &from_name), result;

	if (folder == -1 || to_name == NULL)
		return __real_rename(from, to);
	result = renameat(folder, from_name, folder, to_name + 1);
	close(folder);
	return result;
}

int
__wrap_unlink(const char *path)
{
	const char *name;
	int folder = open_folder(path, &name), result;

	if (folder == -1)
		return __real_unlink(path);
	result = unlinkat(folder, name, 0);
	close(folder);
	return result;
}
