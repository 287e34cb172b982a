/*
 * xfrd_change_renew.c - the zone list is written anew, between two batches of
 * changes.
 *
 * The new list has the published zones. Zones that are not published (yet) in
 * the store that xfrd reads, as another one may be filled beside it, keep their
 * lines.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "conf/zonelist.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_changes.h"

/* A list that could not be written anew is tried again after this, then after
 * twice as long each time. */
#define RENEW_PAUSE_SEC 1u
#define RENEW_PAUSE_SEC_MAX 60u
/* Zones of a list that is written in order: xfrd does nothing else
 * meanwhile. */
#define SORTED_MAX 100000u

size_t
xfrd_change_count_zones(const struct xfrd *xfrd)
{
	return xfrd->zones.table.count + (size_t)xfrd->changes->more;
}

bool
xfrd_change_wants_renewal(const struct xfrd *xfrd)
{
	const struct xfrd_changes *changes = xfrd->changes;

	return !changes->paused
		&& zonelist_wants_renewal(changes->list,
			xfrd_change_count_zones(xfrd));
}

static void
changes_drop_lines(struct xfrd_changes *changes)
{
	free(changes->lines);
	changes->lines = NULL;
	changes->line_count = 0;
}

/* Fails a renewal. A list that is whole is used meanwhile; one that is not gets
 * no more lines. */
static void
changes_fail_renewal(struct xfrd_changes *changes)
{
	struct timeval pause;

	changes->failed_error = errno;
	changes->failed_msec = clock_now_msec();
	changes->pause_sec = changes->pause_sec == 0 ? RENEW_PAUSE_SEC
						     : 2 * changes->pause_sec;
	if (changes->pause_sec > RENEW_PAUSE_SEC_MAX)
		changes->pause_sec = RENEW_PAUSE_SEC_MAX;
	log_error("cannot write %s anew: %s; again in %u s",
		changes->list->path, strerror(changes->failed_error),
		changes->pause_sec);
	pause = (struct timeval){.tv_sec = changes->pause_sec};
	changes->paused = true;
	event_add(changes->renew_event, &pause);
	changes->renewed_fd = -1;
	changes_drop_lines(changes);
}

static int
changes_compare_lines(const void *a, const void *b)
{
	const struct xfrd_new_line *one = a, *other = b;

	return name_compare(xfrd_zone_apex(one->zone),
		xfrd_zone_apex(other->zone));
}

/* Puts a zone behind all others. */
static void
changes_put_last(struct xfrd_changes *changes, const uint8_t *apex)
{
	struct xfrd_new_line *lines = changes->lines, line;
	size_t at = 0, behind;

	while (at < changes->line_count
		&& !name_equal(xfrd_zone_apex(lines[at].zone), apex))
		at++;
	if (at == changes->line_count)
		return;
	line = lines[at];
	behind = changes->line_count - at - 1;
	memmove(&lines[at], &lines[at + 1], behind * sizeof(*lines));
	lines[at + behind] = line;
}

/* Finds the zones of the list, in their order. False: no memory. */
static bool
changes_find_lines(struct xfrd *xfrd)
{
	struct xfrd_changes *changes = xfrd->changes;
	const struct xfrd_zone_table *table = &xfrd->zones.table;
	size_t count = 0;

	assert(changes->lines == NULL);
	changes->lines = calloc(table->listed_count + 1u,
		sizeof(*changes->lines));
	if (changes->lines == NULL)
		return false;
	for (uint32_t i = 0; i < table->end; i++) {
		struct xfrd_zone *zone = xfrd_zone_at(table, i);

		if (zone != NULL && zone->is_listed)
			changes->lines[count++].zone = zone;
	}
	assert(count == table->listed_count);
	changes->line_count = count;
	if (count <= SORTED_MAX)
		qsort(changes->lines, count, sizeof(*changes->lines),
			changes_compare_lines);
	if (changes->list->sparse)
		changes_put_last(changes, changes->list->last);
	return true;
}

