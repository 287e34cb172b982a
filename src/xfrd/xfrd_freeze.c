/* xfrd_freeze.c - zones that take no UPDATEs of clients for a while. */
#include "config.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "dns/name.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_apexes.h"
#include "xfrd/xfrd_freeze.h"

struct frozen_zone {
	uint8_t apex[NAME_MAX_LEN]; /* must be first: it is looked for */
	struct cds_list_head node;  /* of freezer.list */
};

static struct frozen_zone *
frozen_find(const struct xfrd *xfrd, const uint8_t *apex)
{
	return xfrd_apexes_find(&xfrd->freezer.zones, apex);
}

bool
xfrd_freeze_has(const struct xfrd *xfrd, const uint8_t *apex)
{
	return xfrd->freezer.count > 0 && frozen_find(xfrd, apex) != NULL;
}

enum nsd_err
xfrd_freeze_add(struct xfrd *xfrd, const uint8_t *apex)
{
	struct frozen_zone *zone;

	if (xfrd_freeze_has(xfrd, apex))
		return NSD_OK;
	zone = calloc(1, sizeof(*zone));
	if (zone == NULL)
		return NSD_E_MEMORY;
	memcpy(zone->apex, apex, name_len(apex));
	if (!xfrd_apexes_add(&xfrd->freezer.zones, zone)) {
		free(zone);
		return NSD_E_MEMORY;
	}
	cds_list_add_tail(&zone->node, &xfrd->freezer.list);
	xfrd->freezer.count++;
	return NSD_OK;
}

void
xfrd_freeze_remove(struct xfrd *xfrd, const uint8_t *apex)
{
	struct frozen_zone *zone = frozen_find(xfrd, apex);

	if (zone == NULL)
		return;
	cds_list_del(&zone->node);
	xfrd_apexes_remove(&xfrd->freezer.zones, zone);
	xfrd->freezer.count--;
	free(zone);
}

const uint8_t *
xfrd_freeze_first(const struct xfrd *xfrd)
{
	return xfrd->freezer.count == 0 ? NULL
		: cds_list_first_entry(&xfrd->freezer.list,
			struct frozen_zone, node)->apex;
}

void
xfrd_freeze_put_last(struct xfrd *xfrd, const uint8_t *apex)
{
	struct frozen_zone *zone = frozen_find(xfrd, apex);

	if (zone == NULL)
		return;
	cds_list_del(&zone->node);
	cds_list_add_tail(&zone->node, &xfrd->freezer.list);
}

/* ---- the file ------------------------------------------------------------ */

enum nsd_err
xfrd_freeze_save(struct xfrd *xfrd)
{
	const struct frozen_zone *zone;
	char name[NAME_TEXT_MAX];
	struct fs_replace file;
	enum nsd_err err;
	FILE *out;
	int fd;

	if (xfrd->freezer.path == NULL || xfrd_keep_is_lost(xfrd))
		return NSD_E_DENIED;
	err = fs_replace_open_tilde(&file, xfrd->freezer.path, O_WRONLY, 0600);
	if (err == NSD_OK)
		err = fs_replace_open_stream(&file, &out);
	if (err != NSD_OK)
		return err;
	cds_list_for_each_entry(zone, &xfrd->freezer.list, node) {
		(void)name_print_text(zone->apex, name);
		fprintf(out, "%s\n", name);
	}
	err = fs_replace_close_stream(out);
	if (err != NSD_OK) {
		fs_replace_abort(&file);
		return err;
	}
	err = fs_replace_take(&file, &fd);
	if (err != NSD_OK)
		return err;
	if (fd != -1)
		close(fd);
	return fs_flush_folder(xfrd->freezer.path);
}

static void
frozen_on_save(evutil_socket_t fd, short what, void *arg)
{
	struct xfrd *xfrd = arg;

	if (xfrd_freeze_save(xfrd) != NSD_OK)
		log_error("xfrd: %s cannot be written: zones that have gone"
			  " are frozen when they are added again",
			xfrd->freezer.path);
}

void
xfrd_freeze_forget(struct xfrd *xfrd, const uint8_t *apex)
{
	static const struct timeval at_once = {.tv_sec = 0};

	if (!xfrd_freeze_has(xfrd, apex))
		return;
	xfrd_freeze_remove(xfrd, apex);
	/* Many zones may go in this turn of the loop. */
	event_add(xfrd->freezer.save_event, &at_once);
}

void
xfrd_freeze_end(struct xfrd *xfrd)
{
	if (event_pending(xfrd->freezer.save_event, EV_TIMEOUT, NULL))
		frozen_on_save(-1, EV_TIMEOUT, xfrd);
}

static void
frozen_read(struct xfrd *xfrd, FILE *in)
{
	static const uint8_t root[] = {0};
	const char *why;
	uint8_t apex[NAME_MAX_LEN];
	char *line = NULL;
	size_t room = 0, len;
	ssize_t got;

	while ((got = getline(&line, &room, in)) > 0) {
		if (line[got - 1] == '\n')
			got--;
		if (name_parse_text(line, (size_t)got, root, apex, &len,
			    &why)
			!= NSD_OK) {
			log_warning("xfrd: %s: not a name: %s",
				xfrd->freezer.path, why);
			continue;
		}
		name_lower(apex);
		if (xfrd_freeze_add(xfrd, apex) != NSD_OK)
			log_error("xfrd: %s: out of memory",
				xfrd->freezer.path);
	}
	free(line);
}

enum nsd_err
xfrd_freeze_init(struct xfrd *xfrd)
{
	char folder[PATH_MAX], path[PATH_MAX + 8];
	FILE *in;

	CDS_INIT_LIST_HEAD(&xfrd->freezer.list);
	xfrd->freezer.save_event = event_new(xfrd->role.base, -1, 0,
		frozen_on_save, xfrd);
	if (xfrd->freezer.save_event == NULL)
		return NSD_E_MEMORY;
	if (xfrd->journal == NULL
		|| !server_find_journal(xfrd->role.server, folder,
			sizeof(folder)))
		return NSD_OK;
	snprintf(path, sizeof(path), "%s/frozen", folder);
	xfrd->freezer.path = strdup(path);
	if (xfrd->freezer.path == NULL)
		return NSD_E_MEMORY;
	in = fopen(path, "re");
	if (in != NULL) {
		frozen_read(xfrd, in);
		fclose(in);
	} else if (errno != ENOENT) {
		log_error("xfrd: %s: %s: no zone is frozen", path,
			strerror(errno));
	}
	return NSD_OK;
}
