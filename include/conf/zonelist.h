/*
 * zonelist.h - the file of the zones that were added at run time
 * (zonelistfile; doc/surface.md section 6), as NSD writes it:
 *
 *	# NSD zone list
 *	# name pattern
 *	add example.com master
 *	cat example.net master 9fc90e0a
 *	mem example.nl slave m1.zones.catalog.example.
 *	del example.org slave      a free place, for a line of the same length
 *
 * cat: a member of a catalog that the server produces, with the label of its
 * node. mem: a member of a source, of a catalog that the server consumes or of
 * a folder; NSD lists none of these, and leaves such lines out.
 *
 * Main reads it at a start, and when nsd.conf is read anew; so does a loader
 * that fills a store. xfrd alone writes it: a line is overwritten at its
 * place or added at the end, so that a change costs no more with many zones.
 * Writing does not flush: the caller has zonelist.fd and zonelist.folder
 * flushed, and takes its change back if that fails.
 */
#ifndef CONF_ZONELIST_H
#define CONF_ZONELIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/err.h"
#include "base/fs.h"
#include "conf/conf.h"
#include "dns/name.h"

/* Octets of a line, with its newline; longer ones are never written. */
#define ZONELIST_LINE_MAX 2048u

/* ---- reading ------------------------------------------------------------- */

/* A line that adds a zone, or once did. The texts are lent for the call. */
struct zonelist_line {
	const char *name;
	const char *pattern;
	const char *id;      /* of a member; NULL: the zone is none */
	bool cut;            /* the line has no newline, so octets of it may be
			      * missing */
	uint64_t offset;     /* where the line begins in the file */
	uint32_t line;       /* from 1 */
	uint32_t len;        /* octets with the newline */
};

struct zonelist_reader {
	void *ctx;
	/* An `add`, `cat` or `mem` line. A result other than NSD_OK ends the
	 * reading. */
	enum nsd_err (*on_zone)(void *ctx, const struct zonelist_line *line);
	/* A `del` line: a free place. The ID of a member counts as its pattern
	 * here, and the pattern as part of the name. NULL: not called. */
	void (*on_free)(void *ctx, const struct zonelist_line *line);
};

/*
 * Reads the lines of a list. text is written to. Lines that make no sense are
 * reported to the sink and skipped. A list that was cut short, as it is empty,
 * has NULs alone or ends within a line, is reported, too. *whole: octets up to
 * the end of the last line that has a newline.
 * returns NSD_OK, also for an empty list; NSD_E_SYNTAX: it does not begin as
 *     a zone list, which the sink was told; what on_zone returns.
 */
enum nsd_err zonelist_parse(const char *path, char *text, size_t len,
	const struct zonelist_reader *reader, struct diag_sink *sink,
	size_t *whole) MUST_USE;

/*
 * Adds the zones of a list to a configuration that was just loaded. A zone that
 * is there already, or whose pattern is not there, is reported to the sink and
 * left out. *cut: the list was cut short, and may have had more zones.
 * returns NSD_OK, also if there is no such file; NSD_E_SYSTEM: it cannot be
 *     read; NSD_E_SYNTAX: it is no zone list; the sink was told both;
 *     NSD_E_MEMORY.
 * cost: linear in the size of the file; blocks on it.
 */
enum nsd_err zonelist_load(struct conf *conf, const char *path,
	struct diag_sink *sink, bool *cut) MUST_USE;

/*
 * Loads the list while xfrd may be writing it. Faults of it are not reported
 * again, and a line at its end without a newline is taken for one that is being
 * written, unless the list was cut short at the start. opened: the file as it
 * was at the start, if this process may not open it any more; -1: there was
 * none.
 * returns as zonelist_load; NSD_E_SYSTEM with errno.
 */
enum nsd_err zonelist_load_again(struct conf *conf, const char *path,
	int opened, bool was_cut) MUST_USE;

/* True if an ID is one that members of sources have: such IDs end in a dot. */
bool zonelist_id_is_of_source(const char *id);

/* ---- writing ------------------------------------------------------------- */

/* Free places of lines of one length, in one sector each, the newest last. */
struct zonelist_places {
	uint64_t *offsets;
	size_t count, room;
};

struct zonelist {
	char *path;
	int fd;              /* -1: there is no file yet */
	int folder;          /* -1: cannot be opened */
	uint64_t end;        /* octets of the file */
	bool renew;          /* the file ends in the middle of a line, or cannot
			      * be appended to: write it anew first */
	bool is_there;       /* the file was not gone at the last
			      * zonelist_look; false: each call looks */
	bool sparse;         /* more free places than zones, as NSD counts, for
			      * a moment: see zonelist_note_change */
	uint8_t last[NAME_MAX_LEN]; /* with sparse: the zone that was changed
				     * then */
	size_t free;         /* `del` lines */
	struct fs_replace renewed; /* the new file, while the list is written
				    * anew */
	uint64_t renewed_end;      /* octets of the new file */
	char *buffer;              /* the last octets, not written yet; NULL:
				    * there are none */
	size_t buffered;
	struct zonelist_places places[ZONELIST_LINE_MAX + 1]; /* by length */
};

