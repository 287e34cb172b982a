/* privilege.h - gives up rights that main needed to start: root, and its view
 * of the file system. */
#ifndef PROCESS_PRIVILEGE_H
#define PROCESS_PRIVILEGE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct privilege_user {
	bool change;  /* false: keep the user */
	uid_t uid;    /* -1: no user was named */
	gid_t gid;
	gid_t *groups;/* all of the account's, NULL: no account of that id */
	int group_count;
};

/* Looks up `username:` (a name, a number, or number.number; "": stay).
 * NSD_E_NOT_FOUND, said in the log. Needs /etc: before privilege_chroot. */
enum nsd_err privilege_find_user(const char *username,
	struct privilege_user *user) MUST_USE;

/*
 * Looks up `worker-username:` in the same way, after main's user. user.change:
 * workers become another user than main is after privilege_drop; main_user is
 * what that will be given.
 * returns NSD_OK; NSD_E_NOT_FOUND; NSD_E_DENIED: another user, and we may not
 * change it. Said in the log.
 */
enum nsd_err privilege_find_worker(const char *username,
	const struct privilege_user *main_user, struct privilege_user *worker)
	MUST_USE;

/* Frees a user of privilege_find_user, when no process becomes that user any
 * more. */
void privilege_forget_user(struct privilege_user *user);

/* Changes the root directory, and the working directory to it. NSD_E_SYSTEM,
 * said in the log. */
enum nsd_err privilege_chroot(const char *path) MUST_USE;

/*
 * Has main become the user, for good: groups, group, user, and no way back;
 * processes of that user cannot look into it from then on, nor into its
 * children. If workers are to become another user, main keeps the rights for
 * that, CAP_SETUID and CAP_SETGID (doc/decisions/0065). Said in the log:
 * NSD_E_SYSTEM, NSD_E_DENIED if this process may not.
 */
enum nsd_err privilege_drop(const struct privilege_user *user,
	const struct privilege_user *worker) MUST_USE;

/*
 * Has a child of main give up the rights that main has kept, and become the
 * user if that is another one; NULL: it does not. uses_files: if it is still
 * root, it keeps root's rights to files. Said in the log: NSD_E_SYSTEM,
 * NSD_E_DENIED.
 */
enum nsd_err privilege_leave_main(const struct privilege_user *user,
	bool uses_files) MUST_USE;

/* Signals a child of main, which has become the user; NULL: it has not. */
void privilege_kill(const struct privilege_user *user, pid_t pid, int number);

#endif
