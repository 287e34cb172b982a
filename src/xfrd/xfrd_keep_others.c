/*
 * xfrd_keep_others.c - entries of zones that have left the configuration.
 *
 * A zone that goes while the server runs takes its entries with it, once its
 * file has them (xfrd_save.h). One that goes while the server is down, or while
 * processes die, may have updates that its file lacks, and that clients were
 * told are durable. These are written to a file as commands of nsupdate, and
 * the journal has no more of the zone: one that comes back may be another.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "dns/rdata.h"
#include "dns/rrtype.h"
#include "journal/journal.h"
#include "xfr/changes.h"
#include "xfrd/xfrd.h"

/* Records in a message of nsupdate, which has 64 KiB. */
#define MESSAGE_RECORDS 100u
/* Octets of a zone's name in the name of its file. */
#define FILE_NAME_MAX 200
/* Octets of a text that are read at once. */
#define PIECE_SIZE (CHANGES_HEAD_MAX + CHANGES_RECORD_MAX)

struct others {
	struct xfrd *xfrd;
	const char *folder;  /* of the journal */
	const uint8_t *apex; /* of the zone at hand */
	char name[NAME_TEXT_MAX];
	FILE *out;
	unsigned records; /* since the last "send" */
	char *rdata;      /* a text */
	size_t rdata_size;
	enum nsd_err err;
};

/* ---- commands of nsupdate ------------------------------------------------ */

static void
others_send(struct others *others)
{
	if (others->records > 0)
		fputs("send\n", others->out);
	others->records = 0;
}

static enum nsd_err
others_print(struct others *others, const struct changes_rr *rr)
{
	char owner[NAME_TEXT_MAX], type[RRTYPE_TEXT_MAX];
	size_t len;

	if (rr->part == CHANGES_OLD_SOA || others->records == MESSAGE_RECORDS)
		others_send(others);
	/* The server makes the serials. */
	if (rr->type == TYPE_SOA)
		return NSD_OK;
	len = rdata_print(rr->type, rr->rdata, rr->rdlen, others->rdata,
		others->rdata_size);
	if (len >= others->rdata_size) {
		char *grown = realloc(others->rdata, len + 1);

		if (grown == NULL)
			return NSD_E_MEMORY;
		others->rdata = grown;
		others->rdata_size = len + 1;
		(void)rdata_print(rr->type, rr->rdata, rr->rdlen,
			others->rdata, others->rdata_size);
	}
	(void)name_print_text(rr->owner, owner);
	(void)rrtype_print(rr->type, type);
	fprintf(others->out, "update %s %s %lu IN %s %s\n",
		rr->action == XFR_ADD ? "add" : "delete", owner,
		(unsigned long)rr->ttl_sec, type, others->rdata);
	others->records++;
	return NSD_OK;
}

/* Reads a text of `left` octets in pieces, and prints its records. */
static enum nsd_err
others_read(struct others *others, int fd, uint64_t offset, uint64_t left,
	uint8_t *piece)
{
	struct changes changes;
	struct changes_rr rr;
	enum nsd_err err = NSD_E_AGAIN;
	size_t kept = 0, rest;
	bool is_open = false;

	while (err == NSD_E_AGAIN && left > 0) {
		size_t want = PIECE_SIZE - kept < left ? PIECE_SIZE - kept
						       : (size_t)left;
		ssize_t n = pread(fd, piece + kept, want, (off_t)offset);

		if (n <= 0)
			return n == 0 ? NSD_E_WIRE : NSD_E_SYSTEM;
		offset += (uint64_t)n;
		left -= (uint64_t)n;
		kept += (size_t)n;
		/* All pieces but the last are full. */
		if (left > 0 && kept < PIECE_SIZE)
			continue;
		if (is_open)
			changes_feed(&changes, piece, kept);
		else if (changes_open(&changes, piece, kept) != NSD_OK)
			return NSD_E_WIRE;
		is_open = true;
		while ((err = changes_read(&changes, &rr)) == NSD_OK)
			if ((err = others_print(others, &rr)) != NSD_OK)
				return err;
		rest = changes_left(&changes);
		memmove(piece, piece + kept - rest, rest);
		kept = rest;
	}
	return err == NSD_E_AGAIN && is_open ? changes_close(&changes, NULL)
					     : err;
}