/*
 * Opens the list for writing, if it is there, and reads it as zonelist_parse
 * does. opened: the same file, opened by a process that may do so: it is copied
 * if we may not; -1: there is none. Copies path. A file that is no zone list is
 * not opened.
 * returns NSD_OK and gives *list (zonelist_close), also if there is no such
 *     file; else as zonelist_load.
 */
enum nsd_err zonelist_open(const char *path, int opened,
	const struct zonelist_reader *reader, struct diag_sink *sink,
	struct zonelist **list) MUST_USE;
/* Removes FILE~, if there is one. NULL is fine. */
void zonelist_close(struct zonelist *list);

/* Looks whether the file is there still, for all calls until the next look:
 * lines of one batch are written within a moment. */
void zonelist_look(struct zonelist *list);

/*
 * Writes a line for a zone, in the newest free place of its length that lies in
 * one sector, or at the end. id: of a catalog's member, else NULL. The file is
 * made if there is none. *offset: of the line.
 * returns NSD_OK; NSD_E_SYSTEM with errno: nothing has changed; NSD_E_LIMIT:
 *     the line would be too long; NSD_E_AGAIN: renew.
 */
enum nsd_err zonelist_add(struct zonelist *list, const char *name,
	const char *pattern, const char *id, uint64_t *offset) MUST_USE;

/*
 * Writes another pattern of the same length in the line of a zone. id: the same
 * as before.
 * returns as zonelist_add; NSD_E_LIMIT also: the line that is there has other
 *     octets, or the pattern is not within a sector of 512 octets, so that a
 *     power cut could leave parts of both. Add a line and remove this one.
 */
enum nsd_err zonelist_replace(struct zonelist *list, uint64_t offset,
	const char *name, const char *pattern, const char *id) MUST_USE;

/* Makes a line a free place, which no other line takes until
 * zonelist_free_place; zonelist_restore makes it the line that it was.
 * id: the one in it, or NULL. NSD_E_SYSTEM with errno: nothing has changed. */
enum nsd_err zonelist_remove(struct zonelist *list, uint64_t offset) MUST_USE;
enum nsd_err zonelist_restore(struct zonelist *list, uint64_t offset,
	const char *id) MUST_USE;
/* Frees the place of a line that was removed, for other lines. */
void zonelist_free_place(struct zonelist *list, uint64_t offset);

/* Notes that a zone gets another line, or would if it had not that pattern
 * already. NSD counts one zone less and one free line more for a moment, in
 * which it may write the list anew; the zone comes last then. zone_count: of
 * all configured zones. */
void zonelist_note_change(struct zonelist *list, size_t zone_count,
	const uint8_t *apex);

/* True if the list is to be written anew: more of its lines are free than zones
 * are configured, as NSD counts, or its file is gone. */
bool zonelist_wants_renewal(const struct zonelist *list, size_t zone_count);

/*
 * Writes the list anew. zonelist_renew_begin makes FILE~. zonelist_renew_add
 * adds the line of a zone, and zonelist_renew_copy a copy of its present line.
 * zonelist_renew_end: *fd, borrowed, has all of the new list, and is to be
 * flushed. zonelist_take_renewed renames it over the list; then list->folder is
 * to be flushed. *offset: of the line in the new list; 0: the line would be too
 * long, or the one to be copied is not there, and it is left out. NSD's list
 * has its zones in canonical order; but see zonelist_note_change.
 * returns NSD_OK; NSD_E_SYSTEM with errno: the list is as it was, and there is
 *     no FILE~.
 */
enum nsd_err zonelist_renew_begin(struct zonelist *list) MUST_USE;
enum nsd_err zonelist_renew_add(struct zonelist *list, const char *name,
	const char *pattern, const char *id, uint64_t *offset) MUST_USE;
enum nsd_err zonelist_renew_copy(struct zonelist *list, uint64_t from,
	uint64_t *offset) MUST_USE;
enum nsd_err zonelist_renew_end(struct zonelist *list, int *fd) MUST_USE;
enum nsd_err zonelist_take_renewed(struct zonelist *list) MUST_USE;
/* Removes FILE~, instead of zonelist_take_renewed. errno stays. */
void zonelist_drop_renewed(struct zonelist *list);

#endif
