/* xfrd_folders.c - knows the folders whose files are zones. */
#include "config.h"

#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "conf/chroot.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_change.h"
#include "xfrd/xfrd_folder.h"

/* ---- folders come and go ------------------------------------------------- */

static void
folder_free(struct xfrd_folder *folder)
{
	if (folder->event != NULL)
		event_free(folder->event);
	xfrd_folder_drop_bad(folder);
	free(folder->name);
	free(folder->pattern);
	free(folder);
}

/* Makes a folder, which is read soon. NULL: no memory. */
static struct xfrd_folder *
folder_create(struct xfrd *xfrd, const char *pattern, const char *path)
{
	struct xfrd_folder *folder = calloc(1, sizeof(*folder));

	if (folder == NULL)
		return NULL;
	CDS_INIT_LIST_HEAD(&folder->bad);
	folder->xfrd = xfrd;
	folder->pattern = strdup(pattern);
	if (asprintf(&folder->name, "zone-directory %s", path) == -1)
		folder->name = NULL;
	folder->event = event_new(xfrd->role.base, -1, 0,
		xfrd_folder_on_event, folder);
	if (folder->pattern == NULL || folder->name == NULL
		|| folder->event == NULL
		|| xfrd_watch_init(&folder->watch, xfrd->role.base, path,
			   &xfrd_folder_watch_hooks, folder)
			!= NSD_OK) {
		folder_free(folder);
		return NULL;
	}
	if (xfrd_members_init(&folder->members, xfrd,
		    &xfrd_folder_source_hooks, folder, folder->name)
		!= NSD_OK) {
		xfrd_watch_fini(&folder->watch);
		folder_free(folder);
		return NULL;
	}
	if (folder->watch.fd == -1)
		log_warning("%s: changes are not told of by this system: it is"
			    " read once a minute", folder->name);
	cds_list_add_tail(&folder->node, &xfrd->folders.list);
	return folder;
}

static struct xfrd_folder *
folder_find(const struct xfrd *xfrd, const char *pattern, const char *path)
{
	struct xfrd_folder *folder;

	cds_list_for_each_entry(folder, &xfrd->folders.list, node)
		if (strcmp(folder->pattern, pattern) == 0
			&& strcmp(folder->watch.path, path) == 0)
			return folder;
	return NULL;
}

static void
folder_end(struct xfrd_folder *folder)
{
	log_notice("%s is not followed any more: its zones stay, and may be"
		   " deleted by hand", folder->name);
	xfrd_members_fini(&folder->members);
	xfrd_watch_fini(&folder->watch);
	cds_list_del(&folder->node);
	folder_free(folder);
}

/* True if this process may do what folders need. No confined process gets
 * rights: if this one lacks them it ends, and the next one has them. */
static bool
folder_is_let_in(struct xfrd *xfrd)
{
	xfrd_change_need(xfrd);
	if (xfrd->folders.are_allowed)
		return true;
	log_notice("xfrd: there is a zone-directory now: ending, so that the"
		   " next one may read it");
	role_stop(&xfrd->role);
	return false;
}

/* Follows the folder of a pattern. */
static void
folder_follow_pattern(struct xfrd *xfrd,
	const struct settings_pattern *pattern)
{
	const char *name = settings_pattern_text(pattern, pattern->name_at);
	const char *path = settings_pattern_text(pattern,
		pattern->catalog.folder_at);
	struct xfrd_folder *folder;

	if (path == NULL || !folder_is_let_in(xfrd))
		return;
	path = conf_path_in_chroot(xfrd->role.server->chroot, path);
	folder = folder_find(xfrd, name, path);
	if (folder != NULL)
		xfrd_watch_read(&folder->watch);
	else
		folder = folder_create(xfrd, name, path);
	if (folder == NULL) {
		log_error("zone-directory %s is not followed: out of memory",
			path);
		return;
	}
	folder->seen = true;
	folder->watch.may_empty = pattern->catalog.empty_deletes;
}

