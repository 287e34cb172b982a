/* privilege.h - giving up what main needed to start: root, and its view of
 * the file system. */
#ifndef PROC_PRIVILEGE_H
#define PROC_PRIVILEGE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct privilege_user {
	bool change;  /* false: stay who we are */
	uid_t uid;    /* -1: no user was named */
	gid_t gid;
	gid_t *groups;/* all of the account's, NULL: no account of that id */
	int group_count;
};

/* Looks up `username:` (a name, a number, or number.number; "": stay).
 * NSD_E_NOT_FOUND, said in the log. Needs /etc: before privilege_chroot. */
enum nsd_err privilege_find_user(const char *username,
	struct privilege_user *user) MUST_USE;

/* Frees what privilege_find_user found, after privilege_drop. */
void privilege_forget_user(struct privilege_user *user);

/* Changes the root directory and the working directory to it. NSD_E_SYSTEM,
 * said in the log. */
enum nsd_err privilege_chroot(const char *path) MUST_USE;

/* Becomes the user, for good: groups, group, user, and no way back; processes
 * of that user cannot look into it from then on, nor into its children. Said in
 * the log: NSD_E_SYSTEM, NSD_E_DENIED if this process may not. */
enum nsd_err privilege_drop(const struct privilege_user *user) MUST_USE;

#endif
