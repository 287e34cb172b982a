/* writer_folders.c - the folders that the writer may make files in. */
#include "config.h"

#include <assert.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "conf/chroot.h"
#include "conf/conf.h"
#include "settings/pattern.h"
#include "writer/writer_folders.h"
#include "zone/table.h"

/* ---- paths --------------------------------------------------------------- */

/* Cuts a path down to the folder above it: "." and "/" are above all. */
static void
folders_go_up(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash == NULL)
		strcpy(path, ".");
	else if (slash == path)
		path[1] = '\0';
	else
		*slash = '\0';
}

static bool
folders_is_top(const char *path)
{
	return strcmp(path, ".") == 0 || strcmp(path, "/") == 0;
}

/* True if a path is a folder, or lies below it. */
static bool
folders_has(const char *folder, const char *path)
{
	size_t len = strlen(folder);

	if (strcmp(folder, ".") == 0)
		return *path != '/';
	if (strcmp(folder, "/") == 0)
		return *path == '/';
	return strncmp(folder, path, len) == 0
		&& (path[len] == '/' || path[len] == '\0');
}

/* A name that goes up again lies where its letters do not say. */
static bool
folders_goes_up(const char *path)
{
	const char *at = path;

	while ((at = strstr(at, "..")) != NULL) {
		if ((at == path || at[-1] == '/')
			&& (at[2] == '/' || at[2] == '\0'))
			return true;
		at += 2;
	}
	return false;
}

/* ---- the list ------------------------------------------------------------ */

static void
folders_drop(struct writer_folders *folders, size_t i)
{
	assert(i < folders->count);
	free((void *)(uintptr_t)folders->paths[i]);
	folders->paths[i] = folders->paths[--folders->count];
	folders->paths[folders->count] = NULL;
}

/* Replaces each folder by its parent, so that there are fewer. */
static void
folders_merge(struct writer_folders *folders)
{
	for (size_t i = 0; i < folders->count; i++)
		folders_go_up((char *)(uintptr_t)folders->paths[i]);
	for (size_t i = 0; i < folders->count; i++)
		for (size_t k = folders->count; k-- > 0;)
			if (k != i && folders_has(folders->paths[i],
					      folders->paths[k])) {
				folders_drop(folders, k);
				i = i == folders->count ? k : i;
			}
}

/* path: room for what it becomes. */
static void
folders_add(struct writer_folders *folders, char *path)
{
	char real[PATH_MAX];
	struct stat st;
	char *copy;

	while (!folders_is_top(path)
		&& (stat(path, &st) == -1 || !S_ISDIR(st.st_mode)))
		folders_go_up(path);
	if (folders_goes_up(path) && realpath(path, real) != NULL)
		path = real;
	for (size_t i = folders->count; i-- > 0;) {
		if (folders_has(folders->paths[i], path))
			return;
		if (folders_has(path, folders->paths[i]))
			folders_drop(folders, i);
	}
	while (folders->count == WRITER_FOLDERS_MAX)
		folders_merge(folders);
	for (size_t i = 0; i < folders->count; i++)
		if (folders_has(folders->paths[i], path))
			return;
	copy = malloc(strlen(path) + 2);
	if (copy == NULL)
		return;
	strcpy(copy, path);
	assert(folders->count < WRITER_FOLDERS_MAX);
	folders->paths[folders->count++] = copy;
	folders->paths[folders->count] = NULL;
}

/* The folder of a zone file's name, as far as it is the same for all zones. */
static void
folders_add_file(struct writer_folders *folders, const char *file)
{
	char path[PATH_MAX];
	size_t len = strcspn(file, "%");

	if (len >= sizeof(path))
		return;
	memcpy(path, file, len);
	path[len] = '\0';
	folders_go_up(path);
	if (folders->count > 0 && !folders_goes_up(path)
		&& folders_has(folders->paths[folders->count - 1], path))
		return;
	folders_add(folders, path);
}

/* True if there may be files to write for a zone. */
static bool
folders_need(const struct store_view *view, const struct zone_entry *entry)
{
	const struct settings_storing *storing = zone_entry_storing(view,
		entry);

	return (__atomic_load_n(&entry->flags, __ATOMIC_RELAXED)
		& (ZONE_ENTRY_FROM_XFRD | ZONE_ENTRY_WAS_FROM_XFRD)) != 0
		|| (storing != NULL && storing->store_ixfr
			&& storing->create_ixfr);
}

/* Adds the folders of zone files. Zones of one pattern share a text. */
static void
folders_add_files(struct writer_folders *folders, const struct server *server,
	const struct store_view *view)
{
	const struct zone_table *table = table_get(view);
	const char *last = NULL, *file;
	struct trie_iter iter;
	store_ref ref;

	if (table == NULL)
		return;
	trie_iter_init(&iter, view, &table->apexes.root);
	while ((ref = trie_iter_next(&iter)) != STORE_NONE) {
		const struct zone_entry *entry = store_get(view, ref);

		file = zone_entry_file(view, entry);
		if (file == NULL || file == last || !folders_need(view, entry))
			continue;
		last = file;
		folders_add_file(folders, conf_path_in_chroot(server->chroot,
			file));
	}
}

bool
writer_folders_have(const struct writer_folders *folders, const char *path)
{
	/* The target of `..` cannot be found out any more. */
	if (folders_goes_up(path))
		return true;
	for (size_t i = 0; i < folders->count; i++)
		if (folders_has(folders->paths[i], path))
			return true;
	return false;
}

void
writer_folders_init(struct writer_folders *folders,
	const struct server *server, const struct store_view *view)
{
	const char *xfrdir = server->conf->server.xfrdir;
	char path[PATH_MAX];

	memset(folders, 0, sizeof(*folders));
	folders_add_files(folders, server, view);
	if (xfrdir == NULL || *xfrdir == '\0')
		return;
	xfrdir = conf_path_in_chroot(server->chroot, xfrdir);
	if (strlen(xfrdir) >= sizeof(path))
		return;
	strcpy(path, xfrdir);
	for (size_t len = strlen(path); len > 1 && path[len - 1] == '/';)
		path[--len] = '\0';
	folders_add(folders, path);
}