/* Prints an entry that clients have sent. True: go on. */
static bool
others_on_entry(void *ctx, const struct journal_entry *entry)
{
	struct others *others = ctx;
	uint8_t *piece;
	uint64_t offset;
	int fd;

	/* Of a doubtful one nobody was told that it is durable. */
	if (!entry->is_update || entry->is_doubtful)
		return true;
	others->err = journal_open_text(others->xfrd->journal, others->apex,
		entry->id, &fd, &offset);
	if (others->err != NSD_OK)
		return false;
	piece = malloc(PIECE_SIZE);
	fprintf(others->out, "; %s serial %lu\n", entry->kind == JOURNAL_WHOLE
			? "the whole zone at" : "the change to",
		(unsigned long)entry->to);
	others->err = piece == NULL ? NSD_E_MEMORY
		: others_read(others, fd, offset, entry->text_len, piece);
	free(piece);
	close(fd);
	others_send(others);
	return others->err == NSD_OK;
}

/* ---- the file ------------------------------------------------------------ */

static void
others_print_path(const struct others *others, uint64_t id,
	char out[PATH_MAX])
{
	char name[FILE_NAME_MAX + 1];

	snprintf(name, sizeof(name), "%.*s", FILE_NAME_MAX, others->name);
	for (char *c = name; *c != '\0'; c++)
		if (*c == '/')
			*c = '_';
	snprintf(out, PATH_MAX, "%s/%s.%llu.updates", others->folder, name,
		(unsigned long long)id);
}

/* Writes the file, durably. */
static enum nsd_err
others_write(struct others *others, const char *path)
{
	struct fs_replace file;
	enum nsd_err err = fs_replace_open(&file, path, 0640);
	int fd;

	if (err != NSD_OK)
		return err;
	err = fs_replace_open_stream(&file, &others->out);
	if (err != NSD_OK) {
		fs_replace_abort(&file);
		return err;
	}
	fprintf(others->out, "; updates of clients that the file of zone %s may"
		" lack, for nsupdate\nzone %s.\n", others->name,
		strcmp(others->name, ".") == 0 ? "" : others->name);
	others->err = NSD_OK;
	others->records = 0;
	(void)journal_each(others->xfrd->journal, others->apex,
		others_on_entry, others);
	err = fs_replace_close_stream(others->out);
	if (err == NSD_OK)
		err = others->err;
	if (err != NSD_OK) {
		fs_replace_abort(&file);
		return err;
	}
	err = fs_replace_take(&file, &fd);
	if (err == NSD_OK) {
		close(fd);
		err = fs_flush_folder(path);
	}
	return err;
}

static bool
others_not_update(void *ctx, const struct journal_entry *entry)
{
	return !entry->is_update || entry->is_doubtful;
}

/* Has the updates of a zone that is not configured in a file. False: that
 * fails, and the journal keeps them. */
static bool
others_save(struct others *others, const uint8_t *apex)
{
	char path[PATH_MAX];
	struct journal_entry oldest;
	size_t len = name_print_text(apex, others->name);
	enum nsd_err err;

	others->name[len > 1 ? len - 1 : len] = '\0';
	others->apex = apex;
	if (!journal_find_oldest(others->xfrd->journal, apex, &oldest)
		|| journal_each(others->xfrd->journal, apex, others_not_update,
			NULL))
		return true;
	others_print_path(others, oldest.id, path);
	err = others_write(others, path);
	if (err == NSD_OK)
		log_error("xfrd: zone %s is not in the configuration any more,"
			  " but clients have sent updates that its file may"
			  " lack: they are in %s, for nsupdate",
			others->name, path);
	else
		log_error("xfrd: zone %s is not in the configuration any more,"
			  " but clients have sent updates that its file may"
			  " lack: the journal keeps them, as %s cannot be"
			  " written: %s", others->name, path, err_reason(err));
	return err == NSD_OK;
}

/* True if the zone is there, also if it is no secondary any more: its file may
 * not be written yet. */
static bool
others_keep(void *ctx, const uint8_t *apex)
{
	struct others *others = ctx;

	return xfrd_zone_find(&others->xfrd->zones.table, apex) != NULL
		|| !others_save(others, apex);
}

void
xfrd_keep_drop_others(struct xfrd *xfrd, const char *folder)
{
	struct others others = {.xfrd = xfrd, .folder = folder};
	size_t count;

	/* A zone list that was cut short has lost zones; others are in another
	 * store. */
	if (xfrd->role.server->list_was_cut || xfrd->is_behind)
		return;
	count = journal_drop_others(xfrd->journal, others_keep, &others);
	free(others.rdata);
	if (count > 0)
		log_notice("xfrd: the journal forgets %zu zones that are not"
			   " in the configuration any more", count);
}
