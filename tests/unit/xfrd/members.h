/* members.h - for tests of member zones: the changes, as they are played. */
#ifndef TESTS_UNIT_XFRD_MEMBERS_H
#define TESTS_UNIT_XFRD_MEMBERS_H

#include "xfrd/xfrd_change.h"

#define MEMBERS_ASKED_MAX 16384u

/* The changes that were asked for: "+NAME:PATTERN:ID", "-NAME?EXPECTED" and
 * "=NAME:PATTERN:ID?EXPECTED", with a blank behind each. */
extern char members_said[4096];
extern unsigned members_asked;

/* Begins a test. */
void members_begin(void);
/* Ends the next change; if it is done, the zone is as it was asked for. */
void members_end_one(enum xfrd_changed outcome);
/* Returns how many have not ended. */
unsigned members_left(void);

/* A zone is in the zone list from now on, with this ID (NULL: none); or it is
 * gone. */
void members_list(const char *name, const char *pattern, const char *id);
void members_unlist(const char *name);

#endif
