/* admin_files.c - the files of UNIX sockets for operators. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/admin_files.h"

struct admin_file {
	struct admin_file *next;
	dev_t dev;
	ino_t ino;
	char path[]; /* as main saw it then */
};

static bool
file_is_at(const struct admin_file *file, const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && st.st_dev == file->dev
		&& st.st_ino == file->ino;
}

bool
admin_files_add(struct admin_files *files, const char *path)
{
	struct admin_file *file;
	struct stat st;

	if (lstat(path, &st) == -1)
		return false;
	file = malloc(sizeof(*file) + strlen(path) + 1);
	if (file == NULL)
		return false;
	file->next = files->first;
	file->dev = st.st_dev;
	file->ino = st.st_ino;
	strcpy(file->path, path);
	files->first = file;
	return true;
}

bool
admin_files_has(const struct admin_files *files, const char *path)
{
	for (const struct admin_file *file = files->first; file != NULL;
		file = file->next)
		if (file_is_at(file, path))
			return true;
	return false;
}

/* Drops what a list has of a path, where there is another file now. */
static void
files_drop_path(struct admin_files *files, const char *path)
{
	struct admin_file **at = &files->first;

	while (*at != NULL) {
		struct admin_file *file = *at;

		if (strcmp(file->path, path) != 0) {
			at = &file->next;
			continue;
		}
		*at = file->next;
		free(file);
	}
}

void
admin_files_take(struct admin_files *files, struct admin_files *made)
{
	while (made->first != NULL) {
		struct admin_file *file = made->first;

		made->first = file->next;
		files_drop_path(files, file->path);
		file->next = files->first;
		files->first = file;
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
