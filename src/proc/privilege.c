/* privilege.c - giving up root and the view of the file system. */
#include "config.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/log.h"
#include "proc/privilege.h"

/* "123" or "123.456". */
static bool
privilege_parse_ids(const char *text, struct privilege_user *user)
{
	char *end;
	unsigned long uid, gid;

	if (*text < '0' || *text > '9')
		return false;
	uid = strtoul(text, &end, 10);
	gid = uid;
	if (*end == '.' && end[1] >= '0' && end[1] <= '9') {
		gid = strtoul(end + 1, &end, 10);
	} else if (*end == '\0') {
		struct passwd *pw = getpwuid((uid_t)uid);

		if (pw == NULL)
			return false;
		gid = pw->pw_gid;
	}
	if (*end != '\0' || uid >= UINT32_MAX || gid >= UINT32_MAX)
		return false;
	user->uid = (uid_t)uid;
	user->gid = (gid_t)gid;
	return true;
}

/* Looks up the groups before the chroot. There may be no /etc in it, or
 * somebody else's: its modules to find users by would run as root. */
static enum nsd_err
privilege_find_groups(const struct passwd *pw, struct privilege_user *user)
{
	int size = 16;

	for (;;) {
		gid_t *groups = reallocarray(user->groups, (size_t)size,
			sizeof(*groups));

		if (groups == NULL) {
			log_error("out of memory for the groups of %s",
				pw->pw_name);
			return NSD_E_MEMORY;
		}
		user->groups = groups;
		user->group_count = size;
		if (getgrouplist(pw->pw_name, user->gid, groups,
			    &user->group_count)
			!= -1)
			return NSD_OK;
		size *= 2;
	}
}

enum nsd_err
privilege_find_user(const char *username, struct privilege_user *user)
{
	struct passwd *pw;

	memset(user, 0, sizeof(*user));
	user->uid = (uid_t)-1;
	user->gid = (gid_t)-1;
	if (username == NULL || *username == '\0')
		return NSD_OK;
	pw = getpwnam(username);
	if (pw != NULL) {
		user->uid = pw->pw_uid;
		user->gid = pw->pw_gid;
	} else if (privilege_parse_ids(username, user)) {
		pw = getpwuid(user->uid);
	} else {
		log_error("user '%s' does not exist.", username);
		return NSD_E_NOT_FOUND;
	}
	user->change = user->uid != geteuid() || user->gid != getegid();
	return pw != NULL && user->change ? privilege_find_groups(pw, user)
					  : NSD_OK;
}

enum nsd_err
privilege_chroot(const char *path)
{
	if (chroot(path) == -1 || chdir("/") == -1) {
		log_error("unable to chroot: %s (%s)", strerror(errno), path);
		return NSD_E_SYSTEM;
	}
	return NSD_OK;
}

void
privilege_forget_user(struct privilege_user *user)
{
	free(user->groups);
	user->groups = NULL;
	user->group_count = 0;
}

enum nsd_err
privilege_drop(const struct privilege_user *user)
{
	if (user->change) {
		if (setgroups((size_t)user->group_count, user->groups) == -1
			|| setresgid(user->gid, user->gid, user->gid) == -1
			|| setresuid(user->uid, user->uid, user->uid) == -1) {
			log_error("cannot become user %lu: %s",
				(unsigned long)user->uid, strerror(errno));
			return NSD_E_SYSTEM;
		}
		if (user->uid != 0 && setuid(0) != -1) {
			log_error("root could be regained");
			return NSD_E_DENIED;
		}
	}
	/* No program that is run from here on has more rights than we. */
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	/* Processes of one user may look into each other, and open each other's
	 * files by way of /proc: a worker the store, to write it. Children
	 * inherit that they may not. Nobody writes cores either. */
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	return NSD_OK;
}
