/*
 * changes.h - for tests of changes of zones: the disk, the loader and the
 * transfers, as they are played.
 */
#ifndef TESTS_UNIT_XFRD_CHANGES_H
#define TESTS_UNIT_XFRD_CHANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "xfrd/xfrd.h"
#include "xfrd/xfrd_change.h"

#define ASKED_MAX 32u
#define HEAD "# NSD zone list\n# name pattern\n"

/* ---- stand-ins ----------------------------------------------------------- */

extern uint64_t flushes;

/* A message: the changes of it that have no answer yet. */
struct message {
	request_on_end *on_end;
	void *ctx;
	unsigned first, count, left;
	bool more; /* there are others to be published with these */
};

extern struct message messages[ASKED_MAX];
extern unsigned message_count;
extern bool unpublished; /* answers are about changes that are not, yet */

/* A change, or a file that is to be read ("read NAME"). */
struct asked {
	char text[64]; /* "NAME PATTERN", with '!' if it is anew */
	char name[32], pattern[16];
	request_on_end *on_end;
	void *ctx;
	unsigned message;
	enum nsd_err err;
	enum ipc_zone_file file;
};

extern struct asked asked[ASKED_MAX];
extern unsigned asked_count;
extern enum nsd_err read_error; /* of what is asked for */

/* ---- a test -------------------------------------------------------------- */

/* The zone list, whose name is to be set. Patterns are p, q and long. */
extern char list_path[64];

/* Setup and teardown of a test: an xfrd with an empty list. */
int changes_begin(void **state);
int changes_end(void **state);
void open_list(void);
void close_list(void);

/* Has a zone changed. `ended` has "MARK:OUTCOME " of each that has ended. */
void change(enum xfrd_change_kind kind, const char *name, const char *pattern,
	const char *mark);
extern char ended[256];
extern bool no_wait, comes_anew; /* of those that are asked for */
extern const char *given_id, *expected_id; /* the same; or NULL */

/* A batch begins, or what has failed is taken back; it is flushed, or that
 * fails. */
void flush(int error);

/* Ends a request. NULL: loaders died of it. */
void give(request_on_end **to, void *ctx, const struct ipc_message *m);
/* An answer to the first ones of a message. */
void answer_first(unsigned number, unsigned count);
/* A message is answered when all of its changes are. */
void answer_file(unsigned number, enum nsd_err err, enum ipc_zone_file file);
void answer(unsigned number, enum nsd_err err);
void answer_read(unsigned number, enum nsd_err err, const char *reasons);

/* Adds x, y and z, with the pattern p. */
void add_three(void);
/* xfrd knows of it, and it is published so. */
bool has(const char *name, const char *pattern);
/* The ID that its line has; or NULL. */
const char *member(const char *name);

#endif
