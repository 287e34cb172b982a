/*
 * xfrd_folder.h - folders whose zone files are zones (zone-directory): each
 * file NAME.zone of the folder of a pattern is a member zone (xfrd_members.h)
 * with that pattern.
 *
 * The zone list says which zones are members: their ID is
 * XFRD_MEMBER_OF_FOLDER, and their pattern that of the folder.
 * Nothing is deleted in doubt: a zone goes when its file has been gone for a
 * while, the folder can be read, and it has other zone files (or catalog-empty:
 * delete).
 *
 * The name of a file is that of its zone in lower case, as it is printed: so
 * the zonefile of the pattern leads to the file, and no two files mean one
 * zone.
 */
#ifndef XFRD_XFRD_FOLDER_H
#define XFRD_XFRD_FOLDER_H

#include <event2/util.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "dns/name.h"
#include "xfrd/xfrd_members.h"
#include "xfrd/xfrd_watch.h"

struct event;

struct xfrd_folders {
	struct cds_list_head list; /* struct xfrd_folder */
	bool are_allowed;          /* this process may read folders */
	/* Files that have changed, and are to be read by the loader: */
	bool reads;                /* the loader has been asked */
	unsigned changed;          /* since; the first one: */
	uint8_t changed_apex[NAME_MAX_LEN];
	struct event *event;       /* another try */
	struct event *follow_event; /* has settings followed */
};

/* Files with a bad name that are known. */
#define XFRD_FOLDER_BAD_MAX 1000u

struct xfrd_folder_bad {
	struct cds_list_head node;
	char name[];
};

struct xfrd_folder {
	struct cds_list_head node;   /* of xfrd.folders.list */
	struct xfrd *xfrd;
	struct xfrd_members members; /* with those that were refused */
	struct xfrd_watch watch;
	char *name;                  /* "zone-directory PATH" */
	char *pattern;               /* name of its pattern */
	bool seen;                   /* by xfrd_folder_follow */
	bool is_read;                /* all files were seen once */
	bool fails;                  /* not readable the last time */
	bool failed;                 /* changes have failed */
	unsigned retry_sec;          /* the pause after that; 0: none have */
	bool is_kept;                /* without any file: zones stay */
	uint64_t count;              /* member zones */
	struct cds_list_head bad;    /* struct xfrd_folder_bad: files whose name
				      * is that of no zone */
	unsigned bad_count;
	bool more_bad;               /* there may be others */
	enum {
		XFRD_FOLDER_IDLE,
		XFRD_FOLDER_READS,   /* a round of all files */
		XFRD_FOLDER_MISSES,  /* the same: looks for zones without */
		XFRD_FOLDER_FILES,   /* a round of single files */
		XFRD_FOLDER_WAITS,   /* for the end of the round */
	} step;
	uint64_t counted;            /* zones that have come in the round, and
				      * are in count */
	uint32_t next;               /* number of the zone to look at */
	struct event *event;         /* more zones, or another try */
};

/* True if a pattern that is published has a folder. */
bool xfrd_folder_are_there(struct xfrd *xfrd);

/* Begins without folders. NSD_E_MEMORY. */
enum nsd_err xfrd_folder_init(struct xfrd *xfrd) MUST_USE;

/* Follows the folders of the patterns that are published: those that come are
 * read, those that were there are read again. The zones of those that go
 * stay. */
void xfrd_folder_follow(struct xfrd *xfrd);
/* Has all folders read. */
void xfrd_folder_read_all(struct xfrd *xfrd);

/* ---- for people ---------------------------------------------------------- */

/* Finds the folder that a zone is a member of. NULL: none. Cost: the number of
 * folders. */
struct xfrd_folder *xfrd_folder_of_zone(struct xfrd *xfrd,
	const struct xfrd_zone *zone);
/* Prints what is wrong with a folder; *out is empty if nothing is. Returns out,
 * cut to size. */
const char *xfrd_folder_print_fault(const struct xfrd_folder *folder,
	char *out, size_t size);
/* Prints what the file of a member waits for; *out is empty if for nothing.
 * Returns out, cut to size. */
const char *xfrd_folder_print_pause(const struct xfrd_folder *folder,
	const struct xfrd_zone *zone, char *out, size_t size);

/* ---- between the files of folders ---------------------------------------- */

extern const struct xfrd_watch_hooks xfrd_folder_watch_hooks;
extern const struct xfrd_source_hooks xfrd_folder_source_hooks;

/* Does what the event of a folder is for. */
void xfrd_folder_on_event(evutil_socket_t fd, short what, void *arg);
/* Has the loader read the file that has changed, or if there are several, all
 * files that have. */
void xfrd_folder_read_changed(struct xfrd *xfrd);
/* Forgets the files with a bad name. */
void xfrd_folder_drop_bad(struct xfrd_folder *folder);
/* Prints the name of a zone as its file has it. Returns out. */
const char *xfrd_folder_print_name(const uint8_t *apex,
	char out[NAME_TEXT_MAX]);

#endif
