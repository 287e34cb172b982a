/* admin_files.c - the files of UNIX sockets for operators. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/admin_files.h"

/* The number of an inode, of a file or a socket. */
struct admin_inode {
	dev_t dev;
	ino_t ino;
};

struct admin_file {
	struct admin_file *next;
	struct admin_inode socket, file;
	char path[]; /* as main saw it then */
};

static bool
inode_is_of(const struct admin_inode *inode, const struct stat *st)
{
	return st->st_dev == inode->dev && st->st_ino == inode->ino;
}

static bool
file_is_at(const struct admin_file *file, const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && inode_is_of(&file->file, &st);
}

static bool
file_is_of(const struct admin_file *file, int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && inode_is_of(&file->socket, &st);
}

bool
admin_files_add(struct admin_files *files, int fd, const char *path)
{
	struct admin_file *file;
	struct stat socket_st, st;

	if (fstat(fd, &socket_st) == -1 || lstat(path, &st) == -1)
		return false;
	file = malloc(sizeof(*file) + strlen(path) + 1);
	if (file == NULL)
		return false;
	file->next = files->first;
	file->socket = (struct admin_inode){socket_st.st_dev,
		socket_st.st_ino};
	file->file = (struct admin_inode){st.st_dev, st.st_ino};
	strcpy(file->path, path);
	files->first = file;
	return true;
}

bool
admin_files_has(const struct admin_files *files, int fd, const char *path)
{
	for (const struct admin_file *file = files->first; file != NULL;
		file = file->next)
		if (file_is_of(file, fd) && file_is_at(file, path))
			return true;
	return false;
}

void
admin_files_take(struct admin_files *files, struct admin_files *made)
{
	while (made->first != NULL) {
		struct admin_file *file = made->first;

		made->first = file->next;
		file->next = files->first;
		files->first = file;
	}
}

static bool
file_is_of_any(const struct admin_file *file, const int *fds, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (file_is_of(file, fds[i]))
			return true;
	return false;
}

void
admin_files_drop_closed(struct admin_files *files, const int *fds,
	unsigned count)
{
	struct admin_file **at = &files->first;

	while (*at != NULL) {
		struct admin_file *file = *at;

		if (file_is_of_any(file, fds, count)) {
			at = &file->next;
			continue;
		}
		*at = file->next;
		free(file);
	}
}

void
admin_files_remove(struct admin_files *made)
{
	while (made->first != NULL) {
		struct admin_file *file = made->first;

		made->first = file->next;
		if (file_is_at(file, file->path))
			(void)unlink(file->path);
		free(file);
	}
}