static enum nsd_err
changes_write_line(struct xfrd *xfrd, struct xfrd_new_line *line)
{
	struct zonelist *list = xfrd->changes->list;
	struct xfrd_options options = xfrd_options_begin(xfrd, line->zone);
	const char *pattern = xfrd_options_pattern(&options);
	char text[NAME_TEXT_MAX];
	enum nsd_err err;

	if (pattern != NULL)
		err = zonelist_renew_add(list, zone_entry_name(options.view,
						options.entry, text),
			pattern,
			xfrd_zone_member(&xfrd->zones.table, line->zone),
			&line->at);
	else
		err = zonelist_renew_copy(list, line->zone->listed_at,
			&line->at);
	xfrd_read_end(xfrd);
	return err;
}

static enum nsd_err
changes_write_lines(struct xfrd *xfrd)
{
	struct xfrd_changes *changes = xfrd->changes;
	enum nsd_err err = zonelist_renew_begin(changes->list);

	if (err != NSD_OK)
		return err;
	(void)xfrd_read_begin(xfrd);
	for (size_t i = 0; i < changes->line_count && err == NSD_OK; i++)
		err = changes_write_line(xfrd, &changes->lines[i]);
	xfrd_read_end(xfrd);
	return err != NSD_OK ? err
		: zonelist_renew_end(changes->list, &changes->renewed_fd);
}

/* Takes the places of lines in the new file. */
static void
changes_take_lines(struct xfrd *xfrd)
{
	struct xfrd_changes *changes = xfrd->changes;

	/* No zone has come or gone meanwhile. */
	assert(changes->line_count == xfrd->zones.table.listed_count);
	for (size_t i = 0; i < changes->line_count; i++)
		xfrd_zone_set_listed(&xfrd->zones.table, changes->lines[i].zone,
			true, changes->lines[i].at);
	changes_drop_lines(changes);
}

bool
xfrd_change_renew(struct xfrd *xfrd)
{
	struct xfrd_changes *changes = xfrd->changes;

	assert(changes->step == XFRD_CHANGES_NONE && changes->renewed_fd == -1);
	assert(cds_list_empty(&changes->batch));
	errno = ENOMEM;
	if (!changes_find_lines(xfrd) || changes_write_lines(xfrd) != NSD_OK) {
		changes_fail_renewal(changes);
		return false;
	}
	changes->flush = syncer_ask(changes->syncer, changes->renewed_fd, -1);
	return true;
}

/* Forgets lines that the new list does not have. */
static void
changes_lose_lines(struct xfrd_changes *changes)
{
	if (changes->unused > 0)
		log_warning("zone list %s is written anew without %zu lines of"
			    " zones that could not be added from it",
			changes->list->path, changes->unused);
	changes->unused = 0;
	xfrd_skipped_drop_all(changes);
}

/* The new list has no lines of changes that are not done, those that the last
 * xfrd has left and those that are busy: they are written when they are begun
 * again. */
static void
changes_list_again(struct xfrd_changes *changes)
{
	struct xfrd_change *change;

	cds_list_for_each_entry(change, &changes->waiting, node) {
		change->is_listed = false;
		change->is_durable = false;
		change->at = 0;
	}
}

/* The file is made durable first, then its name. */
bool
xfrd_change_renew_next(struct xfrd *xfrd, int error)
{
	struct xfrd_changes *changes = xfrd->changes;
	enum nsd_err err = NSD_E_SYSTEM;

	assert(changes->step == XFRD_CHANGES_RENEWAL);
	assert((changes->renewed_fd == -1) == (changes->lines == NULL));
	errno = error;
	if (changes->renewed_fd == -1) {
		changes->pause_sec = error == 0 ? 0 : changes->pause_sec;
		changes->list->renew |= error != 0;
		if (error != 0)
			changes_fail_renewal(changes);
		return false;
	}
	if (error != 0)
		zonelist_drop_renewed(changes->list);
	else
		err = zonelist_take_renewed(changes->list);
	if (err != NSD_OK) {
		changes_fail_renewal(changes);
		return false;
	}
	changes_take_lines(xfrd);
	changes_lose_lines(changes);
	changes_list_again(changes);
	changes->renewed_fd = -1;
	changes->flush = syncer_ask(changes->syncer, -1,
		changes->list->folder);
	return true;
}