bool
xfrd_folder_are_there(struct xfrd *xfrd)
{
	const struct store_view *view = xfrd_read_begin(xfrd);
	const struct settings *settings = settings_get(view);
	const store_ref *patterns = settings_patterns(settings);
	bool there = false;

	for (uint32_t i = 0; i < settings->pattern_count && !there; i++) {
		const struct settings_pattern *pattern = store_get(view,
			patterns[i]);

		there = pattern->catalog.folder_at != 0;
	}
	xfrd_read_end(xfrd);
	return there;
}

void
xfrd_folder_follow(struct xfrd *xfrd)
{
	const struct store_view *view = xfrd_read_begin(xfrd);
	const struct settings *settings = settings_get(view);
	const store_ref *patterns = settings_patterns(settings);
	struct xfrd_folder *folder, *next;

	cds_list_for_each_entry(folder, &xfrd->folders.list, node)
		folder->seen = false;
	for (uint32_t i = 0; i < settings->pattern_count; i++)
		folder_follow_pattern(xfrd, store_get(view, patterns[i]));
	xfrd_read_end(xfrd);
	cds_list_for_each_entry_safe(folder, next, &xfrd->folders.list, node)
		if (!folder->seen)
			folder_end(folder);
}

void
xfrd_folder_read_all(struct xfrd *xfrd)
{
	struct xfrd_folder *folder;

	cds_list_for_each_entry(folder, &xfrd->folders.list, node)
		xfrd_watch_read(&folder->watch);
}

static void
folders_on_follow(evutil_socket_t fd, short what, void *arg)
{
	xfrd_folder_follow(arg);
}

static void
folders_on_changed(evutil_socket_t fd, short what, void *arg)
{
	xfrd_folder_read_changed(arg);
}

enum nsd_err
xfrd_folder_init(struct xfrd *xfrd)
{
	struct xfrd_folders *folders = &xfrd->folders;

	CDS_INIT_LIST_HEAD(&folders->list);
	folders->event = event_new(xfrd->role.base, -1, 0,
		folders_on_changed, xfrd);
	folders->follow_event = event_new(xfrd->role.base, -1, 0,
		folders_on_follow, xfrd);
	return folders->event != NULL && folders->follow_event != NULL
		? NSD_OK : NSD_E_MEMORY;
}

/* ---- for people ---------------------------------------------------------- */

static void
folder_print_bad(const struct xfrd_folder *folder, char *out, size_t size)
{
	const struct xfrd_folder_bad *first = cds_list_first_entry(&folder->bad,
		struct xfrd_folder_bad, node);
	char name[NAME_TEXT_MAX];

	snprintf(out, size, "files with a bad name: %s%u, the first one is"
		" %s.zone", folder->more_bad ? "more than " : "",
		folder->bad_count, xfrd_members_print_text(first->name, name,
					   sizeof(name)));
}

const char *
xfrd_folder_print_fault(const struct xfrd_folder *folder, char *out,
	size_t size)
{
	*out = '\0';
	if (folder->fails)
		snprintf(out, size, "cannot be read: %s: its zones stay",
			folder->watch.why);
	else if (folder->is_kept)
		snprintf(out, size, "has no zone files any more: its zones"
			" stay");
	else if (folder->bad_count > 0)
		folder_print_bad(folder, out, size);
	else if (folder->watch.fd == -1)
		snprintf(out, size, "is read once a minute: the kernel does"
			" not tell of changes");
	return out;
}

const char *
xfrd_folder_print_pause(const struct xfrd_folder *folder,
	const struct xfrd_zone *zone, char *out, size_t size)
{
	char name[NAME_TEXT_MAX];
	enum xfrd_pause pause;
	int64_t left;

	*out = '\0';
	if (!xfrd_watch_find(&folder->watch,
		    xfrd_folder_print_name(xfrd_zone_apex(zone), name), &pause,
		    &left))
		return out;
	left = (left + 999) / 1000;
	if (pause == XFRD_PAUSE_GONE && xfrd_watch_is_filled(&folder->watch))
		snprintf(out, size, "its file is gone, and the folder is being"
			" filled: the zone goes in %" PRId64 " s unless it or"
			" others come", left);
	else if (pause == XFRD_PAUSE_GONE)
		snprintf(out, size, "its file is gone: the zone goes in %"
			PRId64 " s unless it comes back", left);
	else
		snprintf(out, size, "its file is being written: it is read in"
			" %" PRId64 " s at the latest", left);
	return out;
}
